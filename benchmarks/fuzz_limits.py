"""Fuzz run of `solve_dec` with random limits: is every answer valid, and how many are proven?

    python benchmarks/fuzz_limits.py --programs 50000 --seed 0

Programs as in fuzz_solver.py, each with random limits: floors and caps on a few or all actions,
fixed and forbidden actions, floors or caps that add up to 1, up to five linear limits, equations
among them. An answer is invalid if it breaks a limit, its value is not the DEC of its
probabilities, or its bound is above the value of another p within the limits.
"""

import sys
import time
from collections import Counter, defaultdict
from typing import Any

import numpy as np
from measure import part_arguments, print_table
from numpy.typing import NDArray
from programs import RandomProgram, random_programs

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
    given = part_arguments(
        __doc__,
        ("--programs", {"type": int, "default": 50_000}),
        ("--seed", {"type": int, "default": 0}),
        ("--least-gamma", {"type": float, "default": 1e-3}),
    )
    n_programs = 100 if given.quick else given.programs
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    steps: dict[str, list[int]] = defaultdict(list)
    gaps: dict[str, float] = defaultdict(float)
    hard: list[str] = []
    begin = time.perf_counter()
    drawn = random_programs(n_programs, given.seed, (given.least_gamma, 1e8))
    for number, program in enumerate(drawn):
        rng = np.random.default_rng([given.seed, number, 1])
        kind, limits = random_limits(program.losses.size, rng)
        solution = graphcb.solve_dec(program.losses, program.graph, program.gamma, limits=limits)
        wrong = invalid(program, limits, solution, rng)
        relative = solution.gap * program.gamma / (1.0 + solution.value * program.gamma)
        hidden = solution.status is graphcb.Status.NEVER_REVEALED
        row = rows[kind]
        row["programs"] += 1
        row["invalid"] += wrong is not None
        row["hidden"] += hidden
        row["above 1e-6"] += not (hidden or relative <= 1e-6)
        row["above 1e-3"] += not (hidden or relative <= 1e-3)
        row["restarts"] += solution.status is graphcb.Status.RESTARTED
        steps[kind].append(solution.steps)
        gaps[kind] = max(gaps[kind], 0.0 if hidden else relative)
        if wrong is not None or not (hidden or relative <= 1e-6):
            n = program.losses.size
            hard.insert(
                0 if wrong is not None else len(hard),
                f"- #{number} {kind}, {program.family}, K = {n}, {program.losses_kind} losses, "
                f"gamma {program.gamma:.3g}: {wrong or f'gap {relative:.2g}'}, "
                f"{solution.steps} steps",
            )
        if number % 5_000 == 4_999:
            print(f"{number + 1:,} programs, {len(hard)} hard", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - begin
    rows["all"] = sum(rows.values(), Counter[str]())
    steps["all"] = [count for one in list(steps.values()) for count in one]
    gaps["all"] = max(gaps.values())
    print(
        f"{n_programs:,} programs from seed {given.seed}, gamma log-uniform from "
        f"{given.least_gamma:g} to 1e8, K mostly to 60 and one in a hundred 200, in "
        f"{seconds:.0f} s. *Invalid*: a limit broken, a wrong value, or a bound above the value of "
        "another p within the limits. *Hidden*: the limits keep some action from being revealed.\n"
    )
    print_table(
        ("limits", "programs", "invalid", "hidden", "gap > 1e-6", "gap > 1e-3", "restarts",
         "median steps", "99 %", "most", "worst gap"),
        (
            (
                kind, row["programs"], row["invalid"], row["hidden"], row["above 1e-6"],
                row["above 1e-3"], row["restarts"], f"{np.median(steps[kind]):.0f}",
                f"{np.percentile(steps[kind], 99):.0f}", max(steps[kind]), f"{gaps[kind]:.1e}",
            )
            for kind, row in rows.items()
        ),
    )  # fmt: skip
    if hard:
        print("\n".join(["Those that are not proven:\n", *hard[:30]]))


if __name__ == "__main__":
    main()
