"""When the decisions were made since which something has looked different."""

from collections.abc import Iterable

from graphcb.decisions.storage import Storage
from graphcb.decisions.transition import PolicyState
from graphcb.estimates.stillness import Alarm
from graphcb.problems import Learner

MADE_AT = "SELECT made_at FROM graphcb_decisions ORDER BY position LIMIT 1 OFFSET ?"


def dated(alarms: Iterable[Alarm], storage: Storage, state: PolicyState) -> list[Alarm]:
    """The alarms of a log with their times, if its agent has made all of its decisions.

    An agent counts its own decisions: a log that was imported or pruned, or whose agent was
    changed, has others too.
    """
    agent = state.agent
    if not isinstance(agent, Learner) or agent.watched.n_rounds != state.n_decisions:
        return list(alarms)
    found = []
    for alarm in alarms:
        rows = storage.execute(MADE_AT, (alarm.since - 1,))
        found.append(alarm._replace(since_time=float(rows[0][0]) if rows else None))
    return found
