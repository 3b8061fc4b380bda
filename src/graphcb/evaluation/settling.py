"""Which decisions of a log count in an estimate, with which losses, and for how many."""

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from graphcb.decisions import LoggedDecision, LoggedFeedback
from graphcb.estimates.terms import Flags, Floats
from graphcb.evaluation.defaulting import Clock
from graphcb.evaluation.knowing import awaits_feedback, revealing_only
from graphcb.graphs import FeedbackGraph

MOST_SILENT = 1000  # decisions that wait for the next one that reveals something
FOUR = 4.0  # deviations that are no chance
MOST_GROUPS = 64  # actions whose answers are counted one by one; all others are one more


class Settled(NamedTuple):
    """A decision whose feedback is complete; losses are scaled to [0, 1].

    `group` is that of the action that was played, see `Turnout`. If `all_probabilities` is False,
    only that of the played action is known.
    """

    graph: FeedbackGraph
    names: tuple[str, ...]
    probabilities: Floats
    revealed: Flags
    losses: Floats
    group: int = 0
    all_probabilities: bool = True


class Turnout:
    """How many decisions of each action were made, and how many of them count.

    Feedback may be missing more often for some actions than for others. A decision that counts
    then stands for all of the same action, made / used of them: right if feedback is missing at
    random among the decisions of an action.
    """

    def __init__(self) -> None:
        self._groups: dict[str, int] = {}
        self._made, self._used = np.zeros((2, MOST_GROUPS + 1))
        self._due, self._answered = np.zeros((2, MOST_GROUPS + 1))

    def group_of(self, name: str) -> int:
        """The group of an action."""
        group = self._groups.get(name, MOST_GROUPS)
        if group == MOST_GROUPS and len(self._groups) < MOST_GROUPS:
            group = self._groups[name] = len(self._groups)
        return group

    def made(self, group: int, *, is_silent: bool) -> None:
        """One more decision of a group."""
        self._made[group] += 1.0
        self._due[group] += not is_silent

    def used(self, group: int, *, is_silent: bool) -> None:
        """A decision of a group counts."""
        self._used[group] += 1.0
        self._answered[group] += not is_silent

    @property
    def stands_for(self) -> Floats:
        """For how many decisions one that counts stands, by group."""
        found = np.zeros(MOST_GROUPS + 1)
        return np.divide(self._made, self._used, out=found, where=self._used > 0.0)

    @property
    def n(self) -> int:
        """The decisions of the actions of which any counts."""
        return int(self._made[self._used > 0.0].sum())

    @property
    def missing_share(self) -> float:
        """The share of decisions with actions of which none counts."""
        return 1.0 - self.n / max(1.0, float(self._made.sum()))

    @property
    def are_alike(self) -> bool:
        """Whether feedback comes about as often for every action, as anytime intervals need.

        No action may have so few answers, or so many, that chance would have it less often than
        a normal number is four deviations off.
        """
        due, answered = self._due[self._due > 0.0], self._answered[self._due > 0.0]
        rate = answered.sum() / max(1.0, due.sum())
        off = np.abs(answered - rate * due)
        if (off <= FOUR * np.sqrt(due * rate * (1.0 - rate)) + 1e-9).all():
            return True
        from scipy.special import bdtr, bdtrc, ndtr  # of few decisions, one misses more easily

        n = due.astype(np.int64)
        at_most, at_least = bdtr(answered, n, rate), bdtrc(answered - 1.0, n, rate)
        return bool((np.minimum(at_most, at_least) >= ndtr(-FOUR)).all())


def is_complete(shown: Floats, revealed: Flags) -> bool:
    """Whether all that is certainly revealed is known; `shown` is the row of what was played."""
    return not ((shown == 1.0) & ~revealed).any()


class SettledRow(NamedTuple):
    """A decision with the feedback that settled it, and the group of its action."""

    row: LoggedDecision
    group: int


class Settling:
    """Decisions of a log, added in their order; those that count come back.

    A decision is settled by the first parts of its feedback that bring all that its action
    certainly reveals. A default after waiting is such a part, and a loss that comes later takes
    its place. What else comes later was revealed by chance, and is not counted.

    One that can reveal nothing is settled together with the next one that can. Were it settled
    at once, decisions that wait for feedback would be missing more often than it, and every
    interval would lean to what reveals nothing. `answers` counts how many of each action are
    missing.

    Where a default takes the place of feedback, a decision counts once its waiting time is over:
    before, those whose feedback has come are not like the others. `n_young` are younger.
    """

    def __init__(self) -> None:
        self.n = self.n_used = self.n_without_feedback = self.n_incomplete = 0
        self.answers = Turnout()
        self._silent: list[SettledRow] = []
        self._young: deque[tuple[LoggedDecision, LoggedDecision]] = deque()
        self._clock = Clock()

    def add(self, own: LoggedDecision, weighed: LoggedDecision) -> list[SettledRow]:
        """The decisions that are settled by now.

        `weighed` is the decision with the graph by which it is weighed.
        """
        self.n += 1
        self._clock.decision(own)
        self._young.append((own, weighed))
        found = []
        while self._young:
            oldest = self._young[0][0]
            due = -math.inf if oldest.waiting is None else oldest.made_at + oldest.waiting
            if not self._clock.has_reached(due):
                break
            found += self._add(*self._young.popleft())
        return found

    def _add(self, own: LoggedDecision, weighed: LoggedDecision) -> list[SettledRow]:
        is_silent = not awaits_feedback(own)
        group = self.answers.group_of(str(own.action))
        self.answers.made(group, is_silent=is_silent)
        if is_silent:
            self._silent.append(SettledRow(weighed, group))
            return self._settled([]) if len(self._silent) > MOST_SILENT else []
        if weighed.feedback is None:
            self.n_without_feedback += 1
        else:
            seen = _first_complete(weighed, weighed.feedback)
            if seen is not None:
                self.answers.used(group, is_silent=False)
                return self._settled([SettledRow(weighed._replace(feedback=seen), group)])
            self.n_incomplete += 1
        self._silent = []
        return []

    @property
    def n_silent(self) -> int:
        """Decisions that reveal nothing and wait for another one, or are left out with it."""
        left_out = self.n_without_feedback + self.n_incomplete + self.n_young
        return self.n - self.n_used - left_out

    @property
    def n_young(self) -> int:
        """Decisions whose waiting time is not over."""
        return len(self._young)

    def _settled(self, last: list[SettledRow]) -> list[SettledRow]:
        for one in self._silent:
            self.answers.used(one.group, is_silent=True)
        found, self._silent = [*self._silent, *last], []
        self.n_used += len(found)
        return found


def _first_complete(row: LoggedDecision, feedback: LoggedFeedback) -> LoggedFeedback | None:
    """What the first parts that make a feedback complete bring; None if all of them do not."""
    shown = row.graph.row(row.action_index)
    revealed = np.zeros(row.graph.n_actions, dtype=bool)
    if len(feedback.parts) < 2:
        revealed[feedback.action_indices] = True
        return feedback if is_complete(shown, revealed) else None
    losses, complete = np.zeros(row.graph.n_actions), False
    for part in feedback.parts:
        kept = (revealed if complete else shown > 0.0)[part.action_indices]
        revealed[part.action_indices[kept]] = True
        losses[part.action_indices[kept]] = part.losses[kept]
        complete = is_complete(shown, revealed)
    if not complete:
        return None
    places = np.flatnonzero(revealed)
    return revealing_only(row, feedback, places, losses[places])
