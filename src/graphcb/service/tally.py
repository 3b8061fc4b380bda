"""Decisions and feedback of a log, counted one by one: what was played and what was revealed."""

import heapq
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from graphcb.agents import Budget
from graphcb.decisions import LoggedDecision, Versions
from graphcb.estimates.terms import Flags, Floats
from graphcb.evaluation.defaulting import Clock, own_alone
from graphcb.evaluation.keeping import Keeping
from graphcb.evaluation.knowing import awaits_feedback, knowing
from graphcb.evaluation.settling import MOST_SILENT, Settled, Turnout, is_complete
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.service.judged import Judge, Judged
from graphcb.service.minutes import Minutes
from graphcb.thinning import Thinned

MOST_OPEN = 20_000  # decisions that are remembered until their feedback is complete
MOST_CELLS = 2_000_000  # actions of these decisions, and of those settled with them
MOST_WINDOWS = 120  # that are full
MOST_NAMES = 200  # most common actions kept once there are twice as many, in all and per window
NAMED = 8  # actions with a line of their own in the windows
DELAYS: tuple[float, ...] = tuple(
    10.0 ** (k / 10 - 3) for k in range(101)
)  # a millisecond to four months


@dataclass(slots=True)
class Open:
    """A decision that waits for feedback, and those before it that revealed nothing.

    `graph` gives its weights; `shown` is the row of the action that was played.
    """

    made_at: float
    graph: FeedbackGraph
    names: tuple[str, ...]
    probabilities: Floats
    shown: Floats
    revealed: Flags
    losses: Floats
    group: int
    silent: list[Settled]
    all_probabilities: bool = True
    has_feedback: bool = False

    @property
    def n_cells(self) -> int:
        """How much memory it takes."""
        return len(self.names) * (1 + len(self.silent))

    @property
    def is_complete(self) -> bool:
        """Whether all that is certainly revealed is known."""
        return is_complete(self.shown, self.revealed)

    @property
    def own(self) -> Settled:
        """The decision by itself, with what is known by now, in the same arrays."""
        return Settled(
            self.graph,
            self.names,
            self.probabilities,
            self.revealed,
            self.losses,
            self.group,
            self.all_probabilities,
        )


class ByDefault(NamedTuple):
    """A decision that got the default after waiting."""

    made_at: float
    settled: Settled


class AwaitedDecision(NamedTuple):
    """A decision, and when it has waited long enough for a default."""

    due: float
    group: int
    is_silent: bool


class VersionResult(NamedTuple):
    """The results of a version; `is_whole` says that no decision was passed over."""

    n: int
    policy: Judged | None
    is_whole: bool


@dataclass(slots=True)
class LiveWindow:
    """Consecutive decisions, the last at `until`; of many actions, `played` has the most common."""

    n: int = 0
    played: Counter[str] = field(default_factory=Counter)
    explored: float = 0.0
    until: float = 0.0

    def add(self, name: str, explored: float, at: float) -> None:
        """One more decision."""
        self.n += 1
        self.played[name] += 1
        self.played = _most_common(self.played)
        self.explored += explored
        self.until = at


class LiveTally:
    """Counts of the last of these versions, from its start or from a later event on.

    Decisions are settled as `evaluation.settling` says: once, when all that their action
    certainly reveals is known, or by a default after waiting, and those that can reveal nothing
    together with the next one that can.

    Where a hidden price decides what is revealed, weights come from what is revealed at any
    price, as in an evaluation. Where that is unknown too, nothing is estimated, and no more is
    once it `is_unbounded`: the problem has no range, and a value is not between 0 and 1.

    `before` is the tally of the version before, whose budgets continue. `is_whole` says that no
    decision of the version was passed over.
    """

    def __init__(
        self, versions: Versions, *, before: "LiveTally | None" = None, is_whole: bool = True
    ) -> None:
        problem = versions.last.problem
        if problem is None:
            raise ValueError("`versions` must end with a problem, whose actions are counted")
        self.problem: Problem = problem
        self.version, self.is_whole = versions.last, is_whole
        number = self.version.number
        self.former = versions.numbered(number - 1).problem if number > 1 else None
        self.has_estimates = versions.last.informed or isinstance(problem.reveals.unknown, str)
        self.is_unbounded = False
        fixed = problem.actions if isinstance(problem.actions, tuple) else ()
        self._answers = Turnout()
        self.judge = Judge(fixed, self._answers)
        keeping = Keeping(versions) if before is None else before.keeping
        self.keeping: Keeping = keeping.followed_by(versions)
        earlier = [one.problem.budgets for one in versions if one.problem and one.number < number]
        self.known_budgets = self._known_budgets(before, [one for some in earlier for one in some])
        self.n = self.n_expected = self.n_answered = self.n_by_default = self.n_replaced = 0
        self.played: Counter[str] = Counter()
        self.explored = 0.0
        self.delays = [0] * (len(DELAYS) + 1)
        self._full: Thinned[LiveWindow] = Thinned(MOST_WINDOWS, every=20, join=_joined)
        self._last = LiveWindow()  # the window that is not full yet
        self.minutes = Minutes(LiveWindow)
        self._colours: dict[str, int] = {} if before is None else before._colours
        if 0 < len(fixed) <= NAMED:
            self.colours_for(fixed)
        self._names: tuple[str, ...] = ()
        self._open: dict[int, Open] = {}
        self._by_default: dict[int, ByDefault] = {}
        self._cells = 0
        self._silent: list[Settled] = []
        # those that are complete, by when they have waited long enough for a default
        self._young: list[tuple[float, int, Open]] = []
        self._made: deque[AwaitedDecision] = deque()
        self._waiting = None if problem.defaults is None else problem.defaults.waiting
        self._clock = Clock()
        self._settled: list[Settled] = []
        self._settled_at: list[float] = []
        self._now = 0.0  # of the event that is counted
        low, high = problem.scale
        self._low, self._width = low, high - low

    @property
    def n_open(self) -> int:
        """The number of decisions whose feedback is not complete."""
        return len(self._open)

    @property
    def windows(self) -> list[LiveWindow]:
        """Windows of equal size. The last is left out until half full, if there are others."""
        is_short = 2 * self._last.n < self._full.every if self._full.values else not self._last.n
        return [*self._full.values, *([] if is_short else [self._last])]

    def colours_for(self, names: Sequence[str]) -> dict[str, int]:
        """A number below NAMED for each of at most as many actions, which it keeps.

        A new action gets one that no other had, or that of an action which is no longer shown.
        """
        known = self._colours
        taken = {known[name] for name in names if name in known}
        for name in names:
            if name not in known:
                free = [number for number in range(NAMED) if number not in taken]
                colour = min(free, key=list(known.values()).count)
                for other in [one for one, number in known.items() if number == colour]:
                    del known[other]
                known[name] = colour
                taken.add(colour)
        return {name: known[name] for name in names}

    def result(self) -> VersionResult:
        """What is known of the version so far."""
        policy = self.judge.policy() if self.has_estimates else None
        return VersionResult(self.n, policy, self.is_whole)

    def decided(self, made: LoggedDecision) -> None:
        """Count a decision."""
        row = own_alone(made)
        p = row.probabilities
        names = tuple(map(str, self.problem.actions if row.actions is None else row.actions))
        if names == self._names:
            names = self._names  # waiting decisions share one tuple
        self._names = names
        self.n += 1
        explored = 1.0 - float(p.max())
        self.explored += explored
        self.played[names[row.action_index]] += 1
        self.played = _most_common(self.played)
        for window in (self._last, self.minutes.at(row.made_at)):
            window.add(names[row.action_index], explored, row.made_at)
        if self._full.add(self.n, self._last):
            self._last = LiveWindow()
        self.keeping.add(made)
        certain = None if row.informed else self.problem.certain_graph_for(names)
        graph = knowing(row).graph if certain is None else certain
        seen, losses = np.zeros(graph.n_actions, dtype=bool), np.zeros(graph.n_actions)
        for place, value in (row.known or {}).items():
            seen[place], losses[place] = True, self._scaled(value)
        is_silent = not awaits_feedback(row)
        group = self._answers.group_of(names[row.action_index])
        self._made.append(AwaitedDecision(row.made_at + (self._waiting or 0.0), group, is_silent))
        self._heard(row.made_at)
        if not is_silent:
            self.n_expected += 1
            shown = graph.row(row.action_index)
            known = seen, losses, group, self._silent, row.all_probabilities
            one = Open(row.made_at, graph, names, p, shown, *known)
            self._silent = []
            self._open[row.position] = one
            self._cells += one.n_cells
            while len(self._open) > MOST_OPEN or self._cells > MOST_CELLS:
                self._cells -= self._open.pop(next(iter(self._open))).n_cells
        else:
            self._silent.append(Settled(graph, names, p, seen, losses, group))
            if len(self._silent) > MOST_SILENT:
                self._settle(self._silent)
                self._silent = []

    def answered(
        self,
        decision: int,
        received_at: float,
        indices: Any,
        losses: Any,
        *,
        is_default: bool = False,
    ) -> None:
        """Count a part of the feedback for a decision, or the default after waiting for it."""
        one = self._open.get(decision)
        if is_default:
            if one is None:
                return
            self._clock.default(one.made_at + (self._waiting or 0.0))
            self._note_default(decision, one)
        elif decision in self._by_default:
            late = self._by_default.pop(decision)
            self.n_by_default -= 1
            self.n_replaced += one is None
            self._note_feedback(received_at - late.made_at)
            if one is None and self.has_estimates:
                self._replace(late.settled, indices, losses)
        elif one is not None and not one.has_feedback:
            self._note_feedback(received_at - one.made_at)
        if one is None:
            return
        one.has_feedback |= not is_default
        kept = one.shown[indices] > 0.0  # not what was revealed at an unknown rate
        one.revealed[indices[kept]] = True
        one.losses[indices[kept]] = self._scaled(losses[kept])
        if one.is_complete or not self.has_estimates:
            del self._open[decision]
            self._cells -= one.n_cells
            due = one.made_at if self._waiting is None else one.made_at + self._waiting
            heapq.heappush(self._young, (due, decision, one))
        self._heard(received_at)

    def _heard(self, at: float) -> None:
        """Settle what is complete and has waited long enough, as `Settling` does."""
        reached = self._clock.has_reached
        self._clock.event(at)
        self._now = at
        while self._made and (reached(self._made[0].due) or len(self._made) > MOST_OPEN):
            one_made = self._made.popleft()
            self._answers.made(one_made.group, is_silent=one_made.is_silent)
        while self._young and (reached(self._young[0][0]) or len(self._young) > MOST_OPEN):
            one = heapq.heappop(self._young)[2]
            self._settle(one.silent)
            self._settled.append(one.own)
            self._settled_at.append(at)
            self._answers.used(one.group, is_silent=False)

    def _settle(self, silent: list[Settled]) -> None:
        self._settled += silent
        self._settled_at += [self._now] * len(silent)
        for one in silent:
            self._answers.used(one.group, is_silent=True)

    def _note_feedback(self, delay: float) -> None:
        self.n_answered += 1
        self.delays[bisect_left(DELAYS, delay)] += 1

    def _note_default(self, decision: int, one: Open) -> None:
        self.n_by_default += 1
        self._by_default[decision] = ByDefault(one.made_at, one.own)
        most = min(MOST_OPEN, MOST_CELLS // len(one.names))
        while len(self._by_default) > most:
            del self._by_default[next(iter(self._by_default))]

    def _replace(self, settled: Settled, indices: Any, losses: Any) -> None:
        """Losses that came take the place of the default; the rest was settled before."""
        known = settled.revealed[indices]
        values = settled.losses.copy()
        values[indices[known]] = self._scaled(losses[known])
        self.judge.replace(settled, values)

    def _scaled(self, losses: Any) -> Any:
        scaled = (losses - self._low) / self._width
        if self.problem.range is None and not self.is_unbounded:
            self.is_unbounded = bool(np.any((scaled < 0.0) | (scaled > 1.0)))
            self.has_estimates &= not self.is_unbounded
        return scaled

    def settle(self) -> None:
        """Add the decisions that have become settled to the estimates."""
        if self.has_estimates:
            self.judge.add(self._settled, self._settled_at)
        self._settled, self._settled_at = [], []

    def delay(self, share: float) -> float | None:
        """A quantile of the seconds until the first feedback, to a tenth of a power of ten."""
        wanted, seen = share * sum(self.delays), 0
        for end, count in zip((*DELAYS, DELAYS[-1]), self.delays, strict=True):
            seen += count
            if count and seen >= wanted:
                return end
        return None

    def _known_budgets(
        self, before: "LiveTally | None", earlier: Sequence[Budget]
    ) -> frozenset[str]:
        """The budgets whose spending was counted from their first decision on."""
        if not self.is_whole:
            return frozenset()
        known = frozenset() if before is None else before.known_budgets
        budgets = []
        for budget in self.problem.budgets:
            same = [one for one in earlier if one.is_of_one_kind(budget)]
            if not same or repr(same[-1]) in known:
                budgets.append(repr(budget))
        return frozenset(budgets)


def _joined(earlier: LiveWindow, later: LiveWindow) -> LiveWindow:
    played = _most_common(earlier.played + later.played)
    explored = earlier.explored + later.explored
    return LiveWindow(earlier.n + later.n, played, explored, later.until)


def _most_common(played: Counter[str]) -> Counter[str]:
    """The counts, without the rarest actions once there are too many names."""
    if len(played) <= 2 * MOST_NAMES:
        return played
    return Counter(dict(played.most_common(MOST_NAMES)))
