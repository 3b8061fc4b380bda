"""The events of Personalizer's clients: names for decisions, in a table beside the log."""

import json
from typing import NamedTuple

from graphcb.decisions.together import Together

_TABLE = (
    "CREATE TABLE IF NOT EXISTS graphcb_events (event TEXT PRIMARY KEY, decisions TEXT NOT NULL, "
    "deferred {whole} NOT NULL, held TEXT NOT NULL)"
)


class Event(NamedTuple):
    """A client's name for decisions by slot; the slot is "" where there are no slots.

    While it is `deferred`, rewards are `held` back and the model does not learn from them.
    """

    name: str
    decisions: dict[str, str]
    deferred: bool = False
    held: dict[str, float] = {}  # noqa: RUF012 - nothing is ever put into it


class Events:
    """The events of a log, inside an open transaction."""

    def __init__(self, together: Together) -> None:
        self._storage = together.storage
        self._storage.execute(_TABLE.format(**self._storage.types._asdict()))

    def find(self, name: str) -> Event | None:
        """The event with this name, if a client has used it."""
        sql = "SELECT decisions, deferred, held FROM graphcb_events WHERE event = ?"
        for decisions, deferred, held in self._storage.execute(sql, (name,)):
            return Event(name, json.loads(decisions), bool(deferred), json.loads(held))
        return None

    def add(self, event: Event) -> None:
        """Remember a new event."""
        sql = "INSERT INTO graphcb_events (decisions, deferred, held, event) VALUES (?, ?, ?, ?)"
        self._storage.execute(sql, _row(event))

    def change(self, event: Event) -> None:
        """Store what has changed."""
        sql = "UPDATE graphcb_events SET decisions = ?, deferred = ?, held = ? WHERE event = ?"
        self._storage.execute(sql, _row(event))


def _row(event: Event) -> tuple[str, int, str, str]:
    return json.dumps(event.decisions), int(event.deferred), json.dumps(event.held), event.name
