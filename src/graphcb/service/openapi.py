"""The service described for programs: an OpenAPI document, made from its routes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from graphcb.problems import Problem
from graphcb.service.answers import ErrorAnswer
from graphcb.service.routing import Route, path_of

_REF = "#/components/schemas/{name}"
_ERRORS = {
    400: "The request is malformed, or the library refuses it; the message says why.",
    401: "The key is missing or unknown.",
    403: "The key lacks the scope, or a page of another origin sent the request.",
    404: "There is no such decision.",
    408: "The body took too long to arrive.",
    413: "The request is larger than the limits allow.",
    415: "The body is not declared as application/json.",
    429: "The key has sent too many requests.",
    503: "The log cannot be written at the moment; try again.",
}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}


def describe(
    routes: Sequence[Route], problem: Problem | None = None, name: str = ""
) -> dict[str, Any]:
    """The OpenAPI document of these routes, with examples for this problem.

    `name` is that of the problem in the paths if there are several.
    """
    from graphcb import __version__  # the package imports this room's neighbours

    used = [kind for route in routes for kind in (route.takes, *route.gives) if kind is not None]
    kinds = [*dict.fromkeys(used), ErrorAnswer]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    schema_of = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        operation = _operation(route, problem, name, schema_of)
        paths.setdefault(path_of(route.path, name), {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": (problem and problem.name) or name or "graphcb", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(
    route: Route, problem: Problem | None, name: str, schema_of: dict[Any, Any]
) -> dict[str, Any]:
    given = [schema_of[kind] for kind in route.gives]
    answer: dict[str, Any] = {"description": route.summary}
    if given:
        answer["content"] = _json(given[0] if len(given) == 1 else {"anyOf": given})
    operation: dict[str, Any] = {
        "summary": route.summary,
        "responses": {str(route.status): answer},
    }
    said = []
    if route.scope:
        said.append(f"Needs a key with the scope {route.scope}, where the service has keys.")
        operation["security"] = [{}, {"bearer": []}]
        operation["responses"] |= {
            str(status): {"description": text, "content": _json(schema_of[ErrorAnswer])}
            for status, text in _ERRORS.items()
        }
    if route.also_at:
        said.append(f"Also at {', '.join(path_of(one, name) for one in route.also_at)}.")
    if said:
        operation["description"] = " ".join(said)
    if route.takes is not None:
        example = None if route.example is None or problem is None else route.example(problem)
        content = _json(schema_of[route.takes], example)
        if route.takes is bytes:
            content = {"application/octet-stream": {"schema": {"type": "string"}}}
        operation["requestBody"] = {"required": True, "content": content}
    if "{id}" in route.path:
        operation["parameters"] = [_ID]
    return operation


def _json(schema: Any, example: Any = None) -> dict[str, Any]:
    content = {"schema": schema} if example is None else {"schema": schema, "example": example}
    return {"application/json": content}
