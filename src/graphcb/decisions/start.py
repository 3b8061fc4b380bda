"""The agent that a log is created with, and the problem in it."""

from dataclasses import replace
from typing import Any

from graphcb.agents import Agent
from graphcb.problems import Learner, Problem, Recorded, problem_of
from graphcb.problems.units import UNTIL_FOUND
from graphcb.saving import from_bytes, to_bytes


def first_agent(agent: Agent | None, problem: Problem | None) -> bytes | None:
    """What a new log would hold: the agent, or a learner for the problem."""
    if problem is None:
        return None if agent is None else to_bytes(agent)
    own = problem_of(agent)
    if own is None:
        return to_bytes(Learner(problem, agent))
    if own != problem:
        raise ValueError(
            "`problem` must be that of the agent, or left out; it differs in "
            f"{'; '.join(problem.differences(own))}"
        )
    return to_bytes(agent)


def stored_problem(agent: bytes, location: str) -> Problem | None:
    """The problem of a stored agent; its other parts, which may need classes, are not built."""
    found: Any = from_bytes(agent, where=location, part="problem")
    return found if isinstance(found, Problem) else None


def was_informed(agent: bytes, location: str) -> bool:
    """Whether a stored agent knew the graph of a round when it decided."""
    try:
        problem = stored_problem(agent, location)
        if problem is not None:
            return problem.informed
        return bool(getattr(from_bytes(agent, where=location), "informed", True))
    except ValueError:  # a class that is not part of graphcb
        return True


def stored_record(agent: bytes, location: str) -> Recorded | None:
    """What stands in place of an agent where another program made the decisions, else None."""
    found: Recorded | None = from_bytes(agent, where=location, only=Recorded) if agent else None
    return found


def check_same_problem(agent: bytes, logged: Problem | None, location: str) -> None:
    """Refuse a problem other than that of the log's last version, and say what differs."""
    given = stored_problem(agent, location)
    if given is None or given == logged:
        return
    if given.range is None and replace(given, range=UNTIL_FOUND) == logged:
        return  # which is what a range left out meant, up to version 0.4.0
    if logged is None:
        raise ValueError(
            f"{location}: `problem` must be left out, as the log was created without one; create "
            "a new log for the problem"
        )
    raise ValueError(
        f"{location}: `problem` must be that of the log, or left out; it differs in "
        f"{'; '.join(given.differences(logged))}; change the log with graphcb log promote or "
        "Policy.change, or create a new log for another problem"
    )
