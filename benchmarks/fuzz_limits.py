"""Fuzz run of `solve_dec` with random limits: is every answer valid, and how many are proven?

    python benchmarks/fuzz_limits.py --programs 50000 --seed 0

Programs as in fuzz_solver.py, each with random limits: floors and caps on a few or all actions,
fixed and forbidden actions, floors or caps that add up to 1, up to five linear limits, equations
among them. An answer is invalid if it breaks a limit, its value is not the DEC of its
probabilities, or its bound is above the value of another p within the limits.
"""

from typing import Any

import numpy as np
from fuzzing import Judged, fuzz, fuzz_arguments
from numpy.typing import NDArray
from programs import RandomProgram

import graphcb
from graphcb.exploration import BoxAndRows

Rng = np.random.Generator


def random_limits(n: int, rng: Rng) -> tuple[str, graphcb.Limits]:
    """Limits that a random distribution meets, so that they do not clash."""
    inside = rng.dirichlet(np.full(n, 10.0 ** rng.uniform(-1.0, 1.0)))
    some = rng.permutation(n)[: int(rng.integers(1, n + 1))]
    share = rng.random() if rng.random() < 0.7 else 10.0 ** rng.uniform(-9.0, 0.0)
    kind = ("floors", "caps", "both", "fixed", "no choice", "linear", "mixed")[rng.integers(7)]
    if kind == "no choice":
        which = {"floors": inside} if rng.random() < 0.5 else {"caps": inside}
        return kind, graphcb.Limits(**_rounded(which))
    given: dict[str, Any] = {}
    if kind in ("floors", "both", "mixed"):
        given["floors"] = {int(i): float(inside[i] * share) for i in some}
    if kind in ("caps", "both", "mixed"):
        room = 10.0 ** rng.uniform(-6.0, 0.3, n)
        given["caps"] = {int(i): float(min(1.0, inside[i] * (1.0 + room[i]))) for i in some}
    if kind == "fixed":
        given["floors"] = {int(i): float(inside[i]) for i in some}
        given["caps"] = dict(given["floors"])
        if n > 1 and rng.random() < 0.5:
            given = {"caps": {int(i): 0.0 for i in some[: n // 2]}}
    if kind in ("linear", "mixed"):
        given["linear"] = [_linear(n, inside, rng) for _ in range(rng.integers(1, 6))]
    return kind, graphcb.Limits(**given)


def _rounded(given: dict[str, NDArray[np.float64]]) -> dict[str, list[float]]:
    return {name: (values / values.sum()).tolist() for name, values in given.items()}


def _linear(n: int, inside: NDArray[np.float64], rng: Rng) -> dict[str, Any]:
    some = np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])
    weights = np.ones(some.size) if rng.random() < 0.6 else rng.normal(size=some.size)
    if rng.random() < 0.1:
        weights *= 10.0 ** rng.uniform(-3.0, 6.0)
    held = float(weights @ inside[some])
    size = float(np.abs(weights).max())
    wide = 0.0 if rng.random() < 0.15 else size * 10.0 ** rng.uniform(-6.0, -0.5)
    table: dict[str, Any] = {"weights": dict(zip(some.tolist(), weights.tolist(), strict=True))}
    which = rng.integers(3)
    if which != 0:
        table["at_most"] = held + wide
    if which != 1:
        table["at_least"] = held - wide
    return table


def broken(box: BoxAndRows, p: NDArray[np.float64]) -> str | None:
    """Which limit p breaks, or None."""
    if not ((p >= box.lower) & (p <= box.upper)).all():
        return "a floor or a cap is broken"
    if abs(p.sum() - 1.0) > 1e-9:
        return f"the sum is off by {p.sum() - 1.0}"
    if box.most.size and (box.rows @ p - box.most).max() > 1e-9:
        return f"a linear limit is exceeded by {(box.rows @ p - box.most).max()}"
    return None


def invalid(
    program: RandomProgram, limits: graphcb.Limits, solution: graphcb.Solution, rng: Rng
) -> str | None:
    """What is wrong with an answer, or None."""
    p, gamma, (losses, graph) = solution.probabilities, program.gamma, program[2:4]
    box = limits.on(range(p.size))
    if box is not None and (wrong := broken(box, p)):
        return wrong
    if not solution.gap >= 0.0:
        return "gap is negative or NaN"
    value = graphcb.dec(p / p.sum(), losses, graph, gamma)
    if solution.status is graphcb.Status.NEVER_REVEALED:
        return None if value == np.inf else f"it is revealed: the DEC is {value}"
    if value == solution.value == np.inf:
        return None
    if not abs(value - solution.value) * gamma <= 1e-7 * (1.0 + abs(value) * gamma):
        return f"value {solution.value} is not the DEC {value}"
    for _ in range(2):  # another p within the limits, and one on the way to it
        other = graphcb.solve_dec(
            losses + 0.3 * rng.normal(size=p.size) * np.ptp(losses),
            graph,
            gamma * 10.0 ** rng.uniform(-1.0, 1.0),
            limits=limits,
        ).probabilities
        for rival in (other, 0.01 * other + 0.99 * p):
            rival = rival / rival.sum()
            if box is not None and (box.rows @ rival > box.most + 1e-15).any():
                continue  # within 1e-9, which proves nothing where p itself is so small
            rivals = graphcb.dec(rival, losses, graph, gamma)
            bound = solution.value - solution.gap
            if rivals * gamma < bound * gamma - 1e-7 * (1.0 + abs(rivals) * gamma):
                return f"another p has {rivals}, below the bound {bound}"
    return None


def main() -> None:
    given = fuzz_arguments(__doc__, 50_000)

    def answer(number: int, program: RandomProgram) -> Judged:
        rng = np.random.default_rng([given.seed, number, 1])
        kind, limits = random_limits(program.losses.size, rng)
        solution = graphcb.solve_dec(program.losses, program.graph, program.gamma, limits=limits)
        return Judged(kind, solution, invalid(program, limits, solution, rng))

    meaning = (
        "*Invalid*: a limit broken, a wrong value, or a bound above the value of another p within "
        "the limits. *Hidden*: the limits keep some action from being revealed."
    )
    fuzz(given, answer, "limits", meaning)


if __name__ == "__main__":
    main()
