"""Azure Personalizer's calls, for clients that only change the address.

Rank is a decision and reward its feedback: a rank without an event ID gets the decision's. If the
problem says that actions come with each round, their features are used; fixed actions are known
by name. Each of several slots is a decision of its own, made in order among the actions that are
left.
"""

from typing import Any

from graphcb.decisions.encoding import FLOAT, numbers, read_identifiers
from graphcb.decisions.parts import merge
from graphcb.decisions.together import NewRound, Together
from graphcb.problems import Problem
from graphcb.service.admission import RequestLimits
from graphcb.service.personalizer_events import Event, Events
from graphcb.service.personalizer_messages import (
    ChosenAction,
    Features,
    RankableAction,
    RankAnswer,
    RankedAction,
    RankRequest,
    RewardRequest,
    SlotsAnswer,
    SlotsRequest,
    SlotsRewardRequest,
)
from graphcb.service.requests import action_examples, check_size, count_features, decision_example
from graphcb.service.routing import Call, Handler, Route

VERSIONS = ("/v1.0", "", "/v1.1-preview.1", "/v1.1-preview.2", "/v1.1-preview.3")


async def _rank(call: Call) -> RankAnswer:
    asked, limits = call.body, call.service.limits
    features = _features(asked.actions, limits)
    excluded = set(asked.excluded_actions or ())
    left = {name: value for name, value in features.items() if name not in excluded}
    context = _merged("contextFeatures", asked.context_features, limits)
    one = _round(call.service.desk.problem, context, left)

    def rank(together: Together) -> RankAnswer:
        deferred = asked.defer_activation
        events = Events(together) if asked.event_id is not None or deferred else None
        known = events.find(asked.event_id) if events is not None and asked.event_id else None
        if known is not None:
            event = known.name
            action, probabilities = _decided(together, known.decisions.get("", event))
        else:
            made = together.decide(one.context, one.graph, one.actions)
            event, action = asked.event_id or made.decision_id, str(made.action)
            probabilities = dict(zip(map(str, made.actions), made.probabilities, strict=True))
            if events is not None:
                events.add(Event(event, {"": made.decision_id}, deferred))
        best_first = sorted(features, key=lambda n: (n != action, -probabilities.get(n, 0.0)))
        ranking = [RankedAction(n, probabilities.get(n, 0.0)) for n in best_first]
        return RankAnswer(ranking, event, action)

    return await call.service.desk.ask(rank)


async def _rank_slots(call: Call) -> SlotsAnswer:
    asked, limits = call.body, call.service.limits
    problem = call.service.desk.problem
    check_size("slots", len(asked.slots), limits.batch)
    features = _features(asked.actions, limits)
    shared = _merged("contextFeatures", asked.context_features, limits)
    contexts: dict[str, dict[str, Any]] = {}
    for slot in asked.slots:
        own = _merged(f"features of slot {slot.id!r}", slot.features, limits)
        contexts[slot.id] = {**shared, "slot": {"id": slot.id, **own}}
    if not contexts or len(contexts) < len(asked.slots):
        raise ValueError("`slots` must be at least one, with distinct ids")

    def rank(together: Together) -> SlotsAnswer:
        events = Events(together)
        known = None if asked.event_id is None else events.find(asked.event_id)
        if known is None:
            made: dict[str, str] = {}
            chosen: dict[str, str] = {}
            with together.all_or_none():
                for slot in asked.slots:
                    out = {*(slot.excluded_actions or ()), *chosen.values()}
                    left = {name: value for name, value in features.items() if name not in out}
                    one = _round(problem, contexts[slot.id], left)
                    decision = together.decide(one.context, one.graph, one.actions)
                    made[slot.id], chosen[slot.id] = decision.decision_id, str(decision.action)
            known = Event(asked.event_id or next(iter(made.values())), made, asked.defer_activation)
            events.add(known)
        else:
            chosen = {slot: _decided(together, name)[0] for slot, name in known.decisions.items()}
        return SlotsAnswer(known.name, [ChosenAction(*pair) for pair in chosen.items()])

    return await call.service.desk.ask(rank)


async def _reward(call: Call) -> None:
    await _take_rewards(call, {"": call.body.value})


async def _reward_slots(call: Call) -> None:
    await _take_rewards(call, {one.slot_id: one.value for one in call.body.reward})


async def _take_rewards(call: Call, values: dict[str, float]) -> None:
    """Learn rewards by slot, now or once the event is active."""
    problem, name = call.service.desk.problem, _event_name(call)
    if problem.feedback != "rewards":
        raise ValueError(
            'the problem must have feedback = "rewards" for Personalizer\'s clients, got '
            f"{problem.feedback!r}"
        )
    problem.check_values(list(values.values()), list(values))

    def learn(together: Together) -> None:
        events = Events(together)
        event = events.find(name)
        decisions = {"": name} if event is None else event.decisions
        for slot in values:
            if slot not in decisions:
                raise LookupError(f"event {name!r} has no slot {slot!r}")
        if event is not None and event.deferred:
            events.change(event._replace(held={**values, **event.held}))
        else:
            _learn(together, {decisions[slot]: value for slot, value in values.items()})

    await call.service.desk.ask(learn)


async def _activate(call: Call) -> None:
    name = _event_name(call)

    def activate(together: Together) -> None:
        events = Events(together)
        event = events.find(name)
        if event is None:
            together.find(name)  # refuses a name that is not a decision's either
        elif event.deferred:
            _learn(together, {event.decisions[slot]: value for slot, value in event.held.items()})
            events.change(event._replace(deferred=False, held={}))

    await call.service.desk.ask(activate)


def _learn(together: Together, rewards: dict[str, float]) -> None:
    """Learn the reward of each decision that has none: the first one counts."""
    new: dict[str, dict[str, float]] = {}
    for name, value in rewards.items():
        found = together.find(name)
        graph = together.graph(found.row.graph)
        known = merge(found.parts, graph, together.storage.location).get(found.row.action)
        if known is None or known.is_default:
            new[name] = {_decided(together, name)[0]: value}
    together.feedback_many(new)


def _decided(together: Together, name: str) -> tuple[str, dict[str, float]]:
    """The action of a decision in the log, and the probabilities of all."""
    row = together.find(name).row
    names = read_identifiers(row.actions, together.graph(row.graph).n_actions).values
    probabilities = numbers(row.probabilities, FLOAT).tolist()
    return str(names[row.action]), dict(zip(map(str, names), probabilities, strict=True))


def _round(problem: Problem, context: dict[str, Any], actions: dict[str, Any]) -> NewRound:
    if not actions:
        raise ValueError("`actions` must have at least one that is not excluded, got none")
    return NewRound(context, None, list(actions) if problem.has_fixed_actions else actions)


def _features(actions: list[RankableAction], limits: RequestLimits) -> dict[str, Any]:
    check_size("actions", len(actions), limits.actions)
    found = {one.id: _merged(f"features of {one.id!r}", one.features, limits) for one in actions}
    if len(found) < len(actions):
        raise ValueError("`actions` must have distinct ids")
    return found


def _merged(what: str, parts: Features | None, limits: RequestLimits) -> dict[str, Any]:
    """Objects merged into one; a name that is taken gets the number of its object in front."""
    merged: dict[str, Any] = {}
    for place, part in enumerate(parts or ()):
        for name, value in part.items():
            merged[f"{place}.{name}" if name in merged else name] = value
    check_size(what, count_features(merged), limits.features)
    return merged


def _event_name(call: Call) -> str:
    if "\x00" in call.name or len(call.name) > 256:
        raise LookupError("an event must have a name of at most 256 characters, none of them NUL")
    return call.name


def _rank_example(problem: Problem) -> dict[str, Any]:
    actions = [{"id": name, "features": [{"topic": name}]} for name in action_examples(problem)]
    return {"contextFeatures": [decision_example(problem)["context"]], "actions": actions}


def _slots_example(problem: Problem) -> dict[str, Any]:
    return {**_rank_example(problem), "slots": [{"id": "top", "baselineAction": "first"}]}


def _reward_example(problem: Problem) -> dict[str, Any]:
    return {"value": problem.scale[1]}


def _slots_reward_example(problem: Problem) -> dict[str, Any]:
    return {"reward": [{"slotId": "top", "value": problem.scale[1]}]}


def _post(path: str, scope: str, handler: Handler, summary: str, **more: Any) -> Route:
    paths = [f"/personalizer{version}{path}" for version in VERSIONS]
    more = {"status": 204, **more}
    return Route("POST", paths[0], scope, handler, summary, also_at=tuple(paths[1:]), **more)


ROUTES = (
    _post(
        "/rank", "decide", _rank, "Personalizer: rank actions",
        takes=RankRequest, example=_rank_example, gives=(RankAnswer,), status=201,
    ),
    _post(
        "/events/{id}/reward", "feedback", _reward, "Personalizer: reward an event",
        takes=RewardRequest, example=_reward_example,
    ),
    _post("/events/{id}/activate", "feedback", _activate, "Personalizer: activate an event"),
    _post(
        "/multislot/rank", "decide", _rank_slots, "Personalizer: rank actions for slots",
        takes=SlotsRequest, example=_slots_example, gives=(SlotsAnswer,), status=201,
    ),
    _post(
        "/multislot/events/{id}/reward", "feedback", _reward_slots, "Personalizer: reward slots",
        takes=SlotsRewardRequest, example=_slots_reward_example,
    ),
    _post(
        "/multislot/events/{id}/activate", "feedback", _activate,
        "Personalizer: activate an event with slots",
    ),
)  # fmt: skip
