"""The cold start of the interior-point method: a point from the losses alone.

It is interior and well centred: all products s_b q_b and p_i m_i are equal, or nearly so. With
limits p is strictly between floors and caps; linear limits may be missed at first: their slacks are
positive all the same, and the steps close the difference.
"""

import numpy as np

from graphcb.compilation import inlined, inner
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.certificate import evaluate
from graphcb.exploration.solver.linear_limits import (
    add_multipliers,
    centre_linear,
    forget_multipliers,
    move_within,
)
from graphcb.exploration.solver.sparsity import Pattern
from graphcb.exploration.solver.workspace import Floats, LimitWork

BELOW = 0.3  # the level below the smallest gradient, relative to their spread
CENTRED = 0.1  # smallest product of d and m, relative to the mean
PASSES = 8  # of the search for the scale of the weights


@inner
def cold_start(
    v: Floats, a: Floats, limits: LimitWork | None, pattern: Pattern, careful: bool
) -> None:
    """Fill the iterate: choose p, set slacks below a level, and make all products equal.

    A careful start estimates the value first; otherwise it is taken to be of the order of one for
    each action, which is right unless some action is hardly ever seen.
    """
    _choose_weights(v, a, limits, _estimate_value(v, a, limits) if careful else 1.0)
    if limits is not None:
        _fit_between(v, limits.mass)
        move_within(v, limits)
        forget_multipliers(limits)
    bounds = evaluate(v, a, limits, pattern)
    _centre(v, limits, bounds.worst, 0.5 * (1.0 + bounds.value))


@inlined
def _centre(v: Floats, limits: LimitWork | None, worst: float, room: float) -> None:
    """With s_b = level - c_b, q_b = mu / s_b and m_i = mu / p_i, all products are mu.

    The level is `room` above the worst constraint, which may be so large that the sum is too
    coarse. The constraints hold exactly, and mu makes q sum to one.
    """
    q, s, m, c = v[at.Q], v[at.S], v[at.M], v[at.C]
    e, n, span = v[at.E], v[at.N], v[at.SPAN]
    d = v[at.P] if limits is None else v[at.D]
    total = 0.0
    for b in range(q.size):
        s[b] = max(worst + room - c[b], 0.5 * room)
        total += 1.0 / s[b]
    for b in range(q.size):
        q[b] = 1.0 / (total * s[b])
        m[b] = 1.0 / (total * d[b])
    if limits is not None:
        for b in range(q.size):
            n[b] = 1.0 / (total * e[b]) if 0.0 < span[b] < np.inf else 0.0
            m[b] = m[b] if d[b] > 0.0 else 0.0
        if limits.rows.shape[0] > 0:
            centre_linear(v, limits, 1.0 / total)
            _balance(v, limits, 1.0 / total)


@inlined
def _balance(v: Floats, limits: LimitWork, mu: float) -> None:
    """Raise the multipliers of the floors to where g - m + n + rows.T @ y is constant.

    With linear limits p is far from the cheapest actions, and g far from constant: steps that had
    to mend that first would be short.
    """
    d, m, n, g, spare = v[at.D], v[at.M], v[at.N], v[at.G], v[at.SPARE]
    for i in range(d.size):
        spare[i] = g[i] + n[i]
    add_multipliers(limits, 0.0, spare)
    least, mean = np.inf, 0.0
    for i in range(d.size):
        if d[i] > 0.0:
            least = min(least, spare[i])
            mean += spare[i] * (d[i] / limits.mass)
    level = least - BELOW * (mean - least)
    for i in range(d.size):
        if d[i] > 0.0:
            m[i] = max(spare[i] - level, CENTRED * mu / d[i])


@inner
def _estimate_value(v: Floats, a: Floats, limits: LimitWork | None) -> float:
    """What seeing the action costs that is seen least: 1 / G_ib + (ft_i / G_ib)^(1/2) - ft_b.

    With limits an observer is played as far as its cap, and floors may have seen it already.
    """
    ft, loops, seen_by, span, base = v[at.FT], v[at.LOOPS], a[at.SEEN_BY], v[at.SPAN], v[at.BASE]
    value = 1.0
    for b in range(ft.size):
        least = np.inf
        if limits is not None and base[b] > 0.0:
            least = 1.0 / base[b]
        for i in range(ft.size):
            seen = loops[b] if i == b else seen_by[b, i]
            share = 1.0 if limits is None else min(1.0, span[i])
            if seen > 0.0 and share > 0.0:
                least = min(least, 1.0 / (seen * share) + np.sqrt(ft[i] / seen))
        if least < np.inf:
            value = max(value, least - ft[b])
    return value


@inlined
def _choose_weights(v: Floats, a: Floats, limits: LimitWork | None, value: float) -> None:
    """For each action b, its cheapest observer gets what seeing b is worth; the best the rest.

    Seeing b at rate w costs w ft_i / G_ib and gains 1 / w - ft_b, which is balanced near
    w = 1 / (n value + ft_b + (ft_i / G_ib)^(1/2)). Half as much again lets slacks grow with ft, as
    they will. Gaps far below the value do not matter. For now q is uniform. Fixed actions get no
    weight, and `_fit_between` makes the sum right.
    """
    n = v.shape[1]
    ft, p, q, loops, seen_by = v[at.FT], v[at.P], v[at.Q], v[at.LOOPS], a[at.SEEN_BY]
    span = v[at.SPAN]
    best = -1
    for b in range(n):
        if (limits is None or span[b] > 0.0) and (best < 0 or ft[b] < ft[best]):
            best = b
        p[b], q[b] = 0.1 / (n + ft[b] / value), 1.0 / n
    for b in range(n):
        observer, chance = b, loops[b]
        if limits is not None and span[b] == 0.0:
            chance = 0.0
        for i in range(n):
            seen = seen_by[b, i]
            if limits is not None and span[i] == 0.0:
                seen = 0.0
            if seen > 0.0 and (ft[i] + value) * chance < (ft[observer] + value) * seen:
                observer, chance = i, seen
        if chance > 0.0:
            rate = 1.5 / (n * value + ft[b] + np.sqrt(ft[observer] / chance)) / chance
            p[observer] = max(p[observer], min(rate, 0.5))
    others = 0.0
    for b in range(n):
        if b != best and (limits is None or span[b] > 0.0):
            others += p[b]
    if best >= 0 and others < 0.9:
        p[best] = 1.0 - others
    elif limits is None:
        total = others + p[best]
        for b in range(n):
            p[b] /= total


@inlined
def _fit_between(v: Floats, mass: float) -> None:
    """Fill D, E and P: d = t p, or t p span / (t p + span) with a cap, so that they fill mass.

    The sum is concave in t, so Newton steps from the left stay there; what is left in the end goes
    to the actions without a cap or, if there are none, into the room that the caps leave.
    """
    n = v.shape[1]
    d, e, span, p, floor = v[at.D], v[at.E], v[at.SPAN], v[at.P], v[at.FLOOR]
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
        p[i] = floor[i] + d[i]
