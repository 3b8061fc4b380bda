"""Bets that the world has changed, which somebody who believes that it stands still must take.

A factor that is at least 0, and 1 or less on average while the world stands still, is what a fair
bet pays. Whoever began to bet at the i-th of them has the product of all factors since. Beginnings
have weights with sum 1, as nobody knows when a change comes,

    evidence_t = (evidence_(t-1) + w_t) factor_t,   w_t = 1 / (2.11 (t + 1) log(t + 1)^2),

so what all of them own together, and those who are yet to begin, is 1 on average at any time. By
Ville's inequality it ever reaches 1 / chance with this probability at most, however long the world
stands still. With several bets that is their mean, with m things that are watched each
is allowed a share of the chance.

Since when: the beginning that has won most, if each bet costs `STAKE`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inner

Floats = NDArray[np.float64]

CHANCE = 0.01  # of an alarm in a world that stands still, over a whole run;
HALVES = 2.0  # which losses and features share
BETS = 2  # on each thing that is watched
WEIGHTS = 2.11  # sum of 1 / (k log(k)^2) over k = 2, 3, ...
LARGEST = 1e15  # of the evidence, which has to fall again once the world is as it was
STAKE = 0.01  # nats

# Places of what is known of a thing: how many bets were made; evidence and winnings of each bet,
# and the decision at which the winnings began; whether the alarm is on, and the largest evidence;
# the decisions since when, at which it was raised, and at which it was over.
COUNT, EVIDENCE, WON, BEGAN, IS_ON, MOST, SINCE, RAISED, OVER = 0, 1, 3, 5, 7, 8, 9, 10, 11
WIDTH = 12


class Alarm(NamedTuple):
    """A thing that looked different.

    `since` is the number of the decision from which on, `raised` the one after which that was
    known, `over` the one from which it has looked as before, None while it does not. `chance`
    bounds the probability of such an alarm, at any time, in a world that stands still. `since_time`
    is when decision `since` was made, in seconds since 1970, where that is known.
    """

    kind: str  # "action" or "feature"
    name: str
    since: int
    raised: int
    over: int | None
    chance: float
    since_time: float | None = None

    @property
    def is_on(self) -> bool:
        """Whether it still looks different."""
        return self.over is None


@inner
def settle(known: Floats, gains: Floats, n_things: float, decision: float) -> None:
    """What is known of one of `n_things` after a bet; `gains` are the logarithms of factors."""
    known[COUNT] += 1.0
    following = known[COUNT] + 1.0
    weight = 1.0 / (WEIGHTS * following * math.log(following) ** 2)
    evidence, best = 0.0, 0
    for b in range(BETS):
        if known[WON + b] <= 0.0:
            known[WON + b] = 0.0
            known[BEGAN + b] = decision
        known[WON + b] += gains[b] - STAKE
        owned = (known[EVIDENCE + b] + weight) * math.exp(gains[b])
        known[EVIDENCE + b] = min(owned, LARGEST)
        evidence += known[EVIDENCE + b] / BETS
        if known[EVIDENCE + b] > known[EVIDENCE + best]:
            best = b
    if evidence >= HALVES * n_things / CHANCE:
        if known[IS_ON] == 0.0:
            known[IS_ON], known[MOST] = 1.0, 0.0
            known[SINCE], known[RAISED] = known[BEGAN + best], decision
        known[MOST] = max(known[MOST], evidence)
    elif known[IS_ON] == 1.0 and evidence < 1.0:
        known[IS_ON], known[OVER] = 0.0, decision


def alarms(kind: str, names: Any, known: Floats, n_things: float) -> list[Alarm]:
    """The things whose alarm was ever on, by what is known of each; `known` is (things, WIDTH)."""
    found = []
    for name, row in zip(names, known.tolist(), strict=False):
        if row[MOST] > 0.0:
            is_on = row[IS_ON] == 1.0
            found.append(
                Alarm(
                    kind,
                    str(name),
                    int(row[SINCE]),
                    int(row[RAISED]),
                    None if is_on else int(row[OVER]),
                    min(1.0, HALVES * n_things / row[MOST]),
                )
            )
    return found


def check_known(known: Floats) -> None:
    """Refuse what no bets could have left."""
    counts = known[:, COUNT:WON]
    if counts.min(initial=0.0) < 0.0:
        raise ValueError(f"`known` must have evidence of at least 0, got {counts.min():g}")
