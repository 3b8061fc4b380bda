from itertools import pairwise

import numpy as np
import pytest

from graphcb import Learner, Problem, SquareCBG, graphs
from graphcb.experiments.comparison import Comparison
from graphcb.experiments.model import Model
from graphcb.experiments.progressive import Player
from graphcb.oracles import LogisticOGD
from graphcb.streams import Columns, Examples, TableExamples, Targets

CONTEXTS = np.random.default_rng(0).normal(size=(300, 4))
LOSSES = 10.0 * np.random.default_rng(1).random((300, 3)) - 4.0
LOSSES[:, 1] -= 1.0
LOSS_RANGE = (-5.0, 6.0)


def agent():
    return SquareCBG(LogisticOGD(3, 4), gamma=30.0)


def model():
    targets, kinds = Targets(("a", "b", "c"), LOSS_RANGE), dict.fromkeys("wxyz", "number")
    columns = Columns(tuple("wxyz"), (), losses=("a", "b", "c"))
    reading = TableExamples(columns, targets, bits=1, kinds=kinds)
    problem = Problem(["a", "b", "c"], range=LOSS_RANGE, features=kinds)
    return Model(Learner(problem, agent()), reading, seed=3)


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
    assert comparison.means_by_seed[0] == pytest.approx(losses.mean())
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


def test_the_rival_sees_everything_where_each_row_has_its_own_graph():
    """Before, it saw no more than the graph of the row showed."""
    comparison = Comparison(model(), agent(), seed=3)
    comparison.model.player.graph = None
    examples = part(0, 300)._replace(graphs=[graphs.bandit(3)] * 300)
    comparison.add(examples, comparison.model.player.play(examples))
    alone = Player(agent(), graphs.full_information(3), seed=3, loss_range=LOSS_RANGE)
    assert comparison.rival_total == alone.play(part(0, 300)).losses.cumsum()[-1]


def test_the_curves_end_at_the_last_row_however_many_there_are():
    """Before, a figure of 1,501 rows ended at row 1,500, with another number in its legend."""
    comparison = Comparison(model(), agent(), seed=3)
    contexts, losses = np.tile(CONTEXTS, (6, 1))[:1501], np.tile(LOSSES, (6, 1))[:1501]
    examples = Examples(contexts, losses, range(1501))
    comparison.add(examples, comparison.model.player.play(examples))
    rounds, curves = comparison.curves()
    assert rounds[-2:] == [1500, 1501]
    assert curves["SquareCB.G"][-1] == comparison.means_by_seed[0]
    assert curves["always b"][-1] == comparison.best_constant[1]
    assert curves["full information"][-1] == comparison.full_information_loss


def test_repeats_have_draws_of_their_own():
    repeats = [Player(agent(), graphs.bandit(3), seed=s, loss_range=LOSS_RANGE) for s in (4, 5)]
    comparison = Comparison(model(), repeats=repeats)
    losses = score(comparison)
    first, *others = comparison.means_by_seed.tolist()
    assert first == pytest.approx(losses.mean())
    for seed, mean in zip((4, 5), others, strict=True):
        alone = Player(agent(), graphs.bandit(3), seed=seed, loss_range=LOSS_RANGE)
        assert mean == pytest.approx(alone.play(part(0, 300)).losses.mean())
    assert len({first, *others}) == 3


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
    sums = comparison.add(part(0, 5), played)
    assert sums.counts.tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(sums.totals, np.cumsum(played.losses))
