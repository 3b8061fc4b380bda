"""How each kind of member sees a context: as features, with their products, or with waves.

Each has a constant at place 0, with the same value in every row. Numbers and words have the places
behind it, in the order in which they first appear. Paired members have the product of numbers
i <= j at `first_product` + j (j + 1) / 2 + i, waved ones have their waves before numbers and words.
"""

import math
from typing import NamedTuple

import numpy as np

from graphcb.compilation import inner
from graphcb.oracles.features import find_key
from graphcb.oracles.rows import Columns, Floats, SparseRow
from graphcb.oracles.waves import add_waves
from graphcb.standardising import CLIP

PRODUCTS_UP_TO = 64  # numbers, which have 2,080 products
STRAIGHT, PAIRED, WAVED = 0, 1, 2  # kinds

Row = tuple[Columns, Floats, int, float]  # indices, values, how many are numbers, room
# Where features have their places: a table of keys, the largest size of each word, the constant,
# the first product, how many numbers have products, and the directions of the waves.
Layout = tuple[Columns, Columns, Floats, float, int, int, Floats]


class Placed(NamedTuple):
    """A row as each kind of member sees it.

    `n_new` are features that are new, or larger than ever, and `novelty` is their share.
    """

    rows: tuple[SparseRow, SparseRow, SparseRow]
    n_new: int
    novelty: float


@inner
def paired_numbers(row: Row, layout: Layout) -> int:
    """How many numbers of a row have products."""
    return min(layout[5], row[2]) if row[2] <= PRODUCTS_UP_TO else 0


@inner
def place(row: Row, layout: Layout, n_paired: int, with_waves: bool) -> Placed:
    """Give each feature its place, and scale the whole to a norm of about 1.

    Products of the first `n_paired` numbers and waves are for members that are asked.
    """
    indices, row_values, n_numbers, room = row
    keys, key_places, largest, constant, first_product, _, directions = layout
    n_pairs = n_paired * (n_paired + 1) // 2
    places = np.empty(indices.size + 1 + n_pairs, np.int64)
    scaled = np.empty(places.size)
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
        at = key_places[at]
        if is_word:
            n_new += abs(value) > largest[at]
            value /= max(largest[at], abs(value))
            norm += value * value
        places[size], scaled[size] = at, value
        size += 1
    waved = _with_waves(
        places[:size], scaled[:size], norm, room, directions if with_waves else directions[:, :0]
    )
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
    straight = places[:size], scaled[:size]
    return Placed((straight, (places[:at], scaled[:at]), waved), n_new, novelty)


@inner
def _with_waves(
    places: Columns, values: Floats, norm: float, room: float, directions: Floats
) -> SparseRow:
    """The row of waved members: nothing if there are no waves."""
    size, n_waves = places.size, directions.shape[1]
    if n_waves == 0:
        return np.empty(0, np.int64), np.empty(0)
    wave_places, waved = np.arange(size + n_waves), np.empty(size + n_waves)
    waved[0] = values[0]
    waves = waved[1 : 1 + n_waves]
    add_waves(places, values, math.sqrt(norm - room), directions, waves)
    n_features = room + size - 1.0  # which together weigh as much as so many waves
    share = 1.0 / math.sqrt(n_features + n_waves)
    waves *= share
    weight = share * math.sqrt(n_features / norm) if norm > 0.0 else share
    for k in range(1, size):
        wave_places[n_waves + k] = n_waves + places[k]
        waved[n_waves + k] = weight * values[k]
    return wave_places, waved
