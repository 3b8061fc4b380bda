"""The service with its log in PostgreSQL."""

import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
pytest.importorskip("psycopg", reason="needs the extra `postgres`")

from graphcb import Policy
from graphcb.decisions import verify
from graphcb.service.app import Service

from .conftest import ITEMS, Running

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from faults.server import Server, why_not

pytestmark = pytest.mark.slow


@pytest.fixture
def location():
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="graphcb-postgresql-") as folder:
        server = Server(Path(folder))
        yield server.url("service")
        server.stop()


def test_decisions_feedback_and_events_are_in_a_server(location):
    service = Running(Service(Policy(location, problem=ITEMS, seed=0)))
    try:
        asked = {"context": {"hour": 9}, "actions": ["tea", "cake"]}
        made = service.call("POST", "/v1/decisions", asked)[1]
        path = f"/v1/decisions/{made['decision_id']}"
        assert (
            service.call("POST", f"{path}/feedback", {"rewards": {made["action"]: 1.0}})[0] == 200
        )
        assert service.call("GET", path)[1]["feedback"] == {made["action"]: 1.0}
        shown = service.call("GET", "/v1/live")[1]
        assert (shown["n_decisions"], shown["n_settled"], shown["seen_event"]) == (1, 1, 2)
        actions = [{"id": "tea", "features": []}, {"id": "cake", "features": [{"price": 3}]}]
        rank = {"actions": actions, "eventId": "first", "deferActivation": True}
        answer = service.call("POST", "/personalizer/v1.0/rank", rank)
        assert answer[0] == 201
        assert service.call("POST", "/personalizer/v1.0/rank", rank) == answer
        event = "/personalizer/v1.0/events/first"
        assert service.call("POST", f"{event}/reward", {"value": 0.5})[0] == 204
        assert service.call("GET", "/v1/status")[1]["n_feedbacks"] == 1
        assert service.call("POST", f"{event}/activate")[0] == 204
        assert service.call("GET", "/v1/status")[1]["n_feedbacks"] == 2
        assert service.call("POST", "/personalizer/events/%00/activate")[0] == 404
    finally:
        service.stop()
    assert verify(location) == []
