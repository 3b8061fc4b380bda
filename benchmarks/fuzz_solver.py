"""Fuzz run of `solve_dec` over all families: is every answer valid, proven, and in few steps?

    python benchmarks/fuzz_solver.py --programs 100000 --seed 0

An answer is invalid if it is no distribution, its value is not the DEC of its probabilities, or
its gap is contradicted by the value of the paper's closed form, where the graph has one. The
certificate itself is checked in exact arithmetic by tests/exploration/solver/test_certificate.py.
"""

from fuzzing import Judged, fuzz, fuzz_arguments
from programs import RandomProgram

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
    given = fuzz_arguments(__doc__, 20_000)

    def answer(number: int, program: RandomProgram) -> Judged:
        solution = graphcb.solve_dec(program.losses, program.graph, program.gamma)
        return Judged(program.family, solution, invalid(program, solution))

    meaning = (
        "*Invalid*: no distribution, a wrong value, or a bound that a closed form contradicts."
    )
    share = fuzz(given, answer, "family", meaning)
    print(f"Certified to 1e-6: {share:.4%} of all.\n")


if __name__ == "__main__":
    main()
