import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

import msgspec

from graphcb import Problem
from graphcb.service import answers

from .conftest import FRAUD, ITEMS

EACH = Problem(["a", "b"], reveals="each round")
ANSWERS = {
    "/v1/decisions": answers.DecisionAnswer,
    "/v1/decisions/{id}": answers.LoggedAnswer,
    "/v1/decisions/{id}/feedback": answers.FeedbackAnswer,
    "/v1/problem": answers.ProblemAnswer,
    "/v1/status": answers.StatusAnswer,
}


@pytest.mark.parametrize("problem", [FRAUD, ITEMS, EACH], ids=["fixed", "items", "graphs"])
def test_every_example_is_accepted(start, problem):
    service = start(problem)
    described = service.call("GET", "/openapi.json")[1]
    paths = described["paths"]
    decide = paths["/v1/decisions"]["post"]["requestBody"]["content"]["application/json"]
    feedback = paths["/v1/decisions/{id}/feedback"]["post"]["requestBody"]["content"]
    (action,) = feedback["application/json"]["example"][problem.feedback]
    for _ in range(200):  # until the action of the example is played
        status, made = service.call("POST", "/v1/decisions", decide["example"])
        assert status == 200
        msgspec.convert(made, answers.DecisionAnswer)
        path = f"/v1/decisions/{made['decision_id']}"
        if made["action"] == action:
            break
        service.call("POST", f"{path}/feedback", {problem.feedback: {made["action"]: 0.0}})
    example = feedback["application/json"]["example"]
    status, receipt = service.call("POST", f"{path}/feedback", example)
    assert status == 200
    assert receipt["counted"]
    for where, kind in ANSWERS.items():
        if "get" in paths[where]:
            asked = where.replace("/v1/decisions/{id}", path)
            status, answer = service.call("GET", asked)
            assert status == 200
            msgspec.convert(answer, kind, strict=False)
    rank = paths["/personalizer/v1.0/rank"]["post"]["requestBody"]["content"]["application/json"]
    if not problem.reveals.each_round:
        assert service.call("POST", "/personalizer/v1.0/rank", rank["example"])[0] == 201


def test_every_path_of_the_service_is_described_and_the_other_way_round(start):
    service = start()
    described = service.call("GET", "/openapi.json")[1]
    assert described["openapi"] == "3.1.0"
    listed = {
        (method.upper(), path) for path, methods in described["paths"].items() for method in methods
    }
    routes = {(route.method, route.path) for route in service.service.routes}
    assert listed <= routes
    missing = {path for method, path in routes - listed if not path.startswith("/personalizer")}
    assert missing == set()


def test_every_reference_leads_somewhere(start):
    described = start().call("GET", "/openapi.json")[1]
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
