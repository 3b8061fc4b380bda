"""What playing one distribution instead of another may gain, and what feedback proves of it.

In a round with losses l, the baseline plays pi and what is played is m. Both are drawn together as
far as they agree: with overlap o = min(m, pi), a draw a of m is the baseline's own with
probability o_a / m_a, else the baseline's loss is that of the rest, r = (pi - o) / (1 - sum of o).
With k_a = 1 - o_a / m_a the gain of the round is

    (1 + epsilon) * baseline's loss - l_a = own_a * l_a + k_a * (1 + epsilon) * (r @ l),
    own_a = epsilon - (1 + epsilon) * k_a.

Where the baseline's action was played, this is epsilon * l_a, which is never negative. If the
mean loss mu of the baseline is known, it stands for the baseline's loss in every round, and the
gain is (epsilon + k_a) * mu - k_a * l_a.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.estimates.sums import BETS, draw_penalty, shrink
from graphcb.graphs import FeedbackGraph

Floats = NDArray[np.float64]

GUESS = 0.25  # of a loss that is not seen, before it is: most losses are small
CERTAIN = 1.0 - 1e-12
LOOKED_AT = 512  # actions


class Proof(NamedTuple):
    """What is known of the gain of a round.

    It is at least `least`. `estimated` stands in the sums of `estimates.sums`, one per bet.
    """

    least: float
    estimated: Floats


class Deviation:
    """A round in which `played` takes the place of the distribution `baseline`."""

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
        rest = 1.0 - np.divide(overlap, played, out=np.ones(played.size), where=played > 0.0)
        compared = np.zeros(played.size)
        if loss is None:
            self.given = np.zeros(played.size)
            self.own = epsilon - (1.0 + epsilon) * rest
            compared = (1.0 + epsilon) * (baseline - overlap)
        else:
            self.given = (epsilon + rest) * loss
            self.own = -rest
        self.rest, self.compared = rest, compared
        self.total = float((played - overlap).sum())

    @property
    def risk(self) -> float:
        """What the round may lose at most."""
        possible = self.given + np.minimum(self.own, 0.0)
        return -float(possible[self.played > 0.0].min())

    def needed(self) -> NDArray[np.bool_]:
        """The actions whose losses an estimate of the gain needs, unless they are sure to show."""
        return (self.compared > 0.0) | self._silent()

    def _silent(self) -> NDArray[np.bool_]:
        """Actions that may lose, without showing for certain what."""
        return (self.own < 0.0) & (self.played > 0.0) & (own_reveal(self.graph) < 1.0)

    def proof(self, action: int, known: Mapping[int, float]) -> Proof:
        """What these losses prove, after `action` was drawn; all else may still come or not."""
        row = self.graph.row(action)
        is_complete = all(index in known for index in np.flatnonzero(row == 1.0).tolist())
        share = self.rest[action] / self.total if self.total > 0.0 else 0.0
        own = float(self.own[action])
        least = float(self.given[action])
        least += own * known[action] if action in known else min(own, 0.0)
        least += share * sum(self.compared[j] * loss for j, loss in known.items())
        if self.rest[action] == 0.0 and self.total <= 0.0:
            return Proof(least, np.full(BETS.size, least))
        q = self.graph.reveal_probabilities(self.played)
        silent = self._silent()
        shows = not (q[self.compared > 0.0] < CERTAIN).any()
        if shows and not silent.any():
            return Proof(least, np.full(BETS.size, least))
        sure = float(self.given[action])
        if not silent[action]:
            sure += own * known[action] if action in known else min(own, 0.0)
        weights = np.where(silent, self.played * self.own, 0.0)
        if shows:
            sure += share * sum(self.compared[j] * loss for j, loss in known.items())
        else:
            weights = weights + self.compared
        estimate = self._estimate(weights, q, row, known if is_complete else None)
        high = 0.0 if shows else float((self.compared.sum() / self.total))
        penalty = draw_penalty(*self._spread(high, 1.0 if silent.any() else 0.0))
        return Proof(least, sure + estimate - penalty)

    def _estimate(
        self, weights: Floats, q: Floats, row: Floats, known: Mapping[int, float] | None
    ) -> Floats:
        """The estimate of weights @ losses by each bet, less its penalty for chance."""
        seen = q > 0.0
        unseen = float(np.minimum(weights[~seen], 0.0).sum())
        weights = np.where(seen, weights, 0.0)
        safe = (weights < 0.0).astype(np.float64)
        lift = weights * (GUESS - safe)  # never negative
        per_reveal = np.divide(lift, q, out=np.zeros(q.size), where=seen)
        trust, weight = shrink(_largest(self.graph, self.played, per_reveal))
        guess = float((weights * safe).sum()) + trust * float(lift.sum()) + unseen
        if known is not None:
            up = sum(weights[j] / q[j] * (loss - safe[j]) for j, loss in known.items())
            down = sum(per_reveal[j] for j in known)
            corrections = up - trust * down
            return guess + corrections - weight * corrections**2
        possible = row > 0.0
        worst = -trust * float(per_reveal[possible].sum())
        best = float(np.divide(np.abs(weights), q, out=np.zeros(q.size), where=seen)[possible].sum())
        ends = [one - weight * one**2 for one in (worst, np.full(BETS.size, best))]
        return guess + np.minimum(*ends)

    def _spread(self, high: float, low: float) -> tuple[float, float]:
        """A bound on the variance of what is estimated, by the draw, and its width."""
        width = high + low
        same = float(self.played[self.rest == 0.0].sum())
        most = float(self.played[self.rest > 0.0].max())
        others = 1.0 - same - most
        variance = max(high, low) ** 2 * same * most / (same + most) + width**2 * max(others, 0.0)
        return min(variance, width**2 / 4.0), width


def own_reveal(graph: FeedbackGraph) -> Floats:
    """The probability that each action reveals its own loss."""
    return graph.remember("self reveal", _self_reveal)


def _self_reveal(graph: FeedbackGraph) -> Floats:
    if graph.is_deterministic:
        return graph.structure.self_loops().astype(np.float64)
    return np.array([graph.row(action)[action] for action in range(graph.n_actions)])


def _largest(graph: FeedbackGraph, played: Floats, per_reveal: Floats) -> float:
    """The largest sum over what one draw can reveal together; above `LOOKED_AT`, over all."""
    if graph.n_actions > LOOKED_AT:
        return float(per_reveal.sum())
    possible = graph.remember("possible", lambda graph: (graph.matrix > 0.0).astype(float))
    return float((possible @ per_reveal)[played > 0.0].max())
