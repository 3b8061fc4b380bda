"""`graphcb reproduce bakeoff`: many learners on many streams of real data."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from graphcb.checks import as_count
from graphcb.commands.finishing import (
    finish_shown,
    print_work,
    show_table,
    wide_console,
    write_report,
)

if TYPE_CHECKING:
    from graphcb.experiments.bakeoff import BakeOff
    from graphcb.experiments.ratios import Ranking

WIDTH = 104


def read_as_asked(name: str, options: argparse.Namespace) -> "BakeOff":
    """The bake-off of that name or file, as the options change it; its data is there."""
    from graphcb.datasets import DataNotFoundError
    from graphcb.experiments import bakeoff

    if options.wide:
        raise ValueError("`--wide` must not be given with a bake-off: its grid has no wide form")
    found = bakeoff.read(name)
    if options.quick:
        found = found.made_quick()
    if options.seeds is not None:
        found = replace(found, n_seeds=as_count("--seeds", options.seeds))
    try:
        found.settings()
    except DataNotFoundError as problem:
        raise DataNotFoundError(f"{problem}. --quick needs no data") from None
    return found


def reproduce_bakeoff(bakeoff: "BakeOff", options: argparse.Namespace) -> None:
    """Run what is missing, write the tables and the figure, and print who won."""
    from graphcb.experiments.bakeoff_tables import markdown, write_table
    from graphcb.experiments.ratios import compare
    from graphcb.figures.bakeoff import draw_bakeoff
    from graphcb.figures.curves import save

    store, curves = finish_shown(bakeoff, options)
    ranking = compare(bakeoff, curves)
    path = options.out / bakeoff.name
    write_report(bakeoff, store, curves, markdown(ranking, bakeoff), options.out)
    write_table(ranking, options.out / f"{bakeoff.name}-table.csv")
    for suffix in (".png", ".pdf"):
        save(draw_bakeoff(ranking, bakeoff.title), path.with_suffix(suffix))
    _print(bakeoff, ranking)
    print(f"figure: {path}.png, .pdf   report: .md   tables: .csv, -table.csv   runs: .jsonl")
    print_work(curves)


def _print(bakeoff: "BakeOff", ranking: "Ranking") -> None:
    from graphcb.experiments.bakeoff_tables import HEAD, losses_to_others, rows

    title = f"{bakeoff.name}: loss / loss of the best setting of all contenders in hindsight"
    console = wide_console(WIDTH)
    show_table(console, title, HEAD, rows(ranking))
    beaten = losses_to_others(ranking)
    if beaten:
        console.print("beaten by more than two standard errors:")
    for text in beaten:
        console.print(f"  {text}", markup=False)
    if bakeoff.left_out:
        console.print(f"left out, as not installed: {', '.join(bakeoff.left_out)}")
