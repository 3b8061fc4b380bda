"""`graphcb reproduce limits`: budgets and baselines on streams of real data."""

import argparse
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
    from graphcb.experiments.limits import LimitsStudy
    from graphcb.experiments.limits_claims import LimitRuns

WIDTH = 120


def read_as_asked(options: argparse.Namespace) -> "LimitsStudy":
    """The study as the options change it; its data is there."""
    from graphcb.datasets import DataNotFoundError
    from graphcb.experiments import limits

    if options.wide:
        raise ValueError("`--wide` must not be given with limits: they have no wide form")
    study = limits.read()
    if options.quick:
        study = study.made_quick()
    if options.seeds is not None:
        study = study.with_seeds(as_count("--seeds", options.seeds))
    try:
        for setting in study.settings():
            study.n_rounds_of(setting)
    except DataNotFoundError as problem:
        raise DataNotFoundError(f"{problem}. --quick needs no data") from None
    return study


def reproduce_limits(study: "LimitsStudy", options: argparse.Namespace) -> None:
    """Run what is missing, write tables and figures, and print what holds."""
    from graphcb.experiments.limits_claims import LimitRuns
    from graphcb.experiments.limits_tables import markdown, write_table
    from graphcb.figures.curves import save
    from graphcb.figures.limits import draw_budgets, draw_ratios

    store, curves = finish_shown(study, options)
    runs = LimitRuns(study, curves)
    path = options.out / study.name
    write_report(study, store, curves, markdown(runs), options.out)
    write_table(curves, options.out / f"{study.name}-table.csv")
    for suffix in (".png", ".pdf"):
        save(draw_budgets(runs), path.with_suffix(suffix))
        save(draw_ratios(runs), options.out / f"{study.name}-baseline{suffix}")
    _print(runs)
    print(
        f"figures: {path}.png, .pdf, -baseline.png, .pdf   report: .md   "
        "tables: .csv, -table.csv   runs: .jsonl"
    )
    print_work(curves)


def _print(runs: "LimitRuns") -> None:
    from graphcb.experiments.limits_claims import judge
    from graphcb.experiments.limits_tables import baseline_table, budget_table

    console, name = wide_console(WIDTH), runs.study.name
    show_table(console, f"{name}: mean loss by budget", *budget_table(runs))
    show_table(console, f"{name}: beside the baseline", *baseline_table(runs))
    for verdict in judge(runs):
        answer = "holds" if verdict.holds else "DOES NOT HOLD"
        console.print(f"{answer}: {verdict.text} ({verdict.measured})", markup=False)
