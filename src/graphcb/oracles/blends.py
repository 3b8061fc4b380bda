"""The models inside the default oracle, for contexts of numbers, of words, and of both.

They work on shares of the loss range. `forecast` and `learn` trust their input: they take what
`read` made of a context.
"""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from graphcb.contexts.encoded import EncodedRow
from graphcb.loaded import check_array, check_counts, check_kind, check_numbers
from graphcb.oracles.bayesian import BayesianLogistic
from graphcb.oracles.blend_kernels import Members, Models, Record, forecast, learn
from graphcb.oracles.blend_rows import PRODUCTS_UP_TO, Layout, Row
from graphcb.oracles.blend_weights import KEEPS, STILL
from graphcb.oracles.features import (
    DENSE_CONSTANT,
    SPARSE_CONSTANT,
    DenseFeatures,
    SparseFeatures,
)
from graphcb.oracles.loss_scale import Carry
from graphcb.oracles.posterior import PRIOR_COUNT
from graphcb.oracles.priors import MOST, MOST_ALONE, constant_prior, relearn
from graphcb.oracles.residuals import LEVELS
from graphcb.oracles.rows import Columns, Floats, dense_width, every_index
from graphcb.oracles.watched_losses import Watch
from graphcb.oracles.waves import directions
from graphcb.standardising import CLIP

FULL_UP_TO = 256  # features with a full covariance,
FULL_ENTRIES = 1_000_000  # and 8 MB for the covariances of all actions: larger ones are slow
WAVES = 48  # beside the features, or fewer:
LEAST_WAVES = 16
WAVE_ENTRIES = 150_000  # in the covariances of all actions, about 50 us for a decision


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
    `KEEPS` times as much. `blend_rows` says where features have their places, `blend_weights` how
    members are weighed.

    With more than 64 numbers, or none, there are no products, and paired members are silent while
    there are others. With more than 256 features, or too many actions for their memory, those with
    a full covariance are given up, waved ones first, and the paired ones, which have learned along,
    are alone. Where these have more than a million variances, they do not forget.
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
        self.log_weights = np.tile(STILL, (3, 1))  # of kinds and rates
        self.squares = np.full((len(KEEPS), n_actions), PRIOR_COUNT)
        self.surprises = np.zeros(n_actions)
        self.ages = np.zeros(n_actions)
        self.between = np.zeros(n_actions)
        self.levels = np.zeros((2, LEVELS))
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

    def forecast(self, row: BlendRow, columns: Columns) -> Floats:
        """The members' answers together: rows of shares, deviations, gains and counts."""
        found: Floats = self._forecast(row, 1, columns)[0]
        return found

    def forecast_each(self, rows: Sequence[BlendRow], columns: Columns) -> list[Floats]:
        """`forecast` of each row; those with the same features follow each other best."""
        found: list[Floats] = []
        for _, alike in groupby(rows, _form):
            together = list(alike)
            values = np.concatenate([row.values for row in together])
            whole = together[0]._replace(values=values)
            found += [*self._forecast(whole, len(together), columns)]
        return found

    def _forecast(self, rows: BlendRow, n_rows: int, columns: Columns) -> Floats:
        row, layout, members, record = self._arguments(rows)
        return forecast(row, n_rows, layout, members, record, columns)

    def learn(self, row: BlendRow, columns: Columns, shares: Floats, watch: Watch) -> bool:
        """Weigh the members by what they predicted, let them learn, and count the context.

        False, and nothing is learned, if that would not stay finite.
        """
        if columns.size:
            new = learn(*self._arguments(row), columns, shares, watch)
            if new < 0:
                return False
            if new > 0:
                self.features.learn(row[:2])
                self._make_room(self.surprises.size, row.n_numbers)
                learn(*self._arguments(row), columns, shares, watch)
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
        self.ages = np.append(self.ages, more[0])
        self.between = np.append(self.between, more[0])

    def take(self, columns: Columns) -> None:
        """Keep these actions, in this order."""
        for member in self._members():
            member.take(columns)
        self.squares = self.squares[:, columns].copy()
        self.counts = self.counts[:, columns].copy()
        self.surprises, self.ages = self.surprises[columns], self.ages[columns]
        self.between = self.between[columns]

    def carry(self, carry: Carry) -> None:
        """Go over to shares of another range."""
        for member in self._members():
            member.carry(carry, 0, self.constant)
        self.squares = np.minimum(self.squares * carry.noises, PRIOR_COUNT + self.counts)
        self.surprises = np.zeros(self.surprises.size)
        if carry.keeps.any():
            factor = np.average(carry.noises, weights=PRIOR_COUNT + self.counts[0])
            self.levels[0] = np.minimum(self.levels[0] * factor, self.levels[1])
        else:  # learned at a wrong scale
            self.between, self.levels = 0.0 * self.between, 0.0 * self.levels

    def relearn_priors(self) -> None:
        """Estimate again what features are worth, which is due whenever losses have doubled.

        What a feature is worth is said by the member that keeps all; the others take it over.
        """
        dispersions = self.squares[0] / (PRIOR_COUNT + self.counts[0])
        most = MOST if self.straight else MOST_ALONE
        for members, begin, end in (
            (self.straight, 1, None),
            (self.paired, 1, self.first_product),
            (self.waved, 1 + self.n_waves, None),
        ):
            if not members:
                continue
            others = slice(1, begin) if end is None else slice(end, None)
            groups = [slice(begin, end), others]
            relearn(members[0], groups, self.counts[0], dispersions, most)
            for member in members[1:]:
                member.take_priors(members[0])

    def _members(self) -> list[BayesianLogistic]:
        return [*self.straight, *self.paired, *self.waved]

    def check_loaded(self) -> None:
        """Refuse parts that do not fit together."""
        check_kind(self, "numbers", DenseFeatures, type(None))
        check_kind(self, "features", SparseFeatures)
        check_numbers(self, "constant", least=0.0, most=CLIP)
        check_counts(self, first_product=1, n_numbers=0, n_waves=0)
        check_numbers(self, "n_waves", most=WAVES)
        check_array(self, "log_weights", (3, len(KEEPS)), most=0.0)
        check_array(self, "surprises", self.surprises.shape[:1], least=-1.0, most=1.0)
        n_actions, places = self.surprises.size, self.features.n_places
        vars(self).setdefault("between", np.zeros(n_actions))  # in files since 0.5: see note 0073
        vars(self).setdefault("levels", np.zeros((2, LEVELS)))
        check_array(self, "levels", (2, LEVELS), least=0.0)
        for name in ("ages", "between"):
            check_array(self, name, (n_actions,), least=0.0)
        for name in ("squares", "counts"):
            check_array(self, name, (len(KEEPS), n_actions), least=0.0)
        if self.first_product < places or self.n_numbers > PRODUCTS_UP_TO:
            raise ValueError(f"there must be places for {places} features before the products")
        pairs = self.first_product + n_pairs(self.n_numbers)
        _check_members("straight", self.straight, (0, len(KEEPS)), "full", n_actions, places)
        _check_members("paired", self.paired, (1, len(KEEPS)), "diagonal", n_actions, pairs)
        n_waved = len(KEEPS) if self.n_waves else 0
        waves = self.n_waves + places
        _check_members("waved", self.waved, (n_waved,), "full", n_actions, waves)

    def _arguments(self, row: BlendRow) -> tuple[Row, Layout, Members, Record]:
        """What the kernels work on."""
        features, waved = self.features, self.waved
        n_places = waved[0].n_features - self.n_waves if waved else 1
        layout = (
            features.keys, features.key_places, features.largest, self.constant,
            self.first_product, self.n_numbers, directions(self.n_waves, n_places),
        )  # fmt: skip
        members = _arrays(self.straight), _arrays(self.paired), _arrays(waved)
        unseen = (self.straight or self.paired)[0].unseen_variance
        record = (
            self.log_weights, self.squares, self.surprises, self.counts, self.ages, self.between,
            self.levels, unseen,
        )  # fmt: skip
        return row[:4], layout, members, record

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
            if n_actions * size > FULL_ENTRIES:
                self.paired = self.paired[:1]
            for member in self.paired:
                member.grow(n_actions, size)
                member.reorder(np.append(order, np.arange(old + more, size)))
            self.first_product, self.n_numbers = linear, numbers


def _form(row: BlendRow) -> tuple[bytes, int, float]:
    """What rows have in common that are worked out together."""
    return row.indices.tobytes(), row.n_numbers, row.room


def _arrays(members: list[BayesianLogistic]) -> Models:
    """Weights, covariances and prior variances at each rate, empty where there is no member."""
    arrays = tuple(map(_MODEL, members))
    return arrays if len(arrays) == len(KEEPS) else arrays + _NOTHING[len(arrays) :]


_MODEL = attrgetter("weights", "covariances", "prior_variances")
_NOTHING = ((np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0)),) * len(KEEPS)


def _grown(
    members: list[BayesianLogistic],
    n_actions: int,
    n_waves: int,
    n_places: int,
    factor: int,
    affords: Callable[[int, int], bool],
) -> list[BayesianLogistic]:
    """Members with room for these waves and places, for more if possible; none if they are dear."""
    if not members or not _lacks_room(members[0], n_actions, n_waves + n_places):
        return members
    doubled = max(n_places, min(factor * n_places, FULL_UP_TO))
    sizes = [n_waves + n for n in (doubled, n_places) if affords(n_actions, n_waves + n)]
    for member in members:
        if sizes:
            member.grow(n_actions, max(sizes[0], member.n_features))
    return members if sizes else []


def _check_members(
    name: str,
    members: Any,
    lengths: tuple[int, ...],
    covariance: str,
    n_actions: int,
    n_features: int,
) -> None:
    """Refuse members of other sizes."""
    if type(members) is not list or len(members) not in lengths:
        raise ValueError(f"`{name}` must be a list of {' or '.join(map(str, lengths))} members")
    for member in members:
        if not isinstance(member, BayesianLogistic):
            raise ValueError(f"`{name}` must hold BayesianLogistic, got {type(member).__name__}")
        fits = member.n_features == members[0].n_features >= n_features
        if (member.covariance, member.n_actions) != (covariance, n_actions) or not fits:
            raise ValueError(f"`{name}` must have {n_actions} actions and {n_features} features")


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
    """How many waves there are beside so many places: up to 48, or none if that were below 16."""
    room = math.isqrt(WAVE_ENTRIES // n_actions) - n_places - 1
    return min(room, WAVES) if room >= LEAST_WAVES else 0


def affords_waves(n_actions: int, n_features: int) -> bool:
    """Whether waved members of these sizes are kept."""
    return affords_full(n_actions, n_features) and n_actions * n_features**2 <= WAVE_ENTRIES


def _lacks_room(member: BayesianLogistic, n_actions: int, n_features: int) -> bool:
    return member.n_actions < n_actions or member.n_features < n_features
