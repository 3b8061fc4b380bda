"""A few thousand of the programs of `benchmarks/fuzz_solver.py`."""

import fuzz_solver
import numpy as np
import programs
import pytest

import graphcb


@pytest.mark.parametrize(
    "seed", [101, *(pytest.param(s, marks=pytest.mark.slow) for s in (102, 103))]
)
def test_every_answer_is_valid_and_nearly_all_are_proven(seed):
    steps, proven = [], []
    for program in programs.random_programs(1_000, seed):
        solution = graphcb.solve_dec(program.losses, program.graph, program.gamma)
        assert fuzz_solver.invalid(program, solution) is None, program
        gap, value = solution.gap * program.gamma, solution.value * program.gamma
        assert gap <= 1e-3 * (1.0 + value), program
        assert solution.is_certified == (gap <= 1e-6 * (1.0 + value) * (1.0 + 1e-12))
        steps.append(solution.steps)
        proven.append(solution.is_certified)
    assert np.mean(proven) >= 0.999
    assert np.median(steps) <= 12
    assert max(steps) <= 100
