"""Mean losses of the policy and of constant actions, kept up to date as decisions are settled."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphcb.estimates.intervals import LowerEnds
from graphcb.estimates.terms import Flags, Floats
from graphcb.graphs import FeedbackGraph
from graphcb.thinning import Thinned

CONFIDENCE = 0.95
MOST_CONSTANTS = 64  # actions that are judged one by one
MOST_POINTS = 240  # of the curve
FLOOR = 10.0  # terms with guesses are at least -FLOOR: guesses are cut until none can be smaller
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


class _Terms(NamedTuple):
    """One number per row and decision: terms of losses, and of 1 - loss for the upper ends."""

    below: Floats
    above: Floats

    def against(self) -> "_Terms":
        """Those of the first row less each of the others, scaled to [0, 1]."""
        below, above = self
        return _Terms(0.5 * (below[0] + above[1:]), 0.5 * (above[0] + below[1:]))

    def rows(self, which: slice) -> "_Terms":
        return _Terms(self.below[which], self.above[which])


class Judge:
    """What `graphcb.evaluation` estimates from a log, a few decisions at a time.

    Rows are the policy, its favourite (the most likely action of each round), and each of the
    `actions`. Terms are importance-weighted, as in `estimates.terms`, plain and doubly robust; an
    action's loss is guessed to be the mean of those that were revealed before. Means are of the
    latter, kept inside the intervals, which are the better of both. A part of play that
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
        self._shown = np.zeros((2, len(self.actions)))  # how often, and the sum of losses
        self.curve: Thinned[tuple[Floats, Floats]] = Thinned(MOST_POINTS, every=10)

    def add(self, settled: Sequence[Settled]) -> None:
        """Decisions, in an order that does not depend on their losses."""
        if not settled:
            return
        plain, robust, unseen = self._terms(settled)
        sums = self._totals[:, None] + np.cumsum(robust.below, axis=1)
        missed = self._unseen[:, None] + np.cumsum(unseen, axis=1)
        first, rest = slice(2), slice(2, None)
        ends = self._alone[0].add(plain.rows(first), robust.rows(first))[0]
        self._alone[1].add(plain.rows(rest), robust.rows(rest))
        plain, robust = plain.against(), robust.against()
        first, rest = slice(1), slice(1, None)
        self._against[0].add(plain.rows(first), robust.rows(first))
        self._against[1].add(plain.rows(rest), robust.rows(rest))
        for place in range(len(settled)):
            n = self.n + place + 1
            if n % self.curve.every == 0:
                means = _means(sums[:, place], missed[:, place], n)
                means[0] = np.clip(means[0], *ends[place])
                self.curve.add(n, (means, ends[place]))
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
        seen = float(np.clip(mean, *ends)) if np.isfinite(mean) and self.n else None
        return Judged(seen, float(ends[0]), float(ends[1]), float(self._unseen[row] / n))

    def _difference(self, row: int, ends: Floats) -> Judged:
        n = max(self.n, 1)
        means = _means(self._totals, self._unseen, n)
        mean = float(means[0] - means[row])
        unseen = float(max(self._unseen[0], self._unseen[row]) / n)
        lower, upper = (2.0 * float(end) - 1.0 for end in ends)
        seen = float(np.clip(mean, lower, upper)) if np.isfinite(mean) and self.n else None
        return Judged(seen, lower, upper, unseen)

    def _terms(self, settled: Sequence[Settled]) -> tuple[_Terms, _Terms, Floats]:
        """Plain terms, doubly robust ones, and what could not be seen: (rows, decisions) each."""
        shape = 2 + len(self.actions), len(settled)
        plain, robust = (_Terms(np.zeros(shape), np.zeros(shape)) for _ in range(2))
        unseen = np.ones(shape)
        guesses = self._guess(settled)
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
            known = [name for name in names if name in self._place]
            columns = [names.index(name) for name in known]
            rows = [self._place[name] for name in known]
            guess = np.full((2, *p.shape), np.nan)  # of losses, and of 1 - loss
            guess[0][:, columns] = guesses[np.ix_(rows, chosen)].T
            guess[1] = 1.0 - guess[0]
            # a term is then at least -FLOOR, and so is any mean of them
            guess = np.minimum(np.nan_to_num(guess), FLOOR * reveal)
            parts = (
                (plain.below, weights * losses),
                (plain.above, weights * (1.0 - losses)),
                (robust.below, guess[0] + weights * (losses - guess[0])),
                (robust.above, guess[1] + weights * (1.0 - losses - guess[1])),
                (unseen, (reveal <= 0.0).astype(np.float64)),
            )
            favourite = p.argmax(axis=1)[:, None]
            for whole, part in parts:
                whole[0, chosen] = (p * part).sum(axis=1)
                whole[1, chosen] = np.take_along_axis(part, favourite, axis=1)[:, 0]
                whole[np.ix_([2 + row for row in rows], chosen)] = part[:, columns].T
        return plain, robust, unseen

    def _guess(self, settled: Sequence[Settled]) -> Floats:
        """For each decision, the mean of the losses that were revealed before it; 0.5 at first."""
        now = np.zeros((2, len(self.actions), len(settled)))
        for place, one in enumerate(settled):
            for column in np.flatnonzero(one.revealed).tolist():
                row = self._place.get(one.names[column])
                if row is not None:
                    now[:, row, place] = 1.0, one.losses[column]
        after = self._shown[:, :, None] + np.cumsum(now, axis=2)
        counts, totals = after - now
        self._shown = after[:, :, -1]
        return np.asarray((0.5 + totals) / (1.0 + counts))


class _Ends:
    """Both ends of several intervals."""

    def __init__(self, last: Floats, alpha: float) -> None:
        self.last = last + np.array([0.0, 1.0])
        self._ends = [[LowerEnds(0.5 * alpha, floor) for _ in range(2)] for floor in (0.0, FLOOR)]

    def add(self, plain: _Terms, robust: _Terms) -> Floats:
        """The ends after each decision: (rows, decisions, 2)."""
        lower, upper = np.zeros(plain.below.shape), np.zeros(plain.below.shape)
        for ends, terms in zip(self._ends, (plain, robust), strict=True):
            lower = np.maximum(lower, ends[0].add(terms.below))
            upper = np.maximum(upper, ends[1].add(terms.above))
        both = np.stack([lower, 1.0 - upper], axis=-1)
        self.last = both[:, -1]
        return both


def _means(totals: Floats, unseen: Floats, n: int) -> Floats:
    """Means of what was seen; not a number where too much of it was not."""
    seen = n - unseen
    enough = unseen <= MOST_UNSEEN * n
    return np.where(enough, totals / np.maximum(seen, 1.0), np.nan)
