"""Whether the losses of each action are as they were: bets against the members that never forget.

A member that forgets learns what is new sooner. Where its prediction q is above that of the members
that keep all, p, it bets that losses have risen, and where it is below, that they have fallen:

    factor = 1 + (loss - r) (q - r) / (r (1 - r)),   r = p + SLACK, or p - SLACK,

the likelihood ratio of two coins. It is 1 or less on average if the expected loss, given the
context and all that came before, is no more than `SLACK` of the range beyond p, whatever made the
agent look at this action just now. No model is right everywhere: a member that forgets can be
better where nothing changes, all the time. What it gained until now, on average, it is therefore
charged `CHARGED` times with every bet. Each rate of forgetting has a bet of its own.
"""

import math
from typing import Any

import numpy as np

from graphcb.compilation import inner
from graphcb.estimates.stillness import BETS, LARGEST, WIDTH, Alarm, alarms, check_known, settle
from graphcb.loaded import Array, Count, Learned
from graphcb.oracles.rows import Columns, Floats

SLACK = 0.05  # of the loss range
FIRST = 30.0  # losses of an action before the first bet
CHARGED = 2.0
PRIOR = 10.0  # bets without gain, before the first
DUE, LATER = 64.0, 1.5  # when average gains are looked at: at 64 bets, at 96, ...
SURE = 1e-3  # predictions are that far from 0 and 1
# Places of what an action's bets gained: losses, the next look, and for each bet the sum of gains
# and the charge.
SEEN, NEXT, SUM, CHARGE = 0, 1, 2, 4
GAINS = 6
MOST_GAIN = 1e17

Watch = tuple[Floats, Floats, float]  # what is known, gains, decision


class WatchedLosses:
    """What the bets on the losses of `n_actions` actions have shown so far.

    >>> WatchedLosses(2).alarms(["approve", "refuse"])
    []
    """

    learned = Learned(
        n_rounds=Count(),
        known=Array("n_actions", WIDTH, least=-LARGEST, most=LARGEST),
        gains=Array("n_actions", GAINS, least=-MOST_GAIN, most=MOST_GAIN),
    )

    def __init__(self, n_actions: int) -> None:
        self.n_actions = n_actions
        self.n_rounds = 0
        self.known = np.zeros((n_actions, WIDTH))
        self.gains = _none(n_actions)

    def alarms(self, names: Any = None) -> list[Alarm]:
        """The actions whose losses looked different, by these names or their numbers."""
        names = range(self.n_actions) if names is None else names
        return alarms("action", names, self.known, self.n_actions)

    def watch(self, decision: int | None) -> Watch:
        """What `bet_on_losses` works on, with the number of the last decision."""
        return self.known, self.gains, float(self.n_rounds + 1 if decision is None else decision)

    def grow(self, n_actions: int) -> None:
        """Make room for more actions."""
        more = n_actions - self.n_actions
        self.known = np.append(self.known, np.zeros((more, WIDTH)), axis=0)
        self.gains = np.append(self.gains, _none(more), axis=0)
        self.n_actions = n_actions

    def take(self, columns: Columns) -> None:
        """Keep these actions, in this order."""
        self.known, self.gains = self.known[columns], self.gains[columns]
        self.n_actions = columns.size

    def check_loaded(self) -> None:
        """Refuse what no bets could have left."""
        check_known(self.known)


def _none(n_actions: int) -> Floats:
    gains = np.zeros((n_actions, GAINS))
    gains[:, NEXT] = DUE
    return gains


@inner
def bet_on_losses(
    watch: Watch,
    log_weights: Floats,
    present: Floats,
    found: Floats,
    columns: Columns,
    seen: Floats,
) -> None:
    """Settle the bets on these losses, as shares of their range; `found` is what members said.

    Weights are (kind, rate) and predictions (kind, rate, column); the first rate keeps all.
    """
    known, gains, decision = watch
    won = np.zeros(BETS)
    for c in range(columns.size):
        action = columns[c]
        kept = gains[action]
        kept[SEEN] += 1.0
        if kept[SEEN] <= FIRST:
            continue
        p = _said(log_weights, present, found, 0, c)
        for b in range(BETS):
            gain = 0.0
            if present[:, 1 + b].max() > 0.0:
                gain = _gain(p, _said(log_weights, present, found, 1 + b, c), seen[c])
            won[b] = gain - CHARGED * max(kept[CHARGE + b], 0.0)
            kept[SUM + b] += gain
        settle(known[action], won, float(known.shape[0]), decision)
        if kept[SEEN] - FIRST >= kept[NEXT]:
            kept[NEXT] *= LATER
            for b in range(BETS):
                kept[CHARGE + b] = kept[SUM + b] / (kept[SEEN] - FIRST + PRIOR)


@inner
def _said(log_weights: Floats, present: Floats, found: Floats, rate: int, c: int) -> float:
    """What the members of one rate say of a column together."""
    largest, total, mean = -np.inf, 0.0, 0.0
    for kind in range(present.shape[0]):
        if present[kind, rate] > 0.0:
            largest = max(largest, log_weights[kind, rate])
    for kind in range(present.shape[0]):
        if present[kind, rate] > 0.0:
            weight = math.exp(log_weights[kind, rate] - largest)
            total += weight
            mean += weight * found[kind, rate, c]
    return min(max(mean / total, SURE), 1.0 - SURE)


@inner
def _gain(p: float, q: float, loss: float) -> float:
    """The logarithm of the factor; 0 where predictions are so close that nobody bets."""
    if abs(q - p) <= SLACK:
        return 0.0
    r = p + SLACK if q > p else p - SLACK
    return math.log(1.0 + (loss - r) * (q - r) / (r * (1.0 - r)))
