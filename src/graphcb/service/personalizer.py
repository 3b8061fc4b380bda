"""Azure Personalizer's calls, for clients that only change the address.

Rank is a decision and reward its feedback: a rank without an event ID gets the decision's. If the
problem says that actions come with each round, their features are used; fixed actions are known
by name. Each of several slots is a decision of its own, made in order among the actions that are
left.
"""

import time
from collections.abc import Collection
from typing import Any

from graphcb.decisions.decided import NewRound
from graphcb.decisions.together import Together
from graphcb.problems import Problem
from graphcb.service import personalizer_admin as admin
from graphcb.service import personalizer_evaluations as evaluations
from graphcb.service import requests
from graphcb.service.admission import RequestLimits
from graphcb.service.personalizer_events import Event, Events, claim_of, decided, owner_of
from graphcb.service.personalizer_messages import (
    ChosenAction,
    Features,
    RankableAction,
    RankAnswer,
    RankedAction,
    RankRequest,
    RewardRequest,
    Slot,
    SlotsAnswer,
    SlotsRequest,
    SlotsRewardRequest,
)
from graphcb.service.personalizer_rewards import activate, adds_up, reward, reward_slots
from graphcb.service.requests import action_examples, check_size, count_features, decision_example
from graphcb.service.routing import Call, Handler, Route
from graphcb.service.work import LONG_BATCH, note_rounds

VERSIONS = ("/v1.0", "", "/v1.1-preview.1", "/v1.1-preview.2", "/v1.1-preview.3")


async def _rank(call: Call) -> RankAnswer:
    asked, limits = call.body, call.service.limits
    features = _features(asked.actions, limits)
    left = _without(asked.excluded_actions, features)
    context = _merged("contextFeatures", asked.context_features, limits)
    problem, owner = call.service.desk.problem, owner_of(call.client)
    one = _round(problem, context, left)
    note_rounds(call, [one])

    def rank(together: Together) -> RankAnswer:
        deferred, name = asked.defer_activation, asked.event_id
        is_kept = name is not None or deferred or adds_up(problem)
        events = Events(together) if is_kept else None
        known = events.find(owner, name) if events is not None and name else None
        if known is not None:
            event = known.name
            action, probabilities = _ranked(together, known, "", left)
        else:
            now = time.time()
            made = together.decide(one.context, one.graph, one.actions)
            event, action = name or made.decision_id, str(made.action)
            probabilities = dict(zip(map(str, made.actions), made.probabilities, strict=True))
            if events is not None:
                events.add(Event(owner, event, {"": made.decision_id}, deferred, made_at=now))
        best_first = sorted(features, key=lambda n: (n != action, -probabilities.get(n, 0.0)))
        ranking = [RankedAction(n, probabilities.get(n, 0.0)) for n in best_first]
        return RankAnswer(ranking, event, action)

    claims = claim_of(owner, asked.event_id)
    return await call.service.desk.ask(rank, claims=claims, client=call.client)


async def _rank_slots(call: Call) -> SlotsAnswer:
    asked, limits = call.body, call.service.limits
    problem, owner = call.service.desk.problem, owner_of(call.client)
    check_size("slots", len(asked.slots), limits.batch)
    features = _features(asked.actions, limits)
    shared = _merged("contextFeatures", asked.context_features, limits)
    contexts: dict[str, dict[str, Any]] = {}
    for slot in asked.slots:
        own = _merged(f"features of slot {slot.id!r}", slot.features, limits)
        contexts[slot.id] = {**shared, "slot": {"id": slot.id, **own}}
    if not contexts or len(contexts) < len(asked.slots):
        raise ValueError("`slots` must be at least one, with distinct ids")
    check_size("actions of all slots together", len(contexts) * len(features), limits.in_all)
    note_rounds(call, [_round(problem, context, features) for context in contexts.values()])

    def rank(together: Together) -> SlotsAnswer:
        events = Events(together)
        known = None if asked.event_id is None else events.find(owner, asked.event_id)
        if known is None:
            now, made = time.time(), dict[str, str]()
            chosen: dict[str, str] = {}
            with together.all_or_none():
                for slot in asked.slots:
                    left = _without(slot.excluded_actions, features, *chosen.values())
                    left = _baseline_first(problem, slot, left)
                    one = _round(problem, contexts[slot.id], left)
                    decision = together.decide(one.context, one.graph, one.actions)
                    made[slot.id], chosen[slot.id] = decision.decision_id, str(decision.action)
            name = asked.event_id or next(iter(made.values()))
            known = Event(owner, name, made, asked.defer_activation, made_at=now)
            events.add(known)
        else:
            chosen = {
                slot.id: _ranked(
                    together, known, slot.id, _without(slot.excluded_actions, features)
                )[0]
                for slot in asked.slots
            }
        return SlotsAnswer(known.name, [ChosenAction(*pair) for pair in chosen.items()])

    claims, is_long = claim_of(owner, asked.event_id), len(contexts) > LONG_BATCH
    return await call.service.desk.ask(rank, claims=claims, is_long=is_long, client=call.client)


def _ranked(
    together: Together, event: Event, slot: str, offered: Collection[str]
) -> tuple[str, dict[str, float]]:
    """What an event that is ranked again got, which must be among what is offered now."""
    if slot not in event.decisions:
        what = f"slot {slot!r}" if slot else "a rank without slots"
        raise ValueError(f"event {event.name!r} was ranked without {what}; use another eventId")
    action, probabilities = decided(together, event.name, event.decisions[slot])
    if action not in offered:
        raise ValueError(
            f"event {event.name!r} was ranked before and got {action!r}, which is not among the "
            "actions of this request; use another eventId"
        )
    return action, probabilities


def _without(excluded: list[str] | None, features: dict[str, Any], *taken: str) -> dict[str, Any]:
    out = {*(excluded or ()), *taken}
    return {name: value for name, value in features.items() if name not in out}


def _baseline_first(problem: Problem, slot: Slot, left: dict[str, Any]) -> dict[str, Any]:
    """The actions of a slot, that of its baseline first where the first one is the baseline."""
    first = slot.baseline_action
    if problem.baseline is None or not problem.baseline.is_first or not left:
        return left
    if first not in left:
        raise ValueError(
            f"`baselineAction` of slot {slot.id!r} must be an action that is not excluded and not "
            f"in another slot, got {first!r}"
        )
    return {first: left[first], **left}


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
    return _route("POST", path, scope, handler, summary, **{"status": 204, **more})


def _route(
    method: str, path: str, scope: str, handler: Handler, summary: str, **more: Any
) -> Route:
    paths = [f"/personalizer{version}{path}" for version in VERSIONS]
    return Route(method, paths[0], scope, handler, summary, also_at=tuple(paths[1:]), **more)


_NO_IMPORTANCES = (
    "feature importances are not jobs of this service; graphcb.evaluation.importances(log) has "
    "them, and GET /v1/decisions/{id}/explanation says why a decision was made"
)


def _settings_example(problem: Problem) -> dict[str, Any]:
    return {"name": "next", "arguments": requests.problem_example(problem)["toml"]}


def _evaluation_example(problem: Problem) -> dict[str, Any]:
    return {"name": "May", "startTime": "2024-05-01T00:00:00Z", "endTime": "2024-06-01T00:00:00Z"}


_SERVICE, _POLICY = "/configurations/service", "/configurations/policy"
_EVALUATION, _IMPORTANCE = "/evaluations/{id}", "/featureImportances/{id}"
ADMIN = (
    _route(
        "GET", _SERVICE, "read", admin.show_configuration, "Personalizer: its configuration",
        gives=(admin.Configuration,),
    ),
    _route(
        "PUT", _SERVICE, "admin", admin.change_configuration, "Personalizer: configure it",
        takes=admin.Configuration, example=lambda problem: {"explorationPercentage": 0.02},
        gives=(admin.Configuration,),
    ),
    _route(
        "GET", _POLICY, "read", admin.show_settings, "Personalizer: its learning settings",
        gives=(admin.LearningSettings,),
    ),
    _route(
        "PUT", _POLICY, "admin", admin.change_settings, "Personalizer: change learning settings",
        takes=admin.LearningSettings, example=_settings_example, gives=(admin.LearningSettings,),
    ),
    _route(
        "DELETE", _POLICY, "admin",
        admin.refused("there are no default settings here; return to a version by /v1/rollback"),
        "Personalizer: reset learning settings (refused)",
    ),
    _route(
        "POST", "/configurations/applyFromEvaluation", "admin",
        admin.refused("evaluations do not look for settings here; change the problem instead"),
        "Personalizer: apply settings from an evaluation (refused)",
    ),
    _route("GET", "/model", "admin", admin.export_model, "Personalizer: export the model"),
    _route(
        "PUT", "/model", "admin", admin.import_model, "Personalizer: import a model",
        takes=bytes, status=204,
    ),
    _route(
        "DELETE", "/model", "admin", admin.reset_model, "Personalizer: reset the model", status=204
    ),
    _route(
        "GET", "/model/properties", "read", admin.show_model, "Personalizer: age of the model",
        gives=(admin.ModelProperties,),
    ),
    _route(
        "GET", "/logs/properties", "read", admin.show_log, "Personalizer: times in the log",
        gives=(admin.LogProperties,),
    ),
    _route("DELETE", "/logs", "admin", admin.delete_log, "Personalizer: empty the log", status=204),
    _route(
        "PUT", _EVALUATION, "admin", evaluations.create_evaluation,
        "Personalizer: begin an evaluation",
        takes=evaluations.EvaluationRequest, example=_evaluation_example,
    ),
    _route(
        "GET", _EVALUATION, "read", evaluations.show_evaluation, "Personalizer: an evaluation"
    ),
    _route(
        "DELETE", _EVALUATION, "admin", evaluations.delete_evaluation,
        "Personalizer: delete an evaluation", status=204,
    ),
    _route(
        "GET", "/evaluations", "read", evaluations.list_evaluations, "Personalizer: evaluations"
    ),
    *(
        _route(
            method, path, "admin", admin.refused(_NO_IMPORTANCES),
            "Personalizer: feature importances (refused)",
        )
        for method, path in (
            ("GET", "/featureImportances"), ("GET", _IMPORTANCE),
            ("PUT", _IMPORTANCE), ("DELETE", _IMPORTANCE),
        )
    ),
)  # fmt: skip


ROUTES = (
    _post(
        "/rank", "decide", _rank, "Personalizer: rank actions",
        takes=RankRequest, example=_rank_example, gives=(RankAnswer,), status=201,
    ),
    _post(
        "/events/{id}/reward", "feedback", reward, "Personalizer: reward an event",
        takes=RewardRequest, example=_reward_example,
    ),
    _post("/events/{id}/activate", "feedback", activate, "Personalizer: activate an event"),
    _post(
        "/multislot/rank", "decide", _rank_slots, "Personalizer: rank actions for slots",
        takes=SlotsRequest, example=_slots_example, gives=(SlotsAnswer,), status=201,
    ),
    _post(
        "/multislot/events/{id}/reward", "feedback", reward_slots, "Personalizer: reward slots",
        takes=SlotsRewardRequest, example=_slots_reward_example,
    ),
    _post(
        "/multislot/events/{id}/activate", "feedback", activate,
        "Personalizer: activate an event with slots",
    ),
    *ADMIN,
)  # fmt: skip
