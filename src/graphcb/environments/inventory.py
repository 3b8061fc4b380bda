"""The paper's synthetic inventory problem: how much to stock for a demand not yet known."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphcb import graphs
from graphcb.checks import as_count, as_positive
from graphcb.environments.protocol import Observation, Round
from graphcb.newsvendor import stock_cost, stock_costs

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SyntheticInventory:
    """Stock levels in [0, 1] against a noisy linear demand; a level reveals all lower ones.

    Contexts are Gaussian (standard deviation 0.1), demand = context @ theta / sqrt(n_features)
    plus Gaussian noise (0.3, 0.1), scaled to [0, 1] over the whole run. A level costs
    `holding_cost` a unit above the demand and `backorder_cost` a unit below. The paper leaves
    theta open; here it is standard normal, drawn anew in each run.

    `levels` is the grid: a number of levels from 0 to 1, or `GrowingGrid(power)` for
    ceil(t ** power) levels in round t.

    >>> environment = SyntheticInventory(n_rounds=2, levels=3)
    >>> [round.actions for round in environment.rounds(np.random.default_rng(0))]
    [array([0. , 0.5, 1. ]), array([0. , 0.5, 1. ])]
    """

    n_rounds: int = 10_000
    levels: "int | GrowingGrid" = 101
    n_features: int = 100
    holding_cost: float = 0.25
    backorder_cost: float = 1.0

    def __post_init__(self) -> None:
        as_count("n_rounds", self.n_rounds)
        as_count("n_features", self.n_features)
        if not isinstance(self.levels, GrowingGrid):
            as_count("levels", self.levels, at_least=2)
        as_positive("holding_cost", self.holding_cost)
        as_positive("backorder_cost", self.backorder_cost)

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Contexts (n_features,), the inventory graph, and the levels as actions."""
        contexts, demands = self._draw_demands(rng)
        levels, graph = np.empty(0), None
        for t in range(1, self.n_rounds + 1):
            size = self.levels.size(t) if isinstance(self.levels, GrowingGrid) else self.levels
            if graph is None or size != graph.n_actions:
                levels, graph = _grid(size), graphs.inventory(size)
            yield Round(contexts[t - 1], graph, levels, demands[t - 1])

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        """The cost of the level played and of every lower one."""
        seen = round.actions[: action + 1]
        costs = stock_costs(seen, round.hidden, self.holding_cost, self.backorder_cost)
        return Observation(seen, costs)

    def loss(self, round: Round, action: int) -> float:
        """The cost of the level played."""
        level = round.actions[action]
        return stock_cost(level, round.hidden, self.holding_cost, self.backorder_cost)

    def _draw_demands(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        theta = rng.standard_normal(self.n_features)
        contexts = 0.1 * rng.standard_normal((self.n_rounds, self.n_features))
        noise = 0.3 + 0.1 * rng.standard_normal(self.n_rounds)
        demands = contexts @ theta / math.sqrt(self.n_features) + noise
        lowest, highest = demands.min(), demands.max()
        if lowest == highest:  # a single round
            return contexts, np.full_like(demands, 0.5)
        return contexts, (demands - lowest) / (highest - lowest)


@dataclass(frozen=True, slots=True)
class GrowingGrid:
    """ceil(t ** power) levels in round t: 1/2 for SquareCB.G, 1/3 for SquareCB in the paper."""

    power: float

    def __post_init__(self) -> None:
        if not 0.0 < self.power <= 1.0:
            raise ValueError(f"`power` must be in (0, 1], got {self.power}")

    def size(self, round_number: int) -> int:
        """Number of levels in round 1, 2, ...

        >>> [GrowingGrid(1 / 3).size(t) for t in (1, 8, 9, 1000)]
        [1, 2, 3, 10]
        """
        # 1000 ** (1/3) is a hair below or above 10; a hair above must not round up to 11.
        return math.ceil(math.pow(round_number, self.power) - 1e-9)


def _grid(size: int) -> Floats:
    """Equally spaced levels from 0 to 1; a single level is the top, which sees the demand best."""
    return np.linspace(0.0, 1.0, size) if size > 1 else np.ones(1)
