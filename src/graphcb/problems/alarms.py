"""What looks different to an agent, in the words of its problem."""

from typing import Any

from graphcb.estimates.stillness import Alarm
from graphcb.oracles import DefaultOracle
from graphcb.problems.guarded import explorer_of
from graphcb.problems.learner import Learner


def alarms_of(agent: Any) -> list[Alarm]:
    """The actions and features that have looked different to an agent, the latest first.

    Actions are watched by a `DefaultOracle`, features by a `Learner`: there is nothing to say of
    any other. Decisions are counted from 1.

    >>> from graphcb import Learner, Problem
    >>> alarms_of(Learner(Problem(["approve", "refuse"])))
    []
    """
    is_learner = isinstance(agent, Learner)
    oracle = getattr(explorer_of(agent.agent if is_learner else agent), "oracle", None)
    found = list(agent.watched.alarms()) if is_learner else []
    if isinstance(oracle, DefaultOracle):
        found += oracle.watched.alarms(agent.problem.actions if is_learner else None)
    return sorted(found, key=lambda alarm: (-alarm.raised, alarm.kind, alarm.name))


def in_words(alarm: Alarm) -> str:
    """One sentence on an alarm.

    >>> in_words(Alarm("action", "approve", 4012, 4060, None, 0.0002))
    "losses of 'approve' have looked different since decision 4,012, known at 4,060"
    >>> in_words(Alarm("feature", "age", 40, 90, 300, 0.0002))
    "values of 'age' looked different from decision 40 to 300, known at 90"
    """
    what = f"{'losses' if alarm.kind == 'action' else 'values'} of {alarm.name!r}"
    if alarm.over is None:
        when = f"have looked different since decision {alarm.since:,}"
    else:
        when = f"looked different from decision {alarm.since:,} to {alarm.over:,}"
    return f"{what} {when}, known at {alarm.raised:,}"
