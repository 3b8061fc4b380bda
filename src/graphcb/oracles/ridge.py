"""Linear losses by online ridge regression: no step size to choose."""

from typing import Any

import numpy as np

from graphcb.checks import DivergenceError, as_count, as_positive
from graphcb.compilation import compiled
from graphcb.describing import describe
from graphcb.loaded import LARGEST_STATE, Array, Learned
from graphcb.oracles.protocol import Forecast
from graphcb.oracles.rows import (
    Columns,
    Floats,
    as_columns,
    as_dense,
    as_seen,
    check_finite,
    every_index,
)

LARGEST_RESIDUAL = 1e100  # which is squared


class OnlineRidge:
    """One Vovk-Azoury-Warmuth forecaster per action: ridge that counts today's context too.

    For dense contexts of moderate width: a round costs n_features^2 per action, and memory is
    n_actions * n_features^2 * 8 bytes. Its regret grows with the logarithm of the rounds:
    sum of squared errors at most that of any fixed weights w, plus `penalty` * |w|^2, plus
    n_features * max|loss|^2 * log(1 + T |x|^2 / (penalty * n_features)).

    >>> oracle = OnlineRidge(1, 1, penalty=1.0)
    >>> oracle.update([1.0], [0], [3.0])
    >>> oracle.predict([1.0])  # 3 / (1 + 1 + 1)
    array([1.])
    """

    learned = Learned(
        inverses=Array("n_actions", "n_features", "n_features"),
        moments=Array("n_actions", "n_features"),
        # The range of an action that was never seen is infinite.
        residuals=Array(4, "n_actions", least=-np.inf, most=np.inf),
    )

    def __init__(self, n_actions: int, n_features: int, *, penalty: float = 1.0) -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.n_features = as_count("n_features", n_features)
        self.penalty = as_positive("penalty", penalty)
        self.inverses = np.tile(np.eye(self.n_features) / self.penalty, (self.n_actions, 1, 1))
        self.moments = np.zeros((self.n_actions, self.n_features))
        self.residuals = no_residuals(self.n_actions)

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """Predicted losses of these actions (numbers), of all for None."""
        return self._answers(context, as_columns(actions, self.n_actions))[0]

    def forecast(self, context: Any, actions: Any = None) -> Forecast:
        """Predicted losses, and how sure they are: exactly, by the leverage of the context.

        The variance of a prediction is its leverage times that of the residuals of its action.
        """
        columns = as_columns(actions, self.n_actions)
        predicted, leverages = self._answers(context, columns)
        squares, counts, lowest, highest = self.residuals
        seen = highest >= lowest
        low = float(lowest[seen].min()) if seen.any() else 0.0
        span = float(highest[seen].max()) - low if seen.any() else 1.0
        span = span if span > 0.0 else 1.0
        # Two losses half the range away from their prediction, before any is seen.
        variances = (squares[columns] + 0.5 * span * span) / (counts[columns] + 2.0)
        deviations = np.sqrt(variances * leverages)
        return Forecast(predicted, deviations, np.log1p(leverages), counts[columns], span, low)

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """Add the context and the loss to each revealed action's sums."""
        x = as_dense(context, self.n_features)
        check_finite(every_index(self.n_features), x)
        columns, seen = as_seen(actions, losses, self.n_actions)
        state = self.inverses, self.moments, self.residuals
        if not learn_linear(*state, x, columns, seen, self.penalty):
            raise self._divergence()

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        x = as_dense(context, self.n_features)
        check_finite(every_index(self.n_features), x)
        columns, _ = as_seen(actions, losses, self.n_actions)
        predicted, leverages, _ = predict_linear(self.inverses, self.moments, x, columns)
        if not _fits(self.inverses, x, columns, predicted, leverages, self.penalty):
            raise self._divergence()

    def check_loaded(self) -> None:
        """Refuse residuals that no losses have."""
        seen, lowest, highest = self.residuals[1] > 0.0, *self.residuals[2:]
        sums = (self.residuals[:2] >= 0.0) & (self.residuals[:2] <= LARGEST_STATE)
        ranges = np.where(
            seen,
            (lowest >= -LARGEST_STATE) & (lowest <= highest) & (highest <= LARGEST_STATE),
            (lowest == np.inf) & (highest == -np.inf),
        )
        if not sums.all() or not ranges.all():
            raise ValueError("`residuals` must be finite where an action was seen")

    __repr__ = describe

    def _answers(self, context: Any, columns: Columns) -> tuple[Floats, Floats]:
        """Predictions and leverages."""
        x = as_dense(context, self.n_features)
        check_finite(every_index(self.n_features), x)
        predicted, leverages, finite = predict_linear(self.inverses, self.moments, x, columns)
        if not finite:
            raise self._divergence()
        return predicted, leverages

    def _divergence(self) -> DivergenceError:
        return DivergenceError(
            "the predictions or the inverses are no longer finite, or lost in rounding; scale the "
            f"contexts and the losses down, or raise penalty (now {self.penalty})"
        )


def no_residuals(n_actions: int) -> Floats:
    """Of each action: the squares of its residuals, losses seen, the lowest and the highest."""
    residuals = np.zeros((4, n_actions))
    residuals[2], residuals[3] = np.inf, -np.inf
    return residuals


@compiled
def predict_linear(
    inverses: Floats, moments: Floats, x: Floats, columns: Columns
) -> tuple[Floats, Floats, bool]:
    """x @ (A + x x^T)^-1 b = x @ A^-1 b / (1 + x @ A^-1 x), and the leverages x @ A^-1 x.

    And whether all predictions are finite.
    """
    predicted, leverages = np.empty(columns.size), np.empty(columns.size)
    finite = True
    for c in range(columns.size):
        inverse, moment = inverses[columns[c]], moments[columns[c]]
        numerator = leverage = 0.0
        for i in range(x.size):
            along = 0.0
            for j in range(x.size):
                along += inverse[i, j] * x[j]
            numerator += moment[i] * along
            leverage += x[i] * along
        predicted[c] = numerator / (1.0 + leverage)
        leverages[c] = max(leverage, 0.0)  # below 0 by rounding
        finite &= np.isfinite(predicted[c])
    return predicted, leverages, finite


@compiled
def _fits(
    inverses: Floats,
    x: Floats,
    columns: Columns,
    predicted: Floats,
    leverages: Floats,
    penalty: float,
) -> bool:
    """Whether these columns can learn from x and stay sound.

    (A^-1 x)_i^2 / (1 + x @ A^-1 x) is what _absorb takes off (A^-1)_ii, which is at most
    1 / penalty: more can only come from rounding.
    """
    for c in range(columns.size):
        inverse = inverses[columns[c]]
        leverage = widest = 0.0
        for i in range(x.size):
            along = 0.0
            for j in range(x.size):
                along += inverse[i, j] * x[j]
            leverage += x[i] * along
            widest = max(widest, abs(along))
        if not (
            leverage >= -0.5
            and penalty * widest * widest <= 4.0 * (1.0 + leverages[c])
            and abs(predicted[c]) <= LARGEST_RESIDUAL
        ):
            return False
    return True


@compiled
def learn_linear(
    inverses: Floats,
    moments: Floats,
    residuals: Floats,
    x: Floats,
    columns: Columns,
    losses: Floats,
    penalty: float,
) -> bool:
    """Note the residuals and add x to the sums; False, and nothing changes, if x does not fit."""
    predicted, leverages, _ = predict_linear(inverses, moments, x, columns)
    if not _fits(inverses, x, columns, predicted, leverages, penalty):
        return False
    _note(residuals, columns, losses, predicted, leverages)
    _absorb(inverses, moments, x, columns, losses)
    return True


@compiled
def _note(
    residuals: Floats, columns: Columns, losses: Floats, predicted: Floats, leverages: Floats
) -> None:
    """Add the residuals to their actions' rows; a large leverage makes a large one."""
    squares, counts = residuals[0], residuals[1]
    lowest, highest = residuals[2], residuals[3]
    for c in range(columns.size):
        a, off = columns[c], losses[c] - predicted[c]
        squares[a] += off * off / (1.0 + leverages[c])
        counts[a] += 1.0
        lowest[a], highest[a] = min(lowest[a], losses[c]), max(highest[a], losses[c])


@compiled
def _absorb(inverses: Floats, moments: Floats, x: Floats, columns: Columns, losses: Floats) -> None:
    """A += x x^T by its inverse (Sherman-Morrison), b += loss * x."""
    along = np.empty(x.size)
    for c in range(columns.size):
        inverse, moment = inverses[columns[c]], moments[columns[c]]
        leverage = 0.0
        for i in range(x.size):
            along[i] = 0.0
            for j in range(x.size):
                along[i] += inverse[i, j] * x[j]
            leverage += x[i] * along[i]
            moment[i] += losses[c] * x[i]
        for i in range(x.size):
            for j in range(x.size):
                inverse[i, j] -= along[i] * along[j] / (1.0 + leverage)
