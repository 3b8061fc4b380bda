"""Exploration where being wrong is plausible and costs: information-directed choice.

Each action has a predicted loss f, a width w within which the truth plausibly lies, and a gain g,
the information that seeing its loss gives. An action is plausible as the best one if f - w is
not above min (f + w). If one action alone is, it is played. Otherwise the action that looks best
is mixed with one that would tell more, in the proportion that makes

    (expected regret)^2 / expected information

smallest, where the regret of a is f_a + w_a - min_b (f_b - w_b) and its information the sum of
G_ab g_b over the plausible b (Russo and Van Roy, 2018; Kirschner, Lattimore and Krause, 2020).
Nothing depends on how observable the graph is: an action that is worth its price in information
gets played, wherever its information comes from. With limits the ratio is minimised over all
distributions that obey them (`limited_choice`).
"""

import math

import numpy as np

from graphcb.checks import as_numbers
from graphcb.compilation import compiled
from graphcb.exploration.cheapest import obeys
from graphcb.exploration.limited_choice import obeying, smallest_ratio
from graphcb.exploration.limits import BoxAndRows
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats

WRITTEN_OUT = 512  # actions up to which a graph's matrix is used, 2 MB
BETA = 0.15  # standard deviations in a width, and
RARE = 0.25  # share of the loss span for what was seen once: by measurement, docs/decisions/0019


def information_directed(
    losses: Floats,
    deviations: Floats,
    gains: Floats,
    counts: Floats,
    span: float,
    *,
    graph: FeedbackGraph,
    round_number: int,
    box: BoxAndRows | None = None,
) -> Floats:
    """Probabilities (n_actions,) from an oracle's forecast; see `oracles.Forecast`.

    `round_number` counts from 1. Widths grow with its logarithm while an action is not seen, so
    that none is given up for ever. `box` are the limits of the round, if there are any.

    >>> from graphcb import graphs
    >>> sure = (np.array([0.2, 0.4]), np.zeros(2), np.zeros(2), np.full(2, 100.0), 1.0)
    >>> information_directed(*sure, graph=graphs.bandit(2), round_number=200)
    array([1., 0.])
    """
    f, deviations = as_numbers("losses", losses), as_numbers("deviations", deviations)
    gains, counts = as_numbers("gains", gains), as_numbers("counts", counts)
    if not f.shape == deviations.shape == gains.shape == counts.shape == (graph.n_actions,):
        parts = {"losses": f, "deviations": deviations, "gains": gains, "counts": counts}
        raise _wrong_shape(parts, graph.n_actions)
    widths, worth, n_plausible = _plausible_gains(
        f, deviations, gains, counts, float(span), round_number
    )
    if n_plausible == 0:
        raise ValueError(
            "a forecast must be finite, and its deviations, gains, counts and span not negative; "
            f"got losses {f}, deviations {deviations}, gains {gains}, counts {counts}, span {span}"
        )
    information = worth
    if n_plausible > 1:
        small = graph.n_actions <= WRITTEN_OUT
        information = graph.matrix @ worth if small else graph.structure.sums_revealed(worth)
    if box is not None:
        return obeying(*_choose_within(f, widths, information, *box))
    return _choose(f, widths, information)


def _wrong_shape(parts: dict[str, Floats], n_actions: int) -> ValueError:
    name = next(name for name, part in parts.items() if part.shape != (n_actions,))
    return ValueError(
        f"`{name}` must have shape ({n_actions},) to match the graph, got {parts[name].shape}"
    )


@compiled
def _plausible_gains(
    f: Floats, deviations: Floats, gains: Floats, counts: Floats, span: float, round_number: int
) -> tuple[Floats, Floats, int]:
    """Widths, gains of the actions that may be the best (zero for the others), and their number.

    w = BETA * deviation * sqrt(1 + log(t / n)) + RARE * span * log(1 + t) / (1 + n) in round t,
    for an action seen n times: as in an empirical Bernstein bound, the second term is for what
    a few losses cannot tell. It makes every action be seen again, about log(t) / gap times. No
    action is plausible if a number is not finite, or negative where it must not be.
    """
    widths, worth = np.empty(f.size), np.zeros(f.size)
    for a in range(f.size):
        if not (
            np.isfinite(f[a] + deviations[a] + gains[a] + counts[a] + span)
            and min(deviations[a], gains[a], counts[a], span) >= 0.0
        ):
            return widths, worth, 0
    rare = RARE * span * math.log(1.0 + round_number)
    ceiling = np.inf
    for a in range(f.size):
        unseen = max(1.0, round_number / (counts[a] + 1.0))
        widths[a] = BETA * deviations[a] * math.sqrt(1.0 + math.log(unseen))
        widths[a] += rare / (1.0 + counts[a])
        ceiling = min(ceiling, f[a] + widths[a])
    plausible = 0
    for a in range(f.size):
        if f[a] - widths[a] <= ceiling:
            worth[a] = gains[a]
            plausible += 1
    if plausible == 1:
        worth[:] = 0.0  # nothing to find out
    return widths, worth, plausible


@compiled
def _choose(f: Floats, widths: Floats, information: Floats) -> Floats:
    """The best-looking action, mixed with the one that makes the ratio smallest.

    With regrets D and D + d and information I and I + e of the two, the ratio
    (D + q d)^2 / (I + q e) is smallest at q = D / d - 2 I / e.
    """
    best, floor = 0, np.inf
    for a in range(f.size):
        best = a if f[a] < f[best] else best
        floor = min(floor, f[a] - widths[a])
    regret, known = f[best] + widths[best] - floor, information[best]
    least = regret * regret / known if known > 0.0 else np.inf
    other, share = best, 0.0
    for a in range(f.size):
        more = information[a] - known
        if a == best or not more > 0.0:
            continue
        worse = f[a] + widths[a] - floor - regret
        q = 1.0 if worse <= 0.0 else min(1.0, max(0.0, regret / worse - 2.0 * known / more))
        ratio = (regret + q * worse) ** 2 / (known + q * more) if q > 0.0 or known > 0.0 else np.inf
        if ratio < least:
            other, share, least = a, q, ratio
    p = np.zeros(f.size)
    p[best] = 1.0 - share
    p[other] += share
    return p


@compiled
def _choose_within(
    f: Floats,
    widths: Floats,
    information: Floats,
    lower: Floats,
    upper: Floats,
    rows: Floats,
    most: Floats,
) -> tuple[Floats, bool]:
    """The unlimited choice if it obeys, else the smallest ratio; False if no p obeys."""
    p = _choose(f, widths, information)
    if obeys(p, lower, upper, rows, most):
        return p, True
    regrets = f + widths - (f - widths).min()
    return smallest_ratio(f, regrets, information, lower, upper, rows, most)
