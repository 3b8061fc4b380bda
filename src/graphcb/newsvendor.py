"""What a stock level costs for a demand: the environments' truth, and the oracle's model."""

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled

Floats = NDArray[np.float64]


@compiled
def stock_cost(level: float, demand: float, holding_cost: float, backorder_cost: float) -> float:
    """`holding_cost` per unit left over, `backorder_cost` per unit missing."""
    if level > demand:
        return holding_cost * (level - demand)
    return backorder_cost * (demand - level)


@compiled
def stock_costs(
    levels: Floats, demand: float, holding_cost: float, backorder_cost: float
) -> Floats:
    """`stock_cost` of each level: (K,) in and out."""
    costs = np.empty(levels.size)
    for i in range(levels.size):
        costs[i] = stock_cost(levels[i], demand, holding_cost, backorder_cost)
    return costs
