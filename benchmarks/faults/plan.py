"""What a policy is asked to do in the campaign, and how its log must look afterwards.

A plan is a list of calls: decisions, one or several at a time, late feedbacks for them, in no
order, some never, and now and then another agent. Whatever happens in between, a log is a
beginning of the log of a run that was left alone, bit for bit, and it ends between two calls.
"""

import random
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from faults.tally import Finding
from graphcb import Decision, DecisionLog, FeedbackGraph, Policy, SquareCBG, graphs
from graphcb.decisions import Acknowledgement, Change, LoggedDecision, replay
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

N_ACTIONS, N_FEATURES, SEED, CHECKPOINT_EVERY = 5, 3, 7, 9
GRAPHS = (
    graphs.cops_and_robbers(N_ACTIONS),
    graphs.inventory(N_ACTIONS),
    graphs.random_self_aware(N_ACTIONS, 0.4, np.random.default_rng(1)),
)
Event = tuple[Any, ...]


class Call(NamedTuple):
    """A call whose first event has number `position`; `decisions` are made, or answered.

    `parts` say how much of its feedback each of them gets: all, some, or all after some.
    """

    kind: str
    position: int
    decisions: tuple[int, ...]
    parts: tuple[str, ...]

    @property
    def end(self) -> int:
        """The number of its last event."""
        return self.position + len(self.decisions) - 1


def agent() -> SquareCBG:
    return SquareCBG(LinearOGD(N_ACTIONS, N_FEATURES, learning_rate=0.05))


@cache
def plan(n_calls: int, seed: int) -> tuple[Call, ...]:
    rng, waiting, calls, position = random.Random(seed), list[tuple[int, str]](), list[Call](), 1
    for _ in range(n_calls):
        if position > 1 and rng.random() < 0.06:
            calls.append(Call("change", position, (position,), ("all",)))
            position += 1
            continue
        size = rng.choice((1, 1, 2, 3))
        if len(waiting) >= size and rng.random() < 0.5:
            chosen = [waiting.pop(rng.randrange(len(waiting))) for _ in range(size)]
            waiting += [(made, "the rest") for made, part in chosen if part == "some"]
            kind = "feedback"
        else:
            splits = ("all", "some") if position % len(GRAPHS) == 0 else ("all",)
            chosen = [(made, rng.choice(splits)) for made in range(position, position + size)]
            waiting += [one for one in chosen if rng.random() < 0.95]  # the others never
            kind = "decide"
        decisions, parts = zip(*chosen, strict=True)
        calls.append(Call(kind if size == 1 else f"{kind}_many", position, decisions, parts))
        position += size
    return tuple(calls)


def context(position: int) -> np.ndarray:
    return np.random.default_rng([5, position]).random(N_FEATURES)


def graph(call: Call) -> FeedbackGraph:
    return GRAPHS[call.position % len(GRAPHS)]


def losses(row: LoggedDecision, part: str = "all") -> dict[int, float]:
    """What a decision of a log reveals; of the first graph, always more than one loss."""
    values = np.random.default_rng([6, row.position]).random(N_ACTIONS)
    seen = np.flatnonzero(row.graph.row(row.action_index))
    seen = seen[: seen.size // 2] if part == "some" else seen
    return {int(action): float(values[action]) for action in seen}


def open_policy(location: str, **settings: Any) -> Policy:
    settings = {"seed": SEED, "checkpoint_every": CHECKPOINT_EVERY, **settings}
    try:
        return Policy(location, agent(), **settings)
    except ValueError as problem:
        if "`agent` must be left out" not in str(problem):
            raise
        return Policy(location, **settings)  # it has another one since


def rows_of(location: str) -> dict[int, LoggedDecision]:
    """The decisions of a log by position, read as any other program would."""
    with DecisionLog(location) as log:
        return {row.position: row for row in log}


def make(
    policy: Policy, call: Call, rows: dict[int, LoggedDecision]
) -> list[Decision] | list[Acknowledgement] | list[Change]:
    """Make one call; `rows` are those of the log, for the names and actions of decisions."""
    if call.kind == "decide":
        return [policy.decide(context(call.position), graph(call))]
    if call.kind == "change":
        return [policy.change(agent=agent(), note=str(call.position))]
    if call.kind == "decide_many":
        return policy.decide_many(map(context, call.decisions), graph(call))
    if missing := set(call.decisions) - set(rows):
        raise Finding("lost", f"the decisions {missing}, which were made, are not in the log")
    both = zip(call.decisions, call.parts, strict=True)
    answers = {rows[made].decision_id: losses(rows[made], part) for made, part in both}
    if call.kind == "feedback":
        return [policy.feedback(*next(iter(answers.items())))]
    return policy.feedback_many(answers)


def next_call(calls: Sequence[Call], n_events: int) -> Call | None:
    """The call that follows `n_events` events, None after the last."""
    for call in calls:
        if call.position == n_events + 1:
            return call
        if call.position > n_events:
            raise Finding("confused", f"event {n_events} is the last, in the middle of a call")
    if n_events != calls[-1].end:
        raise Finding("confused", f"the log has {n_events} events, the plan {calls[-1].end}")
    return None


def events_of(location: str) -> dict[int, Event]:
    """All events by position, as plain values without times and names."""
    found: dict[int, Event] = {}
    with DecisionLog(location) as log:
        for row in log:
            entries = [(row.position, _decision(row))]
            for part in () if row.feedback is None else row.feedback.parts:
                values = part.action_indices.tobytes(), part.losses.tobytes()
                entries.append((part.position, ("feedback", row.position, *values)))
            for position, event in entries:
                if position in found:
                    raise Finding("confused", f"event {position} is in the log twice")
                found[position] = event
        for version in list(log.versions)[1:]:
            if version.position in found:
                raise Finding("confused", f"event {version.position} is in the log twice")
            found[version.position] = "change", version.note
        if len(found) != log.n_events:
            raise Finding("confused", f"{log.n_events} events, and {len(found)} to be read")
    return found


def _decision(row: LoggedDecision) -> Event:
    bits = row.context.tobytes(), row.probabilities.tobytes()
    return "decide", row.graph.to_json(), row.action_index, *bits, row.gamma, row.model_version


class Reference(NamedTuple):
    """A run of a plan that was left alone."""

    calls: tuple[Call, ...]
    events: dict[int, Event]
    model: bytes


def run_alone(location: str, calls: tuple[Call, ...]) -> Reference:
    """Play a whole plan without a fault."""
    with open_policy(location) as policy:
        for call in calls:
            make(policy, call, rows_of(location) if "feedback" in call.kind else {})
        model = to_bytes(policy.agent)
    return Reference(calls, events_of(location), model)


def check(location: str, reference: Reference, acknowledged: Sequence[str]) -> int:
    """The number of events of a log that is as it must be, or a `Finding`."""
    found = events_of(location)
    names = {row.position: row.decision_id for row in rows_of(location).values()}
    for position, *rest in (line.split() for line in acknowledged):
        event = found.get(int(position))
        if event is None:
            raise Finding("lost", f"acknowledged and not in the log: {position} {rest}")
        if event[0] == "decide" and names[int(position)] != rest[-1]:
            raise Finding("confused", f"{rest[-1]} was acknowledged, {names[int(position)]} logged")
        if _in_words(event) != rest[: len(_in_words(event))]:
            raise Finding("confused", f"acknowledged {rest}, logged {_in_words(event)}")
    if found != {position: reference.events[position] for position in range(1, len(found) + 1)}:
        raise Finding("confused", "the log differs from the run that was left alone")
    next_call(reference.calls, len(found))
    return len(found)


def acknowledgement(
    call: Call, answers: Sequence[Decision | Acknowledgement | Change]
) -> list[str]:
    """What the caller of a call was told, one line per event; of feedback not counted nothing."""
    lines = []
    for position, answer, made in zip(
        range(call.position, call.end + 1), answers, call.decisions, strict=True
    ):
        if isinstance(answer, Decision):
            probability = answer.probability.hex()
            words = f"decide {answer.action_index} {probability} {answer.decision_id}"
            lines.append(f"{position} {words}")
        elif isinstance(answer, Change):
            lines.append(f"{position} change {answer.version.note}")
        elif answer.counted:
            lines.append(f"{position} feedback {made}")
    return lines


def _in_words(event: Event) -> list[str]:
    if event[0] in ("feedback", "change"):
        return [event[0], str(event[1])]
    probability = float(np.frombuffer(event[4])[event[2]])
    return ["decide", str(event[2]), probability.hex()]


def check_model(location: str, reference: Reference) -> None:
    """Replay a whole log: each decision comes out the same, and so does the model at the end."""
    with DecisionLog(location) as log:
        state = replay(log)
        if log.n_events == reference.calls[-1].end and to_bytes(state.agent) != reference.model:
            raise Finding("confused", "the model differs from that of the run left alone")
