import numpy as np
import pytest

from graphcb import graphs
from graphcb.environments import GrowingGrid, KnownLosses, SyntheticInventory
from graphcb.experiments import run
from graphcb.experiments.constant import best_constant


class Always:
    """Plays one action in every round."""

    def __init__(self, action):
        self.action = action

    def act(self, context, graph, actions=None):
        return np.eye(graph.n_actions)[self.action]

    def learn(self, context, actions, losses):
        pass


def played(environment, action):
    return [row.loss for row in run(Always(action), environment, seed=5)]


@pytest.mark.parametrize(
    "environment",
    [
        KnownLosses(
            np.eye(30), np.random.default_rng(0).random((30, 4)), graphs.bandit(4), n_rounds=20
        ),
        SyntheticInventory(n_rounds=60, levels=5),
    ],
    ids=["a table of losses", "stock levels"],
)
def test_no_other_constant_is_better(environment):
    best = best_constant(environment, seed=5)
    n_actions = next(iter(environment.rounds(np.random.default_rng(0)))).graph.n_actions
    totals = [sum(played(environment, action)) for action in range(n_actions)]
    assert best.action == int(np.argmin(totals))
    np.testing.assert_array_equal(best.losses, played(environment, best.action))


def test_a_growing_grid_has_the_levels_of_its_last_round():
    growing = SyntheticInventory(n_rounds=100, levels=GrowingGrid(1 / 2))
    fixed = SyntheticInventory(n_rounds=100, levels=10)
    one, other = best_constant(growing, seed=1), best_constant(fixed, seed=1)
    assert one.action == other.action
    np.testing.assert_array_equal(one.losses, other.losses)
