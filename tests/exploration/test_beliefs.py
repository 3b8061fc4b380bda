"""Thompson sampling's looks, and looks that do not come by themselves."""

import math

import numpy as np
import pytest

from graphcb import graphs
from graphcb.exploration.beliefs import (
    ENOUGH,
    count_on_fewer,
    looks_of_thompson,
    shares_of,
    sharing,
)
from graphcb.exploration.information_directed import information_directed


def looks_at(f, deviations, best):
    shares = shares_of(f, deviations, np.ones(f.size), 1.0, 0.0)
    return looks_of_thompson(f, deviations, shares, best)


def test_two_actions_get_the_looks_of_thompson_sampling():
    f, deviations, rng = np.array([0.4, 0.5]), np.array([0.05, 0.1]), np.random.default_rng(0)
    share, coin = f, f * (1.0 - f)
    known = 1.0 - deviations**2 / coin
    leverage = (1.0 / known**2 - 1.0) / (2.0 * coin)
    mean = np.log(share / (1.0 - share)) * np.sqrt(1.0 + math.pi / 8.0 * leverage)
    drawn = mean + np.sqrt(leverage) * rng.standard_normal((200_000, 2))
    better = (drawn[:, 1] < drawn[:, 0]).mean()
    looks = looks_at(f, deviations, 0)
    assert looks[0] == 0.0
    assert looks[1] == pytest.approx(better / (1.0 + better), abs=0.01)


@pytest.mark.parametrize("n_actions", [5, 50])
def test_looks_at_actions_that_are_alike_are_shared_evenly(n_actions):
    f, deviations = np.full(n_actions, 0.3), np.full(n_actions, 0.1)
    looks = looks_at(f, deviations, 2)
    assert looks[2] == 0.0
    np.testing.assert_allclose(looks[np.arange(n_actions) != 2], 1.0 / (n_actions + 1), rtol=1e-12)


def test_what_is_certain_gets_no_look():
    looks = looks_at(np.array([0.1, 0.9]), np.array([1e-6, 1e-6]), 0)
    np.testing.assert_array_equal(looks, np.zeros(2))


def divided_among(owed, hidden, tells=0.5):
    """Of 16 parameters, after 15 looks; another one tells this share of what can be known."""
    divided = np.array([16.0])
    count_on_fewer(divided, 16.0, np.array([max(1.0, 16.0 * tells)]), np.array([owed]), hidden)
    return divided[0]


def test_looks_are_counted_on_as_far_as_they_came():
    assert divided_among(0.0, 1.0) == divided_among(1.0, 1.0) == 16.0
    assert divided_among(2.0, 1.0) == pytest.approx(4.0)
    assert divided_among(20.0, 1.0) == 1.0


def test_a_context_that_looks_elsewhere_left_out_is_owed_more():
    few = divided_among(2.0, 1.0, tells=0.01)
    assert few == divided_among(2.0, 1.0, tells=ENOUGH) == pytest.approx(4.0)
    assert divided_among(2.0, 1.0, tells=1.5 * ENOUGH) == pytest.approx(4.0 / 1.5**2)


def test_of_many_actions_fewer_are_worth_their_price():
    assert divided_among(2.0, 4.0) == pytest.approx(16.0 / 2.0**0.5)


def test_who_is_owed_looks_gets_them_where_others_do_not_help():
    forecast = np.array([0.5, 0.7]), np.array([0.02, 0.15]), np.array([0.01, 0.5])
    rest, none = (np.array([3000.0, 200.0]), 1.0), np.zeros(0)

    def played(owed):
        p, _, looks = information_directed(
            *forecast, *rest,
            graph=graphs.bandit(2), round_number=3000,
            memory=(0.0, 0.0, 200.0, 10.0), looks=(none, np.array([0.0, owed]), none, np.arange(2)),
        )  # fmt: skip
        return p[1], looks[1] - owed

    before, looks = played(0.0)
    assert played(2.0)[0] > 20.0 * before
    assert played(2.0)[0] == pytest.approx(looks, rel=0.3)


def test_looks_are_shared_among_fewer_for_actions_that_were_hardly_seen():
    counts = np.array([0.0, 0.0, 3.0, 0.0, 20.0, 3.0])
    expected = [16.0 * min(1.0, (1.0 + n) / 16.0) ** 0.5 for n in counts]
    np.testing.assert_allclose(sharing(16.0, counts, 0.5), expected)


def test_actions_that_are_alike_are_found_by_all_that_is_said_of_them():
    f, deviations = np.array([0.3, 0.4, 0.3, 0.3, 0.3]), np.array([0.1, 0.1, 0.1, 0.2, 0.1])
    divided = np.array([1.0, 1.0, 1.0, 1.0, 2.0])
    shares = shares_of(f, deviations, divided, 1.0, 0.0)
    assert shares.alike.tolist() == [0, 1, 0, 3, 4]
    np.testing.assert_allclose(shares.logits, np.log(f / (1.0 - f)))
