"""Whatever is sent, the service answers, never with 5xx, and its log stays sound.

Bodies are drawn from the schemas of /openapi.json, then broken in places; others are any JSON or
any bytes.
"""

import json
from functools import partial
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import Problem
from graphcb.decisions import verify
from graphcb.service.openapi import describe
from graphcb.service.routes import ROUTES

from .conftest import FRAUD, ITEMS

PROBLEMS = {"fixed": FRAUD, "items": ITEMS, "graphs": Problem(["a", "b"], reveals="each round")}
NAMES = st.sampled_from(
    ["approve", "review", "a", "b", "amount", "own", "all", "edges", "", "\x00"]
)
NUMBERS = st.floats() | st.integers() | st.sampled_from([0, 1, -1, 1e308, 1e60, 2**70])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8) | NAMES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(), inner, max_size=3)
    ),
    max_leaves=12,
)


def bodies(schema, components):
    """Values of a JSON schema, now and then with something else in a place."""
    if "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return st.one_of([bodies(one, components) for one in schema["anyOf"]])
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        known = {name: bodies(one, components) for name, one in schema["properties"].items()}
        needed = {name: known.pop(name) for name in schema.get("required", ())}
        return st.fixed_dictionaries(needed, optional=known)
    if kind == "object":
        inner = schema.get("additionalProperties")
        values = bodies(inner, components) if isinstance(inner, dict) else ANYTHING
        return st.dictionaries(NAMES | st.text(max_size=4), values, max_size=4)
    if kind == "array":
        return st.lists(bodies(schema.get("items") or {}, components), max_size=4)
    simple = {
        "string": NAMES | st.text(max_size=8),
        "number": NUMBERS,
        "integer": st.integers(),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    drawn = simple.get(kind, ANYTHING)
    return st.one_of(drawn, drawn, drawn, drawn, ANYTHING)


def requests(problem, names):
    """A method, a path and a body."""
    document = describe(ROUTES, problem)
    name = st.sampled_from(names) | st.text(max_size=6).map(_quoted)
    found = []
    for route in ROUTES:
        body = st.just(b"")
        if route.takes is not None:
            operation = document["paths"][route.path][route.method.lower()]
            (content,) = operation["requestBody"]["content"].values()
            schema = content["schema"]
            drawn = bodies(schema, document["components"]["schemas"]).map(_as_bytes)
            body = st.one_of(drawn, drawn, drawn, st.binary(max_size=30))
        method = st.sampled_from([route.method] * 9 + ["PUT"])
        path = name.map(partial(route.path.replace, "{id}"))
        found.append(st.tuples(method, path, body))
    return st.one_of(found)


def _as_bytes(value):
    return json.dumps(value).encode(errors="replace")


def _quoted(text):
    return quote(text, errors="replace") or "-"


@pytest.mark.parametrize("kind", PROBLEMS)
def test_no_request_makes_the_service_fail(kind, start, tmp_path):
    problem, counts = PROBLEMS[kind], {}
    service = start(problem)
    example = ROUTES[0].example(problem)
    name = service.call("POST", ROUTES[0].path, example)[1]["decision_id"]

    @given(requests(problem, ["nothing", name, "event"]))
    @settings(
        max_examples=250,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    def send_it(request):
        status, _, body = service.ask(*request, {"Content-Type": "application/json"})
        counts[status] = counts.get(status, 0) + 1
        assert status < 500, (request, body)
        if status >= 400:
            error = json.loads(body)["error"]
            assert error["message"]
            assert "Traceback" not in error["message"]

    send_it()
    assert counts.get(200, 0) > 20
    assert counts.get(400, 0) > 20
    service.stop()
    assert verify(str(tmp_path / "log.db")) == []
