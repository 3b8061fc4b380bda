"""Are the answers of `solve_dec` the same as before? For changes that must not change them.

    PYTHONPATH=OLD/src python benchmarks/same_answers.py --store /tmp/answers.npz
    python benchmarks/same_answers.py --compare /tmp/answers.npz

Programs are those of the fuzz runs, without limits and with random ones. Without limits, how many
answers have the same bits; with limits, how far values and probabilities are from each other.
"""

import argparse
from typing import Any

import numpy as np
from fuzz_limits import random_limits
from programs import random_programs

import graphcb


def answers(n_programs: int, seed: int, limited: bool) -> dict[str, Any]:
    """Probabilities one after the other, and a row of numbers for each program."""
    each, numbers = [], []
    for number, program in enumerate(random_programs(n_programs, seed)):
        rng = np.random.default_rng([seed, number, 7])
        n = program.losses.size
        limits = random_limits(n, rng)[1] if limited else None
        one = graphcb.solve_dec(program.losses, program.graph, program.gamma, limits=limits)
        each.append(one.probabilities)
        status = list(graphcb.Status).index(one.status)
        numbers.append((one.value, one.gap, one.steps, status, program.gamma))
    return {"p": np.concatenate(each), "n": [p.size for p in each], "numbers": np.array(numbers)}


def report(now: dict[str, Any], old: dict[str, Any], name: str) -> None:
    """How many are equal to the bit, and how far off the others are."""
    ends = np.cumsum(now["n"])[:-1]
    pairs = zip(np.split(now["p"], ends), np.split(old["p"], ends), strict=True)
    off = np.array([np.abs(one - other).max() for one, other in pairs])
    (value, gap, steps, status, gamma), before = now["numbers"].T, old["numbers"].T
    same = (off == 0.0) & (value == before[0]) & (gap == before[1]) & (steps == before[2])
    with np.errstate(invalid="ignore"):
        change = np.abs(value - before[0]) * gamma / (1.0 + np.abs(value) * gamma)
    change = np.where(value == before[0], 0.0, change)
    print(
        f"{name}: {same.size:,} programs, {same.sum():,} with the same bits, steps "
        f"{before[2].mean():.3f} -> {steps.mean():.3f}, other status {(status != before[3]).sum()}"
    )
    for what, numbers in (("values", change), ("probabilities", off)):
        above = ", ".join(f"{(numbers > d).sum()} by more than {d:g}" for d in (1e-12, 1e-9, 1e-6))
        print(f"  {what} that differ: {above}, at most {numbers.max():.2g}")
    for k in np.argsort(-off)[:8]:
        if off[k] > 1e-9:
            print(f"    #{k}: p {off[k]:.1e}, value {change[k]:.1e}, steps {before[2, k]:.0f} -> "
                  f"{steps[k]:.0f}, gamma {gamma[k]:.2g}, status {before[3, k]:.0f} -> "
                  f"{status[k]:.0f}")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--store")
    parser.add_argument("--compare")
    given = parser.parse_args()
    for name in ("free", "limited"):
        found = answers(given.programs, given.seed, name == "limited")
        if given.store:
            np.savez(f"{given.store}.{name}.npz", **found)
        if given.compare:
            report(found, dict(np.load(f"{given.compare}.{name}.npz")), name)
