"""Which losses are looked at, how often, and by which action.

An action may be the best one though it does not look it. Each is looked at with at least 1 / d of
the probability with which Thompson sampling would play it, where d is the number of parameters that
a look is shared among (`beliefs.sharing`), by whatever action shows it at the least price. An
action that hides its own loss could be wrong for ever: what it hides is looked at with at least
`BLIND` sqrt(c) t^(-1/3) in round t, t^(-1/2) where the graph is strongly observable, and c is the
largest share of it that an action shows. Where its n losses fill a small part of what is possible,
a large one may be rare: the first looks come with at least the probability (1 - `RARE`)^n that none
has come so far.
"""

import math
from typing import NamedTuple

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.exploration.beliefs import (
    beliefs,
    count_on_fewer,
    looks_of_thompson,
    shares_of,
    sharing,
)
from graphcb.graphs.structure import Floats, Indices

BLIND = 0.1  # of the first round for a look at an action that does not show its own loss
RARE = 1.0 / 16.0  # probability of a larger loss than was seen yet, where one is possible
LEAST_WANTED = 1e-6  # probability of a look, below which an action does not ask for one

# Those who reveal action b, and how likely each does, stand from place `edges[0][b]` on.
Edges = tuple[Indices, Indices, Floats]


class Questions(NamedTuple):
    """What a round may bring: the expected smallest loss, what each loss tells of the best action,
    how often each loss is to be looked at beside the best action, and about how often Thompson
    sampling would look."""

    floor: float
    tells: Floats
    wanted: Floats
    thompson: Floats


@compiled
def ask(
    f: Floats,
    deviations: Floats,
    gains: Floats,
    counts: Floats,
    each: Floats,
    span: float,
    low: float,
    bound: float,
    round_number: int,
    rate: float,
    best: int,
    hidden: Floats,
    most_shown: float,
    parameters: float,
    owed: Floats,
) -> Questions:
    """What to learn in this round, from the forecast and from what the best action hides."""
    shrunk, blind = parameters, 0.0
    cover = most_shown / max(hidden.sum(), 1e-300)
    if hidden[best] > 0.0:
        shrunk = parameters ** (0.5 * cover)
        blind = BLIND * math.sqrt(cover) * round_number**rate
        if bound > span:
            blind = max(blind, (1.0 - RARE) ** counts[best])
    divided = sharing(shrunk, counts, cover)
    if hidden[best] == 0.0 and hidden.max() > 0.0:
        count_on_fewer(divided, parameters, each, owed, hidden.sum())
    shares = shares_of(f, deviations, divided, span, low)
    floor, chances, relevant = beliefs(f, deviations, shares, divided)
    if shrunk != parameters:
        divided = sharing(parameters, counts, cover)
    wanted = np.zeros(f.size)
    for a in range(f.size):
        chance = 1.0 - chances[best] if a == best else chances[a]
        wanted[a] = hidden[a] * max(chance / divided[a], blind * hidden[a])
    thompson = looks_of_thompson(f, deviations, shares, best)
    return Questions(floor, relevant * gains, wanted, thompson)


@compiled
def edges_of(matrix: Floats) -> Edges:
    """The edges of a matrix, by who is revealed."""
    n, n_edges = len(matrix), np.count_nonzero(matrix)
    starts, actions = np.empty(n + 1, np.intp), np.empty(n_edges, np.intp)
    chances = np.empty(n_edges)
    e = 0
    for b in range(n):
        starts[b] = e
        for a in range(n):
            if matrix[a, b] != 0.0:
                actions[e], chances[e] = a, matrix[a, b]
                e += 1
    starts[n] = e
    return starts, actions, chances


@inner
def look_at_each(f: Floats, gains: Floats, edges: Edges, wanted: Floats, best: int) -> Floats:
    """How often each action is played at least, so that every loss gets the looks it wants.

    A loss that those so far do not show often enough is looked at by the action that shows most of
    what is wanted for its price.
    """
    starts, actions, chances = edges
    looks, shown = np.zeros(f.size), shown_by(edges, wanted * gains)
    for b in range(f.size):
        if wanted[b] <= LEAST_WANTED:
            continue
        missing, cheapest, chance, price = wanted[b], best, 1.0, np.inf
        for e in range(starts[b], starts[b + 1]):
            a = actions[e]
            missing -= looks[a] * chances[e]
            if a != best and shown[a] > 0.0:
                cost = (f[a] - f[best]) / shown[a]
                if cost < price or (cost == price and shown[a] > shown[cheapest]):
                    cheapest, chance, price = a, chances[e], cost
        if cheapest != best and missing > 0.0:
            looks[cheapest] += missing / chance
    return at_most_one(looks)


@compiled
def look_at_once(f: Floats, shown: Floats, worth: Floats, best: int) -> Floats:
    """`look_at_each` without the edges: all looks go to the action that shows most for its price.

    `shown` is what each action shows of what looks are worth together.
    """
    looks, cheapest, price = np.zeros(f.size), best, np.inf
    for a in range(f.size):
        cost = max(f[a] - f[best], 0.0) / shown[a] if a != best and shown[a] > 0.0 else np.inf
        if cost < price or (cost == price < np.inf and shown[a] > shown[cheapest]):
            cheapest, price = a, cost
    if cheapest != best:
        share = 0.0
        for a in range(f.size):
            share += worth[a] * worth[a]
        looks[cheapest] = min(1.0, share / shown[cheapest])
    return looks


@inner
def at_most_one(shares: Floats, beside: float = 0.0) -> Floats:
    """The shares, made smaller if their sum with what is played beside them is above 1."""
    total = beside + shares.sum()
    if total > 1.0:
        for a in range(shares.size):
            shares[a] /= total
    return shares


@inner
def shown_by(edges: Edges, worth: Floats) -> Floats:
    """What each action is expected to show of what is worth something."""
    starts, actions, chances = edges
    shown = np.zeros(worth.size)
    for b in range(worth.size):
        if worth[b] > 0.0:
            for e in range(starts[b], starts[b + 1]):
                shown[actions[e]] += chances[e] * worth[b]
    return shown


@inner
def seen_with(edges: Edges, p: Floats) -> Floats:
    """The probability that each loss is seen."""
    starts, actions, chances = edges
    seen = np.zeros(p.size)
    for b in range(p.size):
        for e in range(starts[b], starts[b + 1]):
            seen[b] += chances[e] * p[actions[e]]
    return seen
