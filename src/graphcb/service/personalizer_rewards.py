"""Rewards of Personalizer's events: learned at once, once the event is active, or as a sum."""

import contextlib
import time

from graphcb.decisions.parts import merge
from graphcb.decisions.together import Together
from graphcb.problems import Problem
from graphcb.service.personalizer_events import (
    Event,
    Events,
    claim_of,
    decided,
    find_decision,
    owner_of,
)
from graphcb.service.routing import Call

SUMS_AT_ONCE = 200  # events whose rewards are learned in one transaction


async def reward(call: Call) -> None:
    """Take the reward of an event."""
    await _take_rewards(call, {"": call.body.value})


async def reward_slots(call: Call) -> None:
    """Take the rewards of some slots of an event."""
    await _take_rewards(call, {one.slot_id: one.value for one in call.body.reward})


async def _take_rewards(call: Call, values: dict[str, float]) -> None:
    """Learn rewards by slot: now, once the event is active, or as a sum after waiting."""
    problem, name = call.service.desk.problem, _event_name(call)
    owner = owner_of(call.client)
    if problem.feedback != "rewards":
        raise ValueError(
            'the problem must have feedback = "rewards" for Personalizer\'s clients, got '
            f"{problem.feedback!r}"
        )
    for value in values.values():
        if not _is_within(value, problem):
            low, high = problem.scale
            raise ValueError(f"`value` must be between {low:g} and {high:g}, got {value:g}")

    def learn(together: Together) -> None:
        events = Events(together)
        event = events.find(owner, name)
        decisions = {"": name} if event is None else event.decisions
        for slot in values:
            if slot not in decisions:
                raise LookupError(f"event {name!r} has no slot {slot!r}")
        if event is not None and adds_up(problem) and not _is_over(problem, event):
            events.change(event._replace(held=_added(event, values, problem)))
        elif event is not None and event.deferred:
            events.change(event._replace(held={**values, **event.held}))
        else:
            _learn(together, name, {decisions[slot]: value for slot, value in values.items()})

    await call.service.desk.ask(learn, claims=claim_of(owner, name))


async def activate(call: Call) -> None:
    """Let the model learn from an event whose activation was deferred."""
    name, owner, problem = _event_name(call), owner_of(call.client), call.service.desk.problem

    def activate_it(together: Together) -> None:
        events = Events(together)
        event = events.find(owner, name)
        if event is None:
            find_decision(together, name, name)  # refuses a name that is not a decision's either
        elif event.deferred and adds_up(problem) and not _is_over(problem, event):
            events.change(event._replace(deferred=False))
        elif event.deferred:
            learn_held(together, events, event._replace(deferred=False))

    await call.service.desk.ask(activate_it, claims=claim_of(owner, name))


def learn_sums(together: Together) -> bool:
    """Learn the sums of rewards of events that have waited long enough; whether that was all.

    Called now and then. A sum that comes after the default takes its place. None waits any longer
    once the problem has changed to one that adds nothing up.
    """
    problem = together.version.problem
    waiting = _waiting(problem) if problem is not None and adds_up(problem) else 0.0
    events = Events(together)
    due = events.holding(time.time() - waiting, SUMS_AT_ONCE)
    for event in due:
        learn_held(together, events, event)
    return len(due) < SUMS_AT_ONCE


def learn_held(together: Together, events: Events, event: Event) -> None:
    """Learn the rewards that an event holds back, if its decisions are still there."""
    with contextlib.suppress(LookupError):
        rewards = {event.decisions[slot]: value for slot, value in event.held.items()}
        _learn(together, event.name, rewards)
    events.change(event._replace(held={}))


def adds_up(problem: Problem) -> bool:
    """Whether several rewards of an event count as their sum."""
    return problem.defaults is not None and problem.defaults.adds_up


def _waiting(problem: Problem) -> float:
    return (None if problem.defaults is None else problem.defaults.waiting) or 0.0


def _is_over(problem: Problem, event: Event) -> bool:
    """Whether an event has waited as long as rewards are added up."""
    return time.time() > event.made_at + _waiting(problem)


def _added(event: Event, values: dict[str, float], problem: Problem) -> dict[str, float]:
    """The sums of rewards by slot, which stay within the range of the problem."""
    sums = {slot: event.held.get(slot, 0.0) + value for slot, value in values.items()}
    for one in sums.values():
        if not _is_within(one, problem):
            low, high = problem.scale
            raise ValueError(
                f"the rewards of event {event.name!r} must add up to a number between {low:g} and "
                f"{high:g}, got {one:g}"
            )
    return {**event.held, **sums}


def _learn(together: Together, event: str, rewards: dict[str, float]) -> None:
    """Learn the reward of each decision that has none: the first one counts."""
    new: dict[str, dict[str, float]] = {}
    for name, value in rewards.items():
        found = find_decision(together, event, name)
        graph = together.graph(found.row.graph)
        known = merge(found.parts, graph, together.storage.location).get(found.row.action)
        if known is None or known.is_default:
            new[name] = {decided(together, event, name)[0]: value}
    together.feedback_many(new)


def _event_name(call: Call) -> str:
    if "\x00" in call.name or len(call.name) > 256:
        raise LookupError("an event must have a name of at most 256 characters, none of them NUL")
    return call.name


def _is_within(value: float, problem: Problem) -> bool:
    """Whether a reward is in the range of the problem, if it has one."""
    low, high = problem.scale
    return problem.range is None or low <= value <= high
