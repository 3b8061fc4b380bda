"""The events of Personalizer's clients: names for decisions, in a table beside the log."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from graphcb.decisions.encoding import FLOAT, numbers, read_identifiers
from graphcb.decisions.incoming import Found
from graphcb.decisions.together import Together

_TABLE = (
    "CREATE TABLE IF NOT EXISTS graphcb_named_events (owner TEXT NOT NULL, event TEXT NOT NULL, "
    "decisions TEXT NOT NULL, deferred {whole} NOT NULL, held TEXT NOT NULL, "
    "made_at {real} NOT NULL, PRIMARY KEY (owner, event))",
    "CREATE INDEX IF NOT EXISTS graphcb_named_events_by_time ON graphcb_named_events (made_at)",
    "CREATE INDEX IF NOT EXISTS graphcb_named_events_that_hold ON graphcb_named_events (made_at) "
    "WHERE held <> '{{}}'",
)
_COLUMNS = "owner, event, decisions, deferred, held, made_at"


class Event(NamedTuple):
    """A client's name for decisions by slot; the slot is "" where there are no slots.

    While it is `deferred`, or rewards are added up, these are `held` back and the model does not
    learn from them. `made_at` is no later than its decisions. The name belongs to the `owner` of
    the key by which it was ranked.
    """

    owner: str
    name: str
    decisions: dict[str, str]
    deferred: bool = False
    held: dict[str, float] = {}  # noqa: RUF012 - nothing is ever put into it
    made_at: float = 0.0


def owner_of(client: str) -> str:
    """Whose events a key shares: those of "shop", "shop/web" and "shop/worker" are the same."""
    return client.partition("/")[0]


def claim_of(owner: str, name: str | None) -> str:
    """What a request must have for itself while it looks an event up, adds or changes it."""
    return "" if name is None else f"event {owner}\n{name}"


class Events:
    """The events of a log, inside an open transaction that has claimed those it asks for."""

    def __init__(self, together: Together) -> None:
        self._storage = storage = together.storage
        if not storage.has_table("graphcb_named_events"):
            together.claim(["events"])  # two processes must not create it at the same time
            for statement in _TABLE:
                storage.execute(statement.format(**storage.types._asdict()))

    def find(self, owner: str, name: str) -> Event | None:
        """The event with this name, if its owner has used it."""
        sql = f"SELECT {_COLUMNS} FROM graphcb_named_events WHERE owner = ? AND event = ?"
        return next(self._read(sql, owner, name), None)

    def add(self, event: Event) -> None:
        """Remember a new event."""
        sql = f"INSERT INTO graphcb_named_events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
        self._storage.execute(sql, (event.owner, event.name, *_values(event), event.made_at))

    def change(self, event: Event) -> None:
        """Store what has changed."""
        sql = (
            "UPDATE graphcb_named_events SET decisions = ?, deferred = ?, held = ? "
            "WHERE owner = ? AND event = ?"
        )
        self._storage.execute(sql, (*_values(event), event.owner, event.name))

    def holding(self, before: float, most: int) -> list[Event]:
        """Active events that were ranked before a time and hold rewards back, the oldest first."""
        sql = (
            f"SELECT {_COLUMNS} FROM graphcb_named_events WHERE made_at < ? AND deferred = 0 "
            f"AND held <> '{{}}' ORDER BY made_at LIMIT {most}"
        )
        return list(self._read(sql, before))

    def _read(self, sql: str, *given: str | float) -> Iterator[Event]:
        for owner, name, decisions, deferred, held, made_at in self._storage.execute(sql, given):
            held_back = json.loads(held)
            yield Event(owner, name, json.loads(decisions), bool(deferred), held_back, made_at)


def _values(event: Event) -> tuple[str, int, str]:
    return json.dumps(event.decisions), int(event.deferred), json.dumps(event.held)


def find_decision(together: Together, event: str, decision: str) -> Found:
    """The decision of an event, in the client's words."""
    try:
        return together.find(decision)
    except LookupError:
        raise LookupError(f"event {event!r} is not known, or was removed") from None


def decided(together: Together, event: str, name: str) -> tuple[str, dict[str, float]]:
    """The action of a decision in the log, and the probabilities of all."""
    row = find_decision(together, event, name).row
    names = read_identifiers(row.actions, together.graph(row.graph).n_actions).values
    probabilities = numbers(row.probabilities, FLOAT).tolist()
    return str(names[row.action]), dict(zip(map(str, names), probabilities, strict=True))
