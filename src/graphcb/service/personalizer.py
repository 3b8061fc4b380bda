"""Azure Personalizer's calls, for clients that only change the address.

Rank is a decision and reward its feedback: a rank without an event of its own gets the decision's
name. Where the problem says that actions come with each round, their features are used; where it
has fixed actions, these are known by name. Of several slots each is a decision of its own, made
in order among the actions that are left.
"""

from functools import partial
from typing import Any

import msgspec

from graphcb.decisions.encoding import FLOAT, numbers, read_identifiers
from graphcb.decisions.parts import merge
from graphcb.decisions.together import NewRound, Together
from graphcb.problems import Problem
from graphcb.service.desk import Desk
from graphcb.service.events import Event, Events
from graphcb.service.guards import RequestLimits
from graphcb.service.personalizer_requests import (
    Features,
    RankableAction,
    Slot,
    SlotsRequest,
    read_rank,
    read_reward,
    read_slots,
    read_slots_reward,
)
from graphcb.service.requests import check_size, count_features
from graphcb.service.routes import Answer, Call, Route

PREFIXES = ("", "/v1.0", "/v1.1-preview.1", "/v1.1-preview.2", "/v1.1-preview.3")
_NOTHING = b""


def routes(desk: Desk, limits: RequestLimits) -> list[Route]:
    """The paths of all versions of the clients."""
    calls = _Calls(desk, limits)
    found = []
    for prefix in PREFIXES:
        for slots, rank, reward in (
            ("", calls.rank, calls.reward),
            ("/multislot", calls.rank_slots, calls.reward_slots),
        ):
            base = f"/personalizer{prefix}{slots}"
            event = f"{base}/events/{{id}}"
            found += [
                Route("POST", f"{base}/rank", "decide", rank, has_body=True),
                Route("POST", f"{event}/reward", "feedback", reward, has_body=True),
                Route("POST", f"{event}/activate", "feedback", calls.activate),
            ]
    return found


class _Calls:
    """The handlers of the paths above."""

    def __init__(self, desk: Desk, limits: RequestLimits) -> None:
        self._desk, self._limits = desk, limits

    @property
    def _problem(self) -> Problem:
        return self._desk.problem

    async def rank(self, call: Call) -> Answer:
        asked = read_rank(call.body)
        features = self._features(asked.actions)
        excluded = set(asked.excluded_actions or ())
        left = {name: value for name, value in features.items() if name not in excluded}
        context = self._merged("contextFeatures", asked.context_features)
        one = self._round(context, left)
        job = partial(_rank, one, asked.event_id, asked.defer_activation, list(features))
        return Answer(201, await self._desk.ask(job))

    async def rank_slots(self, call: Call) -> Answer:
        asked = read_slots(call.body)
        check_size("slots", len(asked.slots), self._limits.batch)
        features = self._features(asked.actions)
        context = self._merged("contextFeatures", asked.context_features)
        slots: list[tuple[Slot, dict[str, Any]]] = []
        for slot in asked.slots:
            own = self._merged(f"features of slot {slot.id!r}", slot.features)
            slots.append((slot, {**context, "slot": {"id": slot.id, **own}}))
        if not slots or len({slot.id for slot, _ in slots}) < len(slots):
            raise ValueError("`slots` must be at least one, with distinct ids")
        job = partial(self._rank_slots, slots, features, asked)
        return Answer(201, await self._desk.ask(job))

    async def reward(self, call: Call) -> Answer:
        values = {"": read_reward(call.body).value}
        return await self._reward(call.name, values)

    async def reward_slots(self, call: Call) -> Answer:
        asked = read_slots_reward(call.body).reward
        return await self._reward(call.name, {one.slot_id: one.value for one in asked})

    async def activate(self, call: Call) -> Answer:
        await self._desk.ask(partial(_activate, _as_name(call.name)))
        return Answer(204, _NOTHING)

    async def _reward(self, name: str, values: dict[str, float]) -> Answer:
        if self._problem.feedback != "rewards":
            raise ValueError(
                'the problem must have feedback = "rewards" for Personalizer\'s clients, got '
                f"{self._problem.feedback!r}"
            )
        self._problem.check_values(list(values.values()), list(values))
        await self._desk.ask(partial(_reward, _as_name(name), values))
        return Answer(204, _NOTHING)

    def _rank_slots(
        self,
        slots: list[tuple[Slot, Any]],
        features: dict[str, Any],
        asked: SlotsRequest,
        together: Together,
    ) -> bytes:
        events = Events(together)
        known = None if asked.event_id is None else events.find(asked.event_id)
        if known is None:
            made: dict[str, str] = {}
            chosen: dict[str, Any] = {}
            left = dict(features)
            with together.all_or_none():
                for slot, context in slots:
                    excluded = set(slot.excluded_actions or ())
                    open_to = {n: f for n, f in left.items() if n not in excluded}
                    decision = together.decide(*self._round(context, open_to))
                    made[slot.id], chosen[slot.id] = decision.decision_id, decision.action
                    left.pop(str(decision.action))
            known = Event(asked.event_id or next(iter(made.values())), made, asked.defer_activation)
            events.add(known)
        else:
            chosen = {slot: _shown(together, name)[0] for slot, name in known.decisions.items()}
        content = [{"id": slot, "rewardActionId": action} for slot, action in chosen.items()]
        return msgspec.json.encode({"eventId": known.name, "slots": content})

    def _round(self, context: dict[str, Any], actions: dict[str, Any]) -> NewRound:
        if not actions:
            raise ValueError("`actions` must have at least one that is not excluded, got none")
        return NewRound(
            context, None, list(actions) if self._problem.has_fixed_actions else actions
        )

    def _features(self, actions: list[RankableAction]) -> dict[str, Any]:
        check_size("actions", len(actions), self._limits.actions)
        found = {one.id: self._merged(f"features of {one.id!r}", one.features) for one in actions}
        if len(found) < len(actions):
            raise ValueError("`actions` must have distinct ids")
        return found

    def _merged(self, what: str, parts: Features | None) -> dict[str, Any]:
        """A list of objects as one; a name that comes again gets the number of its object."""
        merged: dict[str, Any] = {}
        for place, part in enumerate(parts or ()):
            for name, value in part.items():
                merged[f"{place}.{name}" if name in merged else name] = value
        check_size(what, count_features(merged), self._limits.features)
        return merged


def _rank(
    one: NewRound, name: str | None, deferred: bool, order: list[str], together: Together
) -> bytes:
    events = Events(together) if name is not None or deferred else None
    known = events.find(name) if events is not None and name is not None else None
    if known is not None:
        action, probabilities = _shown(together, known.decisions.get("", known.name))
        event = known.name
    else:
        decision = together.decide(*one)
        action = str(decision.action)
        probabilities = dict(zip(map(str, decision.actions), decision.probabilities, strict=True))
        event = decision.decision_id if name is None else name
        if events is not None:
            events.add(Event(event, {"": decision.decision_id}, deferred))
    best_first = sorted(order, key=lambda n: (n != action, -probabilities.get(n, 0.0)))
    ranking = [{"id": n, "probability": probabilities.get(n, 0.0)} for n in best_first]
    return msgspec.json.encode({"ranking": ranking, "eventId": event, "rewardActionId": action})


def _reward(name: str, values: dict[str, float], together: Together) -> None:
    """Learn a reward once; the first one counts, as by Personalizer's default."""
    events = Events(together)
    event = events.find(name)
    decisions = {"": name} if event is None else event.decisions
    for slot in values:
        if slot not in decisions:
            raise LookupError(f"event {name!r} has no slot {slot!r}")
    if event is not None and event.deferred:
        events.change(event._replace(held={**values, **event.held}))
    else:
        _feed(together, {decisions[slot]: value for slot, value in values.items()})


def _activate(name: str, together: Together) -> None:
    events = Events(together)
    event = events.find(name)
    if event is None:
        together.find(name)  # refuses what is no decision either
    elif event.deferred:
        _feed(together, {event.decisions[slot]: value for slot, value in event.held.items()})
        events.change(event._replace(deferred=False, held={}))


def _feed(together: Together, rewards: dict[str, float]) -> None:
    new: dict[str, dict[str, float]] = {}
    for name, value in rewards.items():
        found = together.find(name)
        graph = together.graph(found.row.graph)
        known = merge(found.parts, graph, together.storage.location).get(found.row.action)
        if known is None or known.is_default:
            new[name] = {_shown(together, name)[0]: value}
    together.feedback_many(new)


def _shown(together: Together, name: str) -> tuple[str, dict[str, float]]:
    """The action of a decision in the log, and the probabilities of all."""
    row = together.find(name).row
    names = read_identifiers(row.actions, together.graph(row.graph).n_actions).values
    probabilities = numbers(row.probabilities, FLOAT).tolist()
    return str(names[row.action]), dict(zip(map(str, names), probabilities, strict=True))


def _as_name(name: str) -> str:
    if "\x00" in name or len(name) > 256:
        raise LookupError("an event must have a name of at most 256 characters, none of them NUL")
    return name
