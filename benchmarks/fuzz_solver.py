"""Fuzz run of `solve_dec` over all families: is every answer valid, proven, and in few steps?

    python benchmarks/fuzz_solver.py --programs 100000 --seed 0

An answer is invalid if it is no distribution, its value is not the DEC of its probabilities, or
its gap is contradicted by the value of the paper's closed form, where the graph has one. The
certificate itself is checked in exact arithmetic by tests/exploration/test_certificate.py.
"""

import argparse
import time
from collections import Counter, defaultdict

import numpy as np
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
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--programs", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--least-gamma", type=float, default=1e-3)
    given = arguments.parse_args()
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    steps: dict[str, list[int]] = defaultdict(list)
    gaps: dict[str, float] = defaultdict(float)
    hard: list[str] = []
    begin = time.perf_counter()
    drawn = random_programs(given.programs, given.seed, (given.least_gamma, 1e8))
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
                f"  #{number} {program.family}, K = {n}, {program.losses_kind} losses, "
                f"gamma {program.gamma:.3g}: {wrong or f'gap {relative:.2g}'}, "
                f"{solution.steps} steps"
            )
    seconds = time.perf_counter() - begin
    print(
        f"{'family':20s} {'programs':>8s} {'invalid':>8s} {'>1e-6':>6s} {'>1e-3':>6s} "
        f"{'restarts':>9s} {'median steps':>13s} {'99 %':>5s} {'max':>4s} {'worst gap':>9s}"
    )
    everything = Counter[str]()
    for family, row in [*rows.items(), ("all", everything)]:
        taken = steps[family] if family != "all" else [s for one in steps.values() for s in one]
        if family != "all":
            everything.update(row)
        worst = gaps[family] if family != "all" else max(gaps.values())
        print(
            f"{family:20s} {row['programs']:8d} {row['invalid']:8d} {row['above 1e-6']:6d} "
            f"{row['above 1e-3']:6d} {row['restarts']:9d} {np.median(taken):13.0f} "
            f"{np.percentile(taken, 99):5.0f} {max(taken):4d} {worst:9.1e}"
        )
    share = 1.0 - everything["above 1e-6"] / everything["programs"]
    print(f"certified to 1e-6: {share:.4%}; {seconds:.0f} s")
    print("\n".join(hard[:30]))


if __name__ == "__main__":
    main()
