"""The paper's synthetic inventory problem: how much to stock for a demand not yet known."""

import math
from dataclasses import dataclass

import numpy as np

from graphcb.checks import as_count
from graphcb.environments.stock import GrowingGrid, StockProblem
from graphcb.graphs.structure import Floats


@dataclass(frozen=True)
class SyntheticInventory(StockProblem):
    """Stock levels in [0, 1] against a noisy linear demand; a level reveals all lower ones.

    Contexts are Gaussian (standard deviation 0.1), demand = context @ theta / sqrt(n_features)
    plus Gaussian noise (0.3, 0.1), scaled to [0, 1] over the whole run. A level costs
    `holding_cost` per unit above the demand and `backorder_cost` per unit below. The paper does
    not define theta; here it is standard normal, drawn again in each run.

    `levels` is the grid: a number of levels from 0 to 1, or `GrowingGrid(power)` for
    ceil(t ** power) levels in round t.

    >>> environment = SyntheticInventory(n_rounds=2, levels=3)
    >>> [round.actions for round in environment.rounds(np.random.default_rng(0))]
    [array([0. , 0.5, 1. ]), array([0. , 0.5, 1. ])]
    """

    n_rounds: int = 10_000
    levels: int | GrowingGrid = 101
    n_features: int = 100
    holding_cost: float = 0.25
    backorder_cost: float = 1.0

    def __post_init__(self) -> None:
        as_count("n_rounds", self.n_rounds)
        as_count("n_features", self.n_features)
        self.check_grid_and_costs()

    def draw_demands(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Contexts (n_rounds, n_features) and demands (n_rounds,) of one run."""
        theta = rng.standard_normal(self.n_features)
        contexts = 0.1 * rng.standard_normal((self.n_rounds, self.n_features))
        noise = 0.3 + 0.1 * rng.standard_normal(self.n_rounds)
        demands = np.einsum("ij,j->i", contexts, theta) / math.sqrt(self.n_features) + noise
        lowest, highest = demands.min(), demands.max()
        if lowest == highest:  # a single round
            return contexts, np.full_like(demands, 0.5)
        return contexts, (demands - lowest) / (highest - lowest)
