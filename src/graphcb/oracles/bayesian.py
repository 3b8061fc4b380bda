"""Logistic regression with a Gaussian posterior, one loss at a time: no step size to choose."""

from typing import Any, Literal

import numpy as np

from graphcb.checks import (
    DivergenceError,
    as_count,
    as_one_of,
    as_positive,
    as_range,
    check_in_range,
    first_not_finite,
)
from graphcb.describing import describe
from graphcb.loaded import Array, Learned, Number
from graphcb.oracles.diagonal_posterior import diagonal_learn, diagonal_scores
from graphcb.oracles.full_posterior import (
    as_triangles,
    full_add,
    full_fits,
    full_learn,
    full_scores,
    n_entries,
    on_diagonal,
)
from graphcb.oracles.loss_scale import Carry
from graphcb.oracles.posterior import PRIOR_COUNT, certainty, mean_shares
from graphcb.oracles.protocol import Forecast
from graphcb.oracles.residuals import note_residuals
from graphcb.oracles.rows import (
    Columns,
    Floats,
    SparseRow,
    as_columns,
    as_row,
    as_seen,
    check_finite,
)

Covariance = Literal["full", "diagonal"]

PRIOR_VARIANCE = 10.0
LEAST_PRIOR, MOST_PRIOR = 1e-100, 1e100
CAREFUL = 1e3  # in size: what is learned from larger contexts may be lost in rounding


class BayesianLogistic:
    """sigmoid(context @ weights) for each action, with the uncertainty of the weights.

    Logistic regression by log loss: each loss moves a Gaussian posterior by matching moments, so
    there is no learning rate. For losses in `loss_range`, and contexts,
    dense or sparse, with a norm of about 1. `prior_variance` is that of every weight at the
    start. `forecast` says how sure the predictions are.

    `covariance="full"` is for up to a few hundred features: a round costs n_features * non-zeros
    for each action that is predicted, n_features^2 for each one that is learned, and memory is
    n_actions * n_features^2 * 4 bytes. "diagonal" is for many features, such as words: a round
    costs the non-zeros times the actions.

    >>> oracle = BayesianLogistic(2, 3)
    >>> oracle.update([1.0, 0.0, 0.0], [0], [0.0])
    >>> oracle.predict([1.0, 0.0, 0.0]).round(3)
    array([0.212, 0.5  ])
    >>> oracle.forecast([1.0, 0.0, 0.0]).deviations.round(3)
    array([0.253, 0.385])
    """

    learned = Learned(
        weights=Array("n_features", "n_actions"),
        covariances=Array(lambda self: self._shape(self.n_actions, self.n_features)),
        prior_variances=Array("n_features", least=LEAST_PRIOR, most=MOST_PRIOR),
        unseen_variance=Number(LEAST_PRIOR, MOST_PRIOR),
        squares=Array("n_actions", least=0.0),
        counts=Array("n_actions", least=0.0),
    )

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        *,
        covariance: Covariance = "full",
        prior_variance: float = PRIOR_VARIANCE,
        loss_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.n_features = as_count("n_features", n_features)
        self.covariance = as_one_of("covariance", covariance, ("full", "diagonal"))
        self.prior_variance = as_positive("prior_variance", prior_variance)
        self.loss_range = as_range("loss_range", loss_range)
        self.weights = np.zeros((self.n_features, self.n_actions))
        self.prior_variances = np.full(self.n_features, self.prior_variance)
        self.unseen_variance = self.prior_variance  # of features to come
        self.covariances = self._prior(self.n_actions)
        self.squares = np.full(self.n_actions, PRIOR_COUNT)
        self.counts = np.zeros(self.n_actions)

    __repr__ = describe

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """Predicted losses of these actions (numbers), of all for None."""
        return self.forecast(context, actions).losses

    def forecast(self, context: Any, actions: Any = None) -> Forecast:
        """Predicted losses and how sure they are."""
        row, columns = self._row(context), as_columns(actions, self.n_actions)
        scores, leverages = self.scores(row, columns)
        shares = finite_shares(scores, leverages)
        counts = self.counts[columns]
        dispersions = self.squares[columns] / (PRIOR_COUNT + counts)
        deviations, gains = certainty(shares, leverages, dispersions)
        low, high = self.loss_range
        return Forecast(
            low + (high - low) * shares,
            (high - low) * deviations,
            gains,
            counts,
            high - low,
            low,
        )

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One step for each revealed action."""
        row, columns, shares, predicted = self._step(context, actions, losses)
        note_residuals(self.squares, self.counts, columns, predicted, shares)
        self.learn(row, columns, shares)

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        self._step(context, actions, losses)

    def check_loaded(self) -> None:
        """Refuse variances that no posterior has."""
        most = (1.0 + 1e-9) * self.prior_variances[:, None]
        spreads = self.variances()
        if self.covariance == "diagonal" and not ((spreads >= 0.0) & (spreads <= most)).all():
            raise ValueError("`covariances` must lie between 0 and the prior variances")

    def scores(self, row: SparseRow, columns: Columns) -> tuple[Floats, Floats]:
        """Mean and variance of each score; nothing is checked."""
        kernel = full_scores if self.covariance == "full" else diagonal_scores
        return kernel(self.weights, self.covariances, *row, columns)

    def learn(self, row: SparseRow, columns: Columns, shares: Floats) -> None:
        """Learn losses given as shares of the loss range; nothing is checked."""
        kernel = full_learn if self.covariance == "full" else diagonal_learn
        kernel(self.weights, self.covariances, *row, columns, shares)

    def variances(self) -> Floats:
        """The posterior variance of each weight (n_features, n_actions)."""
        if self.covariance == "full":
            return np.ascontiguousarray(self.covariances[:, on_diagonal(self.n_features)].T)
        return self.covariances

    def take_priors(self, other: "BayesianLogistic") -> None:
        """Take over the prior of another posterior of these features, which forgets less.

        Nothing can be taken off a prior that is forgotten itself: variances grow as it forgets.
        """
        more = 1.0 / other.prior_variances - 1.0 / self.prior_variances
        self.add_precisions(np.maximum(more, 0.0))
        self.prior_variances = other.prior_variances.copy()
        self.unseen_variance = other.unseen_variance

    def add_precisions(self, precisions: Floats) -> None:
        """Add to the prior precision of each feature; what the data said stays."""
        self.prior_variances = 1.0 / (1.0 / self.prior_variances + precisions)
        if self.covariance == "diagonal":
            shrink = 1.0 / (1.0 + precisions[:, None] * self.covariances)
            self.weights, self.covariances = self.weights * shrink, self.covariances * shrink
            return
        for b in range(self.n_actions):
            weights = self.weights[:, b].copy()
            full_add(weights, self.covariances[b], precisions)
            self.weights[:, b] = weights

    def carry(self, carry: Carry, place: int, constant: float) -> None:
        """Go over to shares of another range; contexts have `constant` as feature `place`."""
        weights = self.weights * carry.slopes
        weights[place] += carry.shifts / constant
        for b in np.flatnonzero(carry.keeps < 1.0).tolist():
            self._keep(b, carry.keeps[b], place, constant * constant * carry.looks[b])
        self.weights = weights

    def _keep(self, b: int, keep: float, place: int, looks: float) -> None:
        """Let the data of action `b` count `keep` times as much; add a precision at `place`."""
        precisions = (1.0 - keep) / self.prior_variances
        precisions[place] += looks
        if self.covariance == "diagonal":
            self.covariances[:, b] = 1.0 / (keep / self.covariances[:, b] + precisions)
        elif keep > 0.0:
            self.covariances[b] /= keep
            full_add(self.weights[:, b].copy(), self.covariances[b], precisions)
        else:
            self.covariances[b] = as_triangles(1.0 / precisions, 1)[0]

    def grow(self, n_actions: int, n_features: int) -> None:
        """Make room for more actions or features; what was learned stays."""
        more = np.full(n_features - self.n_features, self.unseen_variance)
        self.prior_variances = np.append(self.prior_variances, more)
        weights, covariances = np.zeros((n_features, n_actions)), self._prior(n_actions)
        weights[: self.n_features, : self.n_actions] = self.weights
        rows, entries = self.covariances.shape
        covariances[:rows, :entries] = self.covariances
        new = n_actions - self.n_actions
        self.weights, self.covariances = weights, covariances
        self.squares = np.append(self.squares, np.full(new, PRIOR_COUNT))
        self.counts = np.append(self.counts, np.zeros(new))
        self.n_actions, self.n_features = n_actions, n_features

    def reorder(self, places: Columns) -> None:
        """Put the features of a diagonal posterior into this order."""
        self.weights, self.covariances = self.weights[places], self.covariances[places]
        self.prior_variances = self.prior_variances[places]

    def take(self, columns: Columns) -> None:
        """Keep the columns of these actions, in this order."""
        self.weights = self.weights[:, columns].copy()
        if self.covariance == "full":
            self.covariances = self.covariances[columns].copy()
        else:
            self.covariances = self.covariances[:, columns].copy()
        self.squares, self.counts = self.squares[columns], self.counts[columns]
        self.n_actions = columns.size

    def _shape(self, n_actions: int, n_features: int) -> tuple[int, ...]:
        """The shape of the covariances, or of the variances alone."""
        if self.covariance == "full":
            return n_actions, n_entries(n_features)
        return n_features, n_actions

    def _prior(self, n_actions: int) -> Floats:
        if self.covariance == "full":
            return as_triangles(self.prior_variances, n_actions)
        return np.tile(self.prior_variances[:, None], (1, n_actions))

    def _step(
        self, context: Any, actions: Any, losses: Any
    ) -> tuple[SparseRow, Columns, Floats, Floats]:
        """What to learn from, checked: losses as shares, and what was predicted."""
        row = self._row(context)
        columns, seen = as_seen(actions, losses, self.n_actions)
        check_in_range("losses", seen, "loss_range", self.loss_range)
        low, high = self.loss_range
        shares = (seen - low) / (high - low)
        predicted = finite_shares(*self.scores(row, columns))
        careful = self.covariance == "full" and np.abs(row[1]).max(initial=0.0) > CAREFUL
        if careful and not full_fits(self.covariances, *row, columns, self.prior_variances.max()):
            raise _divergence()
        return row, columns, shares, predicted

    def _row(self, context: Any) -> SparseRow:
        row = as_row(context, self.n_features)
        check_finite(*row)
        return row


def finite_shares(scores: Floats, leverages: Floats) -> Floats:
    """`mean_shares`, refused if one is not finite."""
    shares = mean_shares(scores, leverages)
    if first_not_finite(shares) >= 0:
        raise _divergence()
    return shares


def _divergence() -> DivergenceError:
    return DivergenceError(
        "the predictions or the covariances are no longer finite, or lost in rounding; scale the "
        "contexts down to a norm of about 1"
    )
