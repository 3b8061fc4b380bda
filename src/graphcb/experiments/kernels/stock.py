"""Runs over stock levels with the newsvendor oracle.

`_play` mirrors `experiments.loop.play` with a `StockProblem`, a `NewsvendorOGD` and SquareCB or
SquareCB.G in a closed form, or a greedy agent.
"""

import math
from typing import NamedTuple

import numpy as np

from graphcb.checks import LARGEST
from graphcb.compilation import compiled, nanoseconds
from graphcb.environments.stock import StockProblem, grid
from graphcb.experiments.kernels.ledger import (
    EXPLORATION,
    ORACLE,
    REST,
    Counts,
    Ledger,
    write_down,
)
from graphcb.experiments.kernels.rules import Compiled, explore, note_rounds, numbers_for, rule_for
from graphcb.graphs import inventory
from graphcb.graphs.structure import Floats
from graphcb.newsvendor import stock_cost, stock_costs
from graphcb.oracles import NewsvendorOGD
from graphcb.oracles.newsvendor import add_scaled, dot, mean_slope
from graphcb.rounds.round import invert


class Levels(NamedTuple):
    """The grids of all rounds: round t has `sizes[t]` levels from position `starts[t]`."""

    sizes: Counts
    starts: Counts
    flat: Floats


class Costs(NamedTuple):
    """Holding and backorder cost, the true ones and those the oracle believes in."""

    holding: float
    backorder: float
    believed_holding: float
    believed_backorder: float


def play(
    agent: Compiled,
    environment: StockProblem,
    world: np.random.Generator,
    uniforms: Floats,
    ledger: Ledger,
) -> int:
    """Play until a round needs the public objects; return how many rounds were played."""
    oracle = agent.oracle
    rule = rule_for(agent, inventory(2))
    if type(oracle) is not NewsvendorOGD or rule is None:
        return 0
    contexts, demands = environment.draw_demands(world)
    if contexts.shape[1] != oracle.n_features:
        return 0
    sizes = environment.sizes()
    gamma = numbers_for(agent, sizes)
    intercept = np.array([oracle.intercept])
    n_played = _play(
        contexts,
        demands,
        _lay_out(sizes),
        gamma,
        uniforms,
        rule,
        Costs(
            environment.holding_cost,
            environment.backorder_cost,
            oracle.holding_cost,
            oracle.backorder_cost,
        ),
        oracle.learning_rate,
        oracle.weights,
        intercept,
        ledger,
    )
    oracle.intercept = intercept.item()
    note_rounds(agent, gamma, n_played)
    return n_played


def _lay_out(sizes: Counts) -> Levels:
    different, which = np.unique(sizes, return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(different)])
    return Levels(sizes, starts[which], np.concatenate([grid(int(s)) for s in different]))


@compiled
def _play(
    contexts: Floats,
    demands: Floats,
    levels: Levels,
    gammas: Floats,
    uniforms: Floats,
    rule: int,
    costs: Costs,
    learning_rate: float,
    weights: Floats,
    intercept: Floats,
    ledger: Ledger,
) -> int:
    room = np.zeros(2, dtype=np.int64)
    holding, backorder = costs.believed_holding, costs.believed_backorder
    start = nanoseconds(room)
    for t in range(demands.size):
        x, demand = contexts[t], demands[t]
        grid = levels.flat[levels.starts[t] : levels.starts[t] + levels.sizes[t]]
        guess = dot(x, weights) + intercept[0]
        if not math.isfinite(guess):
            return t
        f = stock_costs(grid, guess, holding, backorder)
        predicted = nanoseconds(room)
        p = explore(rule, f, gammas[t])
        explored = nanoseconds(room)
        action = invert(p, uniforms[t])
        if action < 0:
            return t
        seen = grid[: action + 1]
        losses = stock_costs(seen, demand, costs.holding, costs.backorder)
        revealed = nanoseconds(room)
        step = learning_rate * mean_slope(seen, losses, guess, holding, backorder)
        if not abs(step) <= LARGEST:
            return t
        add_scaled(weights, -step, x)
        intercept[0] -= step
        learnt = nanoseconds(room)
        loss = stock_cost(grid[action], demand, costs.holding, costs.backorder)
        write_down(ledger, t, action, p[action], loss, action + 1)
        ledger.spent[ORACLE] += predicted - start + learnt - revealed
        ledger.spent[EXPLORATION] += explored - predicted
        start = nanoseconds(room)
        ledger.spent[REST] += revealed - explored + start - learnt
    return demands.size
