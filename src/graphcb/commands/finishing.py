"""All runs of an experiment, with a progress bar."""

import argparse
import time
from collections.abc import Sequence

from graphcb import __version__
from graphcb.experiments.curves import Curve, Setting
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
