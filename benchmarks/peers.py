"""`solve_dec` beside the other ways to solve the same programs: time and accuracy.

    python benchmarks/peers.py [--plots DIR]

Programs are drawn from fixed seeds, over graph families, K and gamma. Every answer is normalised to
the simplex and judged by `graphcb.dec`; the best known value of a program is the smallest that
any solver found. Rivals that are not installed are named and skipped.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from limit import print_limit
from measure import (
    name_lines,
    new_axes,
    part_arguments,
    print_table,
    save_plot,
    spread,
    three_digits,
    timed,
)
from numpy.typing import NDArray
from programs import three_edges_per_row
from rival import Answer, CvxpyProgram, clarabel_seconds, vowpal_wabbit_seconds

import graphcb
from graphcb import FeedbackGraph, graphs

Floats = NDArray[np.float64]
Rng = np.random.Generator

CLOSE = 1e-3
SMALLEST = 0.01  # values of gamma * DEC below this count as this: many optima are 0
GAMMAS = tuple(10.0**power for power in range(1, 8))
FAMILIES: Mapping[str, Callable[[int, Rng], FeedbackGraph]] = {
    "bandit": lambda n, _: graphs.bandit(n),
    "full information": lambda n, _: graphs.full_information(n),
    "cops and robbers": lambda n, _: graphs.cops_and_robbers(n),
    "self-aware, density 3/4": lambda n, rng: graphs.random_self_aware(n, 0.75, rng),
    "inventory": lambda n, _: graphs.inventory(n),
    "three edges per row": three_edges_per_row,
    "one action reveals all": lambda n, _: graphs.apple_tasting(n),
    "stochastic": lambda n, rng: FeedbackGraph(np.clip(rng.random((n, n)), 1e-3, None)),
}


class Program(NamedTuple):
    family: str
    losses: Floats
    graph: FeedbackGraph
    gamma: float


class Solver(NamedTuple):
    """A way to solve; `counts` are how many of the programs of each size it is given."""

    name: str
    package: str
    solve: Callable[[Program], Answer]
    counts: Mapping[int, int]


def programs(n: int) -> list[Program]:
    """Every family at every gamma; each pass over the families has them at different gammas.

    Losses are rounded to single precision, which is all that Vowpal Wabbit takes.
    """
    shift = np.random.default_rng(n).permutation(len(FAMILIES))
    cells = (
        (family, GAMMAS[(pass_number + shift[place]) % len(GAMMAS)])
        for pass_number in range(len(GAMMAS))
        for place, family in enumerate(FAMILIES)
    )
    return [_program(n, *cell, seed=number) for number, cell in enumerate(cells)]


def _program(n: int, family: str, gamma: float, seed: int) -> Program:
    rng = np.random.default_rng([n, seed])
    losses = rng.random(n).astype(np.float32).astype(np.float64)
    return Program(family, losses, FAMILIES[family](n, rng), gamma)


def solve_ours(program: Program) -> Answer:
    """The median of five calls, after one that is not counted."""

    def work() -> graphcb.Solution:
        return graphcb.solve_dec(program.losses, program.graph, program.gamma)

    return work().probabilities, float(np.median(timed(work, 5)))


@lru_cache(maxsize=2)
def _compiled(n: int, split: bool) -> CvxpyProgram:
    """The program, solved once so that what is compiled once has been."""
    program = CvxpyProgram(n, split=split)
    program.solve(np.linspace(0.0, 1.0, n), np.eye(n), 10.0)
    return program


def solve_cvxpy(program: Program) -> Answer:
    """The paper's program; it is not solved beforehand, as every solve compiles anew."""
    paper = CvxpyProgram(program.losses.size)
    return paper.solve(program.losses, program.graph.matrix, program.gamma)


def solve_cvxpy_split(program: Program) -> Answer:
    split = _compiled(program.losses.size, True)
    return split.solve(program.losses, program.graph.matrix, program.gamma)


def solve_clarabel(program: Program) -> Answer:
    return clarabel_seconds(program.losses, program.graph.matrix, program.gamma)


def solve_vowpal_wabbit(program: Program) -> Answer:
    return vowpal_wabbit_seconds(program.losses, program.graph.matrix, program.gamma)


ALL = len(FAMILIES) * len(GAMMAS)
SOLVERS = (
    Solver("graphcb", "graphcb", solve_ours, dict.fromkeys((5, 10, 20, 50, 100, 200, 500), ALL)),
    Solver(
        "Clarabel, called directly", "clarabel", solve_clarabel,
        {5: ALL, 10: ALL, 20: ALL, 50: ALL, 100: 28},
    ),
    Solver(
        "cvxpy, compiled once", "cvxpy", solve_cvxpy_split,
        {5: ALL, 10: ALL, 20: ALL, 50: ALL, 100: 28},
    ),
    Solver("cvxpy, as in the paper", "cvxpy", solve_cvxpy, {5: ALL, 10: ALL, 20: 28, 50: 4}),
    Solver(
        "Vowpal Wabbit --graph_feedback", "vowpalwabbit", solve_vowpal_wabbit,
        {5: ALL, 10: ALL, 20: 8},
    ),
)  # fmt: skip
QUICK = {"graphcb": {5: 8, 10: 4}, "Clarabel, called directly": {5: 8}}


class Row(NamedTuple):
    """One answer; `ratio` is its value over the best known one, if there is another to compare."""

    solver: str
    n: int
    family: str
    gamma: float
    seconds: float
    ours: float
    ratio: float
    is_close: bool
    is_compared: bool


def measure(solvers: list[Solver]) -> Iterator[Row]:
    for n in sorted({size for solver in solvers for size in solver.counts}):
        print(f"K = {n}", file=sys.stderr, flush=True)
        for number, program in enumerate(programs(n)):
            asked = [one for one in solvers if number < one.counts.get(n, 0)]
            answers = {one.name: one.solve(program) for one in asked}
            values = {name: value_of(p, program) for name, (p, _) in answers.items()}
            best = max(min(values.values(), default=np.inf), SMALLEST)
            for name, (_, seconds) in answers.items():
                ratio = max(values[name], SMALLEST) / best
                yield Row(
                    name, n, program.family, program.gamma, seconds,
                    answers["graphcb"][1], ratio, ratio <= 1.0 + CLOSE, len(answers) > 1,
                )  # fmt: skip


def value_of(p: Floats, program: Program) -> float:
    """gamma * DEC; infinite where there is no answer, or one that sees nothing of an action."""
    if p.size != program.losses.size or not np.isfinite(p).all():
        return np.inf
    with np.errstate(divide="ignore"):
        value = graphcb.dec(p, program.losses, program.graph, program.gamma)
    return value * program.gamma


def main() -> None:
    given = part_arguments(__doc__)
    here = [one for one in SOLVERS if find_spec(one.package)]
    for absent in (one for one in SOLVERS if one not in here):
        print(f"{absent.name} is not installed and left out.\n")
    if given.quick:
        here = [one._replace(counts=QUICK[one.name]) for one in here if one.name in QUICK]
    print(
        f"Programs: {len(FAMILIES)} graph families, gamma from 1e1 to 1e7, losses uniform on "
        "[0, 1]; seconds of one call, in brackets the quartiles over programs. *Close* is within "
        "0.1 % of the best value of gamma * DEC that any solver found, *worst* the largest ratio "
        f"to it (values below {SMALLEST} count as {SMALLEST}, as many optima are 0); *times ours* "
        "is the median ratio to the time of graphcb on the same programs. A dash: no other "
        "solver was given these programs.\n"
    )
    rows = list(measure(here))
    names = [one.name for one in here]
    print_times(rows, names)
    print_shares(rows, names)
    if given.plots:
        plot_times(rows, names, given.plots)
        plot_accuracy(rows, names, given.plots)
    print_limit(quick=given.quick)


def print_times(rows: list[Row], names: list[str]) -> None:
    cells = defaultdict(list)
    for row in rows:
        cells[row.n, row.solver].append(row)
    ordered = sorted(cells, key=lambda cell: (cell[0], names.index(cell[1])))
    print_table(
        ("solver", "K", "programs", "time", "times ours", "close", "worst"),
        (
            (
                solver, n, len(some), spread(row.seconds for row in some),
                three_digits(float(np.median([row.seconds / row.ours for row in some]))),
                share(some), worst(some),
            )
            for n, solver in ordered if (some := cells[n, solver])
        ),
    )  # fmt: skip


def print_shares(rows: list[Row], names: list[str]) -> None:
    """How many answers are close, by family and by gamma."""
    print("Close answers by gamma, then by family, over all programs that each was given:\n")
    headers = ["", *names]
    for key in ("gamma", "family"):
        kinds = sorted({row.gamma for row in rows}) if key == "gamma" else list(FAMILIES)
        print_table(
            headers,
            (
                (
                    f"gamma = {kind:.0e}" if key == "gamma" else kind,
                    *(
                        share([r for r in rows if r.solver == name and getattr(r, key) == kind])
                        for name in names
                    ),
                )
                for kind in kinds
            ),
        )


def share(rows: list[Row]) -> str:
    """How many are close, among the programs that another solver was given too."""
    compared = [row for row in rows if row.is_compared]
    return f"{sum(row.is_close for row in compared)} of {len(compared)}" if compared else "-"


def worst(rows: list[Row]) -> str:
    largest = max((row.ratio for row in rows if row.is_compared), default=np.nan)
    if np.isnan(largest):
        return "-"
    if np.isinf(largest):
        return "no answer"
    return f"{largest:.4f}" if largest < 2.0 else three_digits(largest)


def plot_times(rows: list[Row], names: list[str], folder: Path) -> None:
    title = "one call of each solver; median over programs, band: quartiles"
    figure, axes = new_axes("actions K", "seconds of one call", title)
    for name in names:
        sizes = sorted({row.n for row in rows if row.solver == name})
        times = [spread(r.seconds for r in rows if r.solver == name and r.n == n) for n in sizes]
        axes.plot(sizes, [one.median for one in times], marker="o", label=name)
        axes.fill_between(sizes, [t.low for t in times], [t.high for t in times], alpha=0.15)
    name_lines(axes)
    save_plot(figure, folder, "peers-time", "Seconds of one call against K, log-log")


def plot_accuracy(rows: list[Row], names: list[str], folder: Path) -> None:
    title = f"{sum(row.solver == names[0] for row in rows):,} programs of all sizes"
    figure, axes = new_axes("gamma", "share of answers within 0.1 % of the best known", title)
    axes.set_yscale("linear")
    for name in names:
        gammas = sorted({row.gamma for row in rows if row.solver == name})
        shares = [
            np.mean([r.is_close for r in rows if (r.solver, r.gamma) == (name, gamma)])
            for gamma in gammas
        ]
        axes.plot(gammas, shares, marker="o", label=name)
    axes.set_ylim(-0.03, 1.03)
    name_lines(axes)
    save_plot(figure, folder, "peers-accuracy", "Share of close answers against gamma")


if __name__ == "__main__":
    main()
