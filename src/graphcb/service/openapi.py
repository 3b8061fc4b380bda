"""The service described for programs: paths, bodies and examples, from the structs themselves."""

from typing import Any

import msgspec

from graphcb.problems import Problem
from graphcb.service import answers, live_answers, personalizer_requests, requests

_REF = "#/components/schemas/{name}"
_PROBLEMS = {
    400: "The request is not one, or the library refuses it; the text says why.",
    401: "No key, or one that is not known.",
    403: "The key lacks the scope, or a page of another origin asks.",
    404: "There is no such decision.",
    408: "The body came too slowly.",
    413: "More than the limits allow.",
    415: "The body is not application/json.",
    429: "Too many requests for this key.",
    503: "The log cannot be written at the moment.",
}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_SAMPLES = {"number": 1.5, "category": "red", "text": "a few words of text"}


def description(problem: Problem) -> dict[str, Any]:
    """The OpenAPI document of a service for this problem."""
    from graphcb import __version__  # the package imports this room's neighbours

    round_, feedback = examples(problem)
    calls = [
        ("post", "/v1/decisions", "Decide on a round, or on several", "decide",
         requests.DecisionsRequest, round_, answers.DecisionAnswer, 200),
        ("get", "/v1/decisions/{id}", "A decision and its feedback so far", "read",
         None, None, answers.LoggedAnswer, 200),
        ("post", "/v1/decisions/{id}/feedback", "Say what a decision revealed", "feedback",
         requests.FeedbackRequest, feedback, answers.FeedbackAnswer, 200),
        ("get", "/v1/problem", "The problem that is decided", "read",
         None, None, answers.ProblemAnswer, 200),
        ("post", "/v1/problem", "Decide on another problem from now on", "admin",
         requests.ProblemRequest, _problem_example(problem), answers.ChangeAnswer, 200),
        ("post", "/v1/rollback", "Decide as an earlier version of the problem did", "admin",
         requests.RollbackRequest, {"version": 1}, answers.ChangeAnswer, 200),
        ("get", "/v1/versions", "The versions of the problem", "read",
         None, None, answers.VersionsAnswer, 200),
        ("get", "/v1/status", "How the service does", "read",
         None, None, answers.StatusAnswer, 200),
        ("get", "/v1/live", "What the page shows", "read",
         None, None, live_answers.LiveAnswer, 200),
        ("post", "/personalizer/v1.0/rank", "Personalizer: rank", "decide",
         personalizer_requests.RankRequest, _rank_example(problem), dict[str, Any], 201),
        ("post", "/personalizer/v1.0/events/{id}/reward", "Personalizer: reward", "feedback",
         personalizer_requests.RewardRequest, {"value": problem.range[1]}, None, 204),
        ("post", "/personalizer/v1.0/events/{id}/activate", "Personalizer: activate", "feedback",
         None, None, None, 204),
        ("post", "/personalizer/multislot/rank", "Personalizer: rank slots", "decide",
         personalizer_requests.SlotsRequest, None, dict[str, Any], 201),
        ("post", "/personalizer/multislot/events/{id}/reward", "Personalizer: reward slots",
         "feedback", personalizer_requests.SlotsRewardRequest, None, None, 204),
    ]  # fmt: skip
    types = [kind for call in calls for kind in (call[4], call[6]) if kind is not None]
    schemas, components = msgspec.json.schema_components(
        [*types, answers.DecisionsAnswer, answers.ErrorAnswer], ref_template=_REF
    )
    schema_of = dict(zip(types, schemas, strict=False))
    several = [schema_of[answers.DecisionAnswer], schemas[-2]]
    schema_of[answers.DecisionAnswer] = {"anyOf": several}
    paths: dict[str, Any] = {}
    for method, path, summary, scope, asks, example, gives, status in calls:
        content: dict[str, Any] = {"description": summary}
        if gives is not None:
            content["content"] = _json(schema_of[gives])
        operation: dict[str, Any] = {
            "summary": summary,
            "description": f"Needs a key with the scope {scope}, where the service has keys.",
            "responses": {str(status): content, **_errors(schemas[-1])},
            "security": [{}, {"bearer": []}],
        }
        if asks is not None:
            operation["requestBody"] = {
                "required": True,
                "content": _json(schema_of[asks], example),
            }
        if "{id}" in path:
            operation["parameters"] = [_ID]
        paths.setdefault(path, {})[method] = operation
    for path, summary in (
        ("/healthz", "Whether it works"), ("/openapi.json", "This document"),
        ("/", "A page on which people see all this"), ("/page/{id}", "A file of the page"),
    ):  # fmt: skip
        paths[path] = {"get": {"summary": summary, "responses": {"200": {"description": summary}}}}
        if "{id}" in path:
            paths[path]["get"]["parameters"] = [_ID]
    text = {"200": {"description": "Prometheus' text format"}}
    paths["/metrics"] = {"get": {"summary": "Numbers for Prometheus", "responses": text}}
    return {
        "openapi": "3.1.0",
        "info": {"title": problem.name or "graphcb", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def examples(problem: Problem) -> tuple[dict[str, Any], dict[str, Any]]:
    """A request for a decision, and feedback for it, that this problem accepts."""
    features = problem.features or {"amount": "number", "country": "category"}
    context = {name: _SAMPLES[kind.removesuffix("?")] for name, kind in features.items()}
    request: dict[str, Any] = {"context": context}
    if isinstance(problem.actions, tuple):
        names = list(problem.actions)
    else:
        names = ["first", "second"]
        request["actions"] = {name: {"price": float(n)} for n, name in enumerate(names)}
    if problem.reveals.each_round:
        request["reveals"] = {"own": True}
    return request, {problem.feedback: {names[0]: problem.range[0]}}


def _problem_example(problem: Problem) -> dict[str, Any]:
    text = problem.to_toml()
    if problem.name:
        return {"toml": text.replace("name =", "# name =", 1), "note": "without a name"}
    return {"toml": text.replace("[problem]", '[problem]\nname = "next"', 1), "note": "a name"}


def _rank_example(problem: Problem) -> dict[str, Any]:
    request, _ = examples(problem)
    names = problem.actions if isinstance(problem.actions, tuple) else request["actions"]
    actions = [{"id": name, "features": [{"topic": name}]} for name in names]
    return {"contextFeatures": [request["context"]], "actions": actions}


def _json(schema: Any, example: Any = None) -> dict[str, Any]:
    content = {"schema": schema} if example is None else {"schema": schema, "example": example}
    return {"application/json": content}


def _errors(schema: Any) -> dict[str, Any]:
    return {
        str(status): {"description": text, "content": _json(schema)}
        for status, text in _PROBLEMS.items()
    }
