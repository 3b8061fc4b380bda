"""The paper's four panels with full grids and all seeds: how long they take, and what they show.

    python benchmarks/experiments.py --loops    # what compiled loops save, for `reproduce all`

RCV1 from GRAPHCB_DATA or by scikit-learn; where there is neither, the quick version on digits. All
cores are used, unlike in the other parts.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from graphcb import __version__
from graphcb.datasets import DataNotFoundError
from graphcb.experiments import experiment as experiments
from graphcb.experiments.curves import Curve, Setting, Summary, summarise
from graphcb.experiments.experiment import Experiment
from graphcb.experiments.lines import CONSTANT, Grid
from graphcb.experiments.reproduction import finish
from graphcb.experiments.store import Store
from graphcb.experiments.trace import trace


def chosen(*, quick: bool) -> list[Experiment]:
    paper = [one for one in map(experiments.read, experiments.names()) if one.in_paper]
    if quick:
        small = [one.made_quick() for one in paper]
        grid = Grid((1.0,), (8.0,), (0.03,))
        return [replace(one, n_rounds=100, n_seeds=2, grid=grid) for one in small]
    try:
        for one in paper:
            one.problem_of(one.lines[0])
    except DataNotFoundError as problem:
        print(f"Quick versions on data that needs no download: {problem}.\n")
        return [one.made_quick() for one in paper]
    return paper


def row(name: str, curves: Sequence[Curve], seconds: float) -> str:
    n_rounds = sum(int(curve.rounds[-1]) for curve in curves)
    oracle, exploration, total = (
        sum(part) for part in zip(*(curve.seconds for curve in curves), strict=True)
    )
    return (
        f"| {name} | {len(curves):,} | {n_rounds:,} | {seconds:.0f} | "
        f"{1e6 * total / n_rounds:.1f} | {oracle / total:.0%} | {exploration / total:.0%} |"
    )


def losses(experiment: Experiment, summaries: Sequence[Summary]) -> list[str]:
    return [
        f"| {experiment.name} | {s.agent}, {s.line} | {s.mean:.4f} +- {s.deviation:.4f} | "
        f"{s.n_seeds} | {s.learning_rate:g} | {s.c:g} |"
        for s in summaries
    ]


def loops(n_rounds: int) -> None:
    """CPU seconds of `graphcb reproduce all` with and without compiled loops.

    Each line plays `n_rounds` rounds both ways, and all of its runs are taken to be like them.
    """
    total = np.zeros(2)
    print("CPU seconds, extrapolated from a part of one run of each line.\n")
    print("| panel | rounds | compiled loops | the run loop alone |")
    print("|---|---|---|---|")
    for one in map(experiments.read, experiments.names()):
        if not one.in_all:
            continue
        counts = Counter((s.agent, s.line) for s in one.settings() if s.agent != CONSTANT)
        tried = {(s.agent, s.line): s for s in one.settings()[::-1]}
        seconds, n_all = np.zeros(2), 0
        for line, n_runs in counts.items():
            length = n_runs * one.n_rounds_of(tried[line])
            ways = [cost_per_round(one, tried[line], n_rounds, compiled=c) for c in (True, False)]
            seconds += length * np.array(ways)
            n_all += length
        print(f"| {one.name} | {n_all:,} | {seconds[0]:.0f} s | {seconds[1]:.0f} s |", flush=True)
        total += seconds
    print(f"| all | | {total[0]:.0f} s | {total[1]:.0f} s |")


def cost_per_round(one: Experiment, setting: Setting, n_rounds: int, *, compiled: bool) -> float:
    """CPU seconds per round of a run; the first time is for the compiler."""
    line = one.line(setting)
    problem = replace(one, n_rounds=n_rounds).problem_of(line)
    for _ in range(2):
        agent = line.build(problem, setting.learning_rate, setting.c)
        start = time.process_time()
        trace(agent, problem.environment, seed=1, compiled=compiled)
        spent = time.process_time() - start
    return spent / problem.environment.n_rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny")
    parser.add_argument("--loops", action="store_true", help="with and without compiled loops")
    given = parser.parse_args()
    if given.loops:
        loops(20 if given.quick else 1500)
        return
    jobs = os.cpu_count() or 1
    found: list[str] = []
    verdicts: list[str] = []
    everything: list[Curve] = []
    print(f"{jobs} processes; oracle and exploration are shares of their work.\n")
    print("| panel | runs | rounds | seconds | us of work per round | oracle | exploration |")
    print("|---|---|---|---|---|---|---|")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for one in chosen(quick=given.quick):
            print(one.name, file=sys.stderr)
            begin = time.perf_counter()
            curves = finish(
                one, Store(Path(folder) / f"{one.name}.jsonl", __version__), n_jobs=jobs
            )
            print(row(one.name, curves, time.perf_counter() - begin), flush=True)
            everything += curves
            summaries = summarise(curves)
            found += losses(one, summaries)
            for verdict in (claim.check(summaries) for claim in one.claims):
                holds = "holds" if verdict.holds else "**does not hold**"
                verdicts.append(f"| {one.name} | {verdict.text} | {verdict.measured} | {holds} |")
    print(row("all", everything, time.perf_counter() - start))
    print("\n| panel | line | final loss +- standard deviation | seeds | learning rate | c |")
    print("|---|---|---|---|---|---|")
    print("\n".join(found))
    print("\n| panel | claim | measured | |")
    print("|---|---|---|---|")
    print("\n".join(verdicts))


if __name__ == "__main__":
    main()
