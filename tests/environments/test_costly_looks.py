import numpy as np
import pytest

from graphcb import graphs
from graphcb.environments import CostlyLooks

GRAPH = graphs.apple_tasting(4)


def drawn(n_rounds=2000, seed=0):
    environment = CostlyLooks(GRAPH, costly=(0,), n_rounds=n_rounds)
    return environment, *environment.draw(np.random.default_rng(seed))


def test_expected_losses_are_linear_in_the_context():
    _, contexts, means, losses = drawn()
    weights, *_ = np.linalg.lstsq(contexts, means, rcond=None)
    np.testing.assert_allclose(contexts @ weights, means, atol=1e-12)
    assert set(losses.ravel().tolist()) == {0.0, 1.0}
    assert np.abs((losses - means).mean(axis=0)).max() < 0.04


def test_what_reveals_is_costly_in_every_round():
    _, _, means, _ = drawn()
    assert (means[:, 0] == 0.75).all()
    assert means[:, 1:].max() <= 0.6 + 1e-12
    assert means.min() > 0.0


def test_the_lead_shrinks_as_the_cube_root_and_its_holder_changes():
    environment, contexts, means, _ = drawn(n_rounds=20_000)
    leads, holders = [], []
    for block in range(environment.n_blocks):
        (row, *_) = np.flatnonzero(contexts[:, 4 + block])
        others = np.sort(means[row, 1:])
        leads.append(others[1] - others[0])
        holders.append(int(means[row].argmin()))
    sizes = 2.0 ** np.arange(6, 15)
    np.testing.assert_allclose(leads, np.minimum(0.3, 2.0 * sizes ** (-1 / 3)))
    assert len(set(holders)) > 1


def test_the_rounds_are_those_drawn_and_the_loss_is_regret():
    environment, contexts, means, losses = drawn(n_rounds=50)
    rounds = list(environment.rounds(np.random.default_rng(0)))
    for round, context, mean, loss in zip(rounds, contexts, means, losses, strict=True):
        np.testing.assert_array_equal(round.context, context)
        seen = environment.reveal(round, 0, np.random.default_rng(0))
        np.testing.assert_array_equal(seen.losses, loss)
        assert environment.reveal(round, 1, np.random.default_rng(0)).losses.size == 0
        regrets = [environment.loss(round, action) for action in range(4)]
        np.testing.assert_array_equal(regrets, mean - mean.min())


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"`costly` must leave at least two actions .* got 3 of 4"):
        CostlyLooks(GRAPH, costly=(0, 1, 2))
    with pytest.raises((ValueError, IndexError), match=r"`costly` must be .*, got 4"):
        CostlyLooks(GRAPH, costly=(4,))
    with pytest.raises(ValueError, match="`n_rounds` must be at least 1, got 0"):
        CostlyLooks(GRAPH, costly=(0,), n_rounds=0)
