"""Feedback from the inbox on its way into the log, where the agent learns it."""

import warnings
from collections.abc import Sequence

from graphcb.decisions.inbox import Arrived, read_waiting, remove
from graphcb.decisions.incoming import Found, NewFeedback
from graphcb.decisions.parts import final, merge, read_part
from graphcb.decisions.tables import FeedbackRow, decision_id
from graphcb.decisions.together import Together

AT_ONCE = 1000  # rows that are read together


def take_in(together: Together, most: int | None = None) -> None:
    """Learn what processes beside the policy have put into the inbox of a log in SQLite.

    With `most`, no more than about that. A feedback that the agent refuses stays in the inbox: it
    was acknowledged. It is passed over until the log is opened again, and a warning says so.
    """
    pending, after, n_read = together.pending, 0, 0
    while most is None or n_read < most:
        page = read_waiting(together.storage, after, AT_ONCE)
        arrived = [one for one in page if one.number not in pending.set_aside]
        remove(together.storage, _learn_each(together, arrived))
        if len(page) < AT_ONCE:
            pending.has_mail = False
            return
        after, n_read = page[-1].number, n_read + len(page)


def _learn_each(together: Together, arrived: Sequence[Arrived]) -> list[int]:
    """The numbers of those that need not stay; a decision that was removed needs no feedback."""
    log_name, done = together.log_name, []
    names = [decision_id(log_name, one.row.decision, str(one.row.source)) for one in arrived]
    together.look_up(names)
    for one, name in zip(arrived, names, strict=True):
        try:
            found = together.find(name)
        except LookupError:
            done.append(one.number)
            continue
        try:
            learn_new(together, one.row, found)
        except (ValueError, TypeError, LookupError) as problem:
            together.pending.set_aside.add(one.number)
            warnings.warn(
                f"{together.storage.location}: the agent refused feedback for decision {name}, "
                f"which stays in the inbox: {problem}",
                RuntimeWarning,
                stacklevel=7,
            )
            if together.is_spoilt:
                together.finish()  # which refuses: the log is opened again, without this one
        else:
            done.append(one.number)
    return done


def learn_new(together: Together, row: FeedbackRow, found: Found) -> bool:
    """Learn what is new in a feedback for a decision; whether there was anything."""
    (decision, parts), location = found, together.storage.location
    graph = together.graph(decision.graph)
    indices, losses = read_part(row, graph, location)
    known = None
    if parts:
        before = merge(parts, graph, location)
        new = [i for i, k in enumerate(indices.tolist()) if k not in before or before[k].is_default]
        if not new:
            return False
        indices, losses, known = indices[new], losses[new], final(before)
    together.add(NewFeedback(decision, parts, indices, losses, known, None, row.received_at))
    return True
