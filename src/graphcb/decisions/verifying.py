"""Everything that can be wrong with a log, looked for in one go; and a copy of one."""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from graphcb.decisions import records
from graphcb.decisions.decision import read_decision_id
from graphcb.decisions.inbox import has_feedbacks, read_waiting
from graphcb.decisions.log import DecisionLog
from graphcb.decisions.replaying import steps
from graphcb.decisions.storage import LogError
from graphcb.decisions.stored_graphs import parse
from graphcb.decisions.tables import (
    TABLE_OF,
    AskerRow,
    CheckpointRow,
    ContentRow,
    FeedbackRow,
    GraphRow,
    PackedDecision,
    VersionRow,
    checksum,
    mismatch,
    select_unchecked,
)
from graphcb.decisions.transition import PolicyState
from graphcb.files import FileError
from graphcb.saving import from_bytes, to_bytes


def verify(
    location: str | os.PathLike[str], *, replays: bool = True, classes: Iterable[type] = ()
) -> list[str]:
    """What is wrong with a log, or an empty list: every row, name and graph is looked at.

    SQLite checks its file as well. With `replays`, every decision is replayed and must come out
    the same, which takes as long as the decisions did; imported ones are only read.
    `classes` are those of your own that the agent contains.
    """
    try:
        log = DecisionLog(location)
    except (FileError, LogError) as problem:
        return [str(problem)]
    found: list[str] = []
    looks: list[Callable[[DecisionLog], Iterable[str]]] = [
        _missing_end,
        _damaged_file,
        _damaged_rows,
        _damaged_graphs,
        _damaged_events,
        _damaged_inbox,
    ]
    if replays:
        looks.append(partial(_different_when_replayed, classes=tuple(classes)))
    with log:
        for look in looks:
            try:
                found.extend(look(log))
            except (FileError, LogError) as problem:
                found.append(str(problem))
    return list(dict.fromkeys(found))


def differs(state: PolicyState, checkpoint: CheckpointRow, agent: Any) -> bool:
    """Whether a checkpoint's agent is another one than that which the log leads to."""
    same = checkpoint.n_feedbacks == state.n_feedbacks
    return not same or to_bytes(agent) != to_bytes(state.agent)


def back_up(location: str | os.PathLike[str], path: str | os.PathLike[str]) -> int:
    """Copy a SQLite log to a new file while its policy continues; returns the number of events.

    This is SQLite's online backup: the copy is the log as of one moment, in one file. Copying the
    file by other means misses what is in its write-ahead log.
    """
    target = Path(path)
    if target.exists():
        raise FileExistsError(f"a backup must be a new file, got {str(path)!r}, which exists")
    with DecisionLog(location) as log:
        records.check_end(log.storage)
        from graphcb.decisions.sqlite import SQLiteStorage  # not loaded with the package

        if not isinstance(log.storage, SQLiteStorage):
            raise ValueError(
                f"{log.storage.location}: a log in PostgreSQL is backed up by the server's own "
                "tools, such as pg_dump --schema=NAME DATABASE"
            )
        part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
        try:
            log.storage.back_up_to(part)
            _sync(part)
            with DecisionLog(part) as copy:
                n_events = copy.n_events
            part.rename(target)
            _sync(target.resolve().parent)
        finally:
            for beside in (part, *part.parent.glob(f"{part.name}-*")):
                beside.unlink(missing_ok=True)
    return n_events


def _missing_end(log: DecisionLog) -> Iterator[str]:
    """Events that were acknowledged, and are not there."""
    records.check_end(log.storage)
    yield from ()


def _damaged_file(log: DecisionLog) -> list[str]:
    return [f"{log.storage.location}: damaged: {text}" for text in log.storage.find_damage()]


def _damaged_rows(log: DecisionLog) -> Iterator[str]:
    """Every row whose checksum does not match; one row at a time, as one may be large."""
    kinds: list[type[Any]] = [
        PackedDecision,
        FeedbackRow,
        CheckpointRow,
        GraphRow,
        ContentRow,
        VersionRow,
        AskerRow,
    ]
    for kind in kinds:
        fields: tuple[str, ...] = vars(kind)["_fields"]
        number, begin = fields[0], -(2**63)
        sql = f"SELECT {number} FROM {TABLE_OF[kind]} WHERE {number} > ? ORDER BY {number} LIMIT"
        while rows := log.storage.execute(f"{sql} {records.PAGE}", (begin,)):
            for (value,) in rows:
                if not value > begin:  # in a damaged tree; the next page would begin again
                    raise FileError(
                        f"{log.storage.location}: damaged: the rows of {TABLE_OF[kind]} are out "
                        f"of order, {value} after {begin}"
                    )
                begin = value
                for row in select_unchecked(log.storage, kind, f"WHERE {number} = ?", value):
                    if checksum(row) != row.checksum:
                        yield f"{log.storage.location}: damaged: {mismatch(row)}"


def _damaged_graphs(log: DecisionLog) -> Iterator[str]:
    """Every graph that cannot be read."""
    for (number,) in log.storage.execute("SELECT graph FROM graphcb_graphs ORDER BY graph"):
        for row in select_unchecked(log.storage, GraphRow, "WHERE graph = ?", number):
            try:
                parse(row, log.storage.location)
            except FileError as problem:
                yield str(problem)


def _damaged_events(log: DecisionLog) -> Iterator[str]:
    """Gaps, repetitions, feedbacks that do not fit; names that no policy would take."""
    for row in log:
        try:
            read_decision_id(row.decision_id, log.start.name, log.storage.location)
        except LookupError as problem:
            yield f"{log.storage.location}: damaged: event {row.position}: {problem}"


def _damaged_inbox(log: DecisionLog) -> Iterator[str]:
    """A feedback from beside that is not as it was put there."""
    after = 0 if has_feedbacks(log.storage) else None
    while after is not None:
        page = read_waiting(log.storage, after, records.PAGE)
        after = page[-1].number if page else None
    yield from ()


def _different_when_replayed(log: DecisionLog, classes: tuple[type, ...]) -> Iterator[str]:
    """From the first event on; checkpoints on the way must contain the same."""
    wanted = set(records.checkpoint_positions(log.storage))
    try:
        for step in steps(log, classes=classes):
            if step.position in wanted:
                yield from _different_from(step.after, log, classes)
    except (ValueError, TypeError, LookupError) as problem:
        yield str(problem)


def _different_from(
    state: PolicyState, log: DecisionLog, classes: tuple[type, ...]
) -> Iterator[str]:
    where = f"{log.storage.location}, checkpoint {state.position}"
    for row in records.read_checkpoints(log.storage, state.position):
        try:
            agent = from_bytes(row.agent, where=where, classes=classes)
        except Exception as problem:
            yield f"{where}: cannot be read: {problem}"
            continue
        if differs(state, row, agent):
            yield f"{where}: differs from what the log leads to"


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
