"""Mean losses of the policy and of constant actions, kept up to date as decisions are settled."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphcb.estimates.intervals import LowerEnds
from graphcb.estimates.terms import Flags, Floats
from graphcb.graphs import FeedbackGraph

CONFIDENCE = 0.95
MOST_CONSTANTS = 64  # actions that are judged one by one
MOST_POINTS = 240  # of a curve; then every second one is dropped
MOST_UNSEEN = 0.05  # of a policy's play; beyond it there is an interval but no estimate


class Settled(NamedTuple):
    """A decision whose feedback is complete; losses are scaled to [0, 1]."""

    graph: FeedbackGraph
    names: tuple[str, ...]
    probabilities: Floats
    revealed: Flags
    losses: Floats


class Judged(NamedTuple):
    """A mean on the scale from 0 to 1, or None, and the ends of an interval valid at any time.

    `unseen` is the share of its play that could not have been revealed.
    """

    mean: float | None
    lower: float
    upper: float
    unseen: float


class Judge:
    """What `graphcb.evaluation` estimates from a log, a few decisions at a time.

    Rows are the policy, its favourite (the most likely action of each round), and each of the
    `actions`. Importance-weighted terms are added up as in `estimates.terms`. A part of play that
    could not have been revealed counts as loss 0 in the lower end and as loss 1 in the upper end,
    so that intervals stay valid. Those of the actions hold for all of them together.
    """

    def __init__(self, actions: Sequence[str]) -> None:
        self.actions = tuple(actions) if len(actions) <= MOST_CONSTANTS else ()
        self._place = {name: place for place, name in enumerate(self.actions)}
        n_rows, n_others = 2 + len(self.actions), 1 + len(self.actions)
        alpha = 0.5 * (1.0 - CONFIDENCE)
        shared = alpha / max(1, len(self.actions))
        self.n = 0
        self._totals, self._unseen = np.zeros(n_rows), np.zeros(n_rows)
        self._alone = _Ends(np.zeros((2, 2)), alpha), _Ends(np.zeros((n_others - 1, 2)), shared)
        self._against = _Ends(np.zeros((1, 2)), alpha), _Ends(np.zeros((n_others - 1, 2)), shared)
        self.stride = 10
        self.points: list[tuple[int, Floats, Floats]] = []

    def add(self, settled: Sequence[Settled]) -> None:
        """Decisions, in an order that does not depend on their losses."""
        if not settled:
            return
        below, above, unseen = self._terms(settled)
        sums = self._totals[:, None] + np.cumsum(below, axis=1)
        missed = self._unseen[:, None] + np.cumsum(unseen, axis=1)
        curve = self._alone[0].add(below[:2], above[:2])[0]
        self._alone[1].add(below[2:], above[2:])
        mine = 0.5 * (below[0] + above[1:]), 0.5 * (above[0] + below[1:])
        self._against[0].add(mine[0][:1], mine[1][:1])
        self._against[1].add(mine[0][1:], mine[1][1:])
        for place in range(len(settled)):
            n = self.n + place + 1
            if n % self.stride == 0:
                means = _means(sums[:, place], missed[:, place], n)
                self.points.append((n, means, curve[place]))
                if len(self.points) > MOST_POINTS:
                    self.stride *= 2
                    self.points = [point for point in self.points if point[0] % self.stride == 0]
        self.n += len(settled)
        self._totals, self._unseen = sums[:, -1], missed[:, -1]

    def policy(self) -> Judged:
        """The policy that wrote the log."""
        return self._judged(0, self._alone[0].last[0])

    def constant(self, action: str) -> Judged:
        """Always the same action."""
        place = self._place[action]
        return self._judged(2 + place, self._alone[1].last[place])

    def means(self) -> dict[str, float]:
        """The estimated loss of each action that can be estimated."""
        means = _means(self._totals, self._unseen, max(self.n, 1))[2:]
        return {
            name: float(mean)
            for name, mean in zip(self.actions, means, strict=True)
            if np.isfinite(mean) and self.n
        }

    def excess(self, action: str | None = None) -> Judged:
        """How much more the policy loses than an action, or than its favourite if None."""
        if action is None:
            return self._difference(1, self._against[0].last[0])
        place = self._place[action]
        return self._difference(2 + place, self._against[1].last[place])

    def _judged(self, row: int, ends: Floats) -> Judged:
        n = max(self.n, 1)
        mean = _means(self._totals, self._unseen, n)[row]
        seen = float(mean) if np.isfinite(mean) and self.n else None
        return Judged(seen, float(ends[0]), float(ends[1]), float(self._unseen[row] / n))

    def _difference(self, row: int, ends: Floats) -> Judged:
        n = max(self.n, 1)
        means = _means(self._totals, self._unseen, n)
        mean = float(means[0] - means[row])
        unseen = float(max(self._unseen[0], self._unseen[row]) / n)
        lower, upper = (2.0 * float(end) - 1.0 for end in ends)
        return Judged(mean if np.isfinite(mean) and self.n else None, lower, upper, unseen)

    def _terms(self, settled: Sequence[Settled]) -> tuple[Floats, Floats, Floats]:
        """Terms of losses, of 1 - loss, and what could not be seen: (rows, decisions) each."""
        below = np.zeros((2 + len(self.actions), len(settled)))
        above, unseen = np.zeros(below.shape), np.ones(below.shape)
        groups: dict[tuple[FeedbackGraph, tuple[str, ...]], list[int]] = {}
        for place, one in enumerate(settled):
            groups.setdefault((one.graph, one.names), []).append(place)
        for (graph, names), chosen in groups.items():
            rounds = [settled[place] for place in chosen]
            p = np.array([one.probabilities for one in rounds])
            revealed = np.array([one.revealed for one in rounds])
            losses = np.array([one.losses for one in rounds])
            reveal = np.array([graph.reveal_probabilities(row) for row in p])
            weights = np.zeros(p.shape)
            np.divide(1.0, reveal, out=weights, where=revealed & (reveal > 0.0))
            parts = weights * losses, weights * (1.0 - losses), (reveal <= 0.0).astype(float)
            favourite = p.argmax(axis=1)[:, None]
            known = [name for name in names if name in self._place]
            rows = [2 + self._place[name] for name in known]
            columns = [names.index(name) for name in known]
            for whole, part in zip((below, above, unseen), parts, strict=True):
                whole[0, chosen] = (p * part).sum(axis=1)
                whole[1, chosen] = np.take_along_axis(part, favourite, axis=1)[:, 0]
                whole[np.ix_(rows, chosen)] = part[:, columns].T
        return below, above, unseen


class _Ends:
    """Both ends of several intervals."""

    def __init__(self, last: Floats, alpha: float) -> None:
        self.last = last + np.array([0.0, 1.0])
        self._lower = LowerEnds(alpha, steady=False)  # the policy learns, contexts change
        self._upper = LowerEnds(alpha, steady=False)

    def add(self, below: Floats, above: Floats) -> Floats:
        """The ends after each decision: (rows, decisions, 2)."""
        ends = np.stack([self._lower.add(below), 1.0 - self._upper.add(above)], axis=-1)
        self.last = ends[:, -1]
        return ends


def _means(totals: Floats, unseen: Floats, n: int) -> Floats:
    """Means of what was seen; not a number where too much of it was not."""
    seen = n - unseen
    enough = unseen <= MOST_UNSEEN * n
    return np.where(enough, totals / np.maximum(seen, 1.0), np.nan)
