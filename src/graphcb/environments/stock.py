"""What problems of stock levels share: a grid of levels against a demand not yet known."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from graphcb import graphs
from graphcb.checks import as_count, as_positive
from graphcb.environments.protocol import Observation, Round
from graphcb.graphs.structure import Floats
from graphcb.newsvendor import stock_cost, stock_costs


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


@lru_cache(maxsize=256)
def grid(size: int) -> Floats:
    """Equally spaced levels from 0 to 1; a single level is the top, which reveals most."""
    levels = np.linspace(0.0, 1.0, size) if size > 1 else np.ones(1)
    levels.setflags(write=False)
    return levels


class StockProblem(ABC):
    """A problem of stock levels in [0, 1]; a level reveals the cost of itself and all lower ones.

    A subclass draws contexts and demands in [0, 1]; the rest is here.
    """

    levels: int | GrowingGrid
    holding_cost: float
    backorder_cost: float

    @property
    @abstractmethod
    def n_rounds(self) -> int:
        """How many rounds there are."""

    @abstractmethod
    def draw_demands(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Contexts (n_rounds, n_features) and demands (n_rounds,)."""

    def check_grid_and_costs(self) -> None:
        """Refuse a grid with fewer than two levels, and costs that are not positive."""
        if not isinstance(self.levels, GrowingGrid):
            as_count("levels", self.levels, at_least=2)
        as_positive("holding_cost", self.holding_cost)
        as_positive("backorder_cost", self.backorder_cost)

    def is_plain(self) -> bool:
        """Whether rounds and costs are those of this class; a compiled run assumes it."""
        return all(
            getattr(type(self), name) is getattr(StockProblem, name)
            for name in ("rounds", "reveal", "loss")
        )

    def sizes(self) -> NDArray[np.int64]:
        if not isinstance(self.levels, GrowingGrid):
            return np.full(self.n_rounds, self.levels)
        return np.array([self.levels.size(t) for t in range(1, self.n_rounds + 1)])

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Contexts (n_features,), the inventory graph, and the levels as actions."""
        contexts, demands = self.draw_demands(rng)
        graph = None
        for context, demand, size in zip(contexts, demands, self.sizes().tolist(), strict=True):
            if graph is None or size != graph.n_actions:
                graph = graphs.inventory(size)
            yield Round(context, graph, grid(size), demand)

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        """The cost of the level played and of every lower one."""
        seen = round.actions[: action + 1]
        costs = stock_costs(seen, round.hidden, self.holding_cost, self.backorder_cost)
        return Observation(seen, costs)

    def loss(self, round: Round, action: int) -> float:
        level = round.actions[action]
        return stock_cost(level, round.hidden, self.holding_cost, self.backorder_cost)
