"""What an oracle's forecast says of the best action.

Each action has a predicted loss and a deviation. Their posterior is taken to be normal in the
log odds of the loss as a share of its range, so three bad coins in a row are no certainty. It gives
the expected smallest loss, and for each action the probability that it is the best one.
"""

import math
from typing import NamedTuple

import numpy as np

from graphcb.compilation import compiled, inlined, inner, summed
from graphcb.exploration.logarithms import expm1, log_of
from graphcb.exploration.normal import chances_below, smallest
from graphcb.graphs.structure import Floats, Indices

REACH = 4.0  # deviations of the log odds within which an action may be the best
ENOUGH = 0.5  # of Thompson sampling's looks, where they are to come by themselves


class Beliefs(NamedTuple):
    """The expected smallest loss, and of each action two things.

    The chance that it is the best one, and the share of what its loss tells that depends on which
    action is best.
    """

    floor: float
    chances: Floats
    relevant: Floats


class Shares(NamedTuple):
    """Predicted losses as shares of what is possible, and their log odds.

    `alike` has for each action one before it of which the same is said, if it is found at once, or
    itself. Of many actions most were never seen and are alike; much is calculated once for them.
    """

    low: float
    high: float
    logits: Floats
    alike: Indices


@inner
def shares_of(f: Floats, deviations: Floats, divided: Floats, span: float, low: float) -> Shares:
    """The shares of losses with these deviations, which are to be divided."""
    low, high = min(low, f.min()), max(low + span, f.max())  # prices may lead outside
    logits = np.empty(f.size)
    _fill_logits(f, low, high, logits)
    return Shares(low, high, logits, _find_alike(f, deviations, divided))


@compiled
def is_forecast(f: Floats, deviations: Floats, gains: Floats, counts: Floats, span: float) -> bool:
    """Whether all numbers are finite, and none is negative that must not be."""
    return span >= 0.0 and _flaws(f, deviations, gains, counts, span) == 0.0


@summed
def _flaws(f: Floats, deviations: Floats, gains: Floats, counts: Floats, span: float) -> float:
    """0 if `is_forecast`, else NaN or more."""
    flaws = 0.0
    for a in range(f.size):
        flaws += 0.0 * (f[a] + deviations[a] + gains[a] + counts[a] + span)  # NaN if not finite
        flaws += 1.0 if deviations[a] < 0.0 or gains[a] < 0.0 or counts[a] < 0.0 else 0.0
    return flaws


@inner
def beliefs(f: Floats, deviations: Floats, shares: Shares, divided: Floats) -> Beliefs:
    """What a forecast says, with deviations divided by the root of `divided` (`sharing`)."""
    n = f.size
    chances, relevant = np.zeros(n), np.zeros(n)
    low, high, logits, alike = shares
    odds, widths = np.empty(n), np.empty(n)
    _fill_log_odds(f, deviations, divided, low, high, logits, odds, widths)
    ceiling = np.inf
    for a in range(n):
        ceiling = min(ceiling, odds[a] + REACH * widths[a])
    those, groups, places = np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n, np.intp)
    centres, spreads, times = np.empty(n), np.empty(n), np.zeros(n, np.intp)
    units, n_those, n_different, floor = np.empty((2, n)), 0, 0, np.inf
    for a in range(n):
        b = alike[a]
        if odds[b] - REACH * widths[b] > ceiling:
            continue
        floor = min(floor, odds[b] - REACH * widths[b])
        if b == a:
            places[a] = n_different
            centres[n_different], spreads[n_different] = odds[a], widths[a]
            units[0, n_different] = f[a]
            units[1, n_different] = deviations[a] * deviations[a] / divided[a]
            n_different += 1
        those[n_those], groups[n_those] = a, places[b]
        times[places[b]] += 1
        n_those += 1
    those, groups = those[:n_those], groups[:n_those]
    if n_those == 1 or ceiling <= floor:
        for i in range(n_those):
            chances[those[i]] = 1.0 / n_those
        return Beliefs(f.min(), chances, relevant)
    centres, spreads, times = centres[:n_different], spreads[:n_different], times[:n_different]
    found, moments = smallest(centres, spreads, times, floor, ceiling, low, high)
    total = moment = 0.0
    for g in range(n_different):
        total += times[g] * found[g]
        moment += times[g] * moments[g]
    _fill_relevant(units[0], units[1], found, moments, total)
    for i in range(n_those):
        chances[those[i]], relevant[those[i]] = found[groups[i]], moments[groups[i]]
    return Beliefs(min(moment / total, f.min()), chances, relevant)


@summed
def _fill_relevant(
    f: Floats, variances: Floats, chances: Floats, moments: Floats, total: float
) -> None:
    """Make chances a share of their total, and moments what `Beliefs` calls relevant."""
    for g in range(chances.size):
        chance = chances[g]
        off = f[g] - moments[g] / chance  # from its mean if it is the best
        others = total - chance
        more = chance / (others if others > 1e-6 * total else 1e-6 * total)
        share = off * off * more / variances[g]
        share = share if share < 1.0 else 1.0
        moments[g] = share if chance > 0.0 and variances[g] > 0.0 else 0.0
        chances[g] = chance / total


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
    before = share = -1.0
    for a in range(counts.size):
        if counts[a] != before:  # actions that were never seen follow each other
            before, few = counts[a], (1.0 + counts[a]) / usual
            share = usual if few >= 1.0 else usual * few**cover
        found[a] = share
    return found


@summed
def count_on_fewer(
    divided: Floats, parameters: float, each: Floats, owed: Floats, hidden: float
) -> None:
    """Share looks among fewer where they do not come by themselves, as from other contexts.

    Thompson sampling would have taken `owed` looks at an action by now for each that there was.
    Where topics share nothing, say, looks may be too few, or all elsewhere: then another one here
    tells more than looks do at the usual `parameters`: looks are shared among `each`, if those in
    all contexts told as much. Beyond 1, or `ENOUGH` by what one tells here, s times that, d / s^2
    parameters count where one loss is hidden, and d / s^(2 / h) where h are: most of many actions
    are not worth their price.
    """
    usual, power = ENOUGH * parameters, -2.0 / max(hidden, 1.0)
    for a in range(divided.size):
        more = each[a] / usual
        starved = owed[a] * (more if more > 1.0 else 1.0)
        starved = starved if starved > 1.0 else 1.0
        fewer = divided[a] * (1.0 + expm1(power * log_of(starved, starved - 1.0)))
        divided[a] = fewer if fewer > 1.0 else 1.0


@inner
def looks_of_thompson(f: Floats, deviations: Floats, shares: Shares, best: int) -> Floats:
    """About how often Thompson sampling would play each action but the best-looking one.

    The chance that it is better than that one, as a share of all such chances and 1.
    """
    odds, widths, looks = np.empty(f.size), np.empty(f.size), np.empty(f.size)
    undivided = np.ones(f.size)
    _fill_log_odds(f, deviations, undivided, shares.low, shares.high, shares.logits, odds, widths)
    chances_below(odds, widths, odds[best], widths[best], looks)
    looks[best] = 0.0
    looks /= 1.0 + looks.sum()
    return looks


@inner
def _find_alike(f: Floats, deviations: Floats, divided: Floats) -> Indices:
    """`alike` of `Shares`, by a table of hashes."""
    size = 8
    while size < f.size:
        size *= 2
    bits, found, last = f.view(np.int64), np.empty(f.size, np.intp), np.full(size, -1)
    for a in range(f.size):
        at = (bits[a] ^ (bits[a] >> 23) ^ (bits[a] >> 41)) & (size - 1)
        b = last[at]
        is_same = b >= 0 and f[a] == f[b] and deviations[a] == deviations[b]
        if not (is_same and divided[a] == divided[b]):
            last[at] = b = a
        found[a] = b
    return found


@inlined
def _share(loss: float, low: float, high: float) -> float:
    """A loss as a share of what is possible, not quite 0 or 1."""
    width = high - low
    share = (loss - low) / (width if width > 1e-300 else 1e-300)
    share = share if share > 1e-6 else 1e-6
    return share if share < 1.0 - 1e-6 else 1.0 - 1e-6


@summed
def _fill_logits(f: Floats, low: float, high: float, logits: Floats) -> None:
    """Fill in the log odds of losses as shares of what is possible."""
    for a in range(f.size):
        share = _share(f[a], low, high)
        odds = share / (1.0 - share)
        logits[a] = log_of(odds, odds - 1.0)


@summed
def _fill_log_odds(
    f: Floats,
    deviations: Floats,
    divided: Floats,
    low: float,
    high: float,
    logits: Floats,
    odds: Floats,
    widths: Floats,
) -> None:
    """Fill in mean and deviation of the log odds that have these means and deviations as shares.

    The inverse of what `oracles.posterior` makes of a score and its leverage.
    """
    per_span = 1.0 / max(high - low, 1e-300)
    for a in range(f.size):
        share = _share(f[a], low, high)
        coin, deviation = share * (1.0 - share), deviations[a] * per_span
        unknown = deviation * deviation / (divided[a] * coin)
        known = 1.0 - (unknown if unknown < 0.99 else 0.99)
        leverage = (1.0 / (known * known) - 1.0) / (2.0 * coin)
        widths[a] = math.sqrt(leverage)
        odds[a] = logits[a] * math.sqrt(1.0 + math.pi / 8.0 * leverage)
