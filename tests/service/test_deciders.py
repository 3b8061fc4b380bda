"""A trainer and deciders as services that share a log in PostgreSQL."""

import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
pytest.importorskip("psycopg", reason="needs the extra `postgres`")

from graphcb import DecisionLog, Problem
from graphcb.decisions import Decider, Trainer, verify
from graphcb.service.app import Service

from .conftest import FRAUD, ITEMS, Running

pytestmark = pytest.mark.slow

ASK = {"context": {"amount": 12.5, "country": "DE"}}


def until(is_true, *, seconds=20.0):
    """Wait for something that happens soon."""
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_one_learns_what_others_decide(location):
    trainer = Running(Service(Trainer(location, problem=FRAUD, seed=0)))
    deciders = [Running(Service(Decider(location))) for _ in range(2)]
    try:
        names = []
        for k in range(20):
            one, other = deciders[k % 2], deciders[1 - k % 2]
            status, made = one.call("POST", "/v1/decisions", ASK)
            assert status == 200
            names.append(made["decision_id"])
            path = f"/v1/decisions/{names[-1]}"
            told = {"rewards": {made["action"]: 1.5}}
            assert other.call("POST", f"{path}/feedback", told)[1]["counted"]
            assert not one.call("POST", f"{path}/feedback", told)[1]["counted"]
            assert one.call("GET", path)[1]["feedback"] == {made["action"]: 1.5}
        until(lambda: trainer.call("GET", "/v1/status")[1]["n_events"] == 40)
        assert trainer.call("GET", f"/v1/decisions/{names[0]}")[1]["position"] > 0

        def model_version():
            return deciders[0].call("POST", "/v1/decisions", ASK)[1]["model_version"]

        until(lambda: model_version() == 20)
        shown = deciders[1].call("GET", "/v1/status")[1]
        assert (shown["role"], shown["staleness"] < 60) == ("decider", True)
        assert trainer.call("GET", "/v1/status")[1]["role"] == "trainer"
        assert "graphcb_staleness_seconds" in deciders[0].ask("GET", "/metrics")[2].decode()
        until(lambda: trainer.call("GET", "/v1/live")[0] == 200)  # its process starts
        assert trainer.call("GET", "/v1/live")[1]["log"]["n_decisions"] >= 20

        status, refused = trainer.call("POST", "/v1/decisions", ASK)
        assert (status, "this log has deciders" in refused["error"]["message"]) == (400, True)
        other = Problem(["approve", "call"], feedback="rewards", range=(-50, 20))
        change = {"toml": other.to_toml()}
        for method, path, content in (
            ("POST", "/v1/problem", change),
            ("DELETE", "/personalizer/v1.0/model", None),
            ("DELETE", "/personalizer/v1.0/logs", None),
        ):
            status, refused = deciders[0].call(method, path, content)
            assert (status, "ask the trainer" in refused["error"]["message"]) == (400, True)
        assert trainer.call("POST", "/v1/problem", change)[0] == 200
        plain = {"context": None}
        until(
            lambda: "call" in deciders[0].call("POST", "/v1/decisions", plain)[1]["probabilities"]
        )
        assert deciders[0].call("GET", "/v1/problem")[1]["actions"] == ["approve", "call"]
    finally:
        for one in (*deciders, trainer):
            one.stop()
    with Trainer(location) as trainer:
        while trainer.step().n_decisions:
            pass
    with DecisionLog(location) as log:
        assert {row.version for row in log} == {1, 2}
        assert [row.decision_id for row in log][: len(names)] == names
    assert verify(location) == []


def test_without_a_trainer_decisions_stop_and_feedback_goes_on(location):
    with Trainer(location, problem=FRAUD, seed=0):
        decider = Running(Service(Decider(location, most_stale=0.5)))
    try:
        made = decider.call("POST", "/v1/decisions", ASK)[1]
        until(lambda: decider.call("POST", "/v1/decisions", ASK)[0] == 503)
        status, refused = decider.call("POST", "/v1/decisions", ASK)
        assert (status, refused["error"]["message"]) == (
            503,
            "the trainer is behind, or there is none; try again",
        )
        told = {"rewards": {made["action"]: 1.5}}
        path = f"/v1/decisions/{made['decision_id']}/feedback"
        assert decider.call("POST", path, told)[1]["counted"]
        with Trainer(location):
            assert decider.call("POST", "/v1/decisions", ASK)[1]["model_version"] == 1
    finally:
        decider.stop()


def test_events_of_personalizer_are_shared_by_deciders(location):
    trainer = Running(Service(Trainer(location, problem=ITEMS, seed=0)))
    first, second = (Running(Service(Decider(location))) for _ in range(2))
    try:
        actions = [{"id": "tea", "features": []}, {"id": "cake", "features": [{"price": 3}]}]
        rank = {"actions": actions, "eventId": "first", "deferActivation": True}
        answer = first.call("POST", "/personalizer/v1.0/rank", rank)
        assert answer[0] == 201
        assert second.call("POST", "/personalizer/v1.0/rank", rank) == answer
        event = "/personalizer/v1.0/events/first"
        assert second.call("POST", f"{event}/reward", {"value": 0.5})[0] == 204
        assert first.call("POST", f"{event}/activate")[0] == 204
        until(lambda: trainer.call("GET", "/v1/status")[1]["n_feedbacks"] == 1)
    finally:
        for one in (first, second, trainer):
            one.stop()
    assert verify(location) == []
