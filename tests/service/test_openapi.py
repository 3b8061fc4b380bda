import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

import msgspec

from graphcb import Problem
from graphcb.service.answers import DecisionAnswer
from graphcb.service.openapi import describe
from graphcb.service.routes import ROUTES
from graphcb.service.routing import Router

from .conftest import FRAUD, ITEMS

PROBLEMS = {"fixed": FRAUD, "items": ITEMS, "graphs": Problem(["a", "b"], reveals="each round")}


def operations(document):
    return {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]


def test_every_route_is_described_with_its_example_and_the_other_way_round(problem):
    described = operations(describe(ROUTES, problem))
    assert described.keys() == {(route.method, route.path) for route in ROUTES}
    assert len(described) == len(ROUTES)
    for route in ROUTES:
        operation = described[route.method, route.path]
        assert operation["summary"] == route.summary
        assert str(route.status) in operation["responses"]
        assert ("requestBody" in operation) is (route.takes is not None)
        if route.takes is not None:
            content = operation["requestBody"]["content"]
            if route.takes is bytes:
                assert list(content) == ["application/octet-stream"]
                continue
            content = content["application/json"]
            msgspec.json.decode(msgspec.json.encode(content["example"]), type=route.takes)


def test_every_path_leads_to_its_route_and_is_named():
    router, described = Router(ROUTES), operations(describe(ROUTES, FRAUD))
    for route in ROUTES:
        for path in (route.path, *route.also_at):
            asked = path.replace("{id}", "x").encode()
            assert router.find(route.method, asked) == (route, "x" if "{id}" in path else "")
        said = described[route.method, route.path].get("description", "")
        assert all(f" {path}" in said for path in route.also_at)


def test_every_example_is_accepted(start, problem):
    service = start(problem)
    examples = {
        (route.method, route.path): route.example(problem) for route in ROUTES if route.example
    }
    feedback = examples["POST", "/v1/decisions/{id}/feedback"]
    (action,) = feedback[problem.feedback]
    for _ in range(200):  # until the action of the example is played
        status, made = service.call("POST", "/v1/decisions", examples["POST", "/v1/decisions"])
        assert status == 200
        msgspec.convert(made, DecisionAnswer)
        path = f"/v1/decisions/{made['decision_id']}"
        if made["action"] == action:
            break
        service.call("POST", f"{path}/feedback", {problem.feedback: {made["action"]: 0.0}})
    status, receipt = service.call("POST", f"{path}/feedback", feedback)
    assert (status, receipt["counted"]) == (200, True)
    for route in ROUTES:
        if route.method == "GET" and route.gives:
            asked = route.path.replace("/v1/decisions/{id}", path)
            status, answer = service.call("GET", asked)
            assert status == 200
            msgspec.convert(answer, route.gives[0], strict=False)
    if not problem.reveals.each_round:  # which Personalizer's clients do not know
        check_personalizer(service, examples)
    change = examples["POST", "/v1/problem"]
    assert service.call("POST", "/v1/problem", change)[0] == 200
    assert service.call("POST", "/v1/rollback", examples["POST", "/v1/rollback"])[0] == 200


def check_personalizer(service, examples):
    for slots in ("", "/multislot"):
        base = f"/personalizer/v1.0{slots}"
        status, ranked = service.call("POST", f"{base}/rank", examples["POST", f"{base}/rank"])
        assert status == 201
        reward = examples["POST", f"{base}/events/{{id}}/reward"]
        path = f"{base}/events/{ranked['eventId']}/reward"
        assert service.call("POST", path, reward)[0] == 204


def test_every_reference_leads_somewhere():
    described = describe(ROUTES, FRAUD)
    schemas = described["components"]["schemas"]

    def references(value):
        if isinstance(value, dict):
            if "$ref" in value:
                yield value["$ref"]
            for part in value.values():
                yield from references(part)
        elif isinstance(value, list):
            for part in value:
                yield from references(part)

    found = set(references(described))
    assert len(found) > 5
    assert {name.removeprefix("#/components/schemas/") for name in found} <= set(schemas)
    for schema in schemas.values():
        assert "description" in schema
