"""The models inside the default oracle, for contexts of numbers, of words, and of both.

They work on shares of the loss range. `forecast` and `learn` trust their input: they take what
`read` made of a context.
"""

import math
import os
from typing import Any, NamedTuple

import numpy as np

from graphcb.compilation import compiled, inner
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
    full_forget,
    diagonal_forget,
    forget_residuals,
    mean_share,
    full_scores,
    mean_shares,
    note_residuals,
    note_surprises,
    pooled_dispersions,
)
from graphcb.oracles.priors import constant_prior, relearn
from graphcb.oracles.rows import Columns, Floats, dense_width, every_index
from graphcb.oracles.waves import add_waves, directions
from graphcb.standardising import CLIP

KEEPS = tuple(float(k) for k in os.environ.get("X_K", "1,.998,.98").split(","))
MEMORY = float(os.environ.get("X_M", ".998"))
POWER = float(os.environ.get("X_P", ".5"))
LEAST = float(os.environ.get("X_L", ".01"))
WAVES = int(os.environ.get("X_N", "64"))
LEAST_WAVES = 16
WAVE_ENTRIES = int(os.environ.get("X_E", "150000"))
PRODUCTS_UP_TO = 64  # numbers, which have 2,080 products
FULL_UP_TO = 256  # features with a full covariance,
FULL_ENTRIES = 1_000_000  # and 8 MB for the covariances of all actions: larger ones are slow
RATE = float(os.environ.get("X_R", "2"))  # at which weights fall with squared errors: Vovk's for losses between 0 and 1

KNOBS = np.array([RATE, MEMORY, POWER, LEAST, *KEEPS])
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
    """Members that see the same losses, weighed by how well they predicted the last ones.

    Three kinds: `straight` ones have a full covariance on numbers and words; `paired` ones a
    diagonal covariance on these and on the products of numbers; `waved` ones a full covariance on
    numbers, words and waves of them, which bend. Of each kind there is one that keeps what it
    learned and some that forget: with each loss of an action, all that they knew of it counts
    `KEEPS` times as much.

    Each has a constant at place 0, with the value `constant` in every row. Numbers and words have
    the places behind it, in the order in which they first appear, products of numbers i <= j of
    paired members are at `first_product` + j (j + 1) / 2 + i. Waved members have the `n_waves`
    waves before the numbers and words.

    With more than 64 numbers, or none, there are no products, and paired members are silent while
    there are others. With more than 256 features, or too many actions for their memory, those with
    a full covariance are given up, and the paired ones, which have learned along, are alone.
    """

    def __init__(self, n_actions: int, width: int | None, constant: float) -> None:
        self.numbers = None if width is None else DenseFeatures(width)  # of bare dense rows
        self.features = SparseFeatures()
        self.constant = constant
        self.straight: list[BayesianLogistic] = []
        if affords_full(n_actions, 1):
            self.straight = [BayesianLogistic(n_actions, 1) for _ in KEEPS]
        self.paired = [BayesianLogistic(n_actions, 1, covariance="diagonal") for _ in KEEPS]
        self.waved: list[BayesianLogistic] = []
        for member in self._members():
            constant_prior(member, constant)
        self.first_product = 1
        self.n_numbers = 0  # that have products
        self.n_waves = 0
        self.log_weights = np.zeros((3, len(KEEPS)))
        self.squares = np.full((len(KEEPS), n_actions), PRIOR_COUNT)
        self.surprises = np.zeros(n_actions)
        self.counts = np.zeros((len(KEEPS), n_actions))

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
        return _forecast(*self._arguments(row), columns, KNOBS)

    def learn(self, row: BlendRow, columns: Columns, shares: Floats) -> bool:
        """Weigh the members by what they predicted, let them learn, and count the context.

        False, and nothing is learned, if that would not stay finite.
        """
        if columns.size:
            new = _learn(*self._arguments(row), columns, shares, KNOBS)
            if new < 0:
                return False
            if new > 0:
                self.features.learn(row[:2])
                self._make_room(self.surprises.size, row.n_numbers)
                _learn(*self._arguments(row), columns, shares, KNOBS)
        if self.numbers is not None and row.raw is not None:
            self.numbers.learn(row.raw)
        return True

    def grow(self, n_actions: int) -> None:
        """Make room for more actions."""
        self._make_room(n_actions, self.n_numbers)
        more = np.zeros((len(KEEPS), n_actions - self.surprises.size))
        self.squares = np.append(self.squares, more + PRIOR_COUNT, axis=1)
        self.counts = np.append(self.counts, more, axis=1)
        self.surprises = np.append(self.surprises, more[0])

    def take(self, columns: Columns) -> None:
        """Keep these actions, in this order."""
        for member in self._members():
            member.take(columns)
        self.squares = self.squares[:, columns].copy()
        self.counts = self.counts[:, columns].copy()
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
        for members, first in (
            (self.straight, None),
            (self.paired, self.first_product),
            (self.waved, 1 + self.n_waves),
        ):
            if not members:
                continue
            groups = [slice(1, first), slice(first, members[0].n_features)]
            groups = groups[::-1] if members is self.waved else groups
            relearn(members[0], groups, self.counts[0], dispersions[0])
            for member in members[1:]:
                more = 1.0 / members[0].prior_variances - 1.0 / member.prior_variances
                member.add_precisions(more, forgets=True)
                member.unseen_variance = members[0].unseen_variance

    def _members(self) -> list[BayesianLogistic]:
        return [*self.straight, *self.paired, *self.waved]

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

    def _arguments(self, row: BlendRow) -> Any:
        """What the kernels work on."""
        features = self.features
        return (
            row[:4], features.keys, features.key_places, features.largest,
            (self.straight or self.paired)[0].unseen_variance, self.constant,
            _arrays(self.straight, 3), _arrays(self.paired, 2), _arrays(self.waved, 3),
            directions(self.n_waves, self.waved[0].n_features - self.n_waves if self.waved else 1),
            self.first_product, self.n_numbers, self.log_weights, self.squares, self.surprises,
            self.counts,
        )  # fmt: skip

    def _make_room(self, n_actions: int, n_numbers: int) -> None:
        """Grow with actions and features; a full covariance that is too large goes.

        The first row gets the room it needs, which is all for dense contexts; later ones twice it.
        """
        places, old = self.features.n_places, self.paired[0].n_features
        factor = 1 if old == 1 else 2
        if old == 1 and places > 1:
            self.n_waves = affordable_waves(n_actions, places)
            if self.n_waves:
                self.waved = [BayesianLogistic(n_actions, 1) for _ in KEEPS]
                for member in self.waved:
                    constant_prior(member, self.constant)
        self.straight = _grown(self.straight, n_actions, 0, places, factor, affords_full)
        self.waved = _grown(self.waved, n_actions, self.n_waves, places, factor, affords_waves)
        if not self.waved:
            self.n_waves = 0
        numbers = max(self.n_numbers, n_numbers if n_numbers <= PRODUCTS_UP_TO else 0)
        linear = self.first_product if places <= self.first_product else factor * places
        size = linear + n_pairs(numbers)
        if _lacks_room(self.paired[0], n_actions, size) or linear > self.first_product:
            more = linear - self.first_product
            order = np.insert(np.arange(old), self.first_product, np.arange(old, old + more))
            for member in self.paired:
                member.grow(n_actions, size)
                member.reorder(np.append(order, np.arange(old + more, size)))
            self.first_product, self.n_numbers = linear, numbers


def _arrays(members: list[BayesianLogistic], n_dimensions: int) -> Any:
    """Weights, covariances and prior variances of members, empty ones where there is none."""
    if not members:
        return _NOTHING[n_dimensions]
    return tuple((m.weights, m.covariances, m.prior_variances) for m in members)


_NOTHING = {
    n: (((np.zeros((0, 1)), np.zeros((0,) * n), np.zeros(0)),) * len(KEEPS)) for n in (2, 3)
}


def _grown(members, n_actions, before, places, factor, affords):
    if not members or not _lacks_room(members[0], n_actions, before + places):
        return members
    old = members[0].n_features
    doubled = max(places, min(factor * places, FULL_UP_TO))
    sizes = [size for size in (doubled, places) if affords(n_actions, before + size)]
    if not sizes:
        return []
    for member in members:
        member.grow(n_actions, max(before + sizes[0], old))
    return members


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


def affordable_waves(n_actions: int, n_places: int) -> int:
    """How many waves there are beside so many places: up to 64, or none if that were below 16."""
    room = math.isqrt(WAVE_ENTRIES // n_actions) - n_places - 1
    return min(room, WAVES) if room >= LEAST_WAVES else 0


def affords_waves(n_actions: int, n_features: int) -> bool:
    """Whether waved members of these sizes are kept."""
    return affords_full(n_actions, n_features) and n_actions * n_features**2 <= WAVE_ENTRIES


def _lacks_room(member: BayesianLogistic, n_actions: int, n_features: int) -> bool:
    return member.n_actions < n_actions or member.n_features < n_features


@inner
def _place(
    row: tuple[Columns, Floats, int, float],
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    constant: float,
    first_product: int,
    n_paired: int,
    directions: Floats,
) -> tuple[Columns, Floats, int, int, float, Columns, Floats]:
    """The row by place; how many entries are no products, how many are new, and their share.

    Entries are the constant, what is known of the numbers and words, then the products. The row of
    waved members follows.
    """
    indices, row_values, n_numbers, room = row
    n_pairs = n_paired * (n_paired + 1) // 2
    places, scaled = (
        np.empty(indices.size + 1 + n_pairs, np.int64),
        np.empty(indices.size + 1 + n_pairs),
    )
    places[0], scaled[0] = 0, constant
    size, n_new, norm, novelty = 1, 0, room + n_numbers, 0.0
    for k in range(indices.size):
        at = find_key(keys, indices[k])
        is_word, value = k >= n_numbers, row_values[k]
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
    n_waves = directions.shape[0]
    n_waved = size + n_waves if n_waves > 0 else 0
    wave_places, wave_values = np.arange(n_waved), np.empty(n_waved)
    if n_waves > 0:
        add_waves(
            places[:size], scaled[:size], math.sqrt(norm - room), directions,
            wave_values[1 : 1 + n_waves],
        )  # fmt: skip
        wave_values[0], share = constant, 1.0 / math.sqrt(norm + n_waves)
        for i in range(1, 1 + n_waves):
            wave_values[i] *= share
        for k in range(1, size):
            wave_places[n_waves + k] = n_waves + places[k]
            wave_values[n_waves + k] = share * scaled[k]
    if norm > 0.0:
        weight = 1.0 / math.sqrt(norm)
        for k in range(1, size):
            scaled[k] *= weight
        novelty /= norm
    at, share = size, 1.0 / math.sqrt(norm + n_pairs)
    for j in range(n_paired):
        for i in range(j + 1):
            places[at] = first_product + at - size
            scaled[at] = share * min(CLIP, max(-CLIP, row_values[i] * row_values[j]))
            at += 1
    return places[:at], scaled[:at], size, n_new, novelty, wave_places, wave_values


@inner
def _shares_of_weight(
    log_weights: Floats, has_straight: bool, has_pairs: bool, has_waves: bool, least: float
) -> Floats:
    """The members' weights with sum 1, 0 for those that are silent or below `least`."""
    found = np.exp(log_weights - log_weights.max())
    if not has_straight:
        found[0] = 0.0
    if has_straight and not has_pairs:
        found[1] = 0.0
    if not has_waves:
        found[2] = 0.0
    found /= found.sum()
    for i in range(found.shape[0]):
        for r in range(found.shape[1]):
            if found[i, r] < least:
                found[i, r] = 0.0
    return found / found.sum()


@inner
def _ask(
    places, values, size, wave_places, wave_values, novelty, straight, paired, waved, weights,
    columns,
) -> tuple[Floats, Floats]:
    """Shares and leverages (kind, rate, column) of all members that have weight.

    `novelty` is the variance by what is new in the row.
    """
    n = columns.size
    shares = np.zeros((weights.shape[0], weights.shape[1], n))
    leverages = np.zeros_like(shares)
    for r in range(weights.shape[1]):
        for kind in range(3):
            if weights[kind, r] <= 0.0:
                continue
            if kind == 0:
                model = straight[r]
                scores, spreads = full_scores(
                    model[0], model[1], places[:size], values[:size], columns
                )
            elif kind == 1:
                diagonal = paired[r]
                scores, spreads = diagonal_scores(
                    diagonal[0], diagonal[1], places, values, columns
                )
            else:
                model = waved[r]
                scores, spreads = full_scores(
                    model[0], model[1], wave_places, wave_values, columns
                )
            for c in range(n):
                leverages[kind, r, c] = spreads[c] + novelty
                shares[kind, r, c] = mean_share(scores[c], leverages[kind, r, c])
    return shares, leverages


@compiled
def _forecast(
    row, keys, key_places, largest, unseen, constant, straight, paired, waved, directions,
    first_product, n_paired, log_weights, squares, surprises, counts, columns, knobs,
) -> Answer:  # fmt: skip
    """Ask the members and mix: the mean of their answers, their variances, its own."""
    n_paired = min(n_paired, row[2])
    places, values, size, _, novelty, wave_places, wave_values = _place(
        row, keys, key_places, largest, constant,
        first_product, n_paired if row[2] <= PRODUCTS_UP_TO else 0, directions,
    )  # fmt: skip
    weights = _shares_of_weight(
        log_weights, straight[0][0].shape[0] > 0, values.size > size, wave_values.size > 0, knobs[3]
    )
    found, spreads = _ask(
        places, values, size, wave_places, wave_values, novelty * unseen, straight, paired, waved,
        weights, columns,
    )  # fmt: skip
    n = columns.size
    shares, leverages, apart = np.zeros(n), np.zeros(n), np.zeros(n)
    n_rates = weights.shape[1]
    for kind in range(3):
        for r in range(n_rates):
            if weights[kind, r] > 0.0:
                shares += weights[kind, r] * found[kind, r]
                leverages += weights[kind, r] * spreads[kind, r]
    for kind in range(3):
        for r in range(n_rates):
            if weights[kind, r] > 0.0:
                apart += weights[kind, r] * (found[kind, r] - shares) ** 2
    seen, noise = np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
    for r in range(n_rates):
        weight = weights[:, r].sum()
        if weight > 0.0:
            seen += weight * counts[r]
            noise += weight * squares[r]
    dispersions = pooled_dispersions(noise, seen, columns)
    widths, gains = certainty(shares, leverages, dispersions)
    add_surprises(widths, surprises[columns], shares, dispersions)
    return shares, np.sqrt(widths**2 + apart), gains, seen[columns]


@compiled
def _learn(
    row, keys, key_places, largest, unseen, constant, straight, paired, waved, directions,
    first_product, n_paired, log_weights, squares, surprises, counts, columns, seen, knobs,
) -> int:  # fmt: skip
    """Weigh the members and let them learn; 0 if that was done.

    Otherwise nothing changes: -1 if a prediction is not finite, and how many features need a
    place first if there are any.
    """
    is_paired = row[2] <= PRODUCTS_UP_TO
    places, values, size, n_new, novelty, wave_places, wave_values = _place(
        row, keys, key_places, largest, constant,
        first_product, min(n_paired, row[2]) if is_paired else 0, directions,
    )  # fmt: skip
    has_straight, has_waves = straight[0][0].shape[0] > 0, wave_values.size > 0
    weights = _shares_of_weight(log_weights, has_straight, values.size > size, has_waves, 0.0)
    asked = np.ones_like(weights)
    asked[0] = has_straight
    asked[2] = has_waves
    found, _ = _ask(
        places, values, size, wave_places, wave_values, novelty * unseen, straight, paired, waved,
        asked, columns,
    )  # fmt: skip
    if not np.isfinite(found.sum()):
        return -1
    if n_new > 0 or (is_paired and n_paired < row[2]):
        return max(n_new, 1)
    predicted, n_rates = np.zeros(columns.size), weights.shape[1]
    for kind in range(3):
        for r in range(n_rates):
            predicted += weights[kind, r] * found[kind, r]
    note_surprises(surprises, counts[0], columns, predicted, seen)
    for r in range(n_rates):
        forget_residuals(squares[r], counts[r], columns, knobs[4 + r])
        note_residuals(squares[r], counts[r], columns, predicted, seen)
    log_weights *= knobs[1]
    for kind in range(3):
        for r in range(n_rates):
            for c in range(columns.size):
                log_weights[kind, r] -= (
                    knobs[0] * (found[kind, r, c] - seen[c]) ** 2 / columns.size**knobs[2]
                )
    if not (has_straight and values.size == size):
        log_weights -= log_weights.max()
    else:
        log_weights -= max(log_weights[0].max(), log_weights[2].max())
    for r in range(n_rates):
        keep = knobs[4 + r]
        if has_straight:
            weights_, covariances, priors = straight[r]
            if keep < 1.0:
                full_forget(covariances, priors, columns, keep)
            full_learn(weights_, covariances, places[:size], values[:size], columns, seen)
        if has_waves:
            weights_, covariances, priors = waved[r]
            if keep < 1.0:
                full_forget(covariances, priors, columns, keep)
            full_learn(weights_, covariances, wave_places, wave_values, columns, seen)
        weights_, variances, priors = paired[r]
        if keep < 1.0:
            diagonal_forget(variances, priors, places, columns, keep)
        diagonal_learn(weights_, variances, places, values, columns, seen)
    return 0
