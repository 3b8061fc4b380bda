from itertools import pairwise

import numpy as np
import pytest

from graphcb import SquareCBG, graphs
from graphcb.experiments.comparison import Comparison
from graphcb.experiments.progressive import Model, Player
from graphcb.oracles import LogisticOGD
from graphcb.streams import Columns, Examples, TableExamples, Targets

CONTEXTS = np.random.default_rng(0).normal(size=(300, 4))
LOSSES = 10.0 * np.random.default_rng(1).random((300, 3)) - 4.0
LOSSES[:, 1] -= 1.0
LOSS_RANGE = (-5.0, 6.0)


def agent():
    return SquareCBG(LogisticOGD(3, 4), gamma=30.0)


def model():
    targets = Targets(("a", "b", "c"), LOSS_RANGE)
    reading = TableExamples(Columns(tuple("wxyz"), (), losses=("a", "b", "c")), targets, bits=1)
    return Model(reading, Player(agent(), graphs.bandit(3), seed=3, loss_range=LOSS_RANGE))


def part(begin, end):
    return Examples(CONTEXTS[begin:end], LOSSES[begin:end], range(begin + 1, end + 1))


def score(comparison, cuts=(0, 7, 7, 200, 300)):
    played = []
    for begin, end in pairwise(cuts):
        piece = comparison.model.player.play(part(begin, end))
        comparison.add(part(begin, end), piece)
        played.append(piece.losses)
    return np.concatenate(played)


def test_the_model_and_the_best_constant_action_are_scored():
    comparison = Comparison(model())
    losses = score(comparison)
    assert comparison.mean_loss == pytest.approx(losses.mean())
    name, loss = comparison.best_constant
    assert name == "b"
    assert loss == pytest.approx(LOSSES[:, 1].mean())
    assert comparison.full_information_loss is None


def test_the_rival_is_the_same_learner_with_full_information():
    comparison = Comparison(model(), agent(), seed=3)
    score(comparison)
    alone = Player(agent(), graphs.full_information(3), seed=3, loss_range=LOSS_RANGE)
    expected = alone.play(part(0, 300)).losses
    assert comparison.full_information_loss == pytest.approx(expected.mean())


def test_the_curves_end_at_the_scores():
    comparison = Comparison(model(), agent(), seed=3)
    losses = score(comparison)
    rounds, curves = comparison.curves()
    assert list(curves) == ["SquareCB.G", "always b", "full information"]
    assert rounds == list(range(1, 301))
    np.testing.assert_allclose(curves["SquareCB.G"], np.cumsum(losses) / rounds)
    assert curves["always b"][-1] == comparison.best_constant[1]
    assert curves["full information"][-1] == comparison.full_information_loss


def test_counts_and_sums_after_each_row():
    comparison = Comparison(model())
    played = comparison.model.player.play(part(0, 5))
    counts, totals = comparison.add(part(0, 5), played)
    assert counts.tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(totals, np.cumsum(played.losses))
