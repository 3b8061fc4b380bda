"""The minimum of a linear function over floors, caps and a given sum: the cheapest fill up."""

import numpy as np

from graphcb.compilation import inner
from graphcb.exploration.solver.workspace import Floats

FEW = 6  # actions that fill up one after the other before all are sorted


@inner
def fill_up(reduced: Floats, span: Floats, mass: float, error: float) -> tuple[float, float]:
    """The level, and the minimum of reduced @ d over 0 <= d <= span with sum d = mass."""
    n, first = reduced.size, -1
    for i in range(n):
        if span[i] > 0.0 and (first < 0 or reduced[i] < reduced[first]):
            first = i
    if first < 0:
        return 0.0, 0.0
    if span[first] >= mass:
        below = mass * reduced[first]
        return reduced[first], below - error * abs(below)
    left, below, size, level = mass - span[first], span[first] * reduced[first], 0.0, reduced[first]
    size = abs(below)
    for _ in range(FEW):  # the next in order, by value and place
        last, first = first, -1
        for i in range(n):
            later = reduced[i] > reduced[last] or (reduced[i] == reduced[last] and i > last)
            if later and span[i] > 0.0 and (first < 0 or reduced[i] < reduced[first]):
                first = i
        if first < 0:
            return level, below - error * (size + mass * abs(level))
        share, level = min(span[first], left), reduced[first]
        below += share * level
        size += share * abs(level)
        left -= share
        if not left > 0.0:
            return level, below - error * (size + mass * abs(level))
    order = np.argsort(reduced, kind="mergesort")
    reached = False
    for place in range(n):
        i = order[place]
        if reached and span[i] > 0.0:
            share, level = min(span[i], left), reduced[i]
            below += share * level
            size += share * abs(level)
            left -= share
            if not left > 0.0:
                break
        reached = reached or i == first
    return level, below - error * (size + mass * abs(level))
