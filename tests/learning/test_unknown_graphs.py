"""How regret grows where the graph is not known beforehand: realizable, seeded, with margins."""

from dataclasses import dataclass

import numpy as np
import pytest

from graphcb import FeedbackGraph, SquareCB, SquareCBUG, SquareRoot
from graphcb.environments import LinearLosses, Observation
from graphcb.experiments import run
from graphcb.graph_oracles import EdgeCounts, LogisticEdges
from graphcb.graphs import bandit
from graphcb.oracles import DefaultOracle, OnlineRidge

ROUNDS = np.array([250, 500, 1000, 2000])
ACTIONS, FEATURES = 8, 5


@dataclass(frozen=True)
class Hidden(LinearLosses):
    """Losses and edges both follow the context; the graph of each round is drawn anew."""

    shown: bool = False

    def rounds(self, rng):
        weights = 4.0 * rng.normal(size=(ACTIONS, self.n_features, ACTIONS))
        for round in super().rounds(rng):
            chances = 1.0 / (1.0 + np.exp(-np.einsum("f,ifj->ij", round.context, weights)))
            np.fill_diagonal(chances, 1.0)
            drawn = (rng.random((ACTIONS, ACTIONS)) < chances).astype(float)
            yield round._replace(graph=FeedbackGraph(drawn))

    def reveal(self, round, action, rng):
        seen = super().reveal(round, action, rng)
        return Observation(*seen[:2], round.graph if self.shown else None)


def regrets(build, shown, n_seeds=3):
    """Mean cumulative regret at `ROUNDS`."""
    curves = []
    for seed in range(n_seeds):
        environment = Hidden(bandit(ACTIONS), n_rounds=int(ROUNDS[-1]), shown=shown)
        losses = [row.loss for row in run(build(), environment, seed=seed)]
        curves.append(np.cumsum(losses)[ROUNDS - 1])
    return np.mean(curves, axis=0)


def slope(curve):
    return np.polyfit(np.log(ROUNDS), np.log(curve), 1)[0]


def uninformed(loss="log", gamma=None):
    oracle = DefaultOracle(ACTIONS, loss_range=(-1.0, 2.0))
    if gamma is not None:
        oracle = OnlineRidge(ACTIONS, FEATURES)
    return SquareCBUG(oracle, LogisticEdges(ACTIONS, FEATURES, loss=loss), gamma=gamma)


GAMMA = SquareRoot(2.0, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("shown", [False, True], ids=["played row", "shown in full"])
def test_regret_is_of_the_order_of_the_root(shown):
    curve = regrets(lambda: uninformed(gamma=GAMMA), shown)
    assert slope(curve) <= 0.6
    blind = regrets(
        lambda: SquareCB(OnlineRidge(ACTIONS, FEATURES), gamma=SquareRoot(2.0, ACTIONS)), shown
    )
    assert curve[-1] < 0.5 * blind[-1]


@pytest.mark.slow
@pytest.mark.parametrize("shown", [False, True], ids=["played row", "shown in full"])
def test_without_settings_regret_levels_off(shown):
    assert slope(regrets(uninformed, shown)) <= 0.5


def test_a_short_run_learns_both():
    environment = Hidden(bandit(ACTIONS), n_rounds=600)
    agent = SquareCBUG(OnlineRidge(ACTIONS, FEATURES), EdgeCounts(ACTIONS), gamma=GAMMA)
    losses = np.array([row.loss for row in run(agent, environment, seed=0)])
    assert losses[-150:].mean() < 0.5 * losses[:150].mean()
    assert agent.graph_oracle.predict(None).matrix.diagonal().min() > 0.9
