"""The next version of a log: another problem or agent, or an earlier one again."""

import copy
import time
from typing import Any

from graphcb.agents import Agent
from graphcb.decisions.replaying import state_at
from graphcb.decisions.start import first_agent
from graphcb.decisions.tables import VersionRow, insert
from graphcb.decisions.transition import PolicyState
from graphcb.decisions.versions import Change, Version
from graphcb.decisions.warm_start import warm_start
from graphcb.decisions.writer import Pending
from graphcb.problems import Learner, Problem, carry_rules, problem_of, succeed
from graphcb.saving import from_bytes, to_bytes


def change(
    pending: Pending,
    problem: Problem | None,
    agent: Agent | None,
    note: str,
    classes: tuple[type, ...],
) -> Change:
    """Write a version with this problem or agent; call it inside a transaction."""
    if problem is None and agent is None:
        raise TypeError("`problem` must be given, or `agent`, got neither")
    if problem is not None and not isinstance(problem, Problem):
        raise TypeError(
            f"`problem` must be a graphcb.Problem, got {type(problem).__name__}; Problem.read "
            "reads one from a TOML file"
        )
    if pending.versions.last.recorded is not None:
        following, said = warm_start(pending, problem, agent)
    else:
        following, said = _following(pending.state.agent, problem, agent)
    return _write(pending, following, said, note, classes)


def roll_back(
    pending: Pending,
    number: int,
    note: str,
    classes: tuple[type, ...],
    *,
    check: bool,
) -> Change:
    """Write a version with the problem and the agent of an earlier one, as it was at its end."""
    start, versions = pending.start, pending.versions
    earlier = versions.numbered(number)
    if earlier.number == versions.last.number:
        raise ValueError(f"`version` must be an earlier one, got {number}, which decides now")
    if earlier.recorded is not None:
        raise ValueError(
            f"`version` must be one that decided, got {number}, whose decisions were imported from "
            f"{earlier.recorded.source or 'another program'}"
        )
    end = versions.numbered(number + 1).position - 1
    if end < start.position:
        raise ValueError(
            f"`version` must have its end in the log, got {number}, which ended at event {end}; "
            f"the events up to {start.position} were removed"
        )
    graphs = pending.graphs
    state = state_at(pending.storage, start, graphs, versions, end, classes=classes, check=check)
    said = [f"all is as it was when version {number} ended, at event {end}"]
    said += carry_rules(pending.state.agent, state.agent)
    return _write(pending, state.agent, said, note or f"back to version {number}", classes)


def _following(now: Any, problem: Problem | None, agent: Agent | None) -> tuple[Any, list[str]]:
    """The next agent, and what it keeps of the one that decides now."""
    known = problem_of(now)
    wanted = problem or problem_of(agent) or known
    if wanted is None:
        other: Any = copy.deepcopy(agent)
        return other, ["the agent that was given starts as it is", *carry_rules(now, other)]
    if known is None or not isinstance(now, Learner):
        raise ValueError(
            "`problem` must be left out, as the log was created without one; create a new log for "
            "the problem"
        )
    if problem_of(agent) is None:
        return succeed(now, wanted, agent)
    first_agent(agent, wanted)  # refuses a learner for another problem
    said = ["the learner that was given starts as it is; what was learned before is not used"]
    given: Any = copy.deepcopy(agent)
    return given, said + carry_rules(now, given)


def _write(
    pending: Pending, agent: Any, said: list[str], note: str, classes: tuple[type, ...]
) -> Change:
    if not isinstance(note, str):
        raise TypeError(f"`note` must be a text, got {note!r}")
    if "\x00" in note or not _is_utf8(note):
        raise ValueError(f"`note` must be a text that a database can hold, got {note!r}")
    state, problem = pending.state, problem_of(agent)
    if pending.has_deciders:
        check_shared(problem)
    content = to_bytes(agent)
    stored = from_bytes(content, where="`agent`", classes=classes)  # as a replay will read it
    position, now = state.position + 1, time.time()
    text = "" if problem is None else problem.to_toml()
    insert(pending.storage, [VersionRow(position, now, text, content, note)])
    informed = bool(getattr(agent, "informed", True))
    version = Version(len(pending.versions) + 1, position, now, problem, note, informed)
    pending.versions = pending.versions.followed_by(version)
    pending.state = PolicyState(stored, position, state.n_feedbacks, version.number)
    pending.changed = True
    return Change(version, tuple(said))


def check_shared(problem: Problem | None) -> None:
    """Refuse what deciders that do not know of each other cannot keep."""
    if problem is None:
        return
    hard = [budget.name for budget in problem.budgets if budget.hard]
    if hard:
        raise ValueError(
            f"`budgets` must not be hard for a log with deciders, got {hard[0]!r}: they do not "
            "know of each other's last decisions; use one process, or a budget that is not"
        )
    if problem.baseline is not None and not problem.baseline.is_shadow:
        raise ValueError(
            "`baseline` must be left out for a log with deciders, or have the mode shadow: they "
            "do not know of each other's last decisions; use one process"
        )


def _is_utf8(text: str) -> bool:
    try:
        return bool(text.encode()) or not text
    except UnicodeEncodeError:
        return False
