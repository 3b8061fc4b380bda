"""What an oracle's forecast says of the best action.

Each action has a predicted loss and a deviation. Their posterior is taken to be normal in the
log odds of the loss as a share of its range, so three bad coins in a row are no certainty. It gives
the expected smallest loss, and for each action the probability that it is the best one.
"""

import math
from typing import NamedTuple

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.graphs.structure import Floats, Indices

REACH = 4.0  # deviations of the log odds within which an action may be the best
FAR = 6.0  # deviations below which a probability is 0, to 1e-9
CELLS = 32  # in which the posterior of the smallest loss is summed,
NOTHING = 1e-12  # up to where less than this is left
ENOUGH = 0.5  # of Thompson sampling's looks, where they are to come by themselves


class Beliefs(NamedTuple):
    """The expected smallest loss, and of each action three things.

    The chance that it is the best one, the share of what its loss tells that depends on which
    action is best, and the number of parameters that a look at it is shared among.
    """

    floor: float
    chances: Floats
    relevant: Floats
    shared: Floats


@compiled
def beliefs(
    f: Floats,
    deviations: Floats,
    gains: Floats,
    counts: Floats,
    span: float,
    low: float,
    divided: Floats,
) -> Beliefs:
    """What a forecast says, with deviations divided by the root of `divided` (`sharing`).

    The floor is NaN if a number is not finite, or negative where it must not be.
    """
    n = f.size
    chances, relevant, shared = np.zeros(n), np.zeros(n), np.ones(n)
    for a in range(n):
        least = min(deviations[a], gains[a], counts[a], span)
        if not (np.isfinite(f[a] + deviations[a] + gains[a] + counts[a] + span) and least >= 0.0):
            return Beliefs(np.nan, chances, relevant, shared)
        shared[a] = shared_here(gains[a], counts[a])
    low, high = min(low, f.min()), max(low + span, f.max())  # prices may lead outside
    alike = _find_alike(f, deviations, divided)
    odds, widths = _log_odds(f, deviations, divided, low, high, alike)
    ceiling = np.inf
    for a in range(n):
        ceiling = min(ceiling, odds[a] + REACH * widths[a])
    floor, may_win = np.inf, 0
    for a in range(n):
        if odds[a] - REACH * widths[a] <= ceiling:
            floor = min(floor, odds[a] - REACH * widths[a])
            chances[a] = 1.0
            may_win += 1
    if may_win == 1 or ceiling <= floor:
        chances /= may_win
        return Beliefs(f.min(), chances, relevant, shared)
    moments = _smallest(odds, widths, floor, ceiling, low, high, chances, alike)
    total = chances.sum()
    for a in range(n):
        if alike[a] < a:
            relevant[a] = relevant[alike[a]]
        elif chances[a] > 0.0 and deviations[a] > 0.0:
            off = f[a] - moments[a] / chances[a]  # from its mean if it is the best
            more = chances[a] / max(total - chances[a], 1e-6 * total)
            relevant[a] = min(1.0, off * off * more * divided[a] / deviations[a] ** 2)
    chances /= total
    return Beliefs(min(moments.sum() / total, f.min()), chances, relevant, shared)


@inner
def shared_here(gain: float, count: float) -> float:
    """The parameters that looks are shared among, if in all contexts they told as much."""
    known = 1.0 - math.exp(-gain)  # u / (1 + u), where a look adds the share u
    return max(1.0, (1.0 + count) * known)


@inner
def sharing(usual: float, counts: Floats, cover: float) -> Floats:
    """The parameters that a look at each action is shared among, d = `usual`; (1 + n) / d of them
    if it was seen n < d times, where one action shows all that is hidden.

    Contexts explore an action by themselves where it is played in others, which one that was
    hardly ever seen is not. Seeing it costs little if one look shows all of its kind, as that at
    the highest stock level does. With bandit feedback and many actions each has its price, and
    most are not worth it.

    `cover` is the largest share of what the best-looking action hides that one action shows.
    """
    found = np.empty(counts.size)
    for a in range(counts.size):
        few = (1.0 + counts[a]) / usual
        found[a] = usual if few >= 1.0 else usual * few**cover
    return found


@inner
def count_on_fewer(
    divided: Floats,
    parameters: float,
    gains: Floats,
    counts: Floats,
    owed: Floats,
    hidden: float,
) -> None:
    """Share looks among fewer where they do not come by themselves, as from other contexts.

    Thompson sampling would have taken `owed` looks at an action by now for each that there was.
    Where topics share nothing, say, looks may be too few, or all elsewhere: then another one here
    tells more than looks do at the usual `parameters`. Beyond 1, or `ENOUGH` by what one tells
    here, s times that, d / s^2 parameters count where one loss is hidden, and d / s^(2 / h) where h
    are: most of many actions are not worth their price.
    """
    for a in range(divided.size):
        here = shared_here(gains[a], counts[a]) / (ENOUGH * parameters)
        starved = owed[a] * max(here, 1.0)
        if starved > 1.0:
            divided[a] = max(1.0, divided[a] / starved ** (2.0 / max(hidden, 1.0)))


@inner
def looks_of_thompson(f: Floats, deviations: Floats, span: float, low: float, best: int) -> Floats:
    """About how often Thompson sampling would play each action but the best-looking one.

    The chance that it is better than that one, as a share of all such chances and 1.
    """
    low, high = min(low, f.min()), max(low + span, f.max())
    undivided = np.ones(f.size)
    alike = _find_alike(f, deviations, undivided)
    odds, widths = _log_odds(f, deviations, undivided, low, high, alike)
    looks, total = np.zeros(f.size), 1.0
    for a in range(f.size):
        if a == best:
            continue
        if alike[a] < a and alike[a] != best:
            looks[a] = looks[alike[a]]
        else:
            apart = math.sqrt(widths[a] * widths[a] + widths[best] * widths[best])
            off = (odds[a] - odds[best]) / max(apart, 1e-12)
            looks[a] = 0.5 * math.erfc(off / math.sqrt(2.0)) if off < FAR else 0.0
        total += looks[a]
    looks /= total
    return looks


@inner
def _find_alike(f: Floats, deviations: Floats, divided: Floats) -> Indices:
    """For each action one before it of which the same is said, if it is found at once, or itself.

    Of many actions most were never seen and are alike; what follows is calculated once for them.
    """
    bits, found, last = f.view(np.int64), np.empty(f.size, np.intp), np.full(f.size, -1)
    for a in range(f.size):
        at = (bits[a] ^ (bits[a] >> 23)) % f.size
        b = last[at]
        is_same = b >= 0 and f[a] == f[b] and deviations[a] == deviations[b]
        if not (is_same and divided[a] == divided[b]):
            last[at] = b = a
        found[a] = b
    return found


@inner
def _log_odds(
    f: Floats,
    deviations: Floats,
    divided: Floats,
    low: float,
    high: float,
    alike: Indices,
) -> tuple[Floats, Floats]:
    """Mean and deviation of the log odds that have these means and deviations as shares.

    The inverse of what `oracles.posterior` makes of a score and its leverage.
    """
    odds, widths = np.empty(f.size), np.empty(f.size)
    span = max(high - low, 1e-300)
    for a in range(f.size):
        if alike[a] < a:
            odds[a], widths[a] = odds[alike[a]], widths[alike[a]]
            continue
        share = min(max((f[a] - low) / span, 1e-6), 1.0 - 1e-6)
        coin = share * (1.0 - share)
        known = 1.0 - min((deviations[a] / span) ** 2 / (divided[a] * coin), 0.99)
        leverage = (1.0 / (known * known) - 1.0) / (2.0 * coin)
        widths[a] = math.sqrt(leverage)
        odds[a] = math.log(share / (1.0 - share)) * math.sqrt(1.0 + math.pi / 8.0 * leverage)
    return odds, widths


@inner
def _smallest(
    odds: Floats,
    widths: Floats,
    floor: float,
    ceiling: float,
    low: float,
    high: float,
    chances: Floats,
    alike: Indices,
) -> Floats:
    """Fill the probability that each action is the smallest, for those that have one above 0.

    Returns its loss times that. The posterior is summed over cells of the log odds, four at a time;
    beyond the ceiling nothing is the smallest.
    """
    those = np.flatnonzero(chances)
    different, places, n = np.empty_like(those), np.empty(odds.size, np.intp), 0
    for a in those:
        if alike[a] == a:
            different[n], places[a] = a, n
            n += 1
    groups, different = places[alike[those]], different[:n]
    centres, spreads = odds[different], np.maximum(widths[different], 1e-12)
    totals, sums = np.zeros(n), np.zeros(n)
    below, above, none_here = np.zeros((4, n)), np.zeros((4, n)), np.empty((n, 4))
    step, begin, none = (ceiling - floor) / CELLS, 0, np.ones(4)
    while begin < CELLS and none.min() >= NOTHING:
        for k in range(4):
            edge, below[k] = floor + (begin + k + 1) * step, above[k - 1]
            for i in range(n):
                off = (centres[i] - edge) / spreads[i]
                above[k, i] = 0.5 * math.erfc(off / math.sqrt(2.0)) if off < FAR else 0.0
                none_here[i, k] = 1.0 - 0.5 * (below[k, i] + above[k, i])
        first = second = third = fourth = 1.0  # products in the order of actions, side by side
        for g in groups:
            first *= none_here[g, 0]
            second *= none_here[g, 1]
            third *= none_here[g, 2]
            fourth *= none_here[g, 3]
        none[0], none[1], none[2], none[3] = first, second, third, fourth
        for k in range(4):
            edge = floor + (begin + k + 1) * step
            loss = low + (high - low) / (1.0 + math.exp(0.5 * step - edge))
            for i in range(n):
                if above[k, i] > below[k, i]:  # so the others' product is none / none_here
                    here = (above[k, i] - below[k, i]) * none[k] / none_here[i, k]
                    totals[i] += here
                    sums[i] += here * loss
            if none[k] < NOTHING:
                break
        begin += 4
    moments = np.zeros(odds.size)
    for k in range(those.size):
        chances[those[k]], moments[those[k]] = totals[groups[k]], sums[groups[k]]
    return moments
