"""What playing one distribution instead of the baseline's may gain, and what feedback proves of it.

In a round with losses l, the baseline plays pi and what is played is m. Both are drawn together as
far as they agree: with the overlap o = min(m, pi), a draw a of m is the baseline's own with
probability o_a / m_a; else the baseline's loss is that of the rest, r = (pi - o) / (1 - sum of o).
With k_a = 1 - o_a / m_a, the gain of the round is

    (1 + epsilon) * baseline's loss - l_a = own_a * l_a + k_a * (1 + epsilon) * (r @ l),
    own_a = epsilon - (1 + epsilon) * k_a.

Where the baseline's action was played this is epsilon * l_a, which is never negative. If the
mean loss mu of the baseline is known, it stands for the baseline's loss in every round, and the
gain is (epsilon + k_a) * mu - k_a * l_a.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from graphcb.estimates.sums import BETS, draw_penalty, shrink
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Flags, Floats

GUESS = 0.25  # of a loss before it is seen; a guess of any size is valid, and most losses are small
CERTAIN = 1.0 - 1e-12  # reveal probabilities from here on are 1 but for rounding
NEVER = 1e-12  # up to here, a loss counts as never revealed, and as bad as it can be
# A bet is made where it times what the draw, or a correction, can move is at most this. Else its
# penalties would be so large that losses vanish beside them in sums; what is certain counts.
MOST_MOVED = 4.0
LOOKED_AT = 512  # actions, up to which it is looked at what is revealed together


class Proof(NamedTuple):
    """What is known of the gain of a round.

    It is at least `least`. `estimated` stands in the sums of `estimates.sums`, one per bet.
    """

    least: float
    estimated: Floats


class Deviation:
    """A round in which the distribution `played` takes the place of `baseline`.

    All but `proof` is known before the draw.
    """

    def __init__(
        self,
        played: Floats,
        baseline: Floats,
        graph: FeedbackGraph,
        epsilon: float,
        loss: float | None,
    ) -> None:
        self.played, self.graph = played, graph
        overlap = np.minimum(played, baseline)
        kept = np.divide(overlap, played, out=np.ones(played.size), where=played > 0.0)
        self.rest = 1.0 - kept  # k
        self.total = float((played - overlap).sum())
        if loss is None:
            self.certain = np.zeros(played.size)
            self.own = epsilon - (1.0 + epsilon) * self.rest
            self.compared = (1.0 + epsilon) * (baseline - overlap)
        else:
            self.certain = (epsilon + self.rest) * loss
            self.own = -self.rest
            self.compared = np.zeros(played.size)

    @property
    def risk(self) -> float:
        """What the round may lose at most, whatever is drawn."""
        worst = self.certain + np.minimum(self.own, 0.0)
        return -float(worst[self.played > 0.0].min())

    def worst(self, action: int) -> float:
        """The least that the round can gain once `action` is drawn."""
        return float(self.certain[action] + min(self.own[action], 0.0))

    @cached_property
    def reveal(self) -> Floats:
        """The probability that each loss is revealed."""
        return self.graph.reveal_probabilities(self.played)

    @cached_property
    def silent(self) -> Flags:
        """Actions that may lose and be played without showing for certain what they lost."""
        return (self.own < 0.0) & (self.played > 0.0) & (self.graph.own_chances < 1.0)

    @cached_property
    def needed(self) -> Flags:
        """Actions whose losses the gain depends on without being sure to be revealed."""
        hidden = (self.compared > 0.0) & (self.reveal < CERTAIN)
        return hidden | self.silent

    def proof(self, action: int, feedback: Mapping[int, float] | None) -> Proof:
        """What these losses prove once `action` is drawn; None stands for no feedback yet.

        What may yet be revealed counts as bad as it can be, also if it is a matter of chance: what
        has not come may still be on its way.
        """
        known = {} if feedback is None else feedback
        own = self.own[action] * known[action] if action in known else min(self.own[action], 0.0)
        share = self.rest[action] / self.total if self.total > 0.0 else 0.0
        compared = share * sum(self.compared[index] * loss for index, loss in known.items())
        least = float(self.certain[action] + own + compared)
        if self.total <= 0.0 or not self.needed.any():
            return Proof(least, np.full(BETS.size, least))
        is_hidden = bool((self.compared[self.needed] > 0.0).any())
        sure = float(self.certain[action]) + (0.0 if self.silent[action] else float(own))
        sure += 0.0 if is_hidden else float(compared)
        weights = np.where(self.silent, self.played * self.own, 0.0)
        if is_hidden:
            weights = weights + self.compared
        pending = self.graph.row(action) > 0.0
        pending[list(known)] = False
        variance, width = self._spread(is_hidden)
        corrected = _largest(self.graph, self.played, np.abs(self._per_reveal(weights)))
        can_bet = BETS * max(width, corrected) <= MOST_MOVED
        with np.errstate(over="ignore", invalid="ignore"):  # of bets that are not made
            found = self._estimate(weights, known, pending) - draw_penalty(variance, width)
        return Proof(least, np.where(can_bet, sure + found, least))

    def _estimate(self, weights: Floats, known: Mapping[int, float], pending: Flags) -> Floats:
        """The estimate of weights @ losses by each bet, less its penalty.

        It is concave in the correction, and so least at an end of what is pending.
        """
        guess, trust, penalty, safe, lifted = self._guess(weights)
        each = self._per_reveal(weights)
        found = sum(each[index] * (loss - safe[index]) for index, loss in known.items())
        low = found - trust * (sum(lifted[index] for index in known) + lifted[pending].sum())
        high = found - trust * sum(lifted[index] for index in known) + np.abs(each)[pending].sum()
        least: Floats = np.minimum(low - penalty * low**2, high - penalty * high**2)
        return guess + least

    def _guess(self, weights: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Guesses of weights @ losses, and what corrects them.

        With the safe guess of a loss, 0 where its weight is positive and else 1, corrections are
        never negative. A bet trusts `GUESS` as far as they are not below what it can bear. Nothing
        is guessed of a loss that is revealed by chance: nobody knows when it will not come.
        """
        safe = (weights < 0.0).astype(np.float64)
        is_sure = (self.reveal > NEVER) & ~_by_chance(self.graph)
        lift = np.where(is_sure, weights * (GUESS - safe), 0.0)
        lifted = self._per_reveal(lift)
        trust, penalty = shrink(_largest(self.graph, self.played, lifted))
        guess = float((weights * safe).sum()) + trust * float(lift.sum())
        return guess, trust, penalty, safe, lifted

    def _per_reveal(self, weights: Floats) -> Floats:
        none = np.zeros(weights.size)
        return np.divide(weights, self.reveal, out=none, where=self.reveal > NEVER)

    def _spread(self, is_hidden: bool) -> tuple[float, float]:
        """By how much the draw can move what is estimated: its variance at most, and its range.

        Draws with k = 0 bring 0, any other between -low and high. The most likely of these counts
        by itself.
        """
        high = float(self.compared.sum()) / self.total if is_hidden else 0.0
        low = 1.0 if self.silent.any() else 0.0
        same = float(self.played[self.rest == 0.0].sum())
        most = float(self.played[self.rest > 0.0].max())
        others = max(1.0 - same - most, 0.0)
        two = max(high, low) ** 2 * same * most / (same + most)
        return min(two + (high + low) ** 2 * others, (high + low) ** 2 / 4.0), high + low


def _by_chance(graph: FeedbackGraph) -> Flags:
    """The losses that some action reveals by chance."""
    return graph.remember("by chance", _find_by_chance)


def _find_by_chance(graph: FeedbackGraph) -> Flags:
    if graph.is_deterministic:
        return np.zeros(graph.n_actions, dtype=bool)
    rows = (graph.row(action) for action in range(graph.n_actions))
    found: Flags = np.zeros(graph.n_actions, dtype=bool)
    for row in rows:
        found |= (row > 0.0) & (row < 1.0)
    return found


def _largest(graph: FeedbackGraph, played: Floats, values: Floats) -> float:
    """The largest sum over what one draw can reveal together, or over everything."""
    if graph.n_actions > LOOKED_AT:
        return float(values.sum())
    possible = graph.remember("possible", lambda graph: (graph.matrix > 0.0).astype(float))
    return float((possible @ values)[played > 0.0].max())
