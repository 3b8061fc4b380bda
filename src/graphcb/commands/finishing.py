"""What studies of `graphcb reproduce` share: runs with a bar of progress, reports, tables."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from graphcb import __version__
from graphcb.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from graphcb.experiments.bakeoff import BakeOff
    from graphcb.experiments.curves import Curve
    from graphcb.experiments.experiment import Experiment
    from graphcb.experiments.limits import LimitsStudy
    from graphcb.experiments.spread import Repeats
    from graphcb.experiments.store import Store


def finish_shown(
    experiment: "Experiment | Repeats | BakeOff | LimitsStudy", options: argparse.Namespace
) -> "tuple[Store, list[Curve]]":
    """The store of the experiment and the curves of all its settings."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    from graphcb.experiments.reproduction import finish
    from graphcb.experiments.store import Store

    store = Store(options.out / f"{experiment.name}.jsonl", __version__)
    total = sum(map(experiment.n_rounds_of, experiment.settings()))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[speed]}"),
        TimeElapsedColumn(),
        TimeLeft(),
    )
    with Progress(*columns) as progress:
        task = progress.add_task(f"{experiment.name}", total=total, speed="")
        start, made = time.perf_counter(), 0

        def found(curves: "list[Curve]") -> None:
            if curves:
                done = sum(int(curve.rounds[-1]) for curve in curves)
                progress.advance(task, done)
                progress.print(f"{experiment.name}: {len(curves)} runs were already finished")

        def run(curve: "Curve") -> None:
            nonlocal made
            made += int(curve.rounds[-1])
            speed = made / (time.perf_counter() - start)
            progress.update(task, advance=int(curve.rounds[-1]), speed=f"{speed:,.0f} rounds/s")

        workers = {"n_jobs": options.jobs, "engine": options.engine}
        curves = finish(experiment, store, **workers, on_start=found, on_run=run)
    return store, curves


def write_report(
    study: "BakeOff | LimitsStudy",
    store: "Store",
    curves: "list[Curve]",
    markdown: str,
    folder: Path,
) -> None:
    """The runs as a table, and the report beside it."""
    from graphcb.experiments.curves import write_csv

    runs = [(store.about(study.identity(curve.setting)), curve) for curve in curves]
    write_csv(runs, folder / f"{study.name}.csv")
    with atomic_write(folder / f"{study.name}.md", text=True) as file:
        file.write(f"# {study.title}\n\n{markdown}")


def print_work(curves: "list[Curve]") -> None:
    """How much was done."""
    work = sum(curve.seconds.total for curve in curves)
    n_rounds = sum(int(curve.rounds[-1]) for curve in curves)
    print(f"{len(curves):,} runs, {n_rounds:,} rounds, {work:.0f} s of work")


def wide_console(width: int) -> "Console":
    """A console in which no name of a table is cut."""
    from rich.console import Console

    console = Console()
    console.width = max(console.width, width)
    return console


def show_table(
    console: "Console", title: str, head: "Sequence[str]", body: "Iterable[Sequence[str]]"
) -> None:
    """One row for each of the body."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in head:
        table.add_column(column)
    for row in body:
        table.add_row(*row)
    console.print(table)
