"""Losses as a linear map of the context, by plain or adaptive gradient steps."""

import math
from typing import Any

import numpy as np

from graphcb.checks import as_count, as_one_of, as_positive, first_not_finite
from graphcb.compilation import compiled
from graphcb.describing import describe
from graphcb.loaded import Array, Count, Learned
from graphcb.oracles.learning_rates import DECAYS, Decay, rate_at
from graphcb.oracles.rows import Columns, Floats, SparseRow, as_columns, as_row, as_seen
from graphcb.oracles.weights import LARGEST_STEP, explain_not_finite, scores, step, step_fits

LARGEST_GRADIENT = 1e100


class LinearOGD:
    """context @ weights per action, by online gradient descent on the squared error.

    For losses of any range; contexts as in `LogisticOGD`. A step never overshoots the loss it
    learns, so contexts of any size are safe, but those with a norm of about 1 are learned best.
    Add a constant feature if losses do not pass through 0.

    >>> oracle = LinearOGD(2, 3, learning_rate=0.25)
    >>> oracle.update([1.0, 0.0, 1.0], [1], [2.0])
    >>> oracle.predict([1.0, 0.0, 1.0])
    array([0., 2.])
    """

    learned = Learned(n_updates=Count(), weights=Array("n_features", "n_actions"))

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        *,
        learning_rate: float = 0.1,
        decay: Decay = "constant",
    ) -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.n_features = as_count("n_features", n_features)
        self.learning_rate = as_positive("learning_rate", learning_rate)
        self.decay = as_one_of("decay", decay, DECAYS)
        self.n_updates = 0
        self.weights = np.zeros((self.n_features, self.n_actions))

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """Predicted losses of these actions (numbers), of all for None."""
        row = as_row(context, self.n_features)
        columns = as_columns(actions, self.n_actions)
        return _predictions(self.weights, row, columns, self.learning_rate)

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One gradient step for each revealed action."""
        row, columns, slopes, rate = self._step(context, actions, losses)
        step(self.weights, *row, columns, slopes, rate)
        self.n_updates += 1

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        self._step(context, actions, losses)

    __repr__ = describe

    def _step(
        self, context: Any, actions: Any, losses: Any
    ) -> tuple[SparseRow, Columns, Floats, float]:
        """The step to take, checked."""
        row = as_row(context, self.n_features)
        columns, seen = as_seen(actions, losses, self.n_actions)
        slopes, fits = _slopes(self.weights, *row, columns, seen)
        if fits:
            rate = rate_at(self.learning_rate, self.decay, self.n_updates)
            size = float(row[1] @ row[1])
            if 2.0 * rate * size > 1.0:
                rate = 0.5 / size  # the step that meets the loss: a longer one would overshoot it
            if step_fits(row[1], slopes, rate):
                return row, columns, slopes, rate
        raise explain_not_finite(row, self.learning_rate)


class LinearAdaGrad:
    """`LinearOGD` with a separate step for each weight, shrinking as its gradients add up.

    For contexts with rare features. The step of a weight does not grow with its feature, but its
    effect on the prediction does: features of very different size still need scaling.

    >>> oracle = LinearAdaGrad(1, 2, learning_rate=1.0)
    >>> oracle.update([100.0, 0.0], [0], [1.0])  # the step is that of a feature of 1
    >>> oracle.weights[:, 0]
    array([1., 0.])
    """

    learned = Learned(
        weights=Array("n_features", "n_actions"),
        squares=Array("n_features", "n_actions", least=0.0),
    )

    def __init__(self, n_actions: int, n_features: int, *, learning_rate: float = 0.5) -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.n_features = as_count("n_features", n_features)
        self.learning_rate = as_positive("learning_rate", learning_rate)
        self.weights = np.zeros((self.n_features, self.n_actions))
        self.squares = np.zeros((self.n_features, self.n_actions))

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """Predicted losses of these actions (numbers), of all for None."""
        row = as_row(context, self.n_features)
        columns = as_columns(actions, self.n_actions)
        return _predictions(self.weights, row, columns, self.learning_rate)

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One step for each weight of a revealed action that the context touches."""
        row, columns, slopes = self._step(context, actions, losses)
        _adaptive_step(self.weights, self.squares, *row, columns, slopes, self.learning_rate)

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        self._step(context, actions, losses)

    __repr__ = describe

    def _step(self, context: Any, actions: Any, losses: Any) -> tuple[SparseRow, Columns, Floats]:
        """The step to take, checked."""
        row = as_row(context, self.n_features)
        columns, seen = as_seen(actions, losses, self.n_actions)
        slopes, fits = _slopes(self.weights, *row, columns, seen)
        # The squares of the gradients are added up.
        if not (
            fits
            and step_fits(row[1], slopes, LARGEST_STEP / LARGEST_GRADIENT)
            and self.learning_rate <= LARGEST_STEP
        ):
            raise explain_not_finite(row, self.learning_rate)
        return row, columns, slopes


def _predictions(weights: Floats, row: SparseRow, columns: Columns, learning_rate: float) -> Floats:
    """Scores of the columns; an error with the reason if one is not finite."""
    predicted = scores(weights, *row, columns)
    if first_not_finite(predicted) >= 0:
        raise explain_not_finite(row, learning_rate)
    return predicted


@compiled
def _slopes(
    weights: Floats, indices: Columns, values: Floats, columns: Columns, losses: Floats
) -> tuple[Floats, bool]:
    """2 (predicted - loss) of each column, and whether the context can be calculated with."""
    slopes = scores(weights, indices, values, columns)
    for c in range(columns.size):
        slopes[c] = 2.0 * (slopes[c] - losses[c])
    return slopes, step_fits(values, slopes, 0.0)


@compiled
def _adaptive_step(
    weights: Floats,
    squares: Floats,
    indices: Columns,
    values: Floats,
    columns: Columns,
    slopes: Floats,
    rate: float,
) -> None:
    for k in range(indices.size):
        row, sums, value = weights[indices[k]], squares[indices[k]], values[k]
        for c in range(columns.size):
            gradient = value * slopes[c]
            if gradient != 0.0:
                sums[columns[c]] += gradient * gradient
                if sums[columns[c]] > 0.0:  # the square of a tiny one is zero
                    row[columns[c]] -= rate * gradient / math.sqrt(sums[columns[c]])
