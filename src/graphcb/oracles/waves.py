"""Waves: random Fourier features, in which a straight model can bend.

A wave is sqrt(2) cos(direction @ x / (width sqrt(n)) + phase), with a normal direction, a uniform
phase and n the features of the context. A model that is linear in many of them is nearly a
Gaussian process with a smooth kernel (Rahimi and Recht, 2007). Directions and phases are hashes of
the wave's number and the feature's place: nothing is drawn, and nothing has to be kept.
"""

import math
from functools import lru_cache

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.hashing import mixed
from graphcb.oracles.rows import Columns, Floats

WIDTH = 0.5  # of the kernel, relative to the length of a context


@lru_cache(maxsize=4)
def directions(n_waves: int, n_places: int) -> Floats:
    """Directions (n_places, n_waves) with the phases at place 0, where contexts have a constant."""
    found = _directions(n_waves, n_places)
    found.setflags(write=False)
    return found


@compiled
def _directions(n_waves: int, n_places: int) -> Floats:
    found = np.empty((n_places, n_waves))
    for i in range(n_waves):
        for place in range(n_places):
            state = np.uint64(2) * (np.uint64(i) * np.uint64(2**32) + np.uint64(place))
            angle = 2.0 * math.pi * _uniform(state + np.uint64(1))
            normal = math.sqrt(-2.0 * math.log(_uniform(state))) * math.cos(angle)
            found[place, i] = normal / WIDTH if place > 0 else angle
    return found


@inner
def _uniform(state: np.uint64) -> float:
    """The hash of a number, between 0 and 1."""
    return (float(mixed(state)) + 1.0) / 2.0**64


@inner
def add_waves(
    places: Columns, values: Floats, length: float, directions: Floats, waves: Floats
) -> None:
    """Fill `waves` for a row whose first entry is the constant, `length` long without it."""
    stretch = 1.0 / max(length, 1e-9)
    waves[:] = directions[0]
    for k in range(1, places.size):
        direction, value = directions[places[k]], stretch * values[k]
        for i in range(waves.size):
            waves[i] += direction[i] * value
    for i in range(waves.size):
        waves[i] = math.sqrt(2.0) * math.cos(waves[i])
