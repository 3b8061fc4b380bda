"""The DEC in whole numbers, for programs that floating point cannot hold.

With edges of 1e-300 or gamma times gap beyond 1e300 the terms of the DEC overflow or vanish, though
their sum is a number like any other. Every finite number is a whole number of 2^-1074, so sums and
products are exact in integers; quotients are rounded down at 2^-FINE. Some thousand times slower
than `problem.scaled_dec`, which therefore comes first.
"""

from itertools import accumulate
from operator import mul

import numpy as np
from numpy.typing import NDArray

from graphcb.exploration.solver.edges import LIST, MATRIX, SIDES, Edges, edges_of
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats

UNIT = 1074  # numbers are in units of 2^-1074
FINE = 2 * UNIT + 64  # and quotients of 2^-2212: products of two numbers, with some bits to spare


def exact_dec(p: Floats, f: Floats, graph: FeedbackGraph, gamma: float) -> float:
    """The DEC of p / sum p, rounded once; +inf if an action is not seen, or beyond all numbers."""
    weights, losses, slope = _whole(p), _whole(f), _whole(np.array([gamma]))[0]
    total, best = sum(weights), min(losses)
    seen = _reveal(weights, edges_of(graph))  # W in units of 2^-(2 UNIT) total
    if not all(seen):
        return np.inf
    ft = [slope * (loss - best) << FINE - 2 * UNIT for loss in losses]
    terms = list(zip(weights, seen, ft, strict=True))
    common = sum(weight * gap for weight, _, gap in terms) // total
    common += sum((weight * weight << UNIT + FINE) // (total * w) for weight, w, _ in terms)
    worst = max(((total - 2 * weight << UNIT + FINE) // w) - gap for weight, w, gap in terms)
    try:
        return (max(common + worst, 0) << UNIT) / (slope << FINE)
    except OverflowError:
        return np.inf


def _whole(numbers: Floats) -> list[int]:
    """Numbers in units of 2^-1074."""
    ratios = map(float.as_integer_ratio, numbers.tolist())
    return [(numerator << UNIT) // denominator for numerator, denominator in ratios]


def _reveal(weights: list[int], edges: Edges) -> list[int]:
    """The weights of what reveals each action, times the chance that it does."""
    n = len(weights)
    if edges.form == MATRIX:
        columns = edges.flat.reshape(n, n).T
        return [_product(column[column > 0.0], column.nonzero()[0], weights) for column in columns]
    if edges.form == LIST:
        cuts = edges.start[1][1:-1]
        lists = np.split(edges.chance[1], cuts), np.split(edges.action[1], cuts)
        return [_product(chance, action, weights) for chance, action in zip(*lists, strict=True)]
    if edges.form == SIDES:
        return _reveal_sides(weights, *map(_whole, edges.chance))
    steps = [0] * (n + 1)
    for weight, low, high in zip(weights, *edges.start[:2].tolist(), strict=True):
        steps[low] += weight
        steps[high] -= weight
        steps[0] += weight if high < low else 0
    return [total << UNIT for total in accumulate(steps[:-1])]


def _reveal_sides(weights: list[int], left: list[int], right: list[int]) -> list[int]:
    """From the actions before each, from itself, and from those after it."""
    before = accumulate(map(mul, weights, right), initial=0)
    after = [*accumulate(map(mul, weights[::-1], left[::-1]), initial=0)][-2::-1]
    return [b + (w << UNIT) + a for b, w, a in zip(before, weights, after, strict=False)]


def _product(chance: Floats, action: NDArray[np.int64], weights: list[int]) -> int:
    return sum(c * weights[i] for c, i in zip(_whole(chance), action.tolist(), strict=True))
