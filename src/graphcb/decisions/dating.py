"""When the decisions were made since which something has looked different."""

from collections.abc import Sequence

from graphcb.decisions.records import count
from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import DecisionRow, LogStart
from graphcb.decisions.transition import PolicyState
from graphcb.estimates.stillness import Alarm
from graphcb.problems import Learner

MADE_AT = (
    "SELECT made_at FROM graphcb_decisions WHERE position > ? ORDER BY position LIMIT 1 OFFSET ?"
)


def dated(
    alarms: Sequence[Alarm], storage: Storage, state: PolicyState, start: LogStart
) -> list[Alarm]:
    """The alarms of a log with their times, if its agent has made all of its decisions.

    An agent counts its own decisions: a log that was imported, or whose agent was changed, has
    others too. Of those that were removed, no time is known.
    """
    agent = state.agent
    if not isinstance(agent, Learner) or agent.watched.n_rounds != state.n_decisions or not alarms:
        return list(alarms)
    n_removed = 0
    if start.cut:
        n_removed = state.n_decisions - count(storage, DecisionRow, state.position, start.cut)
    found = []
    for alarm in alarms:
        place = alarm.since - 1 - n_removed
        rows = storage.execute(MADE_AT, (start.cut, place)) if place >= 0 else []
        found.append(alarm._replace(since_time=float(rows[0][0]) if rows else None))
    return found
