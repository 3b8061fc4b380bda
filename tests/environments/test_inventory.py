import numpy as np
import pytest

from graphcb import graphs
from graphcb.environments import GrowingGrid, SyntheticInventory
from graphcb.oracles import NewsvendorOGD


def rounds(environment, seed=0):
    return list(environment.rounds(np.random.default_rng(seed)))


def test_is_the_problem_of_the_appendix():
    """Appendix C.2.2, "Dataset"."""
    played = rounds(SyntheticInventory(n_rounds=5000, levels=11))
    contexts = np.array([r.context for r in played])
    demands = np.array([r.hidden for r in played])
    assert contexts.shape == (5000, 100)
    assert contexts.mean() == pytest.approx(0.0, abs=1e-3)
    assert contexts.std() == pytest.approx(0.1, rel=0.01)
    assert demands.min() == 0.0
    assert demands.max() == 1.0
    # Linear in the context up to noise of the same size: about half the variance is explained.
    fit, *_ = np.linalg.lstsq(np.c_[contexts, np.ones(5000)], demands, rcond=None)
    residual = demands - np.c_[contexts, np.ones(5000)] @ fit
    assert 0.35 < 1 - residual.var() / demands.var() < 0.65


def test_same_stream_same_rounds_whatever_the_grid():
    few = rounds(SyntheticInventory(n_rounds=50, levels=11))
    many = rounds(SyntheticInventory(n_rounds=50, levels=501))
    for one, other in zip(few, many, strict=True):
        np.testing.assert_array_equal(one.context, other.context)
        assert one.hidden == other.hidden


def test_a_fixed_grid_has_its_levels_from_0_to_1():
    played = rounds(SyntheticInventory(n_rounds=3, levels=101))
    for r in played:
        assert r.graph == graphs.inventory(101)
        np.testing.assert_allclose(r.actions, np.arange(101) / 100)


def test_a_growing_grid_grows_as_it_says():
    played = rounds(SyntheticInventory(n_rounds=1000, levels=GrowingGrid(1 / 2)))
    assert [played[t - 1].graph.n_actions for t in (1, 2, 4, 5, 9, 10, 1000)] == [
        1,
        2,
        2,
        3,
        3,
        4,
        32,
    ]
    assert played[0].actions.tolist() == [1.0]
    assert played[4].actions.tolist() == [0.0, 0.5, 1.0]
    assert [GrowingGrid(1 / 3).size(t) for t in (27, 28, 1000, 1001, 9261)] == [3, 4, 10, 11, 21]


def test_a_level_reveals_the_costs_of_all_lower_ones():
    environment = SyntheticInventory(n_rounds=1, levels=5, holding_cost=0.25, backorder_cost=1.0)
    (r,) = rounds(environment)
    r = r._replace(hidden=0.6)
    seen = environment.reveal(r, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(seen.actions, [0.0, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(seen.losses, [0.6, 0.35, 0.1, 0.0375])
    assert environment.loss(r, 4) == pytest.approx(0.1)
    assert environment.loss(r, 0) == pytest.approx(0.6)


def test_the_oracle_can_represent_the_losses_exactly():
    environment = SyntheticInventory(n_rounds=1, levels=7)
    (r,) = rounds(environment)
    oracle = NewsvendorOGD(100, learning_rate=0.1, start=r.hidden)
    np.testing.assert_array_equal(
        oracle.predict(r.context, r.actions),
        environment.reveal(r, 6, np.random.default_rng(0)).losses,
    )


def test_bad_parameters():
    with pytest.raises(ValueError, match="`n_rounds` must be at least 1, got 0"):
        SyntheticInventory(n_rounds=0)
    with pytest.raises(ValueError, match="`levels` must be at least 2, got 1"):
        SyntheticInventory(levels=1)
    with pytest.raises(ValueError, match="`holding_cost` must be a positive finite number"):
        SyntheticInventory(holding_cost=0.0)
    with pytest.raises(ValueError, match=r"`power` must be in \(0, 1\], got 0.0"):
        GrowingGrid(0.0)
