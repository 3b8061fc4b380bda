"""Evidence that something changed: bounded while nothing does, quick where something did."""

import numpy as np
import pytest

from graphcb.compilation import compiled
from graphcb.estimates.stillness import (
    BETS,
    CHANCE,
    EVIDENCE,
    IS_ON,
    LARGEST,
    MOST,
    WIDTH,
    alarms,
    check_known,
    settle,
)


@compiled
def _settle_all(known, gains, n_things):
    most = 0.0
    for t in range(gains.shape[0]):
        settle(known, gains[t], n_things, float(t + 1))
        most = max(most, known[EVIDENCE : EVIDENCE + BETS].mean())
    return most


def _coins(rng, n, share, guess=0.7):
    """Gains of bets that a fair coin falls on one side, and on the other."""
    wins = rng.random(n) < share
    up, down = np.log(2.0 * guess), np.log(2.0 * (1.0 - guess))
    return np.stack([np.where(wins, up, down), np.where(wins, down, up)], axis=1)


def test_evidence_of_fair_bets_seldom_grows():
    rng = np.random.default_rng(0)
    most = [_settle_all(np.zeros(WIDTH), _coins(rng, 2000, 0.5), 1.0) for _ in range(400)]
    for level in (5.0, 20.0, 100.0):  # Ville's inequality, with three deviations of its own
        share = np.mean(np.array(most) >= level)
        assert share <= 1.0 / level + 3.0 * np.sqrt(1.0 / level / len(most))


def test_the_weights_of_beginnings_have_sum_1():
    k = np.arange(2, 10**6)
    rest = 1.0 / np.log(10**6)  # the integral of 1 / (k log(k)^2) from there on
    assert (1.0 / (k * np.log(k) ** 2)).sum() + rest == pytest.approx(2.11, abs=1e-3)


def test_an_unfair_coin_raises_an_alarm_since_it_is_unfair():
    known = np.zeros((1, WIDTH))
    rng = np.random.default_rng(1)
    _settle_all(known[0], np.append(_coins(rng, 1000, 0.5), _coins(rng, 300, 0.8), axis=0), 3.0)
    (alarm,) = alarms("action", ["review"], known, 3.0)
    assert (alarm.kind, alarm.name, alarm.is_on, alarm.over) == ("action", "review", True, None)
    assert 950 <= alarm.since <= 1030 < alarm.raised <= 1300
    assert alarm.chance <= CHANCE / 2


def test_an_alarm_ends_when_the_coin_is_fair_again():
    known = np.zeros((1, WIDTH))
    rng = np.random.default_rng(2)
    parts = [_coins(rng, n, share) for n, share in ((500, 0.5), (2000, 0.8), (2000, 0.5))]
    _settle_all(known[0], np.concatenate(parts), 1.0)
    (alarm,) = alarms("feature", ["age"], known, 1.0)
    assert not alarm.is_on
    assert 2500 <= alarm.over <= 3500
    assert known[0, MOST] <= LARGEST


def test_more_things_need_more_evidence():
    few, many = np.zeros(WIDTH), np.zeros(WIDTH)
    gains = np.full((60, BETS), 0.3)
    _settle_all(few, gains, 1.0)
    _settle_all(many, gains, 1e6)
    assert (few[IS_ON], many[IS_ON]) == (1.0, 0.0)


def test_evidence_below_0_is_refused():
    known = np.zeros((2, WIDTH))
    known[1, EVIDENCE] = -1.0
    with pytest.raises(ValueError, match="`known` must have evidence of at least 0, got -1"):
        check_known(known)
