"""Feasible points: the only one where limits leave no choice, and safe ones if all else fails."""

import math
import threading
from typing import NamedTuple

import numpy as np

from graphcb.exploration.clashing import most_room
from graphcb.exploration.limits import BoxAndRows
from graphcb.exploration.solver.filling import fill_up
from graphcb.exploration.solver.outcomes import (
    EXACT,
    NOT_CERTIFIED,
    REPAIR,
    STATUS,
    conclude_with_dec,
)
from graphcb.exploration.solver.problem import dec, scaled_dec
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.formulas import (
    CUT,
    LARGEST_GAP,
    LOWER,
    OPERATIONS,
    RESTARTED,
    ROUNDING,
    UPPER,
    VALUE,
)

NO_CHOICE = 1e-15  # probability that floors leave, or caps above what is needed
NEARLY = 1e-12  # below which sums are worked out exactly
DENSE = 4000  # actions up to which the bound of a single point is worked out
MOST_KEPT = 16  # inner points
MOST_REMEMBERED = 256  # facts

_NONE: Floats = np.empty(0)
_found = threading.local()
_remembered: dict[int, "LimitFacts"] = {}


def the_only_point(box: BoxAndRows) -> Floats | None:
    """The floors or the caps if they add up to 1; None if there is a choice."""
    if 1.0 - box.lower.sum() <= NEARLY and math.fsum([1.0, *-box.lower]) <= NO_CHOICE:
        return box.lower
    if box.upper.sum() - 1.0 <= NEARLY and math.fsum([-1.0, *box.upper]) <= NO_CHOICE:
        return box.upper
    return None


class LimitFacts(NamedTuple):
    """What is worked out once for the limits of a round."""

    box: BoxAndRows
    only: Floats | None  # the only feasible point, if floors or caps add up to 1
    inner: Floats  # a point well within the linear limits; empty without any
    playable: bool  # whether all actions are


def is_known(box: BoxAndRows) -> bool:
    """Whether these very arrays, which cannot be written, were checked before."""
    facts = _remembered.get(id(box))
    return facts is not None and facts.box is box


def facts_of(box: BoxAndRows) -> LimitFacts:
    """The facts, remembered for arrays that come again."""
    facts: LimitFacts | None = _remembered.get(id(box))
    if facts is None or facts.box is not box:
        facts = LimitFacts(box, the_only_point(box), inner_point(box), bool(box.upper.all()))
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        _remembered[id(box)] = facts
    return facts


def inner_point(box: BoxAndRows) -> Floats:
    """A point that meets the linear limits with about the most room to spare; empty without any.

    The points found last are tried first: limits that come from a budget change by little.
    """
    if not box.most.size:
        return _NONE
    kept: list[tuple[BoxAndRows, Floats, float]] = _found.__dict__.setdefault("points", [])
    for place, (known, point, slack) in enumerate(kept):
        if known is box or (
            known.rows.shape == box.rows.shape
            and (box.most - box.rows @ point).min() >= 0.5 * slack
            and slack > 0.0
            and (point >= box.lower).all()
            and (point <= box.upper).all()
        ):
            if place:
                kept.insert(0, kept.pop(place))
            return point
    point = most_room(*box)[0]
    kept.insert(0, (box, point, float((box.most - box.rows @ point).min())))
    del kept[MOST_KEPT:]
    return point


def conclude_point(
    losses: Floats,
    gamma: float,
    graph: FeedbackGraph,
    box: BoxAndRows,
    tolerance: float,
    p: Floats,
    numbers: Floats,
) -> None:
    """Value and bound of a p that is the only feasible one, within NO_CHOICE."""
    with np.errstate(over="ignore"):
        ft = np.minimum(gamma * (losses - losses.min()), LARGEST_GAP)
    cut = bool(ft.max() >= LARGEST_GAP)
    reveal = graph.structure.reveal_probabilities(p)
    playable = graph.structure.reveal_probabilities(np.ceil(box.upper)) > 0.0
    seen = np.where(playable, reveal, 1e30)
    value = scaled_dec(p, losses, gamma, seen)
    numbers[:] = 0.0
    numbers[VALUE], numbers[UPPER], numbers[CUT] = value, np.inf, cut
    if value < np.inf:
        error = (p.size + OPERATIONS) * ROUNDING
        size = p @ ft + (p * (p / seen)).sum() + ((1.0 / seen) + ft).max()
        numbers[UPPER] = value + error * size
        if p.size <= DENSE:
            numbers[LOWER] = max(0.0, _bound(ft, graph.matrix, box, p, seen, error))
    numbers[REPAIR] = cut or not numbers[UPPER] < np.inf
    proven = numbers[UPPER] - numbers[LOWER] <= tolerance * (1.0 + value) < np.inf
    numbers[STATUS] = EXACT if proven else NOT_CERTIFIED
    if numbers[REPAIR]:
        conclude_with_dec(dec(p / p.sum(), losses, graph, gamma), gamma, tolerance, False, numbers)


def _bound(
    ft: Floats, matrix: Floats, box: BoxAndRows, p: Floats, seen: Floats, error: float
) -> float:
    """The certificate at p with all weight on the worst comparator."""
    worst = int(np.argmax((1.0 - 2.0 * p) / seen - ft))
    q = np.zeros(p.size)
    q[worst] = 1.0
    t = (p - q) / seen
    worth = matrix @ (t * t)
    gradient = ft + 2.0 * t - worth - error * (ft + 2.0 * np.abs(t) + worth)
    price = -ft[worst] - 2.0 * t[worst]
    kept = box.lower @ gradient
    size = ft[worst] + 2.0 * abs(t[worst]) + box.lower @ np.abs(gradient)
    span = np.where(box.upper < 1.0, box.upper - box.lower, np.inf)
    mass = max(0.0, math.fsum([1.0, *-box.lower]))
    return float(price + kept + fill_up(gradient, span, mass, error)[1] - error * size)


def repair_within(
    losses: Floats,
    gamma: float,
    graph: FeedbackGraph,
    box: BoxAndRows,
    tolerance: float,
    p: Floats,
    numbers: Floats,
) -> None:
    """Correct an answer that was found from cut gaps, or that has no finite value."""
    candidates = [p.copy()] if numbers[UPPER] < np.inf else []
    roots = np.sqrt(gamma) * np.sqrt(0.5 * losses - 0.5 * losses.min())
    for weights in (1.0 / (p.size + roots), np.ones(p.size)):
        point = _fill_evenly(box, weights)
        if box.most.size:
            point = _pull_into(box, point)
        candidates.append(point)
    values = [dec(one / one.sum(), losses, graph, gamma) for one in candidates]
    best = int(np.argmin(values))
    p[:] = candidates[best]
    numbers[RESTARTED] = 0.0
    conclude_with_dec(values[best], gamma, tolerance, False, numbers)


def _fill_evenly(box: BoxAndRows, weights: Floats) -> Floats:
    """Floors plus min(span, t * weights), with the t that fills up to 1."""
    span, mass = box.upper - box.lower, 1.0 - box.lower.sum()
    low, high = 0.0, 1.0
    while np.minimum(span, high * weights).sum() < mass and high < 1e300:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.minimum(span, middle * weights).sum() < mass:
            low = middle
        else:
            high = middle
    point: Floats = np.minimum(box.lower + np.minimum(span, high * weights), box.upper)
    return point


def _pull_into(box: BoxAndRows, point: Floats) -> Floats:
    """The point of the polytope that is nearest in the sum of absolute differences."""
    from scipy.optimize import linprog

    k = point.size
    unit = np.eye(k)
    rows = np.block([
        [box.rows, np.zeros((len(box.most), k))], [unit, -unit], [-unit, -unit],
    ])  # fmt: skip
    found = linprog(
        np.append(np.zeros(k), np.ones(k)),
        A_ub=rows,
        b_ub=np.concatenate([box.most, point, -point]),
        A_eq=np.append(np.ones(k), np.zeros(k))[None, :],
        b_eq=[1.0],
        bounds=[*zip(box.lower, box.upper, strict=True), *[(0.0, None)] * k],
        options={"primal_feasibility_tolerance": 1e-10},
    )
    if found.x is None:
        return point
    pulled: Floats = np.clip(found.x[:k], box.lower, box.upper)
    return pulled
