"""Probabilities that are not in the table."""

import numpy as np
import pyarrow as pa
import pytest

from graphcb import evaluate_table
from tests.tables.shop import shop, truth_of_new

ASKED = {"action": "item", "reward": "click", "policy": "new"}


def test_they_are_estimated_from_features_and_checked():
    found = evaluate_table(shop(20_000), features=["x", "country"], **ASKED)
    estimate = found.estimate
    assert estimate.normal.lower < truth_of_new() < estimate.normal.upper
    assert estimate.anytime is None  # which would leave no room for their error
    assert found.calibration.gap < 0.02
    assert found.calibration.log_loss < found.calibration.log_loss_of_shares - 0.03
    text = " ".join(found.rests_on)
    assert "estimated from x, country" in text
    assert "on 20,000 rows that were held out" in text


def test_features_that_do_not_say_how_actions_were_chosen_mislead():
    """By the shares of the actions alone: the estimate is biased, and says what it rests on."""
    found = evaluate_table(shop(20_000).select(["item", "click", "new"]), **ASKED)
    assert "as the shares of the actions" in found.rests_on[0]
    assert found.calibration is None


def test_no_interval_where_the_check_fails():
    """The probability of what was played tells what was played: it was not known before."""
    table = shop(5000).select(["item", "click", "new", "x", "p", "p_a", "p_b", "p_c", "p_d"])
    found = evaluate_table(table, **ASKED)
    assert found.calibration.fails
    assert all(one.normal is None for one in found["new"].estimates.values())
    assert "so intervals are withheld" in " ".join(found.rests_on)


def test_little_overlap_is_said():
    draws = np.random.default_rng(0)
    x = draws.normal(size=5000)
    item = np.where(draws.random(5000) < 1.0 / (1.0 + np.exp(-5.0 * x)), "b", "a")
    columns = {"item": item, "click": draws.integers(0, 2, 5000), "x": x}
    found = evaluate_table(
        columns, action="item", reward="click", policy="constant:a", features=["x"]
    )
    assert "little overlap" in " ".join(found.rests_on)


def test_identifiers_and_times_are_no_features():
    table = shop(500).select(["item", "click", "new", "x", "country", "order"])
    table = table.append_column("at", pa.array(range(500), pa.timestamp("us")))
    table = table.append_column("name", pa.array([f"user {k}" for k in range(500)]))
    found = evaluate_table(table, **ASKED)
    assert "estimated from x, country, and" in found.rests_on[0]


@pytest.mark.parametrize("n", [1, 2, 30])
def test_small_tables(n):
    found = evaluate_table(shop(n), features=["x"], action="item", reward="click", policy="logged")
    assert found.n_rows == n


def test_a_single_action_has_probability_one():
    columns = {"item": ["a"] * 50, "click": [0, 1] * 25, "x": np.arange(50.0)}
    found = evaluate_table(
        columns, action="item", reward="click", policy="constant:a", features=["x"]
    )
    assert found.estimate.value == 0.5
