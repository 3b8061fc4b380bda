"""How far `solve_dec` is from the arithmetic that its Newton steps cannot avoid."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from measure import in_words, print_table, three_digits, timed
from numpy.typing import NDArray
from programs import three_edges_per_row
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf
from threadpoolctl import threadpool_limits

import graphcb
from graphcb import FeedbackGraph, graphs
from graphcb.exploration.solver.entry import solve_programs, solver_for
from graphcb.exploration.solver.outcomes import N_NUMBERS
from graphcb.exploration.solver.solve import MAX_STEPS, TOLERANCE
from graphcb.graphs.formulas import N_ACTIVE, STEPS

Floats = NDArray[np.float64]
GAMMA = 1e4
REPEATS = 20


class Family(NamedTuple):
    name: str
    build: Callable[[int, np.random.Generator], FeedbackGraph]
    sizes: tuple[int, ...]


FAMILIES = (
    Family(
        "self-aware, density 3/4",
        lambda n, rng: graphs.random_self_aware(n, 0.75, rng),
        (10, 100, 1000),
    ),
    Family("inventory", lambda n, _: graphs.inventory(n), (10, 100, 1000)),
    Family("three edges per row", three_edges_per_row, (10, 50, 100, 200, 500)),
)


def steps_and_size(losses: Floats, graph: FeedbackGraph) -> tuple[int, int]:
    """Newton steps, and the actions of the last of them (those before had fewer)."""
    p, outcomes = np.empty((1, losses.size)), np.empty((1, N_NUMBERS))
    solve_programs(
        losses[None].copy(), np.array([GAMMA]), solver_for(graph),
        TOLERANCE, MAX_STEPS, 0, 1, p, outcomes,
    )  # fmt: skip
    return int(outcomes[0, STEPS]), int(outcomes[0, N_ACTIVE])


def floor_seconds(n: int) -> float:
    """One product A A^T and its factorisation, in LAPACK; arrays are there beforehand."""
    a = np.asfortranarray(np.random.default_rng(n).random((n, n)) + n * np.eye(n))
    c = np.zeros((n, n), order="F")

    def step() -> None:
        product = dsyrk(1.0, a, c=c, overwrite_c=1, lower=1)
        dpotrf(product, lower=1, overwrite_a=1, clean=0)

    with threadpool_limits(1):
        step()
        return float(np.median(timed(step, REPEATS, at_most=1.0)))


def measured(family: Family, n: int) -> tuple[str, ...]:
    rng = np.random.default_rng([n, 7])
    graph, losses = family.build(n, rng), rng.random(n)

    def work() -> graphcb.Solution:
        return graphcb.solve_dec(losses, graph, GAMMA)

    work()
    seconds = float(np.median(timed(work, REPEATS, at_most=2.0)))
    steps, size = steps_and_size(losses, graph)
    least = steps * floor_seconds(size)
    return (
        family.name, f"{n}", f"{steps}", f"{size}", in_words(seconds), in_words(least),
        three_digits(seconds / least),
    )  # fmt: skip


def print_limit(*, quick: bool) -> None:
    print(
        f"The limit at gamma = {GAMMA:.0e}: a Newton step over n actions cannot avoid one product "
        "of n-by-n matrices and one factorisation. *Least* is the number of steps times these two "
        "in LAPACK (dsyrk, dpotrf, called through scipy), at the n of the last step; earlier ones "
        "are smaller. The time of graphcb holds checks, choosing the n actions among K and the "
        "proof over all K as well.\n"
    )
    print_table(
        ("graph", "K", "steps", "n", "graphcb", "least", "ratio"),
        (
            measured(family, n)
            for family in FAMILIES
            for n in (family.sizes[:1] if quick else family.sizes)
        ),
    )
