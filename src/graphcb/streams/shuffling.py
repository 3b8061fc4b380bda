"""Rows in a random order: all of them are held in memory."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Row = TypeVar("Row")


def order_of(n_rows: int, seed: int) -> NDArray[np.intp]:
    """A random order, from the first of the two streams of a seed: the second is for draws."""
    world = np.random.SeedSequence(seed).spawn(2)[0]
    return np.random.default_rng(world).permutation(n_rows)


def shuffled(rows: Iterable[Row], seed: int) -> Iterator[Row]:
    """The same rows in a random order."""
    everything = list(rows)
    return (everything[i] for i in order_of(len(everything), seed).tolist())


def shuffled_columns(parts: Sequence[Sequence[Any]], order: NDArray[np.intp]) -> list[Any]:
    """Columns that came in parts, in one piece each and in another order."""
    found: list[Any] = []
    for pieces in zip(*parts, strict=True):
        if all(isinstance(piece, np.ndarray) for piece in pieces):
            found.append(np.concatenate(pieces)[order])
        else:
            lists = (p.tolist() if isinstance(p, np.ndarray) else p for p in pieces)
            cells = list(chain.from_iterable(lists))
            found.append([cells[i] for i in order.tolist()])
    return found
