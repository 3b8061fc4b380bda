"""Fuzz run of `solve_dec` over all families: is every answer valid, proven, and in few steps?

    python benchmarks/fuzz_solver.py --programs 100000 --seed 0

An answer is invalid if it is no distribution, its value is not the DEC of its probabilities, or
its gap is contradicted by the value of the paper's closed form, where the graph has one. The
certificate itself is checked in exact arithmetic by tests/exploration/solver/test_certificate.py.
"""

import sys
import time
from collections import Counter, defaultdict

import numpy as np
from measure import part_arguments, print_table
from programs import RandomProgram, random_programs

import graphcb
from graphcb.exploration import closed_form_for, closed_form_probabilities


def invalid(program: RandomProgram, solution: graphcb.Solution) -> str | None:
    """What is wrong with an answer, or None."""
    p, gamma = solution.probabilities, program.gamma
    if not (p >= 0.0).all() or abs(p.sum() - 1.0) > 1e-12:
        return "not a distribution"
    if not solution.gap >= 0.0:
        return "gap is negative or NaN"
    value = graphcb.dec(p, program.losses, program.graph, gamma)
    if not abs(value - solution.value) * gamma <= 1e-7 * (1.0 + abs(value) * gamma):
        return f"value {solution.value} is not the DEC {value}"
    if closed_form_for(program.graph) is not None:
        other = closed_form_probabilities(program.losses, program.graph, gamma)
        rival = graphcb.dec(other, program.losses, program.graph, gamma)
        if rival * gamma < (solution.value - solution.gap) * gamma - 1e-9 * (1 + rival * gamma):
            return f"the closed form has {rival}, below the bound"
    return None


def main() -> None:
    given = part_arguments(
        __doc__,
        ("--programs", {"type": int, "default": 20_000}),
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
        solution = graphcb.solve_dec(program.losses, program.graph, program.gamma)
        wrong = invalid(program, solution)
        relative = solution.gap * program.gamma / (1.0 + solution.value * program.gamma)
        row = rows[program.family]
        row["programs"] += 1
        row["invalid"] += wrong is not None
        row["above 1e-6"] += not relative <= 1e-6
        row["above 1e-3"] += not relative <= 1e-3
        row["restarts"] += solution.status is graphcb.Status.RESTARTED
        steps[program.family].append(solution.steps)
        gaps[program.family] = max(gaps[program.family], relative)
        if wrong is not None or not relative <= 1e-6:
            n = program.losses.size
            hard.append(
                f"- #{number} {program.family}, K = {n}, {program.losses_kind} losses, "
                f"gamma {program.gamma:.3g}: {wrong or f'gap {relative:.2g}'}, "
                f"{solution.steps} steps"
            )
        if number % 10_000 == 9_999:
            print(f"{number + 1:,} programs", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - begin
    rows["all"] = sum(rows.values(), Counter[str]())
    steps["all"] = [count for one in list(steps.values()) for count in one]
    gaps["all"] = max(gaps.values())
    print(
        f"{n_programs:,} programs from seed {given.seed}, gamma log-uniform from "
        f"{given.least_gamma:g} to 1e8, K mostly to 60 and one in a hundred 200, in "
        f"{seconds:.0f} s. The gap is on gamma * DEC, relative to 1 + its value. *Invalid*: no "
        "distribution, a wrong value, or a bound that a closed form contradicts.\n"
    )
    print_table(
        ("family", "programs", "invalid", "gap > 1e-6", "gap > 1e-3", "restarts",
         "median steps", "99 %", "most", "worst gap"),
        (
            (
                family, row["programs"], row["invalid"], row["above 1e-6"], row["above 1e-3"],
                row["restarts"], f"{np.median(steps[family]):.0f}",
                f"{np.percentile(steps[family], 99):.0f}", max(steps[family]),
                f"{gaps[family]:.1e}",
            )
            for family, row in rows.items()
        ),
    )  # fmt: skip
    share = 1.0 - rows["all"]["above 1e-6"] / rows["all"]["programs"]
    print(f"Certified to 1e-6: {share:.4%} of all.\n")
    if hard:
        print("\n".join(["Those that are not:\n", *hard[:30]]))


if __name__ == "__main__":
    main()
