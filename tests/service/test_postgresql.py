"""The service with its log in PostgreSQL."""

import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
pytest.importorskip("psycopg", reason="needs the extra `postgres`")

from graphcb import Policy, Problem
from graphcb.decisions import verify
from graphcb.service import watching
from graphcb.service.app import Service
from graphcb.service.watching import Watch

from .conftest import FRAUD, ITEMS, Running, only

pytestmark = pytest.mark.slow


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
        while (live := service.call("GET", "/v1/live"))[0] != 200:
            assert live[0] == 202  # the process that counts for the page starts
        shown = live[1]["log"]
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


def test_a_watch_follows_versions_and_survives_removed_events(location, monkeypatch):
    context = {"amount": 1.0, "country": None}
    with Policy(location, problem=FRAUD, seed=0) as policy:
        for _ in range(10):
            policy.decide(context)
        before = time.time()
        for _ in range(5):
            policy.decide(context)
        watch, reads = Watch(location, only(FRAUD)), watching.read_events

        def removes_first(*given):
            monkeypatch.undo()
            policy.prune(before)
            return reads(*given)

        monkeypatch.setattr(watching, "read_events", removes_first)
        for n in (0, 5):  # events are removed while it reads, and it reads what is left
            watch.look()
            assert watch.tally.n == n
        policy.change(
            Problem(["review"], feedback="rewards", range=(-50.0, 20.0), features=FRAUD.features)
        )
        policy.decide(context)
        watch.look()
        assert (watch.tally.version.number, watch.tally.n) == (2, 1)
        assert watch.finished[1].n == 5
        watch.close()
