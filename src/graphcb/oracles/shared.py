"""One regressor for all actions, by features of a context and an action together."""

from collections.abc import Callable
from typing import Any

import numpy as np

from graphcb.checks import (
    DivergenceError,
    as_count,
    as_numbers,
    as_one_of,
    as_positive,
    first_not_finite,
    first_too_large,
    too_large,
)
from graphcb.describing import describe
from graphcb.oracles.learning_rates import DECAYS, Decay, rate_at
from graphcb.oracles.rows import Floats
from graphcb.oracles.weights import LARGEST_STEP


class SharedLinearOGD:
    """features(context, actions) @ weights, so that actions can come and go between rounds.

    `features` returns an array (number of actions, n_features), one row per action. An action is
    whatever it understands: an item number, a row of a catalogue, a price. What is learned from
    one action carries over to all with similar features. One gradient step per round on the mean
    squared error of the revealed actions, so that the step does not grow with their number.

    >>> def pair(price, actions):
    ...     return np.array([[1.0, price * a] for a in actions])
    >>> oracle = SharedLinearOGD(2, pair, learning_rate=0.1)
    >>> for _ in range(100):
    ...     oracle.update(2.0, [0.0, 1.0], [0.5, 1.5])
    >>> oracle.predict(2.0, [3.0]).round(3)  # never seen
    array([3.5])
    """

    def __init__(
        self,
        n_features: int,
        features: Callable[[Any, Any], Any],
        *,
        learning_rate: float = 0.1,
        decay: Decay = "constant",
    ) -> None:
        self.n_features = as_count("n_features", n_features)
        self.features = features
        self.learning_rate = as_positive("learning_rate", learning_rate)
        self.decay = as_one_of("decay", decay, DECAYS)
        self.n_updates = 0
        self.weights = np.zeros(self.n_features)

    def predict(self, context: Any, actions: Any) -> Floats:
        """Predicted losses of these actions."""
        return self._predict(self._rows(context, actions))

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One gradient step on the revealed actions."""
        weights = self._step(context, actions, losses)
        if weights is not None:
            self.weights[:] = weights
            self.n_updates += 1

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        self._step(context, actions, losses)

    __repr__ = describe

    def _step(self, context: Any, actions: Any, losses: Any) -> Floats | None:
        """The weights after the step, checked; None if nothing was revealed."""
        seen = as_numbers("losses", losses)
        if seen.size == 0 and len(actions) == 0:
            return None
        rows = self._rows(context, actions)
        if seen.shape != rows.shape[:1]:
            raise ValueError(
                f"`losses` must have shape {rows.shape[:1]}, one per revealed action, "
                f"got {seen.shape}"
            )
        wrong = first_too_large(seen)
        if wrong >= 0:
            raise too_large("losses", seen[wrong], f"index {wrong}")
        wrong = first_too_large(rows.ravel())
        if wrong >= 0:
            raise too_large("features", rows.flat[wrong], f"row {wrong // self.n_features}")
        errors = self._predict(rows) - seen
        rate = rate_at(self.learning_rate, self.decay, self.n_updates)
        with np.errstate(over="ignore", invalid="ignore"):
            weights: Floats = self.weights - rate * 2.0 * (errors @ rows) / len(rows)
        if not np.abs(weights).max() <= LARGEST_STEP:  # also true for NaN
            raise self._divergence()
        return weights

    def _rows(self, context: Any, actions: Any) -> Floats:
        rows = as_numbers("features", self.features(context, actions))
        if rows.shape != (len(actions), self.n_features):
            raise ValueError(
                f"`features` must return an array of shape ({len(actions)}, {self.n_features}), "
                f"one row per action, got {rows.shape}"
            )
        return rows

    def _predict(self, rows: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            predicted: Floats = rows @ self.weights
        if first_not_finite(predicted) >= 0:
            if not np.isfinite(rows).all():
                raise ValueError("`features` must be finite, got NaN or infinity")
            raise self._divergence()
        return predicted

    def _divergence(self) -> DivergenceError:
        return DivergenceError(
            "the predictions are no longer finite: the steps diverge; "
            f"lower learning_rate (now {self.learning_rate}) or scale the features down"
        )
