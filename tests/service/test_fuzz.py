"""Whatever is sent, the service answers, never with 5xx, and its log stays sound.

Bodies are drawn from the schemas of /openapi.json, then broken in places; others are any JSON or
any bytes.
"""

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import Policy, Problem
from graphcb.decisions import verify
from graphcb.service.app import Service
from graphcb.service.openapi import description

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


@st.composite
def requests(draw, problem, names):
    """A method, a path and a body."""
    document = description(problem)
    path = draw(st.sampled_from(sorted(document["paths"])))
    method = draw(st.sampled_from(sorted(document["paths"][path])))
    operation = document["paths"][path][method]
    name = draw(st.sampled_from(names) | st.text(max_size=6).map(_quoted))
    body = b""
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        drawn = bodies(schema, document["components"]["schemas"])
        as_bytes = drawn.map(lambda value: json.dumps(value).encode(errors="replace"))
        body = draw(st.one_of(as_bytes, as_bytes, as_bytes, st.binary(max_size=30)))
    method = draw(st.sampled_from([method.upper()] * 9 + ["PUT"]))
    return method, path.replace("{id}", name), body


def _quoted(text):
    from urllib.parse import quote

    return quote(text, errors="replace") or "-"


async def ask(service, method, path, body):
    """The status and the body of an answer, without a socket."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
    scope = {"type": "http", "method": method, "raw_path": path.encode("ascii"), "headers": headers}
    await service(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.parametrize("kind", PROBLEMS)
def test_no_request_makes_the_service_fail(kind, tmp_path):
    problem = PROBLEMS[kind]
    policy = Policy(tmp_path / "log.db", problem=problem, seed=0, durability="process-kill")
    service = Service(policy)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(_start(service))
    known = ["nothing", f"{policy.decide(*_round(problem)).decision_id}", "event"]
    counts = {}

    @given(requests(problem, known))
    @settings(
        max_examples=400,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    def send_it(request):
        status, body = loop.run_until_complete(ask(service, *request))
        counts[status] = counts.get(status, 0) + 1
        assert status < 500, (request, body)
        if status >= 400:
            error = json.loads(body)["error"]
            assert error["message"]
            assert "Traceback" not in error["message"]

    try:
        send_it()
    finally:
        loop.run_until_complete(service.desk.stop())
        loop.close()
    assert counts.get(200, 0) > 20
    assert counts.get(400, 0) > 20
    assert verify(str(tmp_path / "log.db")) == []


async def _start(service):
    service.desk.start()


def _round(problem):
    if problem is ITEMS:
        return {}, None, ["a", "b"]
    if problem is FRAUD:
        return {"amount": 1.0}, None, None
    from graphcb import graphs

    return {}, graphs.bandit(2), None
