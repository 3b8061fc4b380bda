"""Mean losses of the policy and of constant actions, kept up to date as decisions are settled."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphcb.estimates.means import AnytimeEnds, differences, normalised_mean
from graphcb.estimates.terms import Floats, Terms, terms_by_action
from graphcb.evaluation.guesses import MOST_NAMES, Guesses
from graphcb.evaluation.settling import MOST_GROUPS, Settled, Turnout
from graphcb.graphs import FeedbackGraph
from graphcb.service.minutes import Minutes
from graphcb.thinning import Thinned

CONFIDENCE = 0.95
MOST_POINTS = 240  # of the curve


class Judged(NamedTuple):
    """A mean on the scale from 0 to 1, or None, and the ends of an interval valid at any time.

    `unseen` is the share of play that could not have been revealed: there is no mean then.
    """

    mean: float | None
    lower: float
    upper: float
    unseen: float


class Point(NamedTuple):
    """A point of the curve: the means of all rows, the ends of the policy's interval, and when."""

    means: Floats
    ends: Floats
    at: float


class Judge:
    """What `evaluation.evaluate` estimates with the graph, a few decisions at a time.

    Rows are the policy, its favourite (the most likely action of each round), and each of the
    `actions`, unless there are many. Intervals of the actions hold for all of them together. A
    round that does not offer an action could not have revealed it. Intervals are of the losses
    as they were when decisions were settled, means of those that took their place. A decision
    stands for those of the same action that do not count, as `answers` says if some do not;
    unless they are missing about as often for every action, intervals are as wide as the range.
    """

    def __init__(self, actions: Sequence[str], answers: Turnout | None = None) -> None:
        self._answers = answers
        self.actions = tuple(actions) if len(actions) <= MOST_NAMES else ()
        self._place = {name: place for place, name in enumerate(self.actions)}
        n_constants = len(self.actions)
        alpha = 1.0 - CONFIDENCE
        self.n = 0
        self._guesses = Guesses()
        # of below, above and unseen, by the group of what was played
        self._sums = np.zeros((MOST_GROUPS + 1, 3, 2 + n_constants))
        self._ends = _Ends(2, n_constants, alpha)
        self._excess = _Ends(1, n_constants, alpha)
        self.curve: Thinned[Point] = Thinned(MOST_POINTS, every=10)
        # of the policy in each minute: below, above, unseen and one, by group
        self._minutes: Minutes[Floats] = Minutes(lambda: np.zeros((MOST_GROUPS + 1, 4)))

    def add(self, settled: Sequence[Settled], times: Sequence[float] | None = None) -> None:
        """Decisions, in an order that does not depend on their losses, and when it was."""
        times = [0.0] * len(settled) if times is None else times
        if not settled:
            return
        terms = self._terms(settled, [self._guesses.add(one) for one in settled])
        parts = np.stack([terms.below, terms.above, terms.unseen]).transpose(2, 0, 1)
        ends = self._ends.add(terms)
        self._excess.add(differences(terms))
        for one, part, end, at in zip(settled, parts, ends, times, strict=True):
            self._sums[one.group] += part
            lately = self._minutes.at(at)[one.group]
            lately[:3] += part[:, 0]
            lately[3] += 1.0
            self.n += 1
            if self.n % self.curve.every == 0:
                self.curve.add(self.n, Point(self._means(), end, at))

    def replace(self, settled: Settled, losses: Floats) -> None:
        """Give a decision that was settled by a default the losses that came later."""
        guesses = [np.zeros(losses.size)] * 2
        terms = self._terms([settled, settled._replace(losses=losses)], guesses)
        parts = np.stack([terms.below, terms.above, terms.unseen])
        self._sums[settled.group] += parts[:, :, 1] - parts[:, :, 0]

    def policy(self) -> Judged:
        """The policy that wrote the log."""
        return self._judged(0, self._ends.last[0])

    def lately(self, now: float) -> tuple[int, float | None]:
        """How many decisions were settled in the last hour, and the policy's mean of these."""
        minutes = self._minutes.last(now)
        if not minutes:
            return 0, None
        sums = np.sum(minutes, axis=0)
        below, above, unseen = self._stands_for() @ sums[:, :3]
        mean = None if unseen > 0.0 else float(normalised_mean(below, above))
        return int(sums[:, 3].sum()), mean

    def constant(self, action: str) -> Judged:
        """A policy that plays one action in every round."""
        row = 2 + self._place[action]
        return self._judged(row, self._ends.last[row])

    def means(self) -> dict[str, float]:
        """The estimated loss of each action that can be estimated."""
        means = self._means()[2:].tolist()
        pairs = zip(self.actions, means, strict=True)
        return {name: mean for name, mean in pairs if not np.isnan(mean)}

    def excess(self, action: str | None = None) -> Judged:
        """How much more the policy loses than an action, or than its favourite if None."""
        row = 1 if action is None else 2 + self._place[action]
        means = self._means()
        mean = float(means[0] - means[row])
        lower, upper = (2.0 * float(end) - 1.0 for end in self._held(self._excess.last[row - 1]))
        unseen = max(self._unseen(0), self._unseen(row))
        return Judged(None if np.isnan(mean) else mean, lower, upper, unseen)

    def _judged(self, row: int, ends: Floats) -> Judged:
        mean = float(self._means()[row])
        lower, upper = map(float, self._held(ends))
        return Judged(None if np.isnan(mean) else mean, lower, upper, self._unseen(row))

    def _means(self) -> Floats:
        """Of each row; NaN where something could not be seen."""
        below, above, unseen = np.tensordot(self._stands_for(), self._sums, axes=1)
        return np.where(unseen > 0.0, np.nan, normalised_mean(below, above))

    def _stands_for(self) -> Floats:
        return np.ones(MOST_GROUPS + 1) if self._answers is None else self._answers.stands_for

    def _unseen(self, row: int) -> float:
        return float(self._sums[:, 2, row].sum() / max(self.n, 1))

    def _held(self, ends: Floats) -> Floats:
        answers = self._answers
        return ends if answers is None or answers.are_alike else np.array([0.0, 1.0])

    def _terms(self, settled: Sequence[Settled], guesses: Sequence[Floats]) -> Terms:
        """The terms of all rows, (rows, decisions) each."""
        found = np.zeros((len(Terms._fields), 2 + len(self.actions), len(settled)))
        found[-1] = 1.0  # unseen, unless the round says otherwise
        groups: dict[tuple[FeedbackGraph, tuple[str, ...]], list[int]] = {}
        for place, one in enumerate(settled):
            groups.setdefault((one.graph, one.names), []).append(place)
        for (graph, names), chosen in groups.items():
            rounds = [settled[place] for place in chosen]
            p = np.array([one.probabilities for one in rounds])
            by_action = terms_by_action(
                np.array([graph.reveal_probabilities(row) for row in p]),
                np.array([one.revealed for one in rounds]),
                np.array([one.losses for one in rounds]),
                np.array([guesses[place] for place in chosen]),
            )
            columns = [place for place, name in enumerate(names) if name in self._place]
            rows = [2 + self._place[names[column]] for column in columns]
            favourite = p.argmax(axis=1)[:, None]
            for whole, part in zip(found, by_action, strict=True):
                whole[0, chosen] = (p * part).sum(axis=1)
                whole[1, chosen] = np.take_along_axis(part, favourite, axis=1)[:, 0]
                whole[np.ix_(rows, chosen)] = part[:, columns].T
        return Terms(*found)


class _Ends:
    """Ends of intervals: those of the first rows hold one by one, those of the rest together."""

    def __init__(self, n_first: int, n_rest: int, alpha: float) -> None:
        self._n_first = n_first
        self._parts = AnytimeEnds(alpha), AnytimeEnds(alpha / max(1, n_rest))
        self.last = np.tile([0.0, 1.0], (n_first + n_rest, 1))

    def add(self, terms: Terms) -> Floats:
        """The ends of the first row after each decision, (decisions, 2)."""
        first, rest = (
            ends.add(Terms(*(part[rows] for part in terms)))
            for ends, rows in zip(
                self._parts, (slice(self._n_first), slice(self._n_first, None)), strict=True
            )
        )
        self.last = np.concatenate([first[:, -1], rest[:, -1]])
        return np.asarray(first[0])
