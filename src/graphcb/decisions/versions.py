"""Versions of a log: which problem was decided when, and late feedback across a change."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Played, learn_from
from graphcb.decisions import records
from graphcb.decisions.start import stored_problem, stored_record, was_informed
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import DecisionRow, LogStart, VersionRow
from graphcb.decisions.transition import PolicyState, after_feedback
from graphcb.files import FileError
from graphcb.problems import Problem, Recorded
from graphcb.rounds.identifiers import pick


class Version(NamedTuple):
    """A version of a log: from the event `position` on, it has this problem.

    Versions are numbered from 1, which is the start of the log, at position 0. If `informed` is
    False, it learns what its decisions reveal. `recorded` says where its decisions were imported
    from, None if a policy made them: imported ones are never made again by a replay.
    """

    number: int
    position: int
    made_at: float
    problem: Problem | None
    note: str
    informed: bool = True
    recorded: Recorded | None = None


class Change(NamedTuple):
    """A new version, and sentences on what it keeps of what was learned and what it does not."""

    version: Version
    said: tuple[str, ...]


class Versions:
    """The versions of a log in their order; the `last` one decides. A value that never changes."""

    last: Version

    def __init__(self, versions: Sequence[Version]) -> None:
        self._versions = tuple(versions)
        self._positions = [version.position for version in versions]
        if versions:
            self.last = self._versions[-1]

    @classmethod
    def read(cls, storage: Storage, start: LogStart) -> "Versions":
        """Those of a log; the first is written down only if its start was removed."""
        rows, location = records.read_versions(storage), storage.location
        if rows and rows[0].position == 0:
            row = rows.pop(0)
            first, note, recorded = _read(row, location), row.note, row.agent
        else:
            first, note, recorded = stored_problem(start.agent, location), "", start.agent
        informed = _is_informed(first, start.agent, location)
        record = stored_record(recorded, location)
        found = [Version(1, 0, start.created_at, first, note, informed, record)]
        for number, row in enumerate(rows, start=2):
            problem = _read(row, location)
            informed = _is_informed(problem, row.agent, location)
            found.append(Version(number, row.position, row.made_at, problem, row.note, informed))
        return cls(found)

    def __iter__(self) -> Iterator[Version]:
        return iter(self._versions)

    def __len__(self) -> int:
        return len(self._versions)

    def at(self, position: int) -> Version:
        """The version of the event at this position."""
        return self._versions[bisect_right(self._positions, position) - 1]

    def of(self, row: DecisionRow) -> Version:
        """The version that made a decision."""
        return self.at(row.position if row.snapshot is None else row.snapshot)

    def until(self, position: int) -> "Versions":
        """Those that had begun by this event."""
        return Versions([version for version in self._versions if version.position <= position])

    def numbered(self, number: int) -> Version:
        """The version with this number."""
        if isinstance(number, bool) or number not in range(1, len(self) + 1):
            raise ValueError(f"`version` must be between 1 and {len(self)}, got {number!r}")
        return self._versions[number - 1]

    @property
    def range(self) -> tuple[float, float] | None:
        """A range that contains all feedback of all versions; None if one says none.

        Versions with losses and versions with rewards have no range in common.
        """
        problems = [version.problem for version in self._versions]
        if any(problem is None for problem in problems):
            return None
        known = [problem for problem in problems if problem is not None]
        units = dict.fromkeys(problem.feedback for problem in known)
        if len(units) > 1:
            raise ValueError(
                f"the log must have {' or '.join(units)}, got versions with both; choose the "
                "decisions of one version (--version)"
            )
        ranges = [one.range for one in known if one.range is not None]
        if len(ranges) < len(known):
            return None
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def followed_by(self, version: Version) -> "Versions":
        """These and one more."""
        return Versions((*self._versions, version))


def learn_earlier(
    state: PolicyState,
    played: Played,
    indices: NDArray[np.int64],
    losses: NDArray[np.float64],
    *,
    then: Problem | None,
    now: Problem | None,
) -> PolicyState:
    """The state after feedback for a decision of an earlier version.

    The agent learns what it can: not the values of actions that it no longer has or whose value is
    known by now, none beyond its range or in another unit, none of a context that it cannot read.
    An agent that learns what is revealed learns nothing of a version that had other actions or
    revealed otherwise. No round of another version is judged against the baseline: it stays as
    uncertain as it was.
    """
    if now is None or then is None:
        learn_from(state.agent, played, pick(played.actions, indices), losses)
        return after_feedback(state)
    if not now.informed and (then.actions, then.reveals) != (now.actions, now.reveals):
        return after_feedback(state)  # its silence means something else
    names = list(played.actions) if played.actions is not None else list(then.actions)
    known = _understood([names[index] for index in indices], losses, then, now)
    if known.any() or indices.size == 0:
        offered = names if now.has_fixed_actions else played.actions
        revealed = pick(offered, indices[known])
        with suppress(ValueError, TypeError, LookupError):  # such as a feature that is now needed
            learn_from(state.agent, played, revealed, losses[known])
    return after_feedback(state)


def _understood(
    names: Sequence[Any], values: NDArray[np.float64], then: Problem, now: Problem
) -> NDArray[np.bool_]:
    if then.feedback != now.feedback:
        return np.zeros(len(names), dtype=bool)
    known = now.known or {}
    exists = [
        name not in known and (not isinstance(now.actions, tuple) or name in now.actions)
        for name in names
    ]
    return np.array(exists, dtype=bool) & now.accepts(values)


def _is_informed(problem: Problem | None, agent: bytes, location: str) -> bool:
    return was_informed(agent, location) if problem is None else problem.informed


def _read(row: VersionRow, location: str) -> Problem | None:
    try:
        return Problem.from_toml(row.problem) if row.problem else None
    except (ValueError, TypeError) as reason:
        raise FileError(f"{location}: damaged: version at event {row.position}: {reason}") from None
