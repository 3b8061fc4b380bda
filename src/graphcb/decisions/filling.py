"""Decisions that have waited long enough for feedback: which they are, and what they get."""

import math
from collections.abc import Collection
from typing import NamedTuple

from graphcb.decisions import records
from graphcb.decisions.encoding import read_identifiers
from graphcb.decisions.tables import DecisionRow
from graphcb.decisions.writer import Pending

AT_A_TIME = 1000


class Due(NamedTuple):
    """Decisions whose time is over and their losses or rewards; `waited` is the last one seen."""

    rows: list[tuple[DecisionRow, float]]
    waited: int
    is_done: bool


def find_due(pending: Pending, now: float) -> Due:
    """The next decisions without any feedback whose waiting time is over, in their order.

    Only those whose action surely reveals its own outcome get one, unless that is known without
    feedback. The search goes on where it stopped, and stops at the first decision that is still to
    wait. One that was stamped later than now counts as made when the one before it was.
    """
    storage, versions = pending.storage, pending.versions
    sql = (
        "SELECT position, made_at, snapshot FROM graphcb_decisions WHERE position > ? "
        f"ORDER BY position LIMIT {AT_A_TIME}"
    )
    found = storage.execute(sql, (pending.waited,))
    waited, due, answered = pending.waited, {}, set(pending.answered)
    before = -math.inf
    for position, made_at, snapshot in found:
        problem = versions.at(position if snapshot is None else snapshot).problem
        defaults = None if problem is None else problem.defaults
        if problem and defaults and defaults.waiting is not None and defaults.value is not None:
            if made_at > now:
                made_at = before  # the clock was ahead: it was made no later than those around it
            if made_at + defaults.waiting > now:
                break
            if pending.counts.of(position) == 0 and position not in answered:
                due[position] = defaults.value, problem.known or {}
        waited, before = position, min(max(before, made_at), now)
    is_done = len(found) < AT_A_TIME or waited < found[-1][0]
    rows = []
    for row in records.read_decisions(storage, list(due)):
        value, known = due[row.position]
        if _shows_itself(pending, row, known):
            rows.append((row, value))
    return Due(rows, waited, is_done)


def _shows_itself(pending: Pending, row: DecisionRow, known: Collection[str]) -> bool:
    """Whether playing the action surely revealed its own outcome, which was not known before."""
    graph = pending.graphs.read(row.graph)
    if graph.row(row.action)[row.action] != 1.0:
        return False
    names = read_identifiers(row.actions, graph.n_actions).values if known else ()
    return not known or str(names[row.action]) not in known
