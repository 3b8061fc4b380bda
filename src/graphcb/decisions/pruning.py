"""Old decisions are removed, and the log starts from the agent that they led to."""

from typing import NamedTuple

from graphcb.decisions import records
from graphcb.decisions.replaying import state_at
from graphcb.decisions.tables import VersionRow, insert
from graphcb.decisions.writer import Pending
from graphcb.saving import to_bytes

DAY = 86_400.0


class Pruned(NamedTuple):
    """What was removed; the log can be replayed from the event after `position` on."""

    n_decisions: int
    n_feedbacks: int
    position: int


def prune(pending: Pending, before: float, classes: tuple[type, ...], *, check: bool) -> Pruned:
    """Remove the decisions made before a time, with their feedback; call it in a transaction.

    Events that are kept may still stand before the last feedback for a removed decision. They
    are read as before, but no longer replayed.
    """
    storage, start, versions = pending.storage, pending.start, pending.versions
    last = _last_before(pending, before)
    old = "WHERE position <= ?"
    ((n_decisions, newest),) = storage.execute(
        f"SELECT count(*), coalesce(max(position), 0) FROM graphcb_decisions {old}", (last,)
    )
    if not n_decisions:
        return Pruned(0, 0, start.position)
    ((n_feedbacks, answered),) = storage.execute(
        "SELECT count(*), coalesce(max(position), 0) FROM graphcb_feedbacks WHERE decision <= ?",
        (newest,),
    )
    position = max(newest, answered, start.position)
    state = state_at(
        storage, start, pending.graphs, versions, position, classes=classes, check=check
    )
    first = versions.numbered(1)
    if start.position == 0:
        problem = "" if first.problem is None else first.problem.to_toml()
        record = b"" if first.recorded is None else to_bytes(first.recorded)
        insert(storage, [VersionRow(0, first.made_at, problem, record, first.note)])
    storage.execute("DELETE FROM graphcb_feedbacks WHERE decision <= ?", (newest,))
    storage.execute(f"DELETE FROM graphcb_decisions {old}", (newest,))
    storage.execute("DELETE FROM graphcb_log")
    agent = to_bytes(state.agent)
    pending.start = start._replace(
        agent=agent, position=position, n_feedbacks=state.n_feedbacks, checksum=0
    )
    insert(storage, [pending.start])
    pending.start = records.read_start(storage)
    pending.changed = True
    return Pruned(int(n_decisions), int(n_feedbacks), position)


def _last_before(pending: Pending, before: float) -> int:
    """The last event before the first decision that is kept."""
    sql = "SELECT position FROM graphcb_decisions WHERE made_at >= ? ORDER BY position LIMIT 1"
    kept = pending.storage.execute(sql, (before,))
    return int(kept[0][0]) - 1 if kept else pending.state.position
