"""Numbers as standard deviations from their running mean, by Welford's method."""

import math

from graphcb.compilation import inner

CLIP = 4.0  # standard deviations


@inner
def counted(x: float, mean: float, squares: float, count: float) -> tuple[float, float]:
    """Mean and sum of squared deviations with `x`, the last of `count` numbers."""
    off = x - mean
    mean += off / count
    return mean, squares + off * (x - mean)


@inner
def standard(x: float, mean: float, squares: float, count: float) -> float:
    """The distance from the mean in deviations, clipped; 0 where nothing varies."""
    deviation = math.sqrt(squares / count)
    return min(CLIP, max(-CLIP, (x - mean) / deviation)) if deviation > 0.0 else 0.0


@inner
def standard_with(x: float, mean: float, squares: float, count: float) -> float:
    """What `standard` says of `x` once it is counted after `count` others."""
    mean, squares = counted(x, mean, squares, count + 1.0)
    return standard(x, mean, squares, count + 1.0)
