"""Panels of the paper and of settings files: run, drawn, and printed beside what is claimed."""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphcb import __version__
from graphcb.checks import first_twice
from graphcb.commands.outputs import Output, check_outputs
from graphcb.datasets import DataNotFoundError
from graphcb.experiments.curves import (
    Curve,
    Setting,
    Spread,
    Summary,
    repeats,
    spreads,
    summarise,
    write_csv,
)
from graphcb.experiments.experiment import Experiment
from graphcb.experiments.lines import exploration_of
from graphcb.experiments.reproduction import Runs, finish
from graphcb.experiments.store import Store


def finish_shown(
    experiment: Runs, options: argparse.Namespace, settings: Sequence[Setting] | None = None
) -> tuple[Store, list[Curve]]:
    """The store of the experiment and the curves of its settings, or of these."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    store = Store(options.out / f"{experiment.name}.jsonl", __version__)
    settings = experiment.settings() if settings is None else settings
    total = sum(map(experiment.n_rounds_of, settings))
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

        def found(curves: list[Curve]) -> None:
            if curves:
                done = sum(int(curve.rounds[-1]) for curve in curves)
                progress.advance(task, done)
                progress.print(f"{experiment.name}: {len(curves)} runs were already finished")

        def run(curve: Curve) -> None:
            nonlocal made
            made += int(curve.rounds[-1])
            speed = made / (time.perf_counter() - start)
            progress.update(task, advance=int(curve.rounds[-1]), speed=f"{speed:,.0f} rounds/s")

        workers = {"n_jobs": options.jobs, "engine": options.engine}
        curves = finish(experiment, store, settings=settings, **workers, on_start=found, on_run=run)
    return store, curves


if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = {
    ".jsonl": "store of runs",
    ".csv": "table of results",
    ".png": "picture",
    ".pdf": "picture",
}


def reproduce_panels(experiments: Sequence[Experiment], options: argparse.Namespace) -> None:
    """Run what is missing, write tables and figures, and print which claims hold."""
    from graphcb.figures.curves import draw_panels, save

    losses = [one for one in experiments if one.measure == "loss"]
    files = [(one.name, ENDINGS) for one in experiments]
    if len(losses) > 1:
        files.append(("panels", {".png": "picture", ".pdf": "picture"}))
    check_folder(options, files)
    _find_data(experiments)
    start = time.perf_counter()
    made = [_reproduce_one(one, options) for one in experiments]
    seconds = time.perf_counter() - start
    panels = [
        (one.title, summarise(curves))
        for one, (curves, _) in zip(experiments, made, strict=True)
        if one in losses
    ]
    if len(panels) > 1:
        for suffix in (".png", ".pdf"):
            save(draw_panels(panels), options.out / f"panels{suffix}")
        print(f"all panels: {options.out / 'panels.png'}")
    every = [curve for runs, repeats in made for curve in (*runs, *repeats)]
    _print_costs(every, seconds, options.jobs)


def check_folder(
    options: argparse.Namespace, files: Sequence[tuple[str, Mapping[str, str]]]
) -> None:
    """Refuse to overwrite files in the folder that are not results.

    `files` are the names of figures, each with the kind of file by ending.
    """
    folder = options.out
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"`--out` must be a folder, got {folder}")
    outputs = [
        Output(f"{name}{ending}", folder / f"{name}{ending}", kind)
        for name, endings in files
        for ending, kind in endings.items()
    ]
    twice = first_twice(output.option for output in outputs)
    if twice is not None:
        raise ValueError(f"each figure must have its own name, got two that write {twice}")
    if folder.is_dir():
        settings = {name: name for name in options.figures if name.endswith(".toml")}
        check_outputs(outputs, settings, force=options.force)


def _find_data(chosen: Sequence[Experiment]) -> None:
    """Fail before the first run if data is missing."""
    for experiment in chosen:
        try:
            for line in experiment.lines:
                experiment.problem_of(line)
        except DataNotFoundError as problem:
            raise DataNotFoundError(f"{problem}. --quick needs no data") from None


def _reproduce_one(
    experiment: Experiment, options: argparse.Namespace
) -> tuple[list[Curve], list[Curve]]:
    """The runs of the panel, and those that tell the order of the data from the draws."""
    from graphcb.figures.curves import save

    store, curves = finish_shown(experiment, options)
    summaries = summarise(curves)
    runs = [(store.about(experiment.identity(curve.setting)), curve) for curve in curves]
    write_csv(runs, options.out / f"{experiment.name}.csv")
    for suffix in (".png", ".pdf"):
        save(_draw(experiment, summaries), options.out / f"{experiment.name}{suffix}")
    again: list[Curve] = []
    if experiment.spread and experiment.n_seeds > 1:
        _, again = finish_shown(experiment, options, repeats(summaries))
    _print_summaries(experiment, summaries, spreads(again))
    print(f"figure: {options.out / experiment.name}.png, .pdf   table: .csv   runs: .jsonl")
    return curves, [curve for curve in again if curve.setting.draw_seed is not None]


def _draw(experiment: Experiment, summaries: Sequence[Summary]) -> "Figure":
    from graphcb.figures.curves import draw_panels
    from graphcb.figures.regret import draw_growth, draw_misspecification

    if experiment.measure == "regret":
        return draw_growth(experiment.title, summaries)
    if experiment.measure == "misspecification":
        return draw_misspecification(experiment.title, summaries, experiment.scales())
    return draw_panels([(experiment.title, summaries)])


def _print_summaries(
    experiment: Experiment,
    summaries: Sequence[Summary],
    parts: Mapping[tuple[str, str], Spread],
) -> None:
    from rich.console import Console
    from rich.table import Table

    regret = experiment.measure != "loss"
    what = "regret" if regret else "progressive validation loss"
    table = Table(
        title=f"{experiment.name}: {what} with the best setting of each line",
        title_justify="left",
    )
    slope = ("slope",) if experiment.measure == "regret" else ()
    of_parts = ("of the order", "of the draws") if parts else ()
    numbers = ("mean", "std", *of_parts, *slope)
    for column in ("agent", "line", *numbers, "learning rate", "exploration", "seeds"):
        table.add_column(column)
    for s in summaries:
        own = exploration_of(s.agent)
        table.add_row(
            s.agent,
            s.line,
            *_numbers(s, regret=regret),
            *(f"{part:.4f}" for part in parts.get((s.agent, s.line), ())),
            *("" for _ in of_parts if (s.agent, s.line) not in parts),
            *(f"{s.slope:.2f}" for _ in slope),
            f"{s.learning_rate:g}" + "*" * ("learning_rate" in s.at_grid_end)
            if s.learning_rate
            else "",
            f"{own} = {s.c:g}" + "*" * ("c" in s.at_grid_end) if own else "",
            str(s.n_seeds),
        )
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(experiment.title, markup=False)
    console.print(table)
    if any(s.at_grid_end for s in summaries):
        console.print("* at the end of the grid: a value beyond it may be better; try --wide")
    for verdict in (claim.check(summaries) for claim in experiment.claims):
        answer = "holds" if verdict.holds else "DOES NOT HOLD"
        console.print(f"{answer}: {verdict.text} ({verdict.measured})")


def _numbers(summary: Summary, *, regret: bool) -> tuple[str, str]:
    """Mean and standard deviation at the end: of the mean loss, or of the whole regret."""
    if not regret:
        return f"{summary.mean:.4f}", f"{summary.deviation:.4f}"
    n_rounds = int(summary.rounds[-1])
    return f"{n_rounds * summary.mean:.0f}", f"{n_rounds * summary.deviation:.0f}"


def _print_costs(curves: Sequence[Curve], seconds: float, n_jobs: int) -> None:
    n_rounds = sum(int(curve.rounds[-1]) for curve in curves)
    seconds_of = zip(*(curve.seconds for curve in curves), strict=True)
    oracle, exploration, total = map(sum, seconds_of)
    rest = total - oracle - exploration
    print(
        f"{len(curves):,} runs, {n_rounds:,} rounds, {total:.0f} s of work "
        f"({1e6 * total / n_rounds:.1f} us per round): oracle {oracle / total:.0%}, "
        f"exploration {exploration / total:.0%}, the rest {rest / total:.0%}"
    )
    print(f"took {seconds:.1f} s with {n_jobs} processes")
