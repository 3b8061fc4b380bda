"""Waves: random Fourier features, in which a straight model can bend.

A wave is sqrt(2) cos(direction @ x / (width sqrt(n)) + phase), with a normal direction, a uniform
phase and n the features of the context. A model that is linear in many of them is nearly a
Gaussian process with a smooth kernel (Rahimi and Recht, 2007). Directions and phases are hashes of
the wave's number and the feature's place: nothing is drawn, and nothing has to be kept.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inner
from graphcb.oracles.rows import Columns, Floats

WIDTH = 0.5  # of the kernel, relative to the length of a context


@lru_cache(maxsize=4)
def directions(n_waves: int, n_places: int) -> Floats:
    """Directions (n_waves, n_places) with the phases at place 0, where contexts have a constant."""
    number, place = np.indices((n_waves, n_places), dtype=np.uint64)
    first = _uniform(2 * (number * np.uint64(2**32) + place))
    second = _uniform(2 * (number * np.uint64(2**32) + place) + np.uint64(1))
    angles = 2.0 * math.pi * second
    found: Floats = np.sqrt(-2.0 * np.log(first)) * np.cos(angles) / WIDTH
    found[:, 0] = angles[:, 0]
    found.setflags(write=False)
    return found


def _uniform(state: NDArray[np.uint64]) -> Floats:
    """Hashes of these numbers between 0 and 1: the finaliser of splitmix64."""
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Floats = ((z >> np.uint64(31)) ^ z).astype(np.float64)
    return (found + 1.0) / 2.0**64


@inner
def add_waves(
    places: Columns, values: Floats, length: float, directions: Floats, waves: Floats
) -> None:
    """Fill `waves` for a row whose first entry is the constant, `length` long without it."""
    stretch = 1.0 / max(length, 1e-9)
    for i in range(waves.size):
        angle = 0.0
        for k in range(1, places.size):
            angle += directions[i, places[k]] * values[k]
        waves[i] = math.sqrt(2.0) * math.cos(stretch * angle + directions[i, 0])
