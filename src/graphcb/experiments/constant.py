"""The best constant action in hindsight: what a run costs that learns nothing from the context."""

from typing import NamedTuple

import numpy as np

from graphcb.environments import Environment
from graphcb.environments.stock import StockProblem, grid
from graphcb.experiments.loop import streams
from graphcb.graphs.structure import Floats
from graphcb.newsvendor import stock_costs


class Constant(NamedTuple):
    """The best action, by its index, and what it costs in each round."""

    action: int
    losses: Floats


def best_constant(environment: Environment, *, seed: int) -> Constant:
    """The action with the lowest total loss over the rounds of this seed.

    Stock levels are those of the largest grid, so that a growing grid has constants too.

    >>> from graphcb import graphs
    >>> from graphcb.environments import KnownLosses
    >>> losses = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    >>> best_constant(KnownLosses(np.eye(3), losses, graphs.bandit(2)), seed=0).action
    1
    """
    world = streams(seed)[0]
    if isinstance(environment, StockProblem) and environment.is_plain():
        losses = _costs(environment, world)
    else:
        losses = np.array(
            [
                [environment.loss(round, action) for action in range(round.graph.n_actions)]
                for round in environment.rounds(world)
            ]
        )
    best = int(losses.sum(axis=0).argmin())
    return Constant(best, losses[:, best])


def _costs(environment: StockProblem, world: np.random.Generator) -> Floats:
    """The cost of each level (columns) in each round (rows)."""
    demands = environment.draw_demands(world)[1]
    levels = grid(int(environment.sizes().max()))
    holding, backorder = environment.holding_cost, environment.backorder_cost
    return np.stack([stock_costs(levels, demand, holding, backorder) for demand in demands])
