"""Losses in a known range, as a sigmoid of a linear map: the paper's oracle for text."""

import math
from typing import Any, Literal

import numpy as np

from graphcb.checks import (
    as_count,
    as_one_of,
    as_positive,
    as_range,
    check_in_range,
    first_not_finite,
)
from graphcb.compilation import compiled
from graphcb.describing import describe
from graphcb.loaded import Array, Count, Learned
from graphcb.oracles.learning_rates import DECAYS, Decay, rate_at
from graphcb.oracles.rows import (
    Columns,
    Floats,
    SparseRow,
    check_columns,
    check_indices,
    check_losses,
    first_impossible,
    first_outside,
    read_columns,
    read_row,
    read_seen,
)
from graphcb.oracles.weights import explain_not_finite, scores, step, step_fits

Objective = Literal["squared_error", "log_loss"]


class LogisticOGD:
    """sigmoid(context @ weights) per action, by online gradient descent.

    For losses in a known range (0 to 1 unless `loss_range` says otherwise; others are refused)
    and dense or sparse contexts: a dense row, a 1-by-d scipy row, or a pair (indices, values).
    Takes n_actions * n_features * 8 bytes; a round costs the non-zeros times the actions.
    `decay="inverse_sqrt"` divides the step by the square root of the number of updates.
    `objective` is "squared_error", as in the paper, or "log_loss", which learns faster where
    predictions are far off.

    >>> oracle = LogisticOGD(3, 5, learning_rate=1.0)
    >>> oracle.predict(([1, 4], [0.5, 0.5]), None)
    array([0.5, 0.5, 0.5])
    >>> oracle.update(([1, 4], [0.5, 0.5]), [2], [0.0])
    >>> oracle.predict(([1, 4], [0.5, 0.5]), [0, 2]).round(3)
    array([0.5  , 0.469])
    """

    learned = Learned(n_updates=Count(), weights=Array("n_features", "n_actions"))

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        *,
        learning_rate: float = 1.0,
        decay: Decay = "constant",
        loss_range: tuple[float, float] = (0.0, 1.0),
        objective: Objective = "squared_error",
    ) -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.n_features = as_count("n_features", n_features)
        self.learning_rate = as_positive("learning_rate", learning_rate)
        self.decay = as_one_of("decay", decay, DECAYS)
        self.loss_range = as_range("loss_range", loss_range)
        self.objective = as_one_of("objective", objective, ("squared_error", "log_loss"))
        self.n_updates = 0
        self.weights = np.zeros((self.n_features, self.n_actions))

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """Predicted losses of these actions (numbers), of all for None."""
        row = read_row(context, self.n_features)
        columns = read_columns(actions, self.n_actions)
        low, high = self.loss_range
        predicted, fine = predict_row(self.weights, *row, columns, low, high)
        if not fine:
            raise self._explain(row, columns)
        return predicted

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One gradient step for each revealed action."""
        row = read_row(context, self.n_features)
        columns, seen = read_seen(actions, losses, self.n_actions)
        low, high = self.loss_range
        rate = rate_at(self.learning_rate, self.decay, self.n_updates)
        log_loss = self.objective == "log_loss"
        if not learn_row(self.weights, *row, columns, seen, low, high, rate, log_loss):
            raise self._explain_refusal(row, columns, seen)
        self.n_updates += 1

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        row = read_row(context, self.n_features)
        columns, seen = read_seen(actions, losses, self.n_actions)
        low, high = self.loss_range
        rate = rate_at(self.learning_rate, self.decay, self.n_updates)
        log_loss = self.objective == "log_loss"
        if not slopes_of(self.weights, *row, columns, seen, low, high, rate, log_loss)[1]:
            raise self._explain_refusal(row, columns, seen)

    __repr__ = describe

    def _explain_refusal(self, row: SparseRow, columns: Columns, seen: Floats) -> Exception:
        """Why `learn_row` refused its input."""
        check_losses(seen, columns)
        check_in_range("losses", seen, "loss_range", self.loss_range)
        return self._explain(row, columns)

    def _explain(self, row: SparseRow, columns: Columns) -> Exception:
        """Why a kernel refused its input: it checks on the way, and the reason is found here."""
        check_indices(row[0], self.n_features)
        check_columns(columns, self.n_actions)
        return explain_not_finite(row, self.learning_rate)


@compiled
def predict_row(
    weights: Floats, indices: Columns, values: Floats, columns: Columns, low: float, high: float
) -> tuple[Floats, bool]:
    """low + (high - low) * sigmoid(score) of each column, and whether the input was valid."""
    if not _fits(weights, indices, columns):
        return np.empty(0), False
    predicted = scores(weights, indices, values, columns)
    for c in range(columns.size):
        predicted[c] = low + (high - low) / (1.0 + math.exp(-predicted[c]))
    return predicted, first_not_finite(predicted) < 0


@compiled
def learn_row(
    weights: Floats,
    indices: Columns,
    values: Floats,
    columns: Columns,
    losses: Floats,
    low: float,
    high: float,
    rate: float,
    log_loss: bool,
) -> bool:
    """A gradient step for each column; False, and no step, if the input is not valid."""
    slopes, fine = slopes_of(weights, indices, values, columns, losses, low, high, rate, log_loss)
    if fine:
        step(weights, indices, values, columns, slopes, rate)
    return fine


@compiled
def slopes_of(
    weights: Floats,
    indices: Columns,
    values: Floats,
    columns: Columns,
    losses: Floats,
    low: float,
    high: float,
    rate: float,
    log_loss: bool,
) -> tuple[Floats, bool]:
    """The slope for each column, and whether the input was valid and the step can be taken.

    Of (predicted - loss)^2, or of the log loss of the loss as a share of its range.
    """
    if not _fits(weights, indices, columns):
        return np.empty(0), False
    for c in range(columns.size):
        if not low <= losses[c] <= high:
            return np.empty(0), False
    slopes = scores(weights, indices, values, columns)
    for c in range(columns.size):
        share = 1.0 / (1.0 + math.exp(-slopes[c]))
        error = low + (high - low) * share - losses[c]
        if log_loss:
            slopes[c] = error / (high - low)
        else:
            slopes[c] = 2.0 * error * (high - low) * share * (1.0 - share)
    return slopes, step_fits(values, slopes, rate)


@compiled
def _fits(weights: Floats, indices: Columns, columns: Columns) -> bool:
    n_features, n_actions = weights.shape
    return first_outside(indices, n_features) < 0 and first_impossible(columns, n_actions) < 0
