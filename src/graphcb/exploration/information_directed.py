"""Exploration without settings: information at the best price, and never less than is safe.

Each action has a predicted loss and a deviation. Their posterior is taken to be normal in the
log odds of the loss as a share of its range, so three bad coins in a row are no certainty. It gives
the expected smallest loss, and for each action the probability that it is the best one.

**At the best price.** The action that looks best is mixed with one that would tell more, in the
proportion that makes (expected regret)^2 / expected information smallest, summed over the last
rounds (Russo and Van Roy, 2018; Hao, Lattimore and Qin, 2022). What a loss tells counts as far as
it depends on which action is best. Nothing depends on how observable the graph is: an action that
is worth its price in information gets played, wherever its information comes from. With limits the
ratio is minimised over all distributions that obey them.

**As is safe.** Diverse contexts explore by themselves: what is learned of an action in one helps
in all others. Deviations are divided by sqrt(d), where d is the number of parameters that a look is
shared among: n u / (1 + u) for an action seen n times where another look adds the share u to what
is known. Without contexts d = 1. Where the best-looking action does not show its own loss, and no
action shows more than a share c of what it hides, d^(c / 2) takes its place. Each action is looked
at with at least 1 / d of the probability with which Thompson sampling would play it, by whatever
action shows it at the least price. An action that hides its own loss could be wrong for ever: what
it hides is looked at with at least `BLIND` sqrt(c) t^(-1/3) in round t, t^(-1/2) where the graph is
strongly observable. Where its n losses fill a small part of what is possible, a large one may be
rare: the first looks come with at least the probability (1 - `RARE`)^n that none has come so far.

Ties are broken at random. Decision note 0041 has what was measured.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphcb.checks import as_numbers
from graphcb.compilation import compiled
from graphcb.exploration.cheapest import obeys
from graphcb.exploration.limited_choice import obeying, smallest_ratio
from graphcb.exploration.limits import BoxAndRows
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats

WRITTEN_OUT = 512  # actions up to which a graph's matrix is used, 2 MB
ROUNDS = 20.0  # over which regret and information are summed
LOOKS = 200.0  # over which the number of parameters is averaged
BLIND = 0.1  # of the first round for a look at an action that does not show its own loss
RARE = 1.0 / 16.0  # probability of a larger loss than was seen yet, where one is possible
REACH = 4.0  # deviations of the log odds within which an action may be the best
CELLS = 32  # in which the posterior of the smallest loss is summed
LEAST_WANTED = 1e-6  # probability of a look, below which an action does not ask for one
TIE = 1e-9  # of the span


class Memory(NamedTuple):
    """What exploration remembers of earlier rounds: sums, and the parameters that looks share."""

    regret: float = 0.0
    information: float = 0.0
    looks: float = 0.0
    parameters: float = 1.0


def information_directed(
    losses: Floats,
    deviations: Floats,
    gains: Floats,
    counts: Floats,
    span: float,
    low: float = 0.0,
    bound: float = 0.0,
    *,
    graph: FeedbackGraph,
    round_number: int,
    memory: Memory | None = None,
    box: BoxAndRows | None = None,
) -> tuple[Floats, Memory]:
    """Probabilities (n_actions,) from an oracle's forecast, and what to remember of the round.

    See `oracles.Forecast` for the first arguments. `round_number` counts from 1. `memory` is that
    of the round before. `box` are the limits of the round, if there are any.

    >>> from graphcb import graphs
    >>> sure = (np.array([0.2, 0.4]), np.zeros(2), np.zeros(2), np.full(2, 100.0), 1.0)
    >>> information_directed(*sure, graph=graphs.bandit(2), round_number=200)[0]
    array([1., 0.])
    >>> unsure = (np.full(2, 0.5), np.full(2, 0.3), np.full(2, 1.0), np.zeros(2), 1.0)
    >>> information_directed(*unsure, graph=graphs.bandit(2), round_number=1)[0]
    array([0.5, 0.5])
    """
    f, deviations = as_numbers("losses", losses), as_numbers("deviations", deviations)
    gains, counts = as_numbers("gains", gains), as_numbers("counts", counts)
    if not f.shape == deviations.shape == gains.shape == counts.shape == (graph.n_actions,):
        parts = {"losses": f, "deviations": deviations, "gains": gains, "counts": counts}
        raise _wrong_shape(parts, graph.n_actions)
    before = Memory() if memory is None else memory
    matrix = graph.matrix if f.size <= WRITTEN_OUT else None
    sums = graph.structure.sums_revealed if matrix is None else matrix.dot
    best = int(np.where(f <= f.min() + TIE * span, gains, -1.0).argmax())
    shown = graph.row(best) if matrix is None else matrix[best]
    hidden, parameters, blind = 1.0 - shown, before.parameters, 0.0
    if hidden[best] > 0.0:
        cover = float(_revealed(sums, hidden).max()) / float(hidden.sum())
        rate = -1.0 / 3.0 if graph.observability == "weak" else -0.5
        parameters **= 0.5 * cover
        blind = BLIND * math.sqrt(cover) * round_number**rate
        if bound > span:
            blind = max(blind, (1.0 - RARE) ** float(counts[best]))
    floor, chances, relevant, shared = _beliefs(
        f, deviations, gains, counts, float(span), float(low), parameters
    )
    if not floor <= f[best]:
        raise ValueError(
            "a forecast must be finite, and its deviations, gains, counts and span not negative; "
            f"got losses {f}, deviations {deviations}, gains {gains}, counts {counts}, span {span}"
        )
    wanted = _wanted_looks(best, chances, hidden, before.parameters, blind)
    worth = gains * hidden * (wanted > LEAST_WANTED)
    information, safe = _revealed(sums, relevant * gains), _revealed(sums, worth)
    regrets, known = before.regret + f - floor, before.information + information
    p = _choose(f, regrets, known, gains, safe, float(wanted @ worth), best, TIE * span)
    if box is not None:
        p = obeying(*_within(p, f, regrets, known, *box))
    keep = 1.0 - 1.0 / min(ROUNDS, round_number)
    seen = graph.structure.reveal_probabilities(p) if matrix is None else p @ matrix
    looks = _averaged(before, shared, seen)
    return p, Memory(keep * float(p @ regrets), keep * float(p @ known), *looks)


def check_memory(memory: Any) -> None:
    """Refuse what a file says is remembered, unless it may be."""
    numbers = np.asarray(memory, dtype=float) if isinstance(memory, tuple) else np.zeros(0)
    if numbers.shape != (4,) or not ((numbers >= 0.0) & (numbers < np.inf)).all():
        raise ValueError(f"`memory` must be four numbers that are not negative, got {memory!r}")
    if numbers[3] < 1.0:
        raise ValueError(f"`memory` must have 1 parameter or more, got {numbers[3]}")


def _wrong_shape(parts: dict[str, Floats], n_actions: int) -> ValueError:
    name = next(name for name, part in parts.items() if part.shape != (n_actions,))
    return ValueError(
        f"`{name}` must have shape ({n_actions},) to match the graph, got {parts[name].shape}"
    )


def _revealed(sums: Callable[[Floats], Floats], worth: Floats) -> Floats:
    """What each action is expected to show of what is worth something."""
    if not worth.any():
        return worth
    return sums(worth)


def _averaged(before: Memory, shared: Floats, looks: Floats) -> tuple[float, float]:
    """The parameters that looks share, averaged over those that this round may bring."""
    mass = float(looks.max())
    if not mass > 0.0:
        return before.looks, before.parameters
    seen = min(before.looks + mass, LOOKS)
    step = float(looks @ shared) / float(looks.sum()) - before.parameters
    return seen, max(1.0, before.parameters + step * mass / seen)


@compiled
def _beliefs(
    f: Floats,
    deviations: Floats,
    gains: Floats,
    counts: Floats,
    span: float,
    low: float,
    parameters: float,
) -> tuple[float, Floats, Floats, Floats]:
    """E[min], P(best), how far each loss depends on which action is best, and the parameters
    that a look at each action is shared among.

    The first is NaN if a number is not finite, or negative where it must not be.
    """
    n = f.size
    chances, relevant, shared = np.zeros(n), np.zeros(n), np.ones(n)
    for a in range(n):
        if not (
            np.isfinite(f[a] + deviations[a] + gains[a] + counts[a] + span)
            and min(deviations[a], gains[a], counts[a], span) >= 0.0
        ):
            return np.nan, chances, relevant, shared
        known = 1.0 - math.exp(-gains[a])  # u / (1 + u)
        shared[a] = max(1.0, (1.0 + counts[a]) * known)
    low, high = min(low, f.min()), max(low + span, f.max())  # prices may lead outside
    odds, widths = _log_odds(f, deviations / math.sqrt(parameters), low, high)
    ceiling = (odds + REACH * widths).min()
    may_win = np.flatnonzero(odds - REACH * widths <= ceiling)
    floor = (odds[may_win] - REACH * widths[may_win]).min()
    if may_win.size == 1 or ceiling <= floor:
        chances[may_win] = 1.0 / may_win.size
        return f.min(), chances, relevant, shared
    mass, moments = _smallest(odds[may_win], widths[may_win], floor, ceiling, low, high)
    total = mass.sum()
    for i in range(may_win.size):
        a = may_win[i]
        chance = mass[i] / total
        chances[a] = chance
        if mass[i] > 0.0 and deviations[a] > 0.0:
            off = f[a] - moments[i] / mass[i]  # from its mean if it is the best
            variance = deviations[a] ** 2 / parameters
            relevant[a] = min(1.0, off * off * chance / max(1.0 - chance, 1e-6) / variance)
    return min(moments.sum() / total, f.min()), chances, relevant, shared


@compiled
def _log_odds(f: Floats, deviations: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Mean and deviation of the log odds that have these means and deviations as shares.

    The inverse of what `oracles.posterior` makes of a score and its leverage.
    """
    odds, widths = np.empty(f.size), np.empty(f.size)
    span = max(high - low, 1e-300)
    for a in range(f.size):
        share = min(max((f[a] - low) / span, 1e-6), 1.0 - 1e-6)
        coin = share * (1.0 - share)
        known = 1.0 - min((deviations[a] / span) ** 2 / coin, 0.99)
        leverage = (1.0 / (known * known) - 1.0) / (2.0 * coin)
        widths[a] = math.sqrt(leverage)
        odds[a] = math.log(share / (1.0 - share)) * math.sqrt(1.0 + math.pi / 8.0 * leverage)
    return odds, widths


@compiled
def _smallest(
    odds: Floats, widths: Floats, floor: float, ceiling: float, low: float, high: float
) -> tuple[Floats, Floats]:
    """Of each action: the probability that it is the smallest, and its loss times that.

    The posterior is summed over cells of the log odds. Beyond the ceiling nothing is the smallest.
    """
    n = odds.size
    mass, moments = np.zeros(n), np.zeros(n)
    below, above = np.zeros(n), np.empty(n)
    step = (ceiling - floor) / CELLS
    for j in range(CELLS):
        edge, log_none = floor + (j + 1) * step, 0.0
        for i in range(n):
            width = max(widths[i], 1e-12)
            above[i] = 0.5 * math.erfc((odds[i] - edge) / (width * math.sqrt(2.0)))
            log_none += math.log(max(1.0 - 0.5 * (below[i] + above[i]), 1e-300))
        loss = low + (high - low) / (1.0 + math.exp(0.5 * step - edge))
        for i in range(n):
            others = log_none - math.log(max(1.0 - 0.5 * (below[i] + above[i]), 1e-300))
            here = (above[i] - below[i]) * math.exp(others)
            mass[i] += here
            moments[i] += here * loss
            below[i] = above[i]
    return mass, moments


@compiled
def _wanted_looks(
    best: int, chances: Floats, hidden: Floats, parameters: float, blind: float
) -> Floats:
    """The probability with which each action is to be looked at, at least."""
    wanted = chances / parameters
    wanted[best] = (1.0 - chances[best]) / parameters
    for a in range(wanted.size):
        wanted[a] = max(wanted[a], blind * hidden[a])
    return wanted


@compiled
def _choose(
    f: Floats,
    regrets: Floats,
    information: Floats,
    gains: Floats,
    safe: Floats,
    target: float,
    best: int,
    tie: float,
) -> Floats:
    """The best-looking action, mixed with the one that asks for the larger share of the two ways.

    With regret A and information B of the best-looking action, and d and e more of another one,
    (A + q d)^2 / (B + q e) is smallest at q = A / d - 2 B / e.
    """
    regret, known = regrets[best], information[best]
    least = regret * regret / known if known > 0.0 else np.inf
    other, share = best, 0.0
    cheapest, price = best, np.inf
    for a in range(f.size):
        if a == best:
            continue
        worse, more = f[a] - f[best], information[a] - known
        if more > 0.0:
            q = 1.0
            if worse > 0.0:
                q = min(1.0, max(0.0, regret / worse - 2.0 * known / more))
            ratio = (regret + q * worse) ** 2 / (known + q * more) if q > 0.0 else least
            if ratio < least:
                other, share, least = a, q, ratio
        if worse > tie and safe[a] > 0.0 and worse / safe[a] < price:
            cheapest, price = a, worse / safe[a]
    if cheapest != best and min(1.0, target / safe[cheapest]) > share:
        other, share = cheapest, min(1.0, target / safe[cheapest])
    p = _spread(f, information, gains, best, 1.0 - share, tie)
    return p + _spread(f, information, gains, other, share, tie)


@compiled
def _spread(
    f: Floats, information: Floats, gains: Floats, action: int, share: float, tie: float
) -> Floats:
    """The share of an action, spread evenly over all that look just like it."""
    p, n = np.zeros(f.size), 0
    for a in range(f.size):
        is_alike = abs(f[a] - f[action]) <= tie and abs(gains[a] - gains[action]) <= TIE
        if is_alike and abs(information[a] - information[action]) <= TIE:
            p[a] = share
            n += 1
    return p / n


@compiled
def _within(
    p: Floats,
    f: Floats,
    regrets: Floats,
    information: Floats,
    lower: Floats,
    upper: Floats,
    rows: Floats,
    most: Floats,
) -> tuple[Floats, bool]:
    """The choice without limits if it obeys them, else the smallest ratio; False if no p obeys."""
    if obeys(p, lower, upper, rows, most):
        return p, True
    return smallest_ratio(f, regrets, information, lower, upper, rows, most)
