"""Extreme programs: is every answer of the solver a distribution with a bound that is true?

    python benchmarks/faults/extreme.py --programs 50000 --seed 0

The DEC of each answer is computed in whole numbers (`exactly`), and its bound is compared with the
DECs of other distributions: the uniform one, that of the closed form, and for one program in ten
that of a solution to a tolerance of 1e-10. One in ten is also solved in a batch, and played by an
agent. Exits with 1 if anything is wrong, or if an ordinary or hard program is not certified.
`--plant NAME` spoils one answer in fifty, to show that this is noticed.
"""

import dataclasses
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measure import part_arguments, print_table

import graphcb
from faults.exactly import exact_dec, exact_matrix
from faults.extreme_programs import REALMS, ExtremeProgram, extreme_programs
from graphcb.exploration import closed_form_for, closed_form_probabilities

KINDS = ("NaN", "exception", "no distribution", "false bound", "not certified")
HEADERS = ("realm", "family", "programs", *KINDS, "not certified, as allowed")
SAMPLE = 10  # one program in so many is also solved more closely, in a batch, and played
TOLERANCE = 1e-6

Spoil = Callable[[graphcb.Solution], graphcb.Solution]


def _raise(_: graphcb.Solution) -> graphcb.Solution:
    raise FloatingPointError("planted")


def _heavy(solution: graphcb.Solution) -> graphcb.Solution:
    return dataclasses.replace(solution, probabilities=solution.probabilities * (1.0 + 1e-9))


def _sure(solution: graphcb.Solution) -> graphcb.Solution:
    gap = 2.0 * TOLERANCE * max(solution.value, 1e300)
    return dataclasses.replace(solution, gap=gap, status=graphcb.Status.CERTIFIED)


_PLANTED: dict[str, Spoil] = {
    "nan": lambda solution: dataclasses.replace(solution, value=math.nan),
    "exception": _raise,
    "heavy": _heavy,
    "low value": lambda s: dataclasses.replace(s, value=s.value * (1.0 - 1e-6), gap=0.0),
    "no gap": lambda s: dataclasses.replace(s, gap=-2e-6 * s.value + s.gap),
    "certified": _sure,
    "uncertified": lambda s: dataclasses.replace(s, status=graphcb.Status.NOT_CERTIFIED),
}
PLANTS = tuple(_PLANTED)


class WrongError(Exception):
    """What is wrong with an answer: one of KINDS, and the details."""


class Constant:
    """An oracle that predicts the same losses every time."""

    def __init__(self, losses: Any) -> None:
        self.losses = losses

    def predict(self, context: Any, actions: Any) -> Any:
        return self.losses

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """Learns nothing."""


def _check_distribution(p: Any, of: str) -> None:
    if np.isnan(p).any():
        raise WrongError("NaN", f"probabilities of {of}")
    if not (p >= 0.0).all() or abs(math.fsum(p) - 1.0) > 1e-12:
        raise WrongError("no distribution", f"{of}: sum {math.fsum(p)!r}, least {p.min()!r}")


def _overflows(value: Fraction | None) -> bool:
    return value is None or value >= Fraction(sys.float_info.max)


def _check_numbers(solution: graphcb.Solution, gamma: float) -> None:
    value, gap = solution.value, solution.gap
    if math.isnan(value) or math.isnan(gap):
        raise WrongError("NaN", f"value {value}, gap {gap}")
    if not (value >= 0.0 and gap >= 0.0):
        raise WrongError("false bound", f"value {value}, gap {gap}")
    if solution.is_certified:
        if not (value < math.inf and gap < math.inf):
            raise WrongError("false bound", f"certified with value {value}, gap {gap}")
        allowed = Fraction(TOLERANCE) * (1 / Fraction(gamma) + Fraction(value))
        if Fraction(gap) > allowed * (1 + Fraction(1e-9)) + Fraction(1e-321):
            raise WrongError("false bound", f"certified with gap {gap} of {value}, gamma {gamma}")


def _check_value(solution: graphcb.Solution, exact: Fraction | None, gamma: float) -> None:
    """`value` is the DEC of the probabilities, up to rounding and at most `gap` above it."""
    value, gap = solution.value, solution.gap
    if value == math.inf:
        if not _overflows(exact):
            raise WrongError("false bound", f"value is infinite, should be {float(exact or 0)}")
        return
    if exact is None:
        raise WrongError("false bound", f"value {value}, should be infinite")
    room = Fraction(1e-9) * (1 / Fraction(gamma) + Fraction(value)) + Fraction(1e-321)
    if exact > Fraction(value) + (min(room, Fraction(gap)) if gap < math.inf else room):
        raise WrongError("false bound", f"value {value} is below the DEC, {float(exact)}")


def _check_bound(solution: graphcb.Solution, rival: Fraction | None, who: str) -> None:
    """No distribution has a DEC below `value - gap`."""
    if solution.value == math.inf:
        if not _overflows(rival):
            raise WrongError("false bound", f"value is infinite, but finite for {who}")
    elif solution.gap < math.inf and rival is not None:
        bound = Fraction(solution.value) - Fraction(solution.gap)
        if bound > rival:
            raise WrongError("false bound", f"{float(bound)!r}, but {who} has {float(rival)!r}")


def _check_dec(program: ExtremeProgram, p: Any, exact: Fraction | None) -> None:
    """`dec` rounds the exact value; where terms cancel, it loses digits of the largest one."""
    found = graphcb.dec(p, program.losses, program.graph, program.gamma)
    if math.isnan(found):
        raise WrongError("NaN", "dec")
    if found == math.inf:
        if not _overflows(exact):
            raise WrongError("false bound", f"dec is infinite, should be {float(exact or 0)}")
        return
    if exact is None:
        raise WrongError("false bound", f"dec is {found}, should be infinite")
    span = Fraction(float(program.losses.max())) - Fraction(float(program.losses.min()))
    room = Fraction(1e-12) * (1 / Fraction(program.gamma) + exact + span) + Fraction(1e-321)
    if abs(Fraction(found) - exact) > room:
        raise WrongError("false bound", f"dec is {found}, should be {float(exact)}")


def _same(one: graphcb.Solution, other: graphcb.Solution) -> bool:
    return (
        np.array_equal(one.probabilities, other.probabilities)
        and (one.value, one.gap, one.status) == (other.value, other.gap, other.status)
    )  # fmt: skip


def _check_more(program: ExtremeProgram, solution: graphcb.Solution, matrix: Any) -> None:
    """The sample: a closer solution, a batch, an agent."""
    losses, graph, gamma = program.losses, program.graph, program.gamma
    closer = graphcb.solve_dec(losses, graph, gamma, tolerance=1e-10, max_steps=300)
    _check_distribution(closer.probabilities, "a closer solution")
    rival = exact_dec(closer.probabilities, losses, matrix, gamma)
    _check_bound(solution, rival, "a closer solution")
    _check_value(closer, rival, gamma)
    batch = graphcb.solve_dec_batch(np.array([losses, losses]), graph, gamma)
    if not all(_same(row, graphcb.solve_dec(losses, graph, gamma)) for row in batch):
        raise WrongError("false bound", "a batch has another answer")
    for schedule in (gamma, graphcb.Automatic(gamma)):
        agent = graphcb.SquareCBG(Constant(losses), gamma=schedule)
        for _ in range(2):
            _check_distribution(agent.act(np.zeros(1), graph), "an agent")


def check(program: ExtremeProgram, sampled: bool, spoil: Spoil | None = None) -> bool:
    """Raise `WrongError` if an answer to this program is; return whether it is certified."""
    losses, graph, gamma = program.losses, program.graph, program.gamma
    solution = graphcb.solve_dec(losses, graph, gamma)
    if spoil is not None:
        solution = spoil(solution)
    p = solution.probabilities
    _check_distribution(p, "the solution")
    _check_numbers(solution, gamma)
    matrix = exact_matrix(graph)
    exact = exact_dec(p, losses, matrix, gamma)
    _check_value(solution, exact, gamma)
    _check_bound(solution, exact, "the solution itself")
    uniform = np.full(p.size, 1.0 / p.size)
    _check_bound(solution, exact_dec(uniform, losses, matrix, gamma), "the uniform distribution")
    if closed_form_for(graph) is not None:
        form = closed_form_probabilities(losses, graph, gamma)
        _check_distribution(form, "the closed form")
        rival = exact_dec(form, losses, matrix, gamma)
        _check_bound(solution, rival, "the closed form")
        _check_dec(program, form, rival)
    _check_dec(program, p, exact)
    if sampled:
        _check_more(program, solution, matrix)
    return solution.is_certified


def run(
    n_programs: int, seed: int, plant: str | None = None
) -> tuple[list[tuple[object, ...]], int]:
    """Check this many programs: rows for HEADERS, the last is the sum, and the number of faults."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    details: list[str] = []
    for number, program in enumerate(extreme_programs(n_programs, seed)):
        row = counts.setdefault((program.realm, program.family), Counter())
        row["programs"] += 1
        spoil = _PLANTED[plant] if plant is not None and number % 50 == 7 else None
        sampled = number // 4 % SAMPLE == 0
        kind, why = "", ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                if not check(program, sampled, spoil):
                    kind = "not certified" if program.realm != "extreme" else HEADERS[-1]
        except WrongError as wrong:
            kind, why = wrong.args
        except Exception as problem:
            kind, why = "exception", f"{type(problem).__name__}: {problem}"
        row[kind] += 1
        if kind in KINDS:
            size = f"K = {program.losses.size}, {program.losses_kind} losses"
            details.append(
                f"- #{number} {program.realm}, {program.family}, {size}, "
                f"gamma {program.gamma:.3g}: {kind} {why}"
            )
    order = sorted(counts, key=lambda key: (REALMS.index(key[0]), key[1]))
    rows: list[tuple[object, ...]] = [
        (*key, *(counts[key][name] for name in HEADERS[2:])) for key in order
    ]
    total = sum(counts.values(), Counter[str]())
    rows.append(("all", "all", *(total[name] for name in HEADERS[2:])))
    for line in details[:40]:
        print(line, file=sys.stderr, flush=True)
    return rows, sum(total[kind] for kind in KINDS)


def main() -> None:
    given = part_arguments(
        __doc__,
        ("--programs", {"type": int, "default": 50_000}),
        ("--seed", {"type": int, "default": 0}),
        ("--plant", {"choices": PLANTS, "help": "spoil one answer in fifty like this"}),
    )
    n_programs = 400 if given.quick else given.programs
    begin = time.perf_counter()
    rows, faults = run(n_programs, given.seed, given.plant)
    print(
        f"{n_programs:,} programs from seed {given.seed} in {time.perf_counter() - begin:.0f} s, "
        f"{faults} faults. Every bound is checked in exact arithmetic against the answer itself, "
        f"the uniform distribution and the closed form, one in {SAMPLE} against a solution to "
        "1e-10.\n"
    )
    print_table(HEADERS, rows)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
