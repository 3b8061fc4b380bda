"""One round exactly: over every draw and all that it may reveal, no bet gains in expectation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import FeedbackGraph, graphs
from graphcb.agents import deviation
from graphcb.agents.deviation import Deviation
from graphcb.estimates.sums import BETS

REVIEW = FeedbackGraph([[0, 0, 0], [0, 0, 0], [1, 1, 1]])


def gain_of(round, action, losses):
    """What the round gained, by the formula in words: the baseline and the agent drawn together."""
    share = round.rest[action] / round.total if round.total > 0.0 else 0.0
    return (
        round.certain[action]
        + round.own[action] * losses[action]
        + share * (round.compared @ losses)
    )


def outcomes(round, losses):
    """Every draw and what it reveals, with probabilities: (probability, action, known)."""
    for action in np.flatnonzero(round.played).tolist():
        row = round.graph.row(action)
        certain = np.flatnonzero(row == 1.0).tolist()
        chances = np.flatnonzero((row > 0.0) & (row < 1.0)).tolist()
        for shown in itertools.product([False, True], repeat=len(chances)):
            chance = round.played[action]
            for index, is_shown in zip(chances, shown, strict=True):
                chance *= row[index] if is_shown else 1.0 - row[index]
            seen = certain + [i for i, is_shown in zip(chances, shown, strict=True) if is_shown]
            yield chance, action, {index: losses[index] for index in seen}


def growth(round, losses):
    """The expectation of each bet's factor, which must not exceed 1."""
    total = np.zeros(BETS.size)
    for chance, action, known in outcomes(round, losses):
        over = round.proof(action, known).estimated - gain_of(round, action, losses)
        total += chance * np.exp(0.5 * BETS * over)
    return total


@st.composite
def rounds(draw):
    n = draw(st.integers(2, 4))
    number = st.integers(0, 8).map(lambda eighths: eighths / 8)
    matrix = draw(
        st.lists(
            st.lists(st.sampled_from([0.0, 0.0, 0.25, 1.0, 1.0]), min_size=n, max_size=n),
            min_size=n,
            max_size=n,
        )
    )
    played, baseline = (
        np.array(draw(st.lists(number, min_size=n, max_size=n).filter(any))) for _ in range(2)
    )
    losses = np.array(draw(st.lists(number, min_size=n, max_size=n)))
    loss = draw(st.none() | number)
    epsilon = draw(st.sampled_from([0.02, 0.1, 0.5]))
    share = draw(st.sampled_from([0.0, 0.1, 0.5]))
    played, baseline = played / played.sum(), baseline / baseline.sum()
    played = (1.0 - share) * played + share * baseline
    return Deviation(played, baseline, FeedbackGraph(matrix), epsilon, loss), losses


@given(rounds())
def test_no_bet_grows_in_expectation(drawn):
    assert growth(*drawn).max() <= 1.0 + 1e-9


@given(rounds())
def test_what_is_certain_is_true_and_feedback_only_adds_to_it(drawn):
    round, losses = drawn
    for _, action, known in outcomes(round, losses):
        gain, nothing = gain_of(round, action, losses), round.proof(action, None)
        whole = round.proof(action, known)
        assert -round.risk - 1e-12 <= round.worst(action) <= nothing.least + 1e-12
        assert nothing.least <= whole.least + 1e-12 <= gain + 2e-12
        assert (nothing.estimated <= whole.estimated + 1e-9).all()


@given(rounds(), st.data())
def test_parts_that_come_in_any_order_only_add(drawn, data):
    """Also those that come by chance: until then, nothing is proven of their not coming."""
    round, losses = drawn
    for _, action, known in outcomes(round, losses):
        seen, before = {}, round.proof(action, None)
        for index in data.draw(st.permutations(list(known))):
            seen[index] = known[index]
            after = round.proof(action, seen)
            assert before.least <= after.least + 1e-12
            assert (before.estimated <= after.estimated + 1e-9).all()
            before = after


@pytest.mark.parametrize("edge", [1e-3, 1e-6, 1e-9, 1e-11, 1e-13])
@pytest.mark.parametrize("epsilon", [0.1, 1000.0])
def test_no_edge_is_so_small_that_losses_vanish_beside_its_penalty(edge, epsilon):
    graph = FeedbackGraph([[1.0, edge], [edge, 1.0]])
    round = Deviation(np.array([0.0, 1.0]), np.array([1.0, 0.0]), graph, epsilon, None)
    for known in (None, {1: 1.0}, {0: 0.5, 1: 1.0}):
        proof = round.proof(1, known)
        assert (np.abs(proof.estimated) <= 10.0 / BETS + 2.0 + epsilon).all()


@given(rounds())
def test_the_gain_is_expected_to_be_that_of_the_two_distributions(drawn):
    round, losses = drawn
    expected = sum(
        chance * gain_of(round, action, losses) for chance, action, _ in outcomes(*drawn)
    )
    direct = round.certain @ round.played + (round.own * round.played + round.compared) @ losses
    assert expected == pytest.approx(direct)


def test_with_a_point_as_baseline_the_gain_is_that_of_its_loss():
    played, losses = np.array([0.5, 0.2, 0.3]), np.array([0.3, 1.0, 0.25])
    round = Deviation(played, np.array([0.0, 0.0, 1.0]), REVIEW, 0.1, None)
    found = [gain_of(round, action, losses) for action in range(3)]
    np.testing.assert_allclose(found, 1.1 * 0.25 - losses)
    assert round.risk == 1.0
    known = Deviation(played, np.array([0.0, 0.0, 1.0]), REVIEW, 0.1, 0.4)
    found = [gain_of(known, action, losses) for action in range(3)]
    np.testing.assert_allclose(found, [0.44 - 0.3, 0.44 - 1.0, 0.04])


def test_where_everything_is_revealed_nothing_is_estimated():
    round = Deviation(
        np.array([0.5, 0.5]), np.array([0.0, 1.0]), graphs.full_information(2), 0.1, None
    )
    assert not round.needed.any()
    proof = round.proof(0, {0: 0.25, 1: 0.5})
    assert proof.least == pytest.approx(1.1 * 0.5 - 0.25)
    np.testing.assert_array_equal(proof.estimated, proof.least)


def test_the_baseline_itself_earns_epsilon_times_its_loss_once_that_is_seen():
    p = np.array([0.25, 0.75])
    round = Deviation(p, p, graphs.bandit(2), 0.1, None)
    assert round.risk == 0.0
    assert round.total == 0.0
    assert round.proof(1, None).least == 0.0
    assert round.proof(1, {1: 0.5}).least == pytest.approx(0.05)


def test_a_draw_that_reveals_nothing_needs_no_feedback():
    round = Deviation(np.array([0.5, 0.0, 0.5]), np.array([0.0, 0.0, 1.0]), REVIEW, 0.1, None)
    waiting, done = round.proof(2, None), round.proof(2, {0: 0.0, 1: 1.0, 2: 0.25})
    assert (waiting.estimated < done.estimated).all()
    silent = round.proof(0, None).estimated
    weights = np.array([-0.5, 0.0, 0.55])
    found = round._estimate(weights, {}, np.zeros(3, dtype=bool))
    np.testing.assert_array_equal(silent, found - deviation.draw_penalty(*round._spread(True)))


PLANTED = {
    "reveal probabilities that are too small": (
        lambda patch: patch.setattr(
            Deviation, "reveal", property(lambda r: 0.8 * r.graph.reveal_probabilities(r.played))
        )
    ),
    "the probability of playing in place of that of revealing": (
        lambda patch: patch.setattr(Deviation, "reveal", property(lambda r: r.played))
    ),
    "no penalty for draws": (
        lambda patch: patch.setattr(deviation, "draw_penalty", lambda *_: np.zeros(BETS.size))
    ),
    "no penalty for squares": (
        lambda patch: patch.setattr(
            deviation, "shrink", lambda _: (np.ones(BETS.size), np.zeros(BETS.size))
        )
    ),
    "half the range of draws": (
        lambda patch: patch.setattr(
            Deviation, "_spread", lambda r, h, s=Deviation._spread: (0.2 * s(r, h)[0], s(r, h)[1])
        )
    ),
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_planted_error_is_found(planted, monkeypatch):
    planted(monkeypatch)
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(300):
        n = int(rng.integers(2, 4))
        matrix = rng.choice([0.0, 1.0], size=(n, n)) if rng.random() < 0.5 else REVIEW.matrix
        n = len(matrix)
        agents, baseline = np.eye(n)[rng.integers(n)], np.eye(n)[n - 1]
        played = 0.5 * agents + 0.5 * baseline
        round = Deviation(played, baseline, FeedbackGraph(matrix), 0.1, None)
        worst = max(worst, growth(round, rng.choice([0.0, 0.1, 1.0], size=n)).max())
    assert worst > 1.0 + 1e-6
