"""`graphcb evaluate TABLE`: what policies would have earned, from a table of any program."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphcb.commands.options import add_options
from graphcb.commands.packages import missing, need
from graphcb.commands.reproduce import ENGINE
from graphcb.commands.shown import (
    ShownEstimate,
    as_json,
    check_options,
    chosen,
    gain_text,
    print_json,
    show_table,
    write_outputs,
)
from graphcb.tables import JudgedPolicy, TableEvaluation, evaluate_table
from graphcb.tables.source import SUFFIXES, open_table

COLUMNS = ("action", "reward", "loss", "probability", "actions", "action_set", "reveals", "graph",
           "slot", "features", "independent", "resume")  # fmt: skip
OPTIONS = {
    "--action COLUMN": "what was played",
    "--reward COLUMN": "what it brought; empty if not known",
    "--loss COLUMN": "the same, where smaller is better",
    "--probability COLUMN": "the probability of what was played; a column of lists, or a pattern "
    "of columns such as 'p_*', has those of all actions (default: estimated from the features)",
    "--actions NAMES": "all actions, in the order of lists (default: those in the table)",
    "--action-set COLUMN": "lists of the actions of each row",
    "--reveals PATTERN": "columns with the values of all actions that a row shows, such as "
    "'loss_*'; empty cells were not seen",
    "--graph GRAPH": "with --reveals: which values are shown, a family such as full-information "
    "(default: as the table shows)",
    "--slot COLUMN": "also estimate each slot separately",
    "--id COLUMN": "an identifier, which no two rows may share",
    "--features COLUMNS": "what unknown probabilities depend on; also adds the doubly robust "
    "estimate (default: all other columns that can be learned from)",
    "--unseen refuse|bound": "what to do with a policy that plays what the table has never seen "
    "(default: refuse)",
    "--independent": "no decision depends on earlier ones, as those of a policy that learns do: "
    "adds Bernstein's interval",
    "--jobs N": "number of processes (default: one per core for large tables)",
    **ENGINE,
    "--resume FOLDER": "keep what is done in this folder, and continue from it after a kill",
}
LARGE = 5_000_000  # rows, which one process reads in about a second
ONLY_LOGS = ("after", "version", "guess")


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add what a table needs: which columns mean what, and where the work is done."""
    group = parser.add_argument_group(
        "a table of decisions",
        "LOG may be a table that any program wrote: .csv, .jsonl (also .gz) or .parquet, a folder "
        "of them, or a pattern in quotes such as 'logs/*.parquet'. A policy may then also be the "
        "name of a column that holds an action per row, of a column of lists of probabilities, or "
        "a pattern of columns of probabilities such as 'p_*'.",
    )
    add_options(group, OPTIONS)


def looks_like_a_table(text: str) -> bool:
    """Whether a name is that of a table, not of a decision log.

    >>> looks_like_a_table("shop.csv.gz"), looks_like_a_table("decisions.db")
    (True, False)
    """
    return text.lower().endswith(tuple(SUFFIXES)) or Path(text).is_dir()


def refuse_table_options(options: argparse.Namespace) -> None:
    """Refuse what only tables have, for a decision log."""
    for name in (*COLUMNS, "id", "unseen"):
        if getattr(options, name) not in (None, False):
            option = name.replace("_", "-")
            raise ValueError(f"`--{option}` must not be given for a decision log: it is for tables")


def evaluate_a_table(options: argparse.Namespace) -> None:
    """The command, for a table."""
    need("pyarrow", "`graphcb evaluate` of a table")
    if options.engine == "ray":
        need("ray", "`--engine ray`")
    for name in ONLY_LOGS:
        if getattr(options, name):
            raise ValueError(f"`--{name}` must not be given for a table: it is for decision logs")
    if options.action is None:
        raise ValueError("`--action` must be given: the column with what was played")
    check_options(options, {"the table": options.log if Path(options.log).is_file() else None})
    with _progress(options) as progress:
        found = evaluate_table(
            options.log,
            policy=options.policy,
            identifier=options.id,
            value_range=options.loss_range,
            confidence=options.confidence,
            unseen=options.unseen or "refuse",
            doubly_robust=options.all and options.reveals is None,
            n_jobs=_jobs(options),
            engine=options.engine,
            progress=progress,
            **{name: getattr(options, name) for name in COLUMNS},
        )
    _show(found, options)


def _show(found: TableEvaluation, options: argparse.Namespace) -> None:
    if not options.all and options.estimator is None:
        options.estimator = "best"
    lines = chosen(_lines(found.policies), options, ())
    if options.json:
        print_json({**found.to_dict(), "estimates": as_json(lines)})
    else:
        better = " (larger is better)" if found.unit == "reward" else ""
        names = ", ".join(one.policy for one in found.policies)
        for slot, some in {"": found.policies, **found.slots}.items():
            where = f" in slot {slot}" if slot else ""
            title = f"mean {found.unit} of {names}{where}{better}"
            show_table(title, chosen(_lines(some), options, ()), options)
        first = found.policies[0].policy
        for one in found.policies:
            if one.difference is not None:
                print(gain_text(one.policy, first, one.difference, options, unit=found.unit))
        for text in found.notes():
            print(text)
    write_outputs(lines, options, unit=found.unit, title=Path(options.log).name)


def _lines(some: tuple[JudgedPolicy, ...]) -> list[ShownEstimate]:
    return [
        ShownEstimate(judged.policy, name, estimate, name == judged.best)
        for judged in some
        for name, estimate in judged.estimates.items()
    ]


def _jobs(options: argparse.Namespace) -> int:
    """One process for each core, if there is enough for them to do."""
    if options.jobs is not None:
        return int(options.jobs)
    n_rows = open_table(options.log).n_rows
    return (os.cpu_count() or 1) if n_rows is None or n_rows > LARGE else 1


@contextmanager
def _progress(options: argparse.Namespace) -> Iterator[Any]:
    """A bar on a terminal; it counts rows, of which a second pass reads each once more."""
    if options.json or missing("rich") or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.completed:,.0f} rows"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=open_table(options.log).n_rows)
        yield lambda n_rows: bar.update(task, advance=n_rows)
