"""The best-looking action, mixed with one that tells more; what a round leaves to remember.

What `information_directed` decides once it is known what each action costs and tells, and which
looks are due.
"""

import numpy as np

from graphcb.compilation import compiled, inner, summed
from graphcb.exploration.due_looks import LEAST_WANTED, at_most_one
from graphcb.graphs.structure import Floats

ROUNDS = 20.0  # over which regret and information are summed
LOOKS = 200.0  # over which the number of parameters is averaged
TIE = 1e-9  # of the span

# Of earlier rounds: sums of regret, of information and of looks, and the parameters looks share.
Memory = tuple[float, float, float, float]


@compiled
def best_looking(f: Floats, gains: Floats, tie: float) -> int:
    """The smallest loss; of equal ones the one that tells most of itself."""
    least, best = f.min() + tie, 0
    for a in range(f.size):
        if f[a] <= least and (f[best] > least or gains[a] > gains[best]):
            best = a
    return best


@compiled
def choose(
    f: Floats,
    regrets: Floats,
    information: Floats,
    gains: Floats,
    looks: Floats,
    best: int,
    tie: float,
    doubts: Floats,
    priced: float,
) -> Floats:
    """The best-looking action, mixed with one that tells more, and with the looks that are due.

    `doubts` are the deviations, or 0 if it does not show its own loss. Where it is in doubt itself,
    only playing it can tell, and no action that is less in doubt is played more often.

    With regret A and information B of the best-looking action, and d and e more of another one,
    (A + q d)^2 / (B + q e) is smallest at q = A / d - 2 B / e. The share `priced` of that
    is played.
    """
    other, share = _other_than(best, f, regrets[best], information)
    p = np.zeros(f.size)
    if share > 0.0:
        _spread(p, f, information, gains, other, priced * share, tie)
    for a in range(f.size):
        p[a] = max(p[a], looks[a])
    most = p.argmax()
    p = at_most_one(p, p[most] if doubts[best] > doubts[most] else 0.0)
    _spread(p, f, information, gains, best, 1.0 - p.sum(), tie)
    for a in range(f.size):
        if p[a] < LEAST_WANTED:  # weights of 1 / p would be worth nothing
            p[a] = 0.0
    total = p.sum()
    for a in range(f.size):
        p[a] /= total
    return p


@inner
def _other_than(best: int, f: Floats, regret: float, information: Floats) -> tuple[int, float]:
    """The action that `choose` mixes with the best-looking one, and its share."""
    ratios, shares, known = np.empty(f.size), np.empty(f.size), information[best]
    least = regret * regret / known if known > 0.0 else np.inf
    _fill_ratios(f, f[best], regret, information, known, least, ratios, shares)
    other = int(ratios.argmin())
    return (other, float(shares[other])) if ratios[other] < least else (best, 0.0)


@summed
def _fill_ratios(
    f: Floats,
    lowest: float,
    regret: float,
    information: Floats,
    known: float,
    least: float,
    ratios: Floats,
    shares: Floats,
) -> None:
    """Fill in what mixing with each action comes to, and how much of it is best."""
    for a in range(f.size):
        worse, more = f[a] - lowest, information[a] - known
        q = regret / worse - 2.0 * known / more
        q = q if q > 0.0 else 0.0
        q = q if q < 1.0 and worse > 0.0 else 1.0
        share = q if more > 0.0 else 0.0
        x = regret + share * worse
        ratio = x * x / (known + share * more)
        shares[a] = share
        ratios[a] = ratio if share > 0.0 else least


@inner
def _spread(
    p: Floats,
    f: Floats,
    information: Floats,
    gains: Floats,
    action: int,
    share: float,
    tie: float,
) -> None:
    """Add the share of an action to all that look just like it, as evenly as possible."""
    alike, n_alike, total, most = np.empty(f.size, np.intp), 0, max(share, 0.0), 0.0
    loss, gain, known = f[action], gains[action], information[action]
    for a in range(f.size):
        if (
            abs(f[a] - loss) > tie
            or abs(gains[a] - gain) > TIE
            or abs(information[a] - known) > TIE
        ):
            continue
        alike[n_alike] = a
        n_alike += 1
        total += p[a]
        most = max(most, p[a])
    each = total / n_alike
    for i in range(n_alike):
        a = alike[i]
        p[a] = each if each >= most - TIE else p[a] + max(share, 0.0) / n_alike


@compiled
def remember(
    p: Floats,
    regrets: Floats,
    known: Floats,
    seen: Floats,
    shared: Floats,
    round_number: int,
    looks: float,
    parameters: float,
) -> Memory:
    """The memory of a round: sums, and the parameters averaged over the looks it may bring."""
    keep = 1.0 - 1.0 / min(ROUNDS, round_number)
    regret = information = mean = total = mass = 0.0
    for a in range(p.size):
        regret += p[a] * regrets[a]
        information += p[a] * known[a]
        mean += seen[a] * shared[a]
        total += seen[a]
        mass = max(mass, seen[a])
    if mass > 0.0:
        looks = min(looks + mass, LOOKS)
        parameters = max(1.0, parameters + (mean / total - parameters) * mass / looks)
    return keep * regret, keep * information, looks, parameters
