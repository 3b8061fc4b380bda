"""The features of actions as rows with a norm of about 1, whatever their scale.

A dense feature is scaled by what was seen of it so far (`contexts.scaling`), unless all that was
seen of it is 0 and 1: such a mark stays as it is. A sparse feature is divided by its largest value
where that is above 1. All are then divided by the typical norm of a row. Features get places in
the order in which they first appear; place 0 is a constant.

Dense features also have products: of all pairs if these are few, else their squares if those are.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from graphcb.checks import as_count, as_numbers, first_too_large, too_large
from graphcb.compilation import compiled
from graphcb.contexts.encoded import EncodedRow, EncodedRows
from graphcb.contexts.scaling import NumberScales, count_row, scale_row
from graphcb.loaded import Array, Count, Learned, Made, Number
from graphcb.oracles.features import LARGEST_INDEX, SparseFeatures, find_key
from graphcb.oracles.rows import (
    Columns,
    Floats,
    SparseRow,
    as_row,
    every_index,
    first_outside,
    is_sparse,
)

CONSTANT = 0.25  # of an action, beside features of norm 1: how much all actions have in common
UNSEEN = -1  # in place of a feature that was never learned
MOST_PRODUCTS = 55  # of dense features: all those of 10, or the squares of up to 55
PRODUCT = 0.3  # of an action's products, beside its features: few of them matter


class Rows(NamedTuple):
    """Several sparse rows, one after the other; row r is at starts[r] to starts[r + 1].

    `products` (n_rows, n_products) are those of dense features, none before they are scaled.
    """

    starts: Columns
    indices: Columns
    values: Floats
    products: Floats


class ActionRows:
    """Reads and scales the features of actions; the first rows learned say what they look like."""

    learned = Learned(
        places=Made(),
        scales=Made(),
        is_mark=Array("width", dtype=np.bool_),
        count=Count(),
        total=Number(0.0),
    )

    def __init__(self, width: int | None, n_numbers: int = 0) -> None:
        self.width = (
            None if width is None else as_count("width", width, at_least=0)
        )  # of dense rows; None for sparse ones
        # Of encoded rows: numbers, already scaled, that have products.
        self.n_numbers = as_count("n_numbers", n_numbers, at_least=0)
        self.places = SparseFeatures()
        self.scales = NumberScales(width or 0)
        self.is_mark = np.ones(width or 0, dtype=np.bool_)
        self.count = 0
        self.total = 0.0  # of the squared norms

    @property
    def n_places(self) -> int:
        """Places of all features seen, the constant among them."""
        return self.places.n_places if self.width is None else self.width + 1

    @property
    def n_products(self) -> int:
        """How many products of features a row has."""
        return n_few_products(self.n_numbers if self.width is None else self.width)

    def check_loaded(self) -> None:
        """Refuse scales of other numbers."""
        if self.scales.n_numbers != (self.width or 0):
            raise ValueError(f"`scales` must be those of {self.width or 0} numbers")

    def read(self, actions: Any) -> Rows:
        """The rows, checked."""
        if self.width is not None:
            return _read_dense(actions, self.width)
        encoded = None
        if len(actions) and {EncodedRow}.issuperset(map(type, actions)):
            encoded = EncodedRows.of(actions)
            found = encoded.pairs()
            if found is not None and _are_usual(found[1], found[2]):
                without = _without_constants(*found)
                return Rows(*without, self._products_of_encoded(actions, encoded))
        rows = _read_sparse(actions)
        return rows._replace(products=self._products_of_encoded(actions, encoded))

    def scale(self, rows: Rows) -> Rows:
        """The rows by place, the constant first in each, as if each were counted."""
        starts, indices, values, products = rows
        if self.width is not None:
            return Rows(
                *_scale_dense(
                    values, *self.scales.state(), self.is_mark, self.count, self.total,
                    self.n_products,
                )
            )  # fmt: skip
        table = self.places
        return Rows(
            *_scale_sparse(
                starts, indices, values, table.keys, table.key_places, table.largest,
                self.count, self.total,
            ),
            products,
        )  # fmt: skip

    def _products_of_encoded(self, actions: Any, encoded: EncodedRows | None) -> Floats:
        """Products (n_rows, n_products) of the numbers that encoded rows have first."""
        products = np.zeros((len(actions), self.n_products))
        if self.n_products:
            numbers = np.zeros((len(actions), self.n_numbers))
            if encoded is not None:
                _fill_numbers(encoded.starts, encoded.values, encoded.n_numbers, numbers)
            else:
                for row, found in zip(actions, numbers, strict=True):
                    if isinstance(row, EncodedRow):
                        fill_numbers(row, found)
            _fill_each(numbers, PRODUCT, products)
        return products

    def learn(self, rows: Rows) -> None:
        """Count the rows, and give new features places."""
        starts, indices, values, _ = rows
        n = starts.size - 1
        if self.width is None:
            self.places.learn((indices, values))
            self.total += _squared_norms(values, indices, self.places)
        else:
            self.total += _count_rows(
                values.reshape(n, self.width), *self.scales.state(), self.scales.ends, self.is_mark
            )
        self.count += n


def fill_numbers(row: EncodedRow, numbers: Floats) -> None:
    """Write the first numbers of an encoded row; those that it does not have stay."""
    known = min(numbers.size, row.n_numbers)
    numbers[:known] = row.values[:known]


@lru_cache(maxsize=64)
def n_few_products(width: int) -> int:
    """How many products so many dense features have: all of them, or the squares, or none."""
    return next((n for n in (width * (width + 1) // 2, width) if n <= MOST_PRODUCTS), 0)


def width_of(actions: Any) -> int | None:
    """The width of dense rows; None for sparse ones."""
    if type(actions) is np.ndarray and actions.ndim == 2:
        return int(actions.shape[1])
    return None if is_sparse(actions[0]) else len(actions[0])


def n_rows(actions: Any) -> int:
    """How many rows these are; what is no list of rows is refused."""
    if (
        actions is None
        or isinstance(actions, str | bytes | dict)
        or not hasattr(actions, "__len__")
    ):
        raise TypeError(
            "`actions` must be a list of rows of features, one per action, or an array "
            f"(n_actions, n_features), got {_kind(actions)}"
        )
    return len(actions)


def _kind(actions: Any) -> str:
    return "None" if actions is None else f"a {type(actions).__name__}"


def _read_dense(actions: Any, width: int) -> Rows:
    for position, row in enumerate(() if type(actions) is np.ndarray else actions):
        if is_sparse(row):
            raise ValueError(
                f"`actions` must have rows of {width} numbers, like those learned from so far, "
                f"got a sparse row at index {position}"
            )
    rows = as_numbers("actions", actions)
    if rows.size == 0 and len(rows) == 0:
        rows = rows.reshape(0, width)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(
            f"`actions` must have shape (n_actions, {width}), one row of features per action, "
            f"got {rows.shape}"
        )
    wrong = first_too_large(rows.ravel())
    if wrong >= 0:
        where = f"index {wrong // width}, feature {wrong % width}"
        raise too_large("actions", rows.ravel()[wrong], where)
    starts = every_index(len(rows) + 1) * width
    return _unscaled(starts, every_index(0), np.ascontiguousarray(rows.ravel()))


def _read_sparse(actions: Any) -> Rows:
    rows = [
        _of_encoded(row) if type(row) is EncodedRow else _checked(row, position)
        for position, row in enumerate(actions)
    ]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    if not rows:
        return _unscaled(starts, np.empty(0, dtype=np.int64), np.empty(0))
    np.cumsum([keys.size for keys, _ in rows], out=starts[1:])
    indices = np.concatenate([keys for keys, _ in rows])
    values = np.concatenate([numbers for _, numbers in rows])
    if first_outside(indices, LARGEST_INDEX) >= 0 or first_too_large(values) >= 0:
        for position, row in enumerate(actions):
            _checked(row, position)  # refuses it
    return _unscaled(starts, indices, values)


def _of_encoded(row: EncodedRow) -> SparseRow:
    """An encoded row as `_without_constants` gives several."""
    indices, values = row.pair()
    _, places, scaled = _without_constants(np.array([0, values.size]), indices, values)
    return places, scaled


def _checked(row: Any, position: int) -> SparseRow:
    """The sparse row of an action."""
    if not is_sparse(row):
        raise ValueError(
            "`actions` must be sparse rows, like those learned from so far, got a "
            f"{type(row).__name__} at index {position}"
        )
    limit = LARGEST_INDEX if isinstance(row, tuple) else row.shape[-1]
    try:
        keys, numbers = as_row(row, limit)
    except (ValueError, IndexError, TypeError) as reason:
        text = str(reason).replace("`context", "`actions", 1)
        raise type(reason)(f"{text} (action {position})") from None
    wrong = first_too_large(numbers)
    if wrong >= 0:
        where = f"index {position}, feature {keys[wrong]}"
        raise too_large("actions", numbers[wrong], where)
    return keys, numbers


def _unscaled(starts: Columns, indices: Columns, values: Floats) -> Rows:
    return Rows(starts, indices, values, no_products(starts))


def no_products(starts: Columns) -> Floats:
    """The products of rows without dense features."""
    return np.empty((starts.size - 1, 0))


def _squared_norms(values: Floats, indices: Columns, table: SparseFeatures) -> float:
    return _sum_squares(indices, values, table.keys, table.key_places, table.largest)


@compiled
def _sum_squares(
    indices: Columns, values: Floats, keys: Columns, key_places: Columns, largest: Floats
) -> float:
    """Squared norm of all rows together, their features all known."""
    total = 0.0
    for k in range(indices.size):
        total += (values[k] / largest[key_places[find_key(keys, indices[k])]]) ** 2
    return total


@compiled
def _without_constants(
    starts: Columns, indices: Columns, values: Floats
) -> tuple[Columns, Columns, Floats]:
    """Rows of norm 1 that end with a constant, without it, and of norm 1 again.

    All rows get a constant of their own when they are scaled. A second one, as large as a name,
    learned much of what an item is worth, and each item counted as seen when any of them was.
    """
    n = starts.size - 1
    ends, places, scaled = (
        np.zeros(n + 1, np.int64),
        np.empty(indices.size - n, np.int64),
        np.empty(indices.size - n),
    )
    for r in range(n):
        last, at = starts[r + 1] - 1, ends[r]
        # Next to the constant, all else may be too small to be seen in a norm.
        norm = math.sqrt(max(1.0 - values[last] * values[last], 1e-300))
        for k in range(starts[r], last):
            places[at] = indices[k]
            scaled[at] = values[k] / norm
            at += 1
        ends[r + 1] = at
    return ends, places, scaled


@compiled
def _scale_sparse(
    starts: Columns,
    indices: Columns,
    values: Floats,
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    count: int,
    total: float,
) -> tuple[Columns, Columns, Floats]:
    n = starts.size - 1
    ends, size = np.empty(n + 1, np.int64), indices.size + n
    places, scaled = np.empty(size, np.int64), np.empty(size)
    at = ends[0] = 0
    for r in range(n):
        places[at], scaled[at] = 0, CONSTANT
        begin, norm = at + 1, 0.0
        at += 1
        for k in range(starts[r], starts[r + 1]):
            slot = find_key(keys, indices[k])
            known = keys[slot] >= 0
            place = key_places[slot] if known else UNSEEN
            value = values[k] / max(largest[place] if known else 1.0, abs(values[k]))
            places[at], scaled[at] = place, value
            norm += value * value
            at += 1
        typical = math.sqrt((total + norm) / (count + 1.0))
        if typical > 0.0:
            for k in range(begin, at):
                scaled[k] /= typical
        ends[r + 1] = at
    return ends, places, scaled


@compiled
def _scale_dense(
    values: Floats,
    means: Floats,
    squares: Floats,
    counts: Columns,
    samples: Floats,
    shapes: Floats,
    is_mark: Any,
    count: int,
    total: float,
    n_products: int,
) -> tuple[Columns, Columns, Floats, Floats]:
    d = means.size
    n = values.size // d
    ends, places, scaled = (
        np.empty(n + 1, np.int64),
        np.empty(n * (d + 1), np.int64),
        np.empty(n * (d + 1)),
    )
    products = np.empty((n, n_products))
    ends[0] = 0
    for r in range(n):
        at, norm = r * (d + 1), 0.0
        places[at], scaled[at] = 0, CONSTANT
        row, features = values[r * d : (r + 1) * d], scaled[at + 1 : at + 1 + d]
        scale_row(row, means, squares, counts, samples, shapes, features)
        for i in range(d):
            if is_mark[i] and (row[i] == 0.0 or row[i] == 1.0):
                features[i] = row[i]
            places[at + 1 + i] = i + 1
            norm += features[i] * features[i]
        fill_products(features, PRODUCT, products[r])
        typical = math.sqrt((total + norm) / (count + 1.0))
        if typical > 0.0:
            for k in range(at + 1, at + 1 + d):
                scaled[k] /= typical
        ends[r + 1] = at + d + 1
    return ends, places, scaled, products


@compiled
def fill_products(values: Floats, weight: float, products: Floats) -> None:
    """Products of standardised features, with such a norm: of all pairs, or squares alone.

    Squares are taken less 1, their mean. Else together they were a second constant, which has no
    covariance with what an action has of its own: as shared weights moved, forecasts of actions
    that are hardly ever played moved along, away from all that was seen of them.
    """
    d, k = values.size, 0
    share = weight / math.sqrt(products.size + d + 1.0)
    for i in range(d if products.size else 0):
        for j in range(i, i + 1 if products.size == d else d):
            products[k] = share * (values[i] * values[j] - (i == j))
            k += 1


@compiled
def _are_usual(indices: Columns, values: Floats) -> bool:
    """Whether all indices exist, and no value is too large."""
    return first_outside(indices, LARGEST_INDEX) < 0 and first_too_large(values) < 0


@compiled
def _fill_numbers(starts: Columns, values: Floats, n_numbers: Columns, numbers: Floats) -> None:
    """`fill_numbers` for several rows."""
    for r in range(n_numbers.size):
        for i in range(min(n_numbers[r], numbers.shape[1])):
            numbers[r, i] = values[starts[r] + i]


@compiled
def _fill_each(numbers: Floats, weight: float, products: Floats) -> None:
    """The products of each row of numbers; a row of zeros has none."""
    for r in range(numbers.shape[0]):
        fill_products(numbers[r], weight, products[r])


@compiled
def _count_rows(
    rows: Floats,
    means: Floats,
    squares: Floats,
    counts: Columns,
    samples: Floats,
    shapes: Floats,
    ends: Floats,
    is_mark: Any,
) -> float:
    """Count these rows; the sum of their squared norms, scaled."""
    total, scaled = 0.0, np.empty(rows.shape[1])
    for r in range(rows.shape[0]):
        scale_row(rows[r], means, squares, counts, samples, shapes, scaled)
        count_row(rows[r], means, squares, counts, samples, shapes, ends)
        for i in range(rows.shape[1]):
            value = rows[r, i]
            is_mark[i] = is_mark[i] and (value == 0.0 or value == 1.0)
            if not is_mark[i]:
                value = scaled[i]
            total += value * value
    return total


@compiled
def mean_counts(starts: Columns, places: Columns, values: Floats, seen: Floats) -> Floats:
    """How often the features of each row were seen: their mean, weighted by squared values.

    The constant, which comes first, counts only where there is nothing else.
    """
    counts = np.zeros(starts.size - 1)
    for r in range(counts.size):
        total = 0.0
        for k in range(starts[r] + 1, starts[r + 1]):
            weight = values[k] * values[k]
            total += weight
            counts[r] += weight * seen[places[k]] if 0 <= places[k] < seen.size else 0.0
        counts[r] = counts[r] / total if total > 0.0 else seen[0]
    return counts
