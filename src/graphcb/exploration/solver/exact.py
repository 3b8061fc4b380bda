"""Optima in closed form up to one root: bandit and full information.

Both are proven like any other answer: by the bound of `certificate` at a q that is known too.
"""

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.exploration.solver.certificate import OPERATIONS, ROUNDING, Outcome

Floats = NDArray[np.float64]

MAX_PASSES = 100


@compiled
def solve_bandit(ft: Floats, p: Floats) -> Outcome:
    """p_a = 1 / (x + ft_a) with x the root that makes it a distribution; gamma * DEC is K - 1.

    Newton from x = 1, where the sum is at least 1: it is convex and falling, so the steps rise
    to the root. With q = p the constraints are 1 / p_a - 2 - ft_a = x - 2, all equal, and the
    gradient is ft_i + 1 - 1 / p_i = 1 - x, all equal: the bound K - 1 is met, whatever the
    gaps. The answer's own bound takes no difference of large numbers: every p but the head's is
    rounded up, so that 1 / p_a - ft_a is at most x, and the head has ft = 0.
    """
    n = ft.size
    x = 1.0
    passes = 0
    while passes < MAX_PASSES:
        passes += 1
        total = slope = 0.0
        for a in range(n):
            chance = 1.0 / (x + ft[a])
            total += chance
            slope += chance * chance
        # Newton on 1 / total, which is nearly linear: few steps whatever the gaps.
        step = (total - 1.0) * total / slope
        x += step
        if not step > 4.0 * ROUNDING * x:
            break
    head = 0
    rest = play = 0.0
    for a in range(n):
        if ft[a] < ft[head]:
            head = a
    for a in range(n):
        if a != head:
            p[a] = (1.0 + 4.0 * ROUNDING) / (x + ft[a])
            rest += p[a]
            play += p[a] * ft[a]
    p[head] = 1.0 - rest
    # value = p @ ft + sum p + max_a (1 / p_a - 2 - ft_a)
    value = play + max(x, 1.0 / p[head]) - 1.0
    error = (n + OPERATIONS) * ROUNDING
    return Outcome(value, value + error * (n + value), n - 1.0, passes, False, n)


@compiled
def solve_full_information(ft: Floats, p: Floats) -> Outcome:
    """p_a = max(0, x - ft_a) / 2 with x the root that makes it a distribution.

    W = 1, so the constraint 1 - 2 p_a - ft_a is 1 - x on the support and lower elsewhere. With q
    uniform on the support the gradient ft_i + 2 (p_i - q_i) - sum_j N_j is the same there and
    higher elsewhere, which proves it.
    """
    n = ft.size
    passes = 1
    # The support is those below the root: shrink it until nobody in it is above.
    x = np.inf
    while passes < MAX_PASSES:
        passes += 1
        total, size = 0.0, 0
        for a in range(n):
            if ft[a] < x:
                total += ft[a]
                size += 1
        root = (2.0 + total) / size
        if root >= x:
            break
        x = root
    support = 0
    mass = 0.0
    for a in range(n):
        p[a] = 0.5 * max(0.0, x - ft[a])
        mass += p[a]
        support += p[a] > 0.0
    error = (n + OPERATIONS) * ROUNDING
    play = squares = spread = price = 0.0
    worst = -np.inf
    for a in range(n):
        p[a] /= mass
        q = 1.0 / support if p[a] > 0.0 else 0.0
        play += p[a] * ft[a]
        squares += p[a] * p[a]
        worst = max(worst, 1.0 - 2.0 * p[a] - ft[a])
        spread += (p[a] - q) * (p[a] - q) + q * (1.0 - q)
        price += 2.0 * q * (1.0 - p[a]) - q * ft[a]
    least = np.inf
    for a in range(n):
        q = 1.0 / support if p[a] > 0.0 else 0.0
        tilt = 2.0 * (p[a] - q)
        least = min(least, ft[a] + tilt - error * (ft[a] + abs(tilt)))
    value = play + squares + worst
    lower = price + least - spread - error * (6.0 + play + 2.0 * x)
    return Outcome(value, value + error * (2.0 + play + squares), lower, passes, False, support)
