"""`graphcb log import`: a log that another program wrote becomes a decision log."""

import argparse
from pathlib import Path
from typing import Any

from graphcb.checks import as_count, listed
from graphcb.commands.options import add_command, add_options, loss_range
from graphcb.imports import DecisionColumns, import_log
from graphcb.problems import Problem

OPTIONS = {
    "FILE": "the file to read; text may be gzipped. A table (CSV, Parquet or JSON lines) needs "
    "--action, and the other options that name its columns",
    "LOG": "the new log: a file, or a postgresql:// URL",
    "--format cb|cb_adf|dsjson|csv|parquet|jsonl": "the format of the file (default: of a table by "
    "its name, else by its first lines)",
    "--actions ACTIONS": "the number of actions of a cb file (default: the largest in it); the "
    "actions of a table (default: those in it)",
    **loss_range("0,1, or what is found if that is wider"),
    "--on-error stop|skip=stop": "what to do with a line that cannot be read (default: "
    "%(default)s)",
}
TABLE = {
    "--action COLUMN": "the action that was played",
    "--probability COLUMN,...": "its probability; or those of all actions: 'p_*' for columns "
    "p_NAME, A,B for columns named as the actions, or a column of lists in the order of --actions",
    "--reward COLUMN": "what came of it, larger is better; empty if that is not known yet",
    "--loss COLUMN": "the same, smaller is better",
    "--features COLUMN,...": "names or patterns of features (default: all other columns)",
    "--time COLUMN": "when it was played: seconds since 1970, or ISO 8601",
    "--id COLUMN": "an identifier, which no two rows may share",
    "--delimiter DELIMITER": "between the cells of CSV (default: a comma)",
}
COLUMNS = ("probability", "reward", "loss", "features", "time", "id", "delimiter")


def add_import(actions: Any) -> None:
    """Add the subcommand to those of `graphcb log`."""
    text = (
        "turn a table of decisions, or a log of Vowpal Wabbit (cb, cb_adf) or in DSJSON, into "
        "a decision log"
    )
    parser = add_command(actions, "import", text, _import, OPTIONS)
    parser.add_argument(
        "--continue",
        dest="problem",
        type=Path,
        metavar="PROBLEM",
        help="a problem file (TOML): a policy for it learns from the file and decides from there",
    )
    add_options(parser.add_argument_group("columns of a table"), TABLE)


def _import(options: argparse.Namespace) -> None:
    columns = _columns(options)
    report = import_log(
        options.file,
        options.log,
        format=options.format,
        n_actions=None if columns else _n_actions(options.actions),
        columns=columns,
        delimiter=options.delimiter,
        value_range=options.loss_range,
        skip_odd=options.on_error == "skip",
        problem=None if options.problem is None else Problem.read(options.problem),
    )
    problem = report.problem
    print(f"{report.n_decisions:,} decisions of the format {report.format}: {options.log}")
    names = listed(problem.actions) if problem.has_fixed_actions else "come with each round"
    print(f"actions: {names}")
    low, high = problem.scale
    print(f"{problem.feedback} between {low:g} and {high:g}")
    if problem.features:
        kinds = (f"{name} ({kind})" for name, kind in problem.features.items())
        print(f"features: {listed(kinds)}")
    if report.n_without_outcome:
        print(f"{report.n_without_outcome:,} decisions have no outcome")
    if report.n_without_choice:
        print(f"left out: {report.n_without_choice:,} without a chosen action")
    if report.n_odd:
        print(f"left out: {report.n_odd:,} lines that cannot be read, such as")
        print("\n".join(f"  {text}" for text in report.first_odd))
    if not report.all_probabilities:
        print(
            "the file has the probability of the chosen action alone: the rest is spread evenly "
            "over the others, and evaluation uses no estimate that depends on it"
        )
    if not report.has_times:
        print("the file has no times: the log has that of its import")
    for text in report.warnings:
        print(text)
    if options.problem is not None:
        print(f"continued with {options.problem}:")
        print("\n".join(f"- {sentence}" for sentence in report.said))


def _columns(options: argparse.Namespace) -> DecisionColumns | None:
    if options.action is None:
        for name in COLUMNS:
            if getattr(options, name) is not None:
                raise ValueError(f"`--{name}` is for a table, whose actions are in --action COLUMN")
        return None
    if options.probability is None:
        raise ValueError(
            "`--probability` must name the column with the probability of the played action; "
            "graphcb evaluate can estimate it from the features, a log has to hold it"
        )
    return DecisionColumns(
        options.action,
        options.probability,
        reward=options.reward,
        loss=options.loss,
        features=_parts(options.features),
        time=options.time,
        identifier=options.id,
        actions=_parts(options.actions),
    )


def _parts(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(part.strip() for part in text.split(","))


def _n_actions(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise ValueError(f"`--actions` must be the number of actions of a cb file, got {text!r}")
    return as_count("--actions", int(text))
