"""Losses of stock levels from a linear guess at the demand."""

import math
from typing import Any

import numpy as np

from graphcb.checks import (
    LARGEST,
    DivergenceError,
    as_count,
    as_numbers,
    as_positive,
    first_not_finite,
    first_too_large,
)
from graphcb.compilation import compiled
from graphcb.describing import describe
from graphcb.loaded import Array, Learned, Number
from graphcb.newsvendor import stock_costs
from graphcb.oracles.rows import Floats, as_dense, check_finite, every_index


class NewsvendorOGD:
    """Predicts what each stock level costs, by online gradient descent on the guessed demand.

    For use with stock levels: the actions are the levels themselves, as real numbers, so any
    grid of levels can be asked for in any round. With the guess d = context @ weights +
    intercept, a level a costs `holding_cost` per unit above d and `backorder_cost` per unit below.

    One step per round on the squared error, averaged over the revealed levels: with the sum, the
    step would grow with the number of levels and diverge. `start` is the first guess at the
    demand and belongs at the top of the levels: from a low guess the learner sees only the
    losses of low levels, which a demand that is far too low explains just as well.

    >>> oracle = NewsvendorOGD(n_features=2, learning_rate=0.5)
    >>> oracle.predict(np.array([0.1, 0.2]), np.array([0.0, 0.5, 1.0]))
    array([1. , 0.5, 0. ])
    """

    learned = Learned(weights=Array("n_features"), intercept=Number())

    def __init__(
        self,
        n_features: int,
        *,
        learning_rate: float,
        holding_cost: float = 0.25,
        backorder_cost: float = 1.0,
        start: float = 1.0,
    ) -> None:
        self.n_features = as_count("n_features", n_features)
        self.learning_rate = as_positive("learning_rate", learning_rate)
        self.holding_cost = as_positive("holding_cost", holding_cost)
        self.backorder_cost = as_positive("backorder_cost", backorder_cost)
        if not math.isfinite(start):
            raise ValueError(f"`start` must be finite, got {start}")
        self.start = float(start)
        self.weights = np.zeros(self.n_features)
        self.intercept = float(start)

    def predict(self, context: Any, actions: Any) -> Floats:
        """Predicted cost of each level: context (n_features,), actions (K,) levels."""
        levels = self._levels(actions)
        demand = self._demand(as_dense(context, self.n_features))
        costs = stock_costs(levels, demand, self.holding_cost, self.backorder_cost)
        if first_not_finite(costs) >= 0:
            wrong = first_not_finite(levels)
            if wrong < 0:
                raise self._divergence()
            raise ValueError(f"`actions` must be finite, got {levels[wrong]} at index {wrong}")
        return costs

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One gradient step on the levels seen; none if there are no levels."""
        x, step = self._step(context, actions, losses)
        if step is not None:
            add_scaled(self.weights, -step, x)
            self.intercept -= step

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        self._step(context, actions, losses)

    __repr__ = describe

    def _step(self, context: Any, actions: Any, losses: Any) -> tuple[Floats, float | None]:
        """The context and the step to take along it, checked; None if there are no levels."""
        x = as_dense(context, self.n_features)
        levels = self._levels(actions)
        seen = as_numbers("losses", losses)
        if seen.shape != levels.shape:
            raise ValueError(
                f"`losses` must have shape {levels.shape}, one per revealed level, got {seen.shape}"
            )
        if levels.size == 0:
            return x, None
        slope = mean_slope(levels, seen, self._demand(x), self.holding_cost, self.backorder_cost)
        if not math.isfinite(slope):
            wrong = np.flatnonzero(~(np.isfinite(levels) & np.isfinite(seen)))
            if wrong.size == 0:
                raise self._divergence()
            raise ValueError(
                "`actions` and `losses` must be finite, "
                f"got level {levels[wrong[0]]} with loss {seen[wrong[0]]} at index {wrong[0]}"
            )
        step = self.learning_rate * slope
        if not abs(step) <= LARGEST or first_too_large(x) >= 0:
            check_finite(every_index(self.n_features), x)
            raise self._divergence()
        return x, step

    def _demand(self, x: Floats) -> float:
        demand = dot(x, self.weights) + self.intercept
        if not math.isfinite(demand):
            check_finite(every_index(self.n_features), x)
            raise self._divergence()
        return demand

    def _divergence(self) -> DivergenceError:
        return DivergenceError(
            "the guessed demand is no longer finite: the steps diverge; "
            f"lower learning_rate (now {self.learning_rate}) or scale the contexts down"
        )

    def _levels(self, actions: Any) -> Floats:
        if actions is None:
            raise ValueError(
                "`actions` must be the stock levels of this round, got None; "
                "pass them on: agent.act(context, graph, levels)"
            )
        levels = as_numbers("actions", actions)
        if levels.ndim != 1:
            raise ValueError(f"`actions` must be a list of stock levels, got shape {levels.shape}")
        return levels


@compiled
def dot(x: Floats, y: Floats) -> float:
    """x @ y, added up in order."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@compiled
def add_scaled(target: Floats, factor: float, x: Floats) -> None:
    """target += factor * x, in place."""
    for i in range(x.size):
        target[i] += factor * x[i]


@compiled
def mean_slope(
    levels: Floats, losses: Floats, demand: float, holding: float, backorder: float
) -> float:
    """Derivative by the guessed demand of the mean of (predicted - seen)^2."""
    total = 0.0
    for i in range(levels.size):
        surplus = levels[i] - demand
        by_demand = -holding if surplus > 0.0 else backorder
        total += 2.0 * (-by_demand * surplus - losses[i]) * by_demand
    return total / levels.size
