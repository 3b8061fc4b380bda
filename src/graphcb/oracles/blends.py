"""The models inside the default oracle: one for dense contexts, one for sparse ones.

Both work on shares of the loss range. `forecast` and `learn` trust their input: they take what
`read` made of a context.
"""

import math
from typing import Any

import numpy as np

from graphcb.compilation import compiled
from graphcb.loaded import check_array, check_kind
from graphcb.oracles.bayesian import PRIOR_COUNT, BayesianLogistic, finite_shares
from graphcb.oracles.features import (
    DENSE_CONSTANT,
    SPARSE_CONSTANT,
    DenseFeatures,
    SparseFeatures,
    count_dense,
    scale_dense,
)
from graphcb.oracles.loss_scale import Carry
from graphcb.oracles.posterior import (
    certainty,
    diagonal_learn,
    diagonal_scores,
    full_learn,
    full_scores,
    mean_shares,
    note_residuals,
)
from graphcb.oracles.rows import Columns, Floats, SparseRow

PRODUCTS_UP_TO = 64  # dense features, which have 2,080 products
FULL_UP_TO = 256  # features with a full covariance,
FULL_ENTRIES = 1_000_000  # and 8 MB for the covariances of all actions: larger ones are slow
RATE = 2.0  # at which weights fall with squared errors: Vovk's for losses between 0 and 1

# Means, squares, count and places of the features; weights and covariances of both members; their
# log weights; squares and counts of the residuals.
State = tuple[
    Floats, Floats, int, int, Floats, Floats, Floats, Floats, Floats, Floats, Floats
]  # fmt: skip
Answer = tuple[Floats, Floats, Floats, Floats]  # shares, deviations, gains, counts


class DenseBlend:
    """A full covariance on the features and a diagonal one on features and products, weighed.

    With more than 64 features there are no products, and the full member is alone. With more
    than 256, or too many actions for its memory, the diagonal one is.
    """

    def __init__(self, n_actions: int, n_features: int) -> None:
        self.features = DenseFeatures(n_features, products=n_features <= PRODUCTS_UP_TO)
        linear, places = self.features.n_linear, self.features.n_places
        has_full = affords_full(n_actions, linear)
        has_diagonal = places > linear or not has_full
        self.full = BayesianLogistic(n_actions, linear if has_full else 1)
        self.diagonal = BayesianLogistic(
            n_actions, places if has_diagonal else 1, covariance="diagonal"
        )
        never = -math.inf  # the log weight of a member that is not there
        self.log_weights = np.array([0.0 if has_full else never, 0.0 if has_diagonal else never])
        self.squares = np.full(n_actions, PRIOR_COUNT)
        self.counts = np.zeros(n_actions)

    def read(self, context: Any) -> Floats:
        """The context, checked."""
        return self.features.read(context)

    def forecast(self, x: Any, columns: Columns) -> Answer:
        """The members' answers together, and how sure they are."""
        return _forecast_dense(x, *self._state(), columns)

    def learn(self, x: Any, columns: Columns, shares: Floats) -> bool:
        """Weigh the members by what they predicted, let them learn, and count the context.

        False, and nothing is learned, if that would not stay finite.
        """
        learned = _learn_dense(x, *self._state(), columns, shares)
        self.features.count += int(learned)
        return learned

    def _state(self) -> State:
        """What the kernels work on."""
        features, full, diagonal = self.features, self.full, self.diagonal
        return (
            features.means, features.squares, features.count, features.n_places,
            full.weights, full.covariances, diagonal.weights, diagonal.covariances,
            self.log_weights, self.squares, self.counts,
        )  # fmt: skip

    def grow(self, n_actions: int) -> None:
        """Make room for more actions."""
        for member in (self.full, self.diagonal):
            member.grow(n_actions, member.n_features)
        self.squares, self.counts = _longer(self.squares, self.counts, n_actions)

    def take(self, columns: Columns) -> None:
        """Keep these actions, in this order."""
        for member in (self.full, self.diagonal):
            member.take(columns)
        self.squares, self.counts = self.squares[columns], self.counts[columns]

    def carry(self, carry: Carry) -> None:
        """Go over to shares of another range."""
        place = self.features.n_features
        for member in (self.full, self.diagonal):
            if member.n_features > place:
                member.carry(carry, place, DENSE_CONSTANT / math.sqrt(place + 1.0))
        self.squares = carried_squares(carry, self.squares, self.counts)

    def check_loaded(self) -> None:
        """Refuse parts that do not fit together."""
        check_kind(self, "features", DenseFeatures)
        check_array(self, "log_weights", (2,), least=-math.inf, most=0.0)
        has_full, has_diagonal = self.log_weights > -math.inf
        linear, places = self.features.n_linear, self.features.n_places
        if not (has_diagonal or (has_full and places == linear)):
            raise ValueError("`log_weights` must leave a member that sees every feature")
        _check_members(self, full=linear if has_full else 1, diagonal=places if has_diagonal else 1)


class SparseBlend:
    """A full covariance while few features were seen, then a diagonal one, which learns along.

    One-hot tables keep the first; text soon has the second.
    """

    def __init__(self, n_actions: int) -> None:
        self.features = SparseFeatures()
        self.full: BayesianLogistic | None = None
        if affords_full(n_actions, 1):
            self.full = BayesianLogistic(n_actions, 1)
        self.diagonal = BayesianLogistic(n_actions, 1, covariance="diagonal")
        self.squares = np.full(n_actions, PRIOR_COUNT)
        self.counts = np.zeros(n_actions)

    def read(self, context: Any) -> SparseRow:
        """The context, checked."""
        return self.features.read(context)

    def forecast(self, x: Any, columns: Columns) -> Answer:
        """The answer of the full member while there is one, and how sure it is."""
        row, novelty = self.features.scale(x)
        member = self.diagonal if self.full is None else self.full
        scores, leverages = member.scores(row, columns)
        leverages += novelty * member.prior_variance
        shares = mean_shares(scores, leverages)
        counts = self.counts[columns]
        dispersions = self.squares[columns] / (PRIOR_COUNT + counts)
        deviations, gains = certainty(shares, leverages, dispersions)
        return shares, deviations, gains, counts

    def learn(self, x: Any, columns: Columns, shares: Floats) -> bool:
        """Give new features a place, then let the members learn; always true.

        Rows have a norm of 1, so what is learned from them stays finite.
        """
        if columns.size == 0:
            return True
        self.features.learn(x)
        self._make_room(self.diagonal.n_actions)
        row, _ = self.features.scale(x)
        member = self.diagonal if self.full is None else self.full
        predicted = finite_shares(*member.scores(row, columns))
        note_residuals(self.squares, self.counts, columns, predicted, shares)
        if self.full is not None:
            self.full.learn(row, columns, shares)
        self.diagonal.learn(row, columns, shares)
        return True

    def carry(self, carry: Carry) -> None:
        """Go over to shares of another range."""
        for member in (self.full, self.diagonal):
            if member is not None:
                member.carry(carry, 0, SPARSE_CONSTANT)
        self.squares = carried_squares(carry, self.squares, self.counts)

    def check_loaded(self) -> None:
        """Refuse parts that do not fit together."""
        check_kind(self, "features", SparseFeatures)
        members = {"diagonal": self.diagonal} | ({} if self.full is None else {"full": self.full})
        places = self.features.n_places
        _check_members(self, **{k: max(places, m.n_features) for k, m in members.items()})

    def grow(self, n_actions: int) -> None:
        """Make room for more actions."""
        self._make_room(n_actions)
        self.squares, self.counts = _longer(self.squares, self.counts, n_actions)

    def take(self, columns: Columns) -> None:
        """Keep these actions, in this order."""
        for member in (self.full, self.diagonal):
            if member is not None:
                member.take(columns)
        self.squares, self.counts = self.squares[columns], self.counts[columns]

    def _make_room(self, n_actions: int) -> None:
        """Grow with actions and features, in doubles; a full covariance that is too large goes."""
        places = self.features.n_places
        if self.full is not None and _lacks_room(self.full, n_actions, places):
            sizes = max(places, self.full.n_features, min(2 * places, FULL_UP_TO)), places
            affordable = [size for size in sizes if affords_full(n_actions, size)]
            if affordable:
                self.full.grow(n_actions, max(affordable[0], self.full.n_features))
            else:
                self.full = None
        if _lacks_room(self.diagonal, n_actions, places):
            self.diagonal.grow(n_actions, max(self.diagonal.n_features, 2 * places))


def carried_squares(carry: Carry, squares: Floats, counts: Floats) -> Floats:
    """Sums of squared residuals, relative to coins, as shares of another range."""
    return np.minimum(squares * carry.noises, PRIOR_COUNT + counts)


def _check_members(blend: Any, **n_features: int) -> None:
    """Refuse members of a loaded blend that have another kind or size."""
    for name, width in n_features.items():
        check_kind(blend, name, BayesianLogistic)
        member, expected = getattr(blend, name), (name, blend.diagonal.n_actions, width)
        if (member.covariance, member.n_actions, member.n_features) != expected:
            raise ValueError(f"`{name}` must have covariance, actions and features {expected}")
    for name in ("squares", "counts"):
        check_array(blend, name, (blend.diagonal.n_actions,), least=0.0)


def affords_full(n_actions: int, n_features: int) -> bool:
    """Whether a full covariance of these sizes is kept."""
    return n_features <= FULL_UP_TO + 1 and n_actions * n_features * n_features <= FULL_ENTRIES


def _lacks_room(member: BayesianLogistic, n_actions: int, n_features: int) -> bool:
    return member.n_actions < n_actions or member.n_features < n_features


def _longer(squares: Floats, counts: Floats, n_actions: int) -> tuple[Floats, Floats]:
    more = n_actions - counts.size
    return np.append(squares, np.full(more, PRIOR_COUNT)), np.append(counts, np.zeros(more))


@compiled
def _forecast_dense(
    x: Floats,
    means: Floats,
    deviations: Floats,
    count: int,
    n_places: int,
    weights: Floats,
    covariances: Floats,
    more_weights: Floats,
    variances: Floats,
    log_weights: Floats,
    squares: Floats,
    counts: Floats,
    columns: Columns,
) -> Answer:
    """Scale, ask both members, mix: the mean of their answers, their variances, its own."""
    places, values = np.arange(n_places), np.empty(n_places)
    scale_dense(x, means, deviations, count, values)
    first, second, leverages, more_leverages = _ask_both(
        weights, covariances, more_weights, variances, log_weights, places, values, columns
    )
    share = 1.0 / (1.0 + math.exp(log_weights[1] - log_weights[0]))
    shares = share * first + (1.0 - share) * second
    leverages = share * leverages + (1.0 - share) * more_leverages
    seen = counts[columns]
    widths, gains = certainty(shares, leverages, squares[columns] / (PRIOR_COUNT + seen))
    for c in range(columns.size):
        apart = first[c] - second[c]
        widths[c] = math.sqrt(widths[c] ** 2 + share * (1.0 - share) * apart * apart)
    return shares, widths, gains, seen


@compiled
def _ask_both(
    weights: Floats,
    covariances: Floats,
    more_weights: Floats,
    variances: Floats,
    log_weights: Floats,
    places: Columns,
    values: Floats,
    columns: Columns,
) -> Answer:
    """Shares of the full and of the diagonal member, then leverages; zeros of a missing one."""
    first, second = np.zeros(columns.size), np.zeros(columns.size)
    leverages, more_leverages = np.zeros(columns.size), np.zeros(columns.size)
    if log_weights[0] > -math.inf:
        size = weights.shape[0]
        scores, leverages = full_scores(weights, covariances, places[:size], values[:size], columns)
        first = mean_shares(scores, leverages)
    if log_weights[1] > -math.inf:
        scores, more_leverages = diagonal_scores(more_weights, variances, places, values, columns)
        second = mean_shares(scores, more_leverages)
    return first, second, leverages, more_leverages


@compiled
def _learn_dense(
    x: Floats,
    means: Floats,
    deviations: Floats,
    count: int,
    n_places: int,
    weights: Floats,
    covariances: Floats,
    more_weights: Floats,
    variances: Floats,
    log_weights: Floats,
    squares: Floats,
    counts: Floats,
    columns: Columns,
    shares: Floats,
) -> bool:
    """Scale, weigh the members, let them learn, count the context.

    False, and nothing changes, if a prediction is not finite.
    """
    places, values = np.arange(n_places), np.empty(n_places)
    scale_dense(x, means, deviations, count, values)
    first, second, _, _ = _ask_both(
        weights, covariances, more_weights, variances, log_weights, places, values, columns
    )
    for c in range(columns.size):
        if not np.isfinite(first[c] + second[c]):
            return False
    share = 1.0 / (1.0 + math.exp(log_weights[1] - log_weights[0]))
    predicted = share * first + (1.0 - share) * second
    note_residuals(squares, counts, columns, predicted, shares)
    for c in range(columns.size):
        log_weights[0] -= RATE * (first[c] - shares[c]) ** 2
        log_weights[1] -= RATE * (second[c] - shares[c]) ** 2
    log_weights -= log_weights.max()
    if log_weights[0] > -math.inf:
        size = weights.shape[0]
        full_learn(weights, covariances, places[:size], values[:size], columns, shares)
    if log_weights[1] > -math.inf:
        diagonal_learn(more_weights, variances, places, values, columns, shares)
    count_dense(x, means, deviations, count + 1)
    return True
