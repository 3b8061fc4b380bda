"""Old decisions are removed, and the log starts from the agent that they led to."""

from typing import NamedTuple

from graphcb.decisions import records
from graphcb.decisions.replaying import state_at
from graphcb.decisions.tables import VersionRow, insert
from graphcb.decisions.writer import Pending
from graphcb.saving import to_bytes

DAY = 86_400.0
AT_A_TIME = 100_000


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
    oldest = records.first_decision(storage) or newest
    for until in (*range(oldest, newest, AT_A_TIME), newest):  # a server limits each statement
        storage.execute("DELETE FROM graphcb_feedbacks WHERE decision <= ?", (until,))
        storage.execute(f"DELETE FROM graphcb_decisions {old}", (until,))
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
    """The last event to remove: where the fewest times of decisions say otherwise.

    A clock may have been wrong now and then. One stamp that is ahead must not keep all that came
    after it, and one that is behind must not remove all that came before it.
    """
    sql = (
        "SELECT position, made_at FROM graphcb_decisions WHERE position > ? "
        f"ORDER BY position LIMIT {AT_A_TIME}"
    )
    seen = score = best = 0
    last: int | None = 0  # before which the first decision is that is kept; None if there is none
    was_last = False
    while rows := pending.storage.execute(sql, (seen,)):
        for position, made_at in rows:
            if was_last:
                last, was_last = int(position) - 1, False
            score += 1 if made_at < before else -1
            if made_at < before and score >= best:
                last, best, was_last = None, score, True
        seen = int(rows[-1][0])
    return pending.state.position if last is None else last
