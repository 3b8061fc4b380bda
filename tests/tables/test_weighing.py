import numpy as np
import pytest

from graphcb import evaluate_table
from graphcb.tables.weighing import EXPECTED_ONE, _in_units


@pytest.mark.parametrize("probability", [1e-12, 1e-20, 1e-150])
def test_weights_of_tiny_probabilities_do_not_overflow(probability):
    """A sum of squared weights beyond 2^63 was negative, with as many decisions that carry it."""
    table = {
        "action": ["a", "b"] * 25,
        "p_a": [probability] * 50,
        "p_b": [1.0 - probability] * 50,
        "reward": [1.0, 0.0] * 25,
    }
    found = evaluate_table(
        table,
        action="action",
        probability={"a": "p_a", "b": "p_b"},
        reward="reward",
        policy="constant:a",
    )
    assert "constant:a: 0 of 50 decisions carry the weight" in str(found)


def test_sums_are_exact_beyond_machine_integers():
    parts = np.array([2.0**60, 2.0**61, 1.0])
    expected = (2**60 + 2**61 + 1) * EXPECTED_ONE
    assert _in_units(parts, EXPECTED_ONE) == _in_units(parts[::-1], EXPECTED_ONE) == expected
