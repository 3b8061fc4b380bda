"""The models inside the default oracle, for contexts of numbers, of words, and of both.

They work on shares of the loss range. `forecast` and `learn` trust their input: they take what
`read` made of a context.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from graphcb.compilation import compiled
from graphcb.contexts.encoded import EncodedRow
from graphcb.loaded import check_array, check_counts, check_kind, check_numbers
from graphcb.oracles.bayesian import BayesianLogistic
from graphcb.oracles.features import (
    DENSE_CONSTANT,
    SPARSE_CONSTANT,
    DenseFeatures,
    SparseFeatures,
    find_key,
)
from graphcb.oracles.loss_scale import Carry
from graphcb.oracles.posterior import (
    PRIOR_COUNT,
    add_surprises,
    certainty,
    diagonal_learn,
    diagonal_scores,
    full_learn,
    full_scores,
    mean_shares,
    note_residuals,
    note_surprises,
    pooled_dispersions,
)
from graphcb.oracles.priors import constant_prior, relearn
from graphcb.oracles.rows import Columns, Floats, dense_width, every_index
from graphcb.standardising import CLIP

PRODUCTS_UP_TO = 64  # numbers, which have 2,080 products
FULL_UP_TO = 256  # features with a full covariance,
FULL_ENTRIES = 1_000_000  # and 8 MB for the covariances of all actions: larger ones are slow
RATE = 2.0  # at which weights fall with squared errors: Vovk's for losses between 0 and 1

# A row; the variance of an unseen weight; constant and table of the features; weights and
# covariances of both members; where the products are, and of how many numbers; log weights;
# squares and counts of the residuals.
Arguments = tuple[
    Columns, Floats, int, float, float, float, Columns, Columns, Floats, Floats, Floats, Floats,
    Floats, int, int, Floats, Floats, Floats, Floats,
]  # fmt: skip
Answer = tuple[Floats, Floats, Floats, Floats]  # shares, deviations, gains, counts


class BlendRow(NamedTuple):
    """A context as a blend takes it: the `n_numbers` numbers first, then words.

    `room` is added to the squared norm, so that a constant has its share; `raw` are the numbers
    that are yet to be counted, of a context that no encoder has scaled.
    """

    indices: Columns
    values: Floats
    n_numbers: int
    room: float
    raw: Floats | None


class Blend:
    """A full covariance on numbers and words, and a diagonal one on their products too, weighed.

    Each has a constant at place 0, with the value `constant` in every row. Numbers and words have
    the places behind it, in the order in which they first appear; the diagonal member has the
    products of numbers i <= j at `first_product` + j (j + 1) / 2 + i.

    With more than 64 numbers, or none, there are no products, and the full member answers alone
    while there is one. With more than 256 features, or too many actions for its memory, it is
    given up, and the diagonal one, which has learned along, is alone.
    """

    def __init__(self, n_actions: int, width: int | None, constant: float) -> None:
        self.numbers = None if width is None else DenseFeatures(width)  # of bare dense rows
        self.features = SparseFeatures()
        self.constant = constant
        self.full: BayesianLogistic | None = None
        if affords_full(n_actions, 1):
            self.full = BayesianLogistic(n_actions, 1)
        self.diagonal = BayesianLogistic(n_actions, 1, covariance="diagonal")
        for member in self._members():
            constant_prior(member, constant)
        self.first_product = 1
        self.n_numbers = 0  # that have products
        self.log_weights = np.zeros(2)
        self.squares = np.full(n_actions, PRIOR_COUNT)
        self.surprises = np.zeros(n_actions)
        self.counts = np.zeros(n_actions)

    def read(self, context: Any) -> BlendRow:
        """The context, checked."""
        if self.numbers is not None:
            x = self.numbers.read(context)
            scaled = self.numbers.scales.scale(x)
            return BlendRow(every_index(x.size), scaled, x.size, 1.0, x)
        if isinstance(context, EncodedRow):
            return BlendRow(context.indices, context.values, context.n_numbers, 1.0, None)
        return BlendRow(*self.features.read(context), 0, 0.0, None)

    def forecast(self, row: BlendRow, columns: Columns) -> Answer:
        """The members' answers together, and how sure they are."""
        return _forecast(*self._arguments(row), columns)

    def learn(self, row: BlendRow, columns: Columns, shares: Floats) -> bool:
        """Weigh the members by what they predicted, let them learn, and count the context.

        False, and nothing is learned, if that would not stay finite.
        """
        if columns.size:
            new = _learn(*self._arguments(row), columns, shares)
            if new < 0:
                return False
            if new > 0:
                self.features.learn(row[:2])
                self._make_room(self.diagonal.n_actions, row.n_numbers)
                _learn(*self._arguments(row), columns, shares)
        if self.numbers is not None and row.raw is not None:
            self.numbers.learn(row.raw)
        return True

    def grow(self, n_actions: int) -> None:
        """Make room for more actions."""
        self._make_room(n_actions, self.n_numbers)
        more = n_actions - self.counts.size
        self.squares = np.append(self.squares, np.full(more, PRIOR_COUNT))
        self.surprises = np.append(self.surprises, np.zeros(more))
        self.counts = np.append(self.counts, np.zeros(more))

    def take(self, columns: Columns) -> None:
        """Keep these actions, in this order."""
        for member in self._members():
            member.take(columns)
        self.squares, self.counts = self.squares[columns], self.counts[columns]
        self.surprises = self.surprises[columns]

    def carry(self, carry: Carry) -> None:
        """Go over to shares of another range."""
        for member in self._members():
            member.carry(carry, 0, self.constant)
        self.squares = np.minimum(self.squares * carry.noises, PRIOR_COUNT + self.counts)
        self.surprises = np.zeros(self.surprises.size)

    def relearn_priors(self) -> None:
        """Estimate again what features are worth, which is due whenever losses have doubled."""
        dispersions = self.squares / (PRIOR_COUNT + self.counts)
        for member in self._members():
            linear = member.n_features if member is self.full else self.first_product
            groups = [slice(1, linear), slice(linear, member.n_features)]
            relearn(member, groups, self.counts, dispersions)

    def _members(self) -> list[BayesianLogistic]:
        return [member for member in (self.full, self.diagonal) if member is not None]

    def check_loaded(self) -> None:
        """Refuse parts that do not fit together."""
        check_kind(self, "numbers", DenseFeatures, type(None))
        check_kind(self, "features", SparseFeatures)
        check_numbers(self, "constant", least=0.0, most=CLIP)
        check_counts(self, first_product=1, n_numbers=0)
        check_array(self, "log_weights", (2,), least=-math.inf, most=0.0)
        check_kind(self, "full", BayesianLogistic, type(None))
        check_kind(self, "diagonal", BayesianLogistic)
        n_actions, places = self.diagonal.n_actions, self.features.n_places
        for name, covariance, size in (
            ("full", "full", places),
            ("diagonal", "diagonal", self.first_product + n_pairs(self.n_numbers)),
        ):
            member = getattr(self, name)
            if member is not None and (
                (member.covariance, member.n_actions) != (covariance, n_actions)
                or member.n_features < size
            ):
                raise ValueError(f"`{name}` must have {n_actions} actions and {size} features")
        if self.first_product < places or self.n_numbers > PRODUCTS_UP_TO:
            raise ValueError(f"there must be places for {places} features before the products")
        for name in ("squares", "counts"):
            check_array(self, name, (n_actions,), least=0.0)
        check_array(self, "surprises", (n_actions,), least=-1.0, most=1.0)

    def _arguments(self, row: BlendRow) -> Arguments:
        """What the kernels work on."""
        features, full, diagonal = self.features, self.full, self.diagonal
        weights, covariances = _NOTHING if full is None else (full.weights, full.covariances)
        return (
            row.indices, row.values, row.n_numbers, row.room,
            (full or diagonal).unseen_variance, self.constant,
            features.keys, features.key_places, features.largest,
            weights, covariances, diagonal.weights, diagonal.covariances,
            self.first_product, self.n_numbers, self.log_weights, self.squares, self.surprises,
            self.counts,
        )  # fmt: skip

    def _make_room(self, n_actions: int, n_numbers: int) -> None:
        """Grow with actions and features; a full covariance that is too large goes.

        The first row gets the room it needs, which is all for dense contexts; later ones twice it.
        """
        places = self.features.n_places
        factor = 1 if self.diagonal.n_features == 1 else 2
        if self.full is not None and _lacks_room(self.full, n_actions, places):
            doubled = max(places, min(factor * places, FULL_UP_TO))
            sizes = max(doubled, self.full.n_features), places
            affordable = [size for size in sizes if affords_full(n_actions, size)]
            if affordable:
                self.full.grow(n_actions, max(affordable[0], self.full.n_features))
            else:
                self.full = None
        numbers = max(self.n_numbers, n_numbers if n_numbers <= PRODUCTS_UP_TO else 0)
        linear = self.first_product if places <= self.first_product else factor * places
        size = linear + n_pairs(numbers)
        if _lacks_room(self.diagonal, n_actions, size) or linear > self.first_product:
            old, more = self.diagonal.n_features, linear - self.first_product
            self.diagonal.grow(n_actions, size)
            order = np.insert(np.arange(old), self.first_product, np.arange(old, old + more))
            self.diagonal.reorder(np.append(order, np.arange(old + more, size)))
            self.first_product, self.n_numbers = linear, numbers


def form_of(context: Any) -> tuple[int | None, float]:
    """The width of a dense context, None of any other, and the constant that belongs to it.

    Beside numbers the mean loss is learned first. Beside words it is not: what is new should not
    inherit much from what is known.
    """
    width = dense_width(context)
    if width is not None:
        return width, DENSE_CONSTANT / math.sqrt(width + 1.0)
    if not isinstance(context, EncodedRow):
        return None, SPARSE_CONSTANT
    words = context.values[context.n_numbers :]
    norm = context.n_numbers + float(words @ words)
    share = context.n_numbers / norm if norm else 0.0
    return None, math.sqrt((share * DENSE_CONSTANT**2 + 1.0 - share) / (norm + 1.0))


def n_pairs(n_numbers: int) -> int:
    """How many products some numbers have, squares among them."""
    return n_numbers * (n_numbers + 1) // 2


def affords_full(n_actions: int, n_features: int) -> bool:
    """Whether a full covariance of these sizes is kept."""
    return n_features <= FULL_UP_TO + 1 and n_actions * n_features * n_features <= FULL_ENTRIES


def _lacks_room(member: BayesianLogistic, n_actions: int, n_features: int) -> bool:
    return member.n_actions < n_actions or member.n_features < n_features


_NOTHING = np.zeros((0, 1)), np.zeros((0, 1, 1))  # of a full member that is not there


@compiled
def _place(
    indices: Columns,
    values: Floats,
    n_numbers: int,
    room: float,
    constant: float,
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    first_product: int,
    n_paired: int,
) -> tuple[Columns, Floats, int, int, float]:
    """The row by place; how many entries are no products, how many are new, and their share.

    Entries are the constant, what is known of the numbers and words, then the products.
    """
    n_pairs = n_paired * (n_paired + 1) // 2
    places, scaled = (
        np.empty(indices.size + 1 + n_pairs, np.int64),
        np.empty(indices.size + 1 + n_pairs),
    )
    places[0], scaled[0] = 0, constant
    size, n_new, norm, novelty = 1, 0, room + n_numbers, 0.0
    for k in range(indices.size):
        at = find_key(keys, indices[k])
        is_word, value = k >= n_numbers, values[k]
        if keys[at] < 0:
            n_new += 1
            if is_word:
                novelty += min(abs(value), 1.0) ** 2
                norm += min(abs(value), 1.0) ** 2
            continue
        place = key_places[at]
        if is_word:
            n_new += abs(value) > largest[place]
            value /= max(largest[place], abs(value))
            norm += value * value
        places[size], scaled[size] = place, value
        size += 1
    if norm > 0.0:
        weight = 1.0 / math.sqrt(norm)
        for k in range(1, size):
            scaled[k] *= weight
        novelty /= norm
    at, share = size, 1.0 / math.sqrt(norm + n_pairs)
    for j in range(n_paired):
        for i in range(j + 1):
            places[at] = first_product + at - size
            scaled[at] = share * min(CLIP, max(-CLIP, values[i] * values[j]))
            at += 1
    return places[:at], scaled[:at], size, n_new, novelty


@compiled
def _ask(
    places: Columns,
    values: Floats,
    size: int,
    novelty: float,
    weights: Floats,
    covariances: Floats,
    more_weights: Floats,
    variances: Floats,
    log_weights: Floats,
    columns: Columns,
) -> tuple[float, Floats, Floats, Floats]:
    """The weight of the full member, the shares of both, and their leverage together.

    `novelty` is the variance by what is new in the row. A member that is not asked has zeros.
    """
    first, second = np.zeros(columns.size), np.zeros(columns.size)
    leverages = np.zeros(columns.size)
    share = 0.0
    if weights.shape[0] > 0:
        share = 1.0
        if values.size > size:
            share = 1.0 / (1.0 + math.exp(log_weights[1] - log_weights[0]))
        scores, leverages = full_scores(weights, covariances, places[:size], values[:size], columns)
        leverages += novelty
        first = mean_shares(scores, leverages)
        leverages *= share
    if weights.shape[0] == 0 or values.size > size:
        scores, more_leverages = diagonal_scores(more_weights, variances, places, values, columns)
        more_leverages += novelty
        second = mean_shares(scores, more_leverages)
        leverages += (1.0 - share) * more_leverages
    return share, first, second, leverages


@compiled
def _forecast(
    indices: Columns,
    row_values: Floats,
    n_numbers: int,
    room: float,
    unseen: float,
    constant: float,
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    weights: Floats,
    covariances: Floats,
    more_weights: Floats,
    variances: Floats,
    first_product: int,
    n_paired: int,
    log_weights: Floats,
    squares: Floats,
    surprises: Floats,
    counts: Floats,
    columns: Columns,
) -> Answer:
    """Ask both members and mix: the mean of their answers, their variances, its own."""
    n_paired = min(n_paired, n_numbers)
    places, values, size, _, novelty = _place(
        indices, row_values, n_numbers, room, constant, keys, key_places, largest,
        first_product, n_paired if n_numbers <= PRODUCTS_UP_TO else 0,
    )  # fmt: skip
    share, first, second, leverages = _ask(
        places, values, size, novelty * unseen, weights, covariances, more_weights, variances,
        log_weights, columns,
    )  # fmt: skip
    shares = share * first + (1.0 - share) * second
    seen = counts[columns]
    dispersions = pooled_dispersions(squares, counts, columns)
    widths, gains = certainty(shares, leverages, dispersions)
    add_surprises(widths, surprises[columns], shares, dispersions)
    for c in range(columns.size):
        apart = first[c] - second[c]
        widths[c] = math.sqrt(widths[c] ** 2 + share * (1.0 - share) * apart * apart)
    return shares, widths, gains, seen


@compiled
def _learn(
    indices: Columns,
    row_values: Floats,
    n_numbers: int,
    room: float,
    unseen: float,
    constant: float,
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    weights: Floats,
    covariances: Floats,
    more_weights: Floats,
    variances: Floats,
    first_product: int,
    n_paired: int,
    log_weights: Floats,
    squares: Floats,
    surprises: Floats,
    counts: Floats,
    columns: Columns,
    shares: Floats,
) -> int:
    """Weigh the members and let them learn; 0 if that was done.

    Otherwise nothing changes: -1 if a prediction is not finite, and how many features need a
    place first if there are any.
    """
    is_paired = n_numbers <= PRODUCTS_UP_TO
    places, values, size, n_new, novelty = _place(
        indices, row_values, n_numbers, room, constant, keys, key_places, largest,
        first_product, min(n_paired, n_numbers) if is_paired else 0,
    )  # fmt: skip
    share, first, second, _ = _ask(
        places, values, size, novelty * unseen, weights, covariances, more_weights, variances,
        log_weights, columns,
    )  # fmt: skip
    for c in range(columns.size):
        if not np.isfinite(first[c] + second[c]):
            return -1
    if n_new > 0 or (is_paired and n_paired < n_numbers):
        return max(n_new, 1)
    predicted = share * first + (1.0 - share) * second
    note_surprises(surprises, counts, columns, predicted, shares)
    note_residuals(squares, counts, columns, predicted, shares)
    if weights.shape[0] > 0:
        if values.size > size:
            for c in range(columns.size):
                log_weights[0] -= RATE * (first[c] - shares[c]) ** 2
                log_weights[1] -= RATE * (second[c] - shares[c]) ** 2
            log_weights -= log_weights.max()
        full_learn(weights, covariances, places[:size], values[:size], columns, shares)
    diagonal_learn(more_weights, variances, places, values, columns, shares)
    return 0
