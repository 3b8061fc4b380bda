"""Stock levels against demands that were recorded."""

from dataclasses import dataclass

import numpy as np

from graphcb.checks import as_numbers
from graphcb.environments.stock import GrowingGrid, StockProblem
from graphcb.graphs.structure import Floats


@dataclass(frozen=True, eq=False)
class RecordedDemand(StockProblem):
    """Stock levels in [0, 1] against recorded demands in [0, 1], in their order.

    `contexts` is (n, n_features), `demands` (n,); costs and `levels` as in `SyntheticInventory`.

    >>> environment = RecordedDemand(np.eye(2), np.array([0.25, 0.75]), levels=5)
    >>> first, second = environment.rounds(np.random.default_rng(0))
    >>> [environment.loss(second, action) for action in range(5)]
    [0.75, 0.5, 0.25, 0.0, 0.0625]
    """

    contexts: Floats
    demands: Floats
    levels: int | GrowingGrid = 101
    holding_cost: float = 0.25
    backorder_cost: float = 1.0

    def __post_init__(self) -> None:
        contexts, demands = (
            as_numbers("contexts", self.contexts),
            as_numbers("demands", self.demands),
        )
        if contexts.ndim != 2 or demands.shape != contexts.shape[:1]:
            raise ValueError(
                "`contexts` must have shape (n, n_features) and `demands` (n,), "
                f"got {contexts.shape} and {demands.shape}"
            )
        wrong = np.flatnonzero(~((demands >= 0.0) & (demands <= 1.0)))
        if wrong.size:
            raise ValueError(
                f"`demands` must be in [0, 1], got {demands[wrong[0]]} at index {wrong[0]}; "
                "divide them by the largest stock level"
            )
        object.__setattr__(self, "contexts", contexts)
        object.__setattr__(self, "demands", demands)
        self.check_grid_and_costs()

    @property
    def n_features(self) -> int:
        """Width of the contexts."""
        return int(self.contexts.shape[1])

    @property
    def n_rounds(self) -> int:
        """One round per recorded demand."""
        return len(self.demands)

    def draw_demands(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """What was recorded; nothing is drawn."""
        return self.contexts, self.demands
