"""What a log must hold after all: everything that was acknowledged, once, and nothing else."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crowd import Client, Made

from graphcb import DecisionLog
from graphcb.decisions import replay, verify
from graphcb.decisions.records import read_checkpoints
from graphcb.saving import to_bytes

_LEFT = "SELECT 1 FROM graphcb_inbox UNION ALL SELECT 1 FROM graphcb_inbox_feedbacks"


def findings(url: str, clients: Sequence[Client]) -> list[str]:
    """What is wrong with a log, whose processes have all stopped."""
    made: dict[str, Made] = {}
    found = [text for one in clients for text in one.wrong]
    for one in clients:
        found += [f"{name}: given to two clients" for name in one.made if name in made]
        made.update(one.made)
    n_failed = sum(one.n_unanswered for one in clients)
    with DecisionLog(url) as log:
        found += compare(log, made, n_failed)
        found += _last_state(log)
    return [*found, *verify(url)]


def compare(log: DecisionLog, made: dict[str, Made], n_failed: int) -> Iterator[str]:
    """What a log has that differs from all that was acknowledged."""
    left, n_others, seen = dict(made), 0, set()
    for row in log:
        if row.decision_id in seen:
            yield f"{row.decision_id}: in the log twice"
        seen.add(row.decision_id)
        known = left.pop(row.decision_id, None)
        if known is None:
            n_others += 1
            if row.feedback is not None:
                yield f"{row.decision_id}: has feedback, but nobody knows of it"
            continue
        yield from _differences(row, known)
    yield from (f"{name}: acknowledged, and not in the log" for name in left)
    if n_others > n_failed:
        yield f"{n_others} decisions that nobody got, but only {n_failed} requests failed"


def _differences(row: Any, made: Made) -> Iterator[str]:
    """What a decision of the log and its feedback have that is not what was acknowledged."""
    name, answer = row.decision_id, made.answer
    each = zip(row.actions, row.probabilities.tolist(), strict=True)
    probabilities = {action: p for action, p in each if p != 0.0}
    logged = row.action, probabilities, row.gamma, row.model_version
    told = answer["action"], answer["probabilities"], answer["gamma"], answer["model_version"]
    if logged != told:
        yield f"{name}: acknowledged {told}, but the log has {logged}"
    for part in made.parts:
        if not part.done:
            yield f"{name}: {part.losses} was not acknowledged"
        elif part.n_counted > 1 or (part.n_counted == 0 and not part.n_failed):
            yield f"{name}: {part.losses} was counted {part.n_counted} times"
    sent = _in_order(part.losses for part in made.parts)
    parts = () if row.feedback is None else row.feedback.parts
    stored = _in_order(dict(zip(p.actions, p.losses.tolist(), strict=True)) for p in parts)
    if sent != stored:
        yield f"{name}: feedback {sent}, but the log has {stored}"


def _in_order(parts: Iterable[dict[str, float]]) -> list[list[tuple[str, float]]]:
    return sorted(sorted(part.items()) for part in parts)


def _last_state(log: DecisionLog) -> Iterator[str]:
    """The agent that the last trainer stored must be the one that the log leads to."""
    state = replay(log)
    if log.storage.execute(_LEFT):
        yield "something is left in the inbox"
    for row in itertools.islice(read_checkpoints(log.storage), 1):
        if row.position == state.position:
            if row.agent != to_bytes(state.agent):
                yield "the agent of the trainer is not the one that the log leads to"
            return
    yield f"no checkpoint of event {state.position}, the last one"
