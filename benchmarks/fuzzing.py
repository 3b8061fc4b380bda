"""What the fuzz runs share: random programs one after the other, a tally of answers, its table."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from measure import part_arguments, print_table
from programs import RandomProgram, random_programs

import graphcb

COLUMNS = ("programs", "invalid", "hidden", "gap > 1e-6", "gap > 1e-3", "restarts")


class Judged(NamedTuple):
    """An answer, the row of the table that it counts in, and what is wrong with it, if anything."""

    row: str
    solution: graphcb.Solution
    wrong: str | None


def fuzz_arguments(description: str | None, n_programs: int) -> Any:
    """The arguments of a fuzz run; `--quick` makes it a hundred programs."""
    given = part_arguments(
        description,
        ("--programs", {"type": int, "default": n_programs}),
        ("--seed", {"type": int, "default": 0}),
        ("--least-gamma", {"type": float, "default": 1e-3}),
    )
    given.programs = 100 if given.quick else given.programs
    return given


def fuzz(
    given: Any, answer: Callable[[int, RandomProgram], Judged], rows_are: str, meaning: str
) -> float:
    """Answer all programs and print the tally; the share of answers proven to 1e-6.

    Rows are the `rows_are` of programs, and `meaning` says what counts as invalid. An answer is
    hidden if limits keep an action from being revealed: there is nothing to prove then.
    """
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    steps: dict[str, list[int]] = defaultdict(list)
    gaps: dict[str, float] = defaultdict(float)
    hard: list[str] = []
    begin = time.perf_counter()
    drawn = random_programs(given.programs, given.seed, (given.least_gamma, 1e8))
    for number, program in enumerate(drawn):
        row, solution, wrong = answer(number, program)
        hidden = solution.status is graphcb.Status.NEVER_REVEALED
        relative = solution.gap * program.gamma / (1.0 + solution.value * program.gamma)
        relative = 0.0 if hidden else relative
        counted = (
            True, wrong is not None, hidden, not relative <= 1e-6, not relative <= 1e-3,
            solution.status is graphcb.Status.RESTARTED,
        )  # fmt: skip
        rows[row].update(dict(zip(COLUMNS, map(int, counted), strict=True)))
        steps[row].append(solution.steps)
        gaps[row] = max(gaps[row], relative)
        if wrong is not None or not relative <= 1e-6:
            kind = f"{row}, " if row != program.family else ""
            hard.insert(
                0 if wrong is not None else len(hard),
                f"- #{number} {kind}{program.family}, K = {program.losses.size}, "
                f"{program.losses_kind} losses, gamma {program.gamma:.3g}: "
                f"{wrong or f'gap {relative:.2g}'}, {solution.steps} steps",
            )
        if number % 5_000 == 4_999:
            print(f"{number + 1:,} programs, {len(hard)} hard", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - begin
    rows["all"] = sum(rows.values(), Counter[str]())
    steps["all"] = [count for one in list(steps.values()) for count in one]
    gaps["all"] = max(gaps.values())
    print(
        f"{given.programs:,} programs from seed {given.seed}, gamma log-uniform from "
        f"{given.least_gamma:g} to 1e8, K mostly to 60 and one in a hundred 200, in "
        f"{seconds:.0f} s. The gap is on gamma * DEC, relative to 1 + its value. {meaning}\n"
    )
    shown = [column for column in COLUMNS if column != "hidden" or rows["all"]["hidden"]]
    print_table(
        (rows_are, *shown, "median steps", "99 %", "most", "worst gap"),
        (
            (
                row, *(counts[column] for column in shown), f"{np.median(steps[row]):.0f}",
                f"{np.percentile(steps[row], 99):.0f}", max(steps[row]), f"{gaps[row]:.1e}",
            )
            for row, counts in rows.items()
        ),
    )  # fmt: skip
    if hard:
        print("\n".join(["Those that are not proven:\n", *hard[:30]]))
    return 1.0 - rows["all"]["gap > 1e-6"] / rows["all"]["programs"]
