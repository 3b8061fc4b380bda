"""`graphcb reproduce`: a figure of the paper from one command."""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphcb.commands.command import Commands

if TYPE_CHECKING:
    from graphcb.experiments.curves import Curve, Summary


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("reproduce", help="a figure of the paper from one command")
    parser.add_argument("figure", metavar="FIGURE", help="inventory-fixed, inventory-adaptive, all")
    parser.add_argument("--quick", action="store_true", help="few settings and seeds")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.set_defaults(command=_reproduce)


def _reproduce(options: argparse.Namespace) -> None:
    from graphcb.experiments.inventory import EXPERIMENTS

    if options.figure != "all" and options.figure not in EXPERIMENTS:
        raise ValueError(
            f"`FIGURE` must be one of {', '.join(EXPERIMENTS)}, all; got {options.figure!r}"
        )
    options.out.mkdir(parents=True, exist_ok=True)
    for name in EXPERIMENTS if options.figure == "all" else [options.figure]:
        _reproduce_one(name, options)


def _reproduce_one(name: str, options: argparse.Namespace) -> None:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from graphcb.experiments.curves import summarise, write_csv
    from graphcb.experiments.inventory import EXPERIMENTS
    from graphcb.experiments.sweep import sweep
    from graphcb.figures.curves import draw_curves, save

    experiment = EXPERIMENTS[name].quick() if options.quick else EXPERIMENTS[name]
    settings = experiment.settings()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    start = time.perf_counter()
    with Progress(*columns) as progress:
        task = progress.add_task(f"{name}: runs", total=len(settings))
        curves: list[Curve] = sweep(
            experiment.play,
            settings,
            n_jobs=options.jobs,
            on_done=lambda: progress.advance(task),
        )
    seconds = time.perf_counter() - start
    summaries = summarise(curves)
    write_csv(curves, options.out / f"{name}.csv")
    save(draw_curves(summaries, experiment.title), options.out / f"{name}.png")
    _print_summaries(name, summaries)
    n_rounds = len(settings) * experiment.n_rounds
    print(f"{n_rounds:,} rounds in {seconds:.1f} s with {options.jobs} processes")
    print(f"figure: {options.out / name}.png   table: {options.out / name}.csv")


def _print_summaries(name: str, summaries: "Sequence[Summary]") -> None:
    from rich.console import Console
    from rich.table import Table

    from graphcb.experiments.inventory import claims

    table = Table(title=f"{name}: progressive validation loss", title_justify="left")
    for column in ("agent", "grid", "mean", "std", "learning rate", "c", "seeds"):
        table.add_column(column)
    for s in summaries:
        table.add_row(
            s.agent,
            s.line,
            f"{s.mean:.4f}",
            f"{s.deviation:.4f}",
            f"{s.learning_rate:g}" + "*" * ("learning_rate" in s.at_grid_end),
            f"{s.c:g}" + "*" * ("c" in s.at_grid_end),
            str(s.n_seeds),
        )
    console = Console()
    console.print(table)
    if any(s.at_grid_end for s in summaries):
        console.print("* at the end of the grid that was tried: a value beyond it may be better")
    for claim, measured, holds in claims(name, list(summaries)):
        console.print(f"{'holds' if holds else 'DOES NOT HOLD'}: {claim} ({measured})")
