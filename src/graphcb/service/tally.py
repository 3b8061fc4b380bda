"""Decisions and feedback of a log, counted as they pass: what was played, and what came back."""

from bisect import bisect_left
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from graphcb.decisions import LoggedDecision, Versions
from graphcb.estimates.terms import Flags, Floats
from graphcb.evaluation.keeping import Keeping
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.service.judged import Judge, Settled

MOST_OPEN = 20_000  # decisions that are remembered until their feedback is complete
MOST_CELLS = 2_000_000  # actions of these decisions, and of those that go with them
MOST_SILENT = 1000  # decisions that are settled with the next one that reveals something
MOST_WINDOWS = 120
MOST_NAMES = 200  # actions that stay when there are twice as many, of all and of each window
NAMED = 8  # actions with a line of their own in the windows
DELAYS: tuple[float, ...] = tuple(
    10.0 ** (k / 10 - 3) for k in range(101)
)  # a millisecond to four months


class Open(NamedTuple):
    """A decision that waits for feedback, and those before it that revealed nothing."""

    made_at: float
    graph: FeedbackGraph
    names: tuple[str, ...]
    probabilities: Floats
    certain: Flags
    revealed: Flags
    losses: Floats
    silent: list[Settled]

    @property
    def n_cells(self) -> int:
        """How much memory it takes."""
        return len(self.names) * (1 + len(self.silent))


class LiveWindow(NamedTuple):
    """Decisions that follow each other; of many actions, `played` has the most common."""

    n: int
    played: Counter[str]
    explored: float


class LiveTally:
    """Counts of the last version of a log, from some event on.

    A decision that can reveal nothing is settled together with the next one that can: were it
    settled at once, decisions that wait for feedback would be missing more often than it, and
    every estimate would be too low. Feedback that never comes then does no harm if it is missing
    at random. A decision is settled once, when all that its action certainly reveals is known.
    """

    def __init__(self, versions: Versions) -> None:
        problem = versions.last.problem
        if problem is None:
            raise ValueError("`versions` must end with a problem, whose actions are counted")
        self.problem: Problem = problem
        fixed = problem.actions if isinstance(problem.actions, tuple) else ()
        self.judge, self.keeping = Judge(fixed), Keeping(versions)
        self.n = self.n_expected = self.n_answered = 0
        self.played: Counter[str] = Counter()
        self.explored = 0.0
        self.delays = [0] * (len(DELAYS) + 1)
        self.per_window = 20
        self.windows: list[LiveWindow] = []
        self._in_last = self.per_window  # so that the first decision opens a window
        self._names: tuple[str, ...] = ()
        self._open: dict[int, Open] = {}
        self._cells = 0
        self._silent: list[Settled] = []
        self._settled: list[Settled] = []
        low, high = problem.range
        self._low, self._width = low, high - low

    @property
    def n_open(self) -> int:
        """The number of decisions whose feedback is not complete."""
        return len(self._open)

    @property
    def last_is_short(self) -> bool:
        """Whether the last of several windows is not half full."""
        return len(self.windows) > 1 and 2 * self._in_last < self.per_window

    def decided(self, row: LoggedDecision) -> None:
        """Count a decision."""
        p, graph = row.probabilities, row.graph
        names = tuple(map(str, range(graph.n_actions) if row.actions is None else row.actions))
        if names == self._names:
            names = self._names  # decisions that wait share their names
        self._names = names
        self.n += 1
        explored = 1.0 - float(p.max())
        self.explored += explored
        self.played[names[row.action_index]] += 1
        self.played = _most_common(self.played)
        self._into_window(names[row.action_index], explored)
        self.keeping.add(row)
        shown = graph.row(row.action_index)
        nothing = np.zeros(graph.n_actions, dtype=bool)
        if shown.any():
            self.n_expected += 1
            one = Open(
                row.made_at, graph, names, p, shown == 1.0,
                nothing, np.zeros(graph.n_actions), self._silent,
            )  # fmt: skip
            self._silent = []
            self._open[row.position] = one
            self._cells += one.n_cells
            while len(self._open) > MOST_OPEN or self._cells > MOST_CELLS:
                self._cells -= self._open.pop(next(iter(self._open))).n_cells
        else:
            self._silent.append(Settled(graph, names, p, nothing, np.zeros(graph.n_actions)))
            if len(self._silent) > MOST_SILENT:
                self._settled += self._silent
                self._silent = []

    def answered(self, decision: int, received_at: float, indices: Any, losses: Any) -> None:
        """Count a part of the feedback for a decision."""
        one = self._open.get(decision)
        if one is None:
            return
        if not one.revealed.any():
            self.n_answered += 1
            self.delays[bisect_left(DELAYS, received_at - one.made_at)] += 1
        one.revealed[indices] = True
        one.losses[indices] = (losses - self._low) / self._width
        if not (one.certain & ~one.revealed).any():
            del self._open[decision]
            self._cells -= one.n_cells
            self._settled += one.silent
            self._settled.append(Settled(one.graph, one.names, one.probabilities, *one[5:7]))

    def settle(self) -> None:
        """Judge what has become complete."""
        self.judge.add(self._settled)
        self._settled = []

    def delay(self, share: float) -> float | None:
        """A quantile of the seconds until the first feedback, to a tenth of a power of ten."""
        wanted, seen = share * sum(self.delays), 0
        for end, count in zip((*DELAYS, DELAYS[-1]), self.delays, strict=True):
            seen += count
            if count and seen >= wanted:
                return end
        return None

    def _into_window(self, name: str, explored: float) -> None:
        if self._in_last >= self.per_window:
            if len(self.windows) >= MOST_WINDOWS:
                pairs = zip(self.windows[::2], self.windows[1::2], strict=True)
                self.windows = [
                    LiveWindow(
                        a.n + b.n, _most_common(a.played + b.played), a.explored + b.explored
                    )
                    for a, b in pairs
                ]
                self.per_window *= 2
            self.windows.append(LiveWindow(0, Counter(), 0.0))
            self._in_last = 0
        self._in_last += 1
        last = self.windows[-1]
        last.played[name] += 1
        played = _most_common(last.played)
        self.windows[-1] = LiveWindow(last.n + 1, played, last.explored + explored)


def _most_common(played: Counter[str]) -> Counter[str]:
    """The counts; without the rarest actions once there are too many names to remember."""
    if len(played) <= 2 * MOST_NAMES:
        return played
    return Counter(dict(played.most_common(MOST_NAMES)))
