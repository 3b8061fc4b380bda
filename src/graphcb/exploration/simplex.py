"""The simplex method with bounds, for costs over floors, caps and a handful of linear limits.

The basis has one variable for each linear limit, its slack or an action, and one for the sum of
p, so that a step costs O(K r). A basis stays feasible when costs change, so `walk` goes on from
the last vertex. Vertices are exact to rounding, and polytopes without an interior, with fixed or
with repeated limits, are no special case.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inner
from graphcb.graphs.structure import Floats

AT_LOWER, AT_UPPER, BASIC = 0, 1, 2
EXACT = 1e-12  # of probabilities, and of rows scaled to 1
ROUNDING = 1e-14  # of a reduced cost, relative to what it is the sum of
NEARLY = 1e-8  # limits that are missed by no more count as met, as in `Limits`
PIVOT = 1e-9  # smallest pivot
FRESH = 40  # steps after which the inverse is computed anew


class Polytope(NamedTuple):
    """The limits of a round with one slack per row, and the vertex that was found last."""

    lower: Floats  # of actions, then slacks
    upper: Floats
    rows: Floats  # each scaled so that its largest entry is 1
    most: Floats
    x: Floats  # the vertex
    side: NDArray[np.int8]  # AT_LOWER, AT_UPPER or BASIC
    basis: NDArray[np.int64]  # the variable that each equation has
    inverse: Floats  # of the columns of these variables
    order: NDArray[np.int64]  # of the actions, by cost


@inner
def first_basis(last: int, polytope: Polytope) -> None:
    """The slacks, and the action that took the rest; slacks may be negative."""
    r, k = polytope.rows.shape
    for a in range(k):
        at_upper = polytope.x[a] == polytope.upper[a] > polytope.lower[a]
        polytope.side[a] = AT_UPPER if at_upper else AT_LOWER
    for i in range(r):
        polytope.basis[i] = k + i
        polytope.side[k + i] = BASIC
    polytope.basis[r] = last
    polytope.side[last] = BASIC
    _refresh(polytope)


@inner
def walk(costs: Floats, polytope: Polytope) -> bool:
    """Simplex steps until no price is wrong: first into the polytope, then down the costs."""
    r, k = polytope.rows.shape
    weights, prices, moves = np.empty(r + 1), np.empty(r + 1), np.empty(r + 1)
    fresh, still = 0, 0
    for _ in range(200 + 40 * (k + r)):
        outside = _outside(costs, weights, polytope)
        for i in range(r + 1):
            prices[i] = 0.0
            for j in range(r + 1):
                prices[i] += weights[j] * polytope.inverse[j, i]
        entering = _entering(costs, prices, outside, still > k + r, polytope)
        if entering < 0:
            if fresh > 0:
                _refresh(polytope)
                fresh = 0
                continue
            if not outside:
                return True
            if not _give_way(polytope):
                return False
            continue
        length = _step(entering, moves, still > k + r, polytope)
        still = 0 if length > EXACT else still + 1
        fresh += 1
        if fresh >= FRESH:
            _refresh(polytope)
            fresh = 0
    return not _outside(costs, weights, polytope)


@inner
def _give_way(polytope: Polytope) -> bool:
    """Move the bounds that cannot be met to where the variables are, if that is hardly farther."""
    lower, upper, x = polytope.lower, polytope.upper, polytope.x
    for j in polytope.basis:
        if not lower[j] - NEARLY <= x[j] <= upper[j] + NEARLY:
            return False
    for j in polytope.basis:
        lower[j], upper[j] = min(lower[j], x[j]), max(upper[j], x[j])
    return True


@inner
def _outside(costs: Floats, weights: Floats, polytope: Polytope) -> bool:
    """Whether a basic variable is outside its bounds; `weights` become what it costs to be.

    Inside, they are the costs of the basic variables.
    """
    found = False
    for i in range(weights.size):
        j = polytope.basis[i]
        weights[i] = 0.0
        if polytope.x[j] < polytope.lower[j] - EXACT:
            weights[i], found = -1.0, True
        elif polytope.x[j] > polytope.upper[j] + EXACT:
            weights[i], found = 1.0, True
    if not found:
        for i in range(weights.size):
            j = polytope.basis[i]
            weights[i] = costs[j] if j < costs.size else 0.0
    return found


@inner
def _entering(costs: Floats, prices: Floats, outside: bool, first: bool, polytope: Polytope) -> int:
    """The variable that gains most by leaving its bound, or -1; `first`: the first that gains.

    The first one cannot cycle (Bland's rule).
    """
    r, k = polytope.rows.shape
    chosen, largest, largest_price = -1, 0.0, np.abs(prices).max()
    for j in range(k + r):
        side = polytope.side[j]
        if side == BASIC or not polytope.upper[j] > polytope.lower[j]:
            continue
        if j < k:
            cost = 0.0 if outside else float(costs[j])
            reduced, size = cost - float(prices[r]), abs(cost) + abs(float(prices[r]))
            for i in range(r):
                part = prices[i] * polytope.rows[i, j]
                reduced -= part
                size += abs(part)
        else:
            reduced = -float(prices[j - k])
            size = largest_price
        gain = -reduced if side == AT_LOWER else reduced
        if gain > largest and gain > ROUNDING * size:
            chosen, largest = j, gain
            if first:
                break
    return chosen


@inner
def _step(entering: int, moves: Floats, first: bool, polytope: Polytope) -> float:
    """Move `entering` from its bound until a variable meets its own; the length of the way.

    A basic variable outside its bounds stops where it comes in.
    """
    r = polytope.rows.shape[0]
    lower, upper, x, basis = polytope.lower, polytope.upper, polytope.x, polytope.basis
    sign = 1.0 if polytope.side[entering] == AT_LOWER else -1.0
    _column(entering, moves, polytope)
    length, row, bound = float(upper[entering] - lower[entering]), -1, 0.0
    for i in range(r + 1):
        speed, j = -sign * moves[i], basis[i]
        if abs(speed) < PIVOT:
            continue
        if speed < 0.0:
            stop = upper[j] if x[j] > upper[j] + EXACT else lower[j]
            away = x[j] < lower[j] - EXACT
        else:
            stop = lower[j] if x[j] < lower[j] - EXACT else upper[j]
            away = x[j] > upper[j] + EXACT
        if away or stop == np.inf:
            continue
        way = max(0.0, float((stop - x[j]) / speed))
        tie = row >= 0 and way == length
        better = tie and (j < basis[row] if first else abs(speed) > abs(moves[row]))
        if way < length or better:
            length, row, bound = way, i, stop
    for i in range(r + 1):
        x[basis[i]] -= sign * moves[i] * length
    if row < 0:  # from one bound to the other
        at_upper = sign > 0.0
        x[entering] = upper[entering] if at_upper else lower[entering]
        polytope.side[entering] = AT_UPPER if at_upper else AT_LOWER
        return length
    x[entering] += sign * length
    leaving = basis[row]
    x[leaving] = bound
    at_upper = bound == upper[leaving] and upper[leaving] > lower[leaving]
    polytope.side[leaving] = AT_UPPER if at_upper else AT_LOWER
    polytope.side[entering] = BASIC
    basis[row] = entering
    _pivot(polytope.inverse, moves, row)
    return length


@inner
def _column(variable: int, out: Floats, polytope: Polytope) -> None:
    """The inverse times the column of a variable: how much the basic ones make room for it."""
    r, k = polytope.rows.shape
    for i in range(r + 1):
        if variable < k:
            out[i] = polytope.inverse[i, r]
            for j in range(r):
                out[i] += polytope.inverse[i, j] * polytope.rows[j, variable]
        else:
            out[i] = polytope.inverse[i, variable - k]


@inner
def _pivot(matrix: Floats, column: Floats, row: int) -> None:
    """Row operations that make the column the unit vector of the row."""
    size = column.size
    for j in range(matrix.shape[1]):
        matrix[row, j] /= column[row]
    for i in range(size):
        if i != row and column[i] != 0.0:
            for j in range(matrix.shape[1]):
                matrix[i, j] -= column[i] * matrix[row, j]


@inner
def _invert(polytope: Polytope) -> None:
    """The inverse of the basis: columns one after the other, each at its largest pivot."""
    r = polytope.rows.shape[0]
    basis, inverse, column = polytope.basis, polytope.inverse, np.empty(r + 1)
    free, members = np.ones(r + 1, dtype=np.bool_), basis.copy()
    inverse[:, :] = np.eye(r + 1)
    for j in members:
        _column(j, column, polytope)
        row = -1
        for i in range(r + 1):
            if free[i] and (row < 0 or abs(column[i]) > abs(column[row])):
                row = i
        free[row] = False
        basis[row] = j
        _pivot(inverse, column, row)


@inner
def _refresh(polytope: Polytope) -> None:
    """The inverse and the basic variables anew, from the bounds of all others."""
    r, k = polytope.rows.shape
    x, basis = polytope.x, polytope.basis
    _invert(polytope)
    rest = np.empty(r + 1)
    rest[:r], rest[r] = polytope.most, 1.0
    for j in range(k + r):
        side = polytope.side[j]
        if side == BASIC:
            continue
        x[j] = polytope.lower[j] if side == AT_LOWER else polytope.upper[j]
        if j < k:
            for i in range(r):
                rest[i] -= polytope.rows[i, j] * x[j]
            rest[r] -= x[j]
        else:
            rest[j - k] -= x[j]
    for i in range(r + 1):
        x[basis[i]] = 0.0
        for j in range(r + 1):
            x[basis[i]] += polytope.inverse[i, j] * rest[j]
