"""One person is forgotten: contexts, outcomes and names of their decisions are removed.

A decision may say whom it is about. The log keeps a hash of that beside it, by which the decisions
of a person are found. The log then starts from the agent of this moment, as after a removal of old
decisions: what came before is read, but no longer replayed.

Where the agent is another one afterwards, a log with deciders skips the number of an event: they
may still decide with the agent of before, which no replay comes to.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from graphcb.decisions.inbox import publish
from graphcb.decisions.log import DecisionLog, LoggedDecision
from graphcb.decisions.pruning import move_start
from graphcb.decisions.records import PAGE, Forgotten, last_position
from graphcb.decisions.replaying import ReplaySource, state_without
from graphcb.decisions.storage import Storage
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.decisions.tables import LogStart
from graphcb.decisions.transition import PolicyState
from graphcb.decisions.writer import Pending

FEW = 500  # events that are left to be replayed in the transaction
MOST_PASSES = 5  # over what has come in the meantime


def hash_of(subject: Any, start: LogStart) -> str:
    """What a log keeps of a person: a hash that is another one in each log.

    7, 7.0, as tables have it, and "7" are one person. The hash can be guessed by whoever has the
    log and tries names, so it is no secret.
    """
    if isinstance(subject, float) and subject.is_integer():
        subject = int(subject)
    if not isinstance(subject, str | int) or isinstance(subject, bool) or subject == "":
        raise TypeError(f"`subject` must be a text or a whole number, got {subject!r}")
    key = f"{start.name} {start.seed}".encode()
    return hashlib.blake2b(str(subject).encode(), key=key, digest_size=16).hexdigest()


def note_subjects(storage: Storage, rows: Sequence[tuple[str, str, int]]) -> None:
    """Store whom decisions are about: hash, token, number of the event or 0."""
    storage.insert("graphcb_subjects", ("subject", "token", "position"), rows)


def subjects_of(storage: Storage, rows: Sequence[LoggedDecision]) -> dict[int, str]:
    """The hashes of those whom decisions that follow each other are about, by position."""
    found: dict[int, str] = {}
    sql = "SELECT position, subject FROM graphcb_subjects WHERE position BETWEEN ? AND ?"
    if rows:
        found.update(storage.execute(sql, (rows[0].position, rows[-1].position)))
    if storage.is_shared:  # those of deciders have no number
        at = {row.decision_id.rpartition("-")[2]: row.position for row in rows}
        sql = "SELECT token, subject FROM graphcb_subjects WHERE token = ANY(?)"
        found.update((at[token], who) for token, who in storage.execute(sql, (list(at),)))
    return found


class Unlearned(NamedTuple):
    """The state that a log leads to without a person, and how the log began then."""

    state: PolicyState
    start: LogStart


def unlearned(location: str, subject: Any, classes: tuple[type, ...]) -> Unlearned | None:
    """The state without a person, while others write; None if they are in no decision.

    What comes meanwhile is replayed as well, until that is little.
    """
    with DecisionLog(location) as log:
        start, graphs, state = log.start, StoredGraphs(log.storage), None
        for _ in range(MOST_PASSES):
            if state is not None and last_position(log.storage) - state.position < FEW:
                break
            positions, _ = _find(log.storage, start, hash_of(subject, start))
            if not positions:
                return None
            source = ReplaySource(log.storage, start, graphs, log.versions, classes)
            state = state_without(source, positions, so_far=state)
    return None if state is None else Unlearned(state, start)


def forget(
    pending: Pending,
    subject: Any,
    classes: tuple[type, ...],
    *,
    unlearn: bool,
    so_far: Unlearned | None = None,
) -> Forgotten:
    """Remove all that the log holds of a person; call it inside a transaction.

    What was unlearned `so_far` is of no use if the log has another start or version by now.
    """
    storage, key = pending.storage, hash_of(subject, pending.start)
    positions, tokens = _find(storage, pending.start, key)
    version = pending.state.version
    if so_far is not None and (so_far.start, so_far.state.version) != (pending.start, version):
        so_far = None
    n_feedbacks = 0
    if positions:
        state = pending.state
        if unlearn:
            source = ReplaySource(storage, pending.start, pending.graphs, pending.versions, classes)
            known = None if so_far is None else so_far.state
            state = state_without(source, positions, so_far=known)
            if pending.has_deciders:
                state = state._replace(position=state.position + 1)
                known_at = storage.execute("SELECT known_at FROM graphcb_trainer")[0][0]
                publish(storage, state, known_at, kept=1)
        offered = _offered(storage, positions)
        for position in positions:
            where = "FROM graphcb_feedbacks WHERE decision = ?"
            n_feedbacks += storage.execute(f"SELECT count(*) {where}", (position,))[0][0]
            storage.execute(f"DELETE {where}", (position,))
            storage.execute("DELETE FROM graphcb_decisions WHERE position = ?", (position,))
        storage.contents.erase(offered)
        storage.execute("DELETE FROM graphcb_checkpoints")
        move_start(pending, state, pending.start.cut)
        pending.state, pending.changed = state, True
    waiting = _remove_beside(storage, tokens)
    storage.execute("DELETE FROM graphcb_subjects WHERE subject = ?", (key,))
    n_decisions, n_feedbacks = len(positions) + waiting[0], n_feedbacks + waiting[1]
    receipt = Forgotten(time.time(), key, n_decisions, n_feedbacks, unlearn)
    storage.insert("graphcb_receipts", receipt._fields, [(*receipt[:4], int(unlearn))])
    return receipt


def _find(storage: Storage, start: LogStart, key: str) -> tuple[list[int], list[str]]:
    """The numbers of a person's decisions in the log, in order, and the tokens of all."""
    cut = start.cut
    sql = "SELECT position, token FROM graphcb_subjects WHERE subject = ?"
    found = [(int(position), str(token)) for position, token in storage.execute(sql, (key,))]
    positions = {position for position, _ in found if position > cut}
    for token in [token for position, token in found if position == 0]:  # deciders made them
        named = "SELECT position FROM graphcb_decisions WHERE token = ? AND position > ?"
        positions.update(int(one) for (one,) in storage.execute(named, (token, cut)))
    return sorted(positions), [token for _, token in found]


def _offered(storage: Storage, positions: Sequence[int]) -> set[bytes]:
    """The actions of decisions, as they are stored."""
    sql = "SELECT actions FROM graphcb_decisions WHERE position = ?"
    return {bytes(actions) for one in positions for (actions,) in storage.execute(sql, (one,))}


def _remove_beside(storage: Storage, tokens: Sequence[str]) -> list[int]:
    """Remove what waits in the inbox, and names of events; how many decisions and feedbacks."""
    removed = [0, 0]
    for k, table in enumerate(("graphcb_inbox", "graphcb_inbox_feedbacks")):
        if storage.has_table(table):
            for token in tokens:
                where = f"FROM {table} WHERE token = ?"
                removed[k] += int(storage.execute(f"SELECT count(*) {where}", (token,))[0][0])
                storage.execute(f"DELETE {where}", (token,))
    if tokens and storage.has_table("graphcb_named_events"):
        sql = "DELETE FROM graphcb_named_events WHERE owner = ? AND event = ?"
        storage.execute_many(sql, list(_names_of(storage, frozenset(tokens))))
    return removed


def _names_of(storage: Storage, tokens: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The events that name one of these decisions, by one pass over all."""
    sql = (
        "SELECT owner, event, decisions FROM graphcb_named_events WHERE (owner, event) > (?, ?) "
        f"ORDER BY owner, event LIMIT {PAGE}"
    )
    last = ("", "")
    while rows := storage.execute(sql, last):
        for owner, event, decisions in rows:
            if any(name.rpartition("-")[2] in tokens for name in json.loads(decisions).values()):
                yield owner, event
        last = rows[-1][:2]
