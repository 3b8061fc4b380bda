"""The cold start of the limited program, from the losses.

As in `solver.starting_point`, with p strictly between floors and caps. Linear limits may be missed
at first: their slacks are positive all the same, and the steps close the difference.
"""

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.cholesky import dot
from graphcb.exploration.solver.limited import workspace as more
from graphcb.exploration.solver.limited.certificate import evaluate
from graphcb.exploration.solver.limited.workspace import Work
from graphcb.exploration.solver.sparsity import Pattern
from graphcb.exploration.solver.workspace import Floats

LEAST_SLACK = 1e-3  # of a linear limit that cannot be met with room to spare, at a cold start
TINY_SLACK = 1e-7  # the room to spare for that
KEPT = 0.3  # share of the inner point's slack that the starting point has
HALFWAY = 0.5  # the same if there are equations
FARTHEST = 0.9  # share of the way to the inner point: it may be at floors and caps
BELOW = 0.3  # the level below the smallest gradient, relative to their spread
CENTRED = 0.1  # smallest product of p and m, relative to the mean
PASSES = 8  # of the search for the scale of the weights


@inner
def cold_start(work: Work, pattern: Pattern, careful: bool) -> None:
    """Fill the iterate: choose p, set slacks below a level, and make all products equal."""
    v, limit = work.v, work.limit
    value = _estimate_value(v, work.a) if careful else 1.0
    _choose_weights(v, work.a, value)
    _fit_between_limits(v, work.mass)
    _move_within(work)
    for r in range(limit.shape[1]):
        limit[more.Y, r] = 0.0
    bounds = evaluate(work, pattern)
    room = 0.5 * (1.0 + bounds.value)
    q, s, m, c = v[at.Q], v[at.S], v[at.M], v[at.C]
    x, d, e, span = v[more.X], v[more.D], v[more.E], v[more.SPAN]
    total = 0.0
    for b in range(q.size):
        s[b] = max(bounds.worst + room - c[b], 0.5 * room)
        total += 1.0 / s[b]
    mu = 1.0 / total
    for b in range(q.size):
        q[b] = mu / s[b]
        m[b] = mu / d[b] if x[b] > 0.0 else 0.0
        v[more.N, b] = mu / e[b] if x[b] > 0.0 and span[b] < np.inf else 0.0
    for r in range(limit.shape[1]):
        left = limit[more.BOUND, r] + more.SLACK - dot(work.rows[r], d)
        most = limit[more.BOUND, r] - dot(work.rows[r], work.inner)
        enough = left > max(0.1 * most, TINY_SLACK)
        limit[more.Z, r] = left if enough else max(0.1 * abs(left), LEAST_SLACK)
        limit[more.Y, r] = mu / limit[more.Z, r] if limit[more.EQUAL, r] == 0.0 else 0.0
    if limit.shape[1] > 0:
        _balance(work, mu)


@inlined
def _balance(work: Work, mu: float) -> None:
    """Raise the multipliers of the floors to where g - m + n + rows.T @ y is constant.

    With linear limits p is far from the cheapest actions, and g far from constant: steps that had
    to mend that first would be short.
    """
    v, limit, spare = work.v, work.limit, work.v[at.SPARE]
    n, x, d, m = v.shape[1], v[more.X], v[more.D], v[at.M]
    for i in range(n):
        spare[i] = v[at.G, i] + v[more.N, i]
    for r in range(limit.shape[1]):
        y, row = limit[more.Y, r], work.rows[r]
        for i in range(n):
            spare[i] += y * row[i]
    least, mean = np.inf, 0.0
    for i in range(n):
        if x[i] > 0.0:
            least = min(least, spare[i])
            mean += spare[i] * (d[i] / work.mass)
    level = least - BELOW * (mean - least)
    for i in range(n):
        if x[i] > 0.0:
            m[i] = max(spare[i] - level, CENTRED * mu / d[i])


@inner
def _estimate_value(v: Floats, a: Floats) -> float:
    """The largest constraint if each action is seen by its cheapest observer, or its floors."""
    ft, loops, base, span = v[at.FT], v[at.LOOPS], v[more.BASE], v[more.SPAN]
    seen_by = a[at.SEEN_BY]
    value = 1.0
    for b in range(ft.size):
        least = 1.0 / base[b] if base[b] > 0.0 else np.inf
        for i in range(ft.size):
            seen = loops[b] if i == b else seen_by[b, i]
            if seen > 0.0 and span[i] > 0.0:
                least = min(least, 1.0 / (seen * min(1.0, span[i])) + np.sqrt(ft[i] / seen))
        if least < np.inf:
            value = max(value, least - ft[b])
    return value


@inlined
def _choose_weights(v: Floats, a: Floats, value: float) -> None:
    """Fill P with weights as `starting_point._choose_probabilities` does, without fixed actions."""
    n = v.shape[1]
    ft, p, q, loops, span = v[at.FT], v[at.P], v[at.Q], v[at.LOOPS], v[more.SPAN]
    seen_by = a[at.SEEN_BY]
    best = -1
    for b in range(n):
        if span[b] > 0.0 and (best < 0 or ft[b] < ft[best]):
            best = b
        p[b], q[b] = 0.1 / (n + ft[b] / value), 1.0 / n
    for b in range(n):
        observer, chance = b, loops[b] if span[b] > 0.0 else 0.0
        for i in range(n):
            seen = seen_by[b, i] if span[i] > 0.0 else 0.0
            if seen > 0.0 and (ft[i] + value) * chance < (ft[observer] + value) * seen:
                observer, chance = i, seen
        if chance > 0.0:
            rate = 1.5 / (n * value + ft[b] + np.sqrt(ft[observer] / chance)) / chance
            p[observer] = max(p[observer], min(rate, 0.5))
    others = 0.0
    for b in range(n):
        if b != best and span[b] > 0.0:
            others += p[b]
    if best >= 0 and others < 0.9:
        p[best] = 1.0 - others


@inlined
def _fit_between_limits(v: Floats, mass: float) -> None:
    """Fill X, D, E and P: d = t p, or t p span / (t p + span) with a cap, so that they fill mass.

    The sum is concave in t, so Newton steps from the left stay there; what is left in the end goes
    to the actions without a cap or, if there are none, into the room that the caps leave.
    """
    n = v.shape[1]
    x, d, e, span, p, floor = v[more.X], v[more.D], v[more.E], v[more.SPAN], v[at.P], v[more.L]
    total = 0.0
    for i in range(n):
        if span[i] > 0.0:
            total += p[i]
    t = mass / total
    for _ in range(PASSES):
        total = slope = 0.0
        for i in range(n):
            if span[i] == np.inf:
                total += t * p[i]
                slope += p[i]
            elif span[i] > 0.0:
                share = span[i] / (t * p[i] + span[i])
                total += t * p[i] * share
                slope += p[i] * share * share
        t += (mass - total) / slope
        if mass - total <= 1e-3 * mass:
            break
    free = capped = room = 0.0
    for i in range(n):
        e[i] = 1.0
        if span[i] == np.inf:
            d[i] = t * p[i]
            free += d[i]
        elif span[i] > 0.0:
            share = span[i] / (t * p[i] + span[i])
            d[i], e[i] = t * p[i] * share, span[i] * share
            capped += d[i]
            room += e[i]
        else:
            d[i] = 0.0
    less = min(1.0, mass / (free + capped)) if capped >= mass else 1.0
    more_free = (mass - capped * less) / free if free > 0.0 else 1.0
    into = max(0.0, (mass - capped) / room) if free == 0.0 and room > 0.0 else 0.0
    for i in range(n):
        if span[i] == np.inf:
            d[i] *= more_free
        elif span[i] > 0.0:
            d[i] = d[i] * less + into * e[i]
            e[i] = span[i] - d[i] if less < 1.0 else e[i] * (1.0 - into)
        x[i] = d[i]
        p[i] = floor[i] + d[i]


@inlined
def _move_within(work: Work) -> None:
    """Move d towards the inner point as far as the linear limits ask for."""
    v, limit = work.v, work.limit
    d, share = v[more.D], 0.0
    for r in range(limit.shape[1]):
        bound = limit[more.BOUND, r]
        slack, excess = bound - dot(work.rows[r], work.inner), dot(work.rows[r], d) - bound
        if limit[more.EQUAL, r] != 0.0:
            share = max(share, HALFWAY)
        elif excess + KEPT * slack > 0.0 and excess + slack > 0.0:
            share = max(share, min(FARTHEST, (excess + KEPT * slack) / (excess + slack)))
    if share > 0.0:
        total = 0.0
        for i in range(d.size):
            total += work.inner[i]
        for i in range(d.size):
            if v[more.X, i] > 0.0:
                change = share * (work.inner[i] * (work.mass / total) - d[i])
                d[i] += change
                if v[more.SPAN, i] < np.inf:
                    v[more.E, i] = max(v[more.E, i] - change, (1.0 - share) * v[more.E, i])
                v[more.X, i], v[at.P, i] = d[i], v[more.L, i] + d[i]
