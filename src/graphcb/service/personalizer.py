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
from graphcb.service import personalizer_messages as bodies
from graphcb.service import requests
from graphcb.service.admission import RequestLimits
from graphcb.service.personalizer_events import Event, Events, claim_of, decided, owner_of
from graphcb.service.personalizer_rewards import activate, adds_up, reward, reward_slots
from graphcb.service.requests import action_examples, check_size, count_features, decision_example
from graphcb.service.routing import Call, Handler, Route
from graphcb.service.work import LONG_BATCH, note_rounds

VERSIONS = ("/v1.0", "", "/v1.1-preview.1", "/v1.1-preview.2", "/v1.1-preview.3")


async def _rank(call: Call) -> bodies.RankAnswer:
    asked, limits = call.body, call.service.limits
    features = _features(asked.actions, limits)
    left = _left(asked.excluded_actions, features)
    context = _merged("contextFeatures", asked.context_features, limits)
    problem, owner = call.service.desk.problem, owner_of(call.client)
    one = _round(problem, context, left)
    note_rounds(call, [one])

    def rank(together: Together) -> bodies.RankAnswer:
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
        ranking = [bodies.RankedAction(n, probabilities.get(n, 0.0)) for n in best_first]
        return bodies.RankAnswer(ranking, event, action)

    claims = claim_of(owner, asked.event_id)
    return await call.service.desk.ask(rank, claims=claims, client=call.client)


async def _rank_slots(call: Call) -> bodies.SlotsAnswer:
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

    def rank(together: Together) -> bodies.SlotsAnswer:
        events = Events(together)
        known = None if asked.event_id is None else events.find(owner, asked.event_id)
        if known is None:
            now, made = time.time(), dict[str, str]()
            chosen: dict[str, str] = {}
            with together.all_or_none():
                for slot in asked.slots:
                    left = _left(slot.excluded_actions, features, *chosen.values())
                    left = _baseline_first(problem, slot, left)
                    one = _round(problem, contexts[slot.id], left)
                    decision = together.decide(one.context, one.graph, one.actions)
                    made[slot.id], chosen[slot.id] = decision.decision_id, str(decision.action)
            name = asked.event_id or next(iter(made.values()))
            known = Event(owner, name, made, asked.defer_activation, made_at=now)
            events.add(known)
        else:
            chosen = {
                slot.id: _ranked(together, known, slot.id, _left(slot.excluded_actions, features))[
                    0
                ]
                for slot in asked.slots
            }
        return bodies.SlotsAnswer(
            known.name, [bodies.ChosenAction(*pair) for pair in chosen.items()]
        )

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


def _left(excluded: list[str] | None, features: dict[str, Any], *taken: str) -> dict[str, Any]:
    out = {*(excluded or ()), *taken}
    return {name: value for name, value in features.items() if name not in out}


def _baseline_first(problem: Problem, slot: bodies.Slot, left: dict[str, Any]) -> dict[str, Any]:
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


def _features(actions: list[bodies.RankableAction], limits: RequestLimits) -> dict[str, Any]:
    check_size("actions", len(actions), limits.actions)
    found = {one.id: _merged(f"features of {one.id!r}", one.features, limits) for one in actions}
    if len(found) < len(actions):
        raise ValueError("`actions` must have distinct ids")
    return found


def _merged(what: str, parts: bodies.Features | None, limits: RequestLimits) -> dict[str, Any]:
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


def _route(
    method: str, path: str, scope: str, handler: Handler, summary: str, **more: Any
) -> Route:
    first, *others = (f"/personalizer{version}{path}" for version in VERSIONS)
    also = tuple(others)
    return Route(method, first, scope, handler, f"Personalizer: {summary}", also_at=also, **more)


_NO_DEFAULT = "there are no default settings here; return to a version by /v1/rollback"
_NO_SEARCH = "evaluations do not look for settings here; change the problem instead"
_NO_IMPORTANCES = (
    "feature importances are not jobs of this service; graphcb.evaluation.importances(log) has "
    "them, and GET /v1/decisions/{id}/explanation says why a decision was made"
)
_TIMES = {"startTime": "2024-05-01T00:00:00Z", "endTime": "2024-06-01T00:00:00Z"}
_EVENT, _SLOTS_EVENT = "/events/{id}", "/multislot/events/{id}"
_SERVICE, _POLICY = "/configurations/service", "/configurations/policy"
_EVALUATION, _IMPORTANCES = "/evaluations/{id}", "/featureImportances"

ROUTES = (
    _route(
        "POST", "/rank", "decide", _rank, "rank actions",
        takes=bodies.RankRequest, example=_rank_example, gives=(bodies.RankAnswer,), status=201,
    ),
    _route(
        "POST", f"{_EVENT}/reward", "feedback", reward, "reward an event", status=204,
        takes=bodies.RewardRequest, example=lambda problem: {"value": problem.scale[1]},
    ),
    _route("POST", f"{_EVENT}/activate", "feedback", activate, "activate an event", status=204),
    _route(
        "POST", "/multislot/rank", "decide", _rank_slots, "rank actions for slots",
        takes=bodies.SlotsRequest, gives=(bodies.SlotsAnswer,), status=201,
        example=lambda problem: {
            **_rank_example(problem), "slots": [{"id": "top", "baselineAction": "first"}]
        },
    ),
    _route(
        "POST", f"{_SLOTS_EVENT}/reward", "feedback", reward_slots, "reward slots", status=204,
        takes=bodies.SlotsRewardRequest,
        example=lambda problem: {"reward": [{"slotId": "top", "value": problem.scale[1]}]},
    ),
    _route(
        "POST", f"{_SLOTS_EVENT}/activate", "feedback", activate, "activate an event with slots",
        status=204,
    ),
    _route(
        "GET", _SERVICE, "read", admin.show_configuration, "its configuration",
        gives=(admin.Configuration,),
    ),
    _route(
        "PUT", _SERVICE, "admin", admin.change_configuration, "configure it",
        takes=admin.Configuration, example=lambda problem: {"explorationPercentage": 0.02},
        gives=(admin.Configuration,),
    ),
    _route(
        "GET", _POLICY, "read", admin.show_settings, "its learning settings",
        gives=(admin.LearningSettings,),
    ),
    _route(
        "PUT", _POLICY, "admin", admin.change_settings, "change learning settings",
        takes=admin.LearningSettings, gives=(admin.LearningSettings,),
        example=lambda problem: {
            "name": "next", "arguments": requests.problem_example(problem)["toml"]
        },
    ),
    _route("GET", "/model", "admin", admin.export_model, "export the model"),
    _route("PUT", "/model", "admin", admin.import_model, "import a model", takes=bytes, status=204),
    _route("DELETE", "/model", "admin", admin.reset_model, "reset the model", status=204),
    _route(
        "GET", "/model/properties", "read", admin.show_model, "age of the model",
        gives=(admin.ModelProperties,),
    ),
    _route(
        "GET", "/logs/properties", "read", admin.show_log, "times in the log",
        gives=(admin.LogProperties,),
    ),
    _route("DELETE", "/logs", "admin", admin.delete_log, "empty the log", status=204),
    _route(
        "PUT", _EVALUATION, "admin", evaluations.create_evaluation, "begin an evaluation",
        takes=evaluations.EvaluationRequest, example=lambda problem: {"name": "May", **_TIMES},
    ),
    _route("GET", _EVALUATION, "read", evaluations.show_evaluation, "an evaluation"),
    _route(
        "DELETE", _EVALUATION, "admin", evaluations.delete_evaluation, "delete an evaluation",
        status=204,
    ),
    _route("GET", "/evaluations", "read", evaluations.list_evaluations, "evaluations"),
    *(
        _route(method, path, "admin", admin.refused(why), f"{summary} (refused)")
        for method, path, summary, why in (
            ("DELETE", _POLICY, "reset learning settings", _NO_DEFAULT),
            ("POST", "/configurations/applyFromEvaluation", "apply an evaluation", _NO_SEARCH),
            ("GET", _IMPORTANCES, "feature importances", _NO_IMPORTANCES),
            ("GET", f"{_IMPORTANCES}/{{id}}", "feature importances", _NO_IMPORTANCES),
            ("PUT", f"{_IMPORTANCES}/{{id}}", "feature importances", _NO_IMPORTANCES),
            ("DELETE", f"{_IMPORTANCES}/{{id}}", "feature importances", _NO_IMPORTANCES),
        )
    ),
)  # fmt: skip
