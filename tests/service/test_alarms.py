"""An alarm is the same wherever somebody looks: library, status, metrics, page, log summary."""

import json

import numpy as np
import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog, Policy, Problem
from graphcb.cli import main
from graphcb.decisions import replay
from graphcb.problems.alarms import alarms_of
from graphcb.service.app import Service

from .conftest import InProcess

PROBLEM = Problem(["approve", "refuse"], features={"amount": "number", "age": "number"})
N, OLDER, CHANGED = 500, 160, 300


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log of a world in which what is to be approved changes, and customers grow older."""
    path = tmp_path_factory.mktemp("alarm") / "log.db"
    rng = np.random.default_rng(0)
    with Policy(path, problem=PROBLEM, seed=0, durability="process-kill") as policy:
        for first in range(0, N, 20):
            contexts = [
                {"amount": float(rng.normal()), "age": float(rng.normal() + 3.0 * (t >= OLDER))}
                for t in range(first, first + 20)
            ]
            made = policy.decide_many(contexts)
            feedback = {}
            for t, context, one in zip(range(first, N), contexts, made, strict=False):
                is_bad = (context["amount"] > 0.0) != (t >= CHANGED)
                feedback[one.decision_id] = {one.action: float(is_bad == (one.action == "approve"))}
            policy.feedback_many(feedback)
    return path


@pytest.fixture(scope="module")
def found(log):
    with Policy(log) as policy:
        return policy.alarms


def test_actions_and_features_are_named(found):
    assert {(one.kind, one.name) for one in found} >= {("feature", "age"), ("action", "approve")}
    assert ("feature", "amount") not in {(one.kind, one.name) for one in found}
    for one in found:
        changed = OLDER if one.kind == "feature" else CHANGED
        assert changed - 30 <= one.since <= one.raised <= N
        assert one.raised > changed
        assert one.chance <= 0.01
    assert [one.raised for one in found] == sorted((one.raised for one in found), reverse=True)


def test_a_replay_of_the_whole_log_finds_the_same(log, found):
    with DecisionLog(log) as opened:
        again = alarms_of(replay(opened, from_checkpoint=False).agent)
        made_at = [row.made_at for row in opened]
    assert [one._replace(since_time=None) for one in found] == again
    assert [one.since_time for one in found] == [made_at[one.since - 1] for one in found]


def test_the_service_shows_them(log, found):
    service = InProcess(Service(Policy(log)))
    try:
        status = service.call("GET", "/v1/status")[1]["alarms"]
        live = service.call("GET", "/v1/live")[1]["alarms"]
        metrics = service.ask("GET", "/metrics")[2].decode()
        assert (
            service.call("POST", "/v1/decisions", {"context": {"amount": 0.0, "age": 3.0}})[0]
            == 200
        )
        later = service.call("GET", "/v1/status")[1]["alarms"]
        page = service.ask("GET", "/")[2].decode()
    finally:
        service.stop()
    assert status == live == later
    assert [one["name"] for one in status] == [one.name for one in found]
    assert [one["since"] for one in status] == [one.since for one in found]
    assert "have looked different since decision" in status[0]["text"]
    for one in found:
        line = f'graphcb_alarm{{kind="{one.kind}",name="{one.name}"}} {float(one.since)}'
        assert line in metrics
    assert 'id="alarms"' in page


def test_the_summary_shows_them(log, found, capsys):
    assert main(["log", "summary", str(log)]) == 0
    text = capsys.readouterr().out
    assert "what looked different" in text
    assert "feature age" in text
    assert main(["log", "summary", str(log), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["alarms"]
    assert [(one["name"], one["since"]) for one in shown] == [
        (one.name, one.since) for one in found
    ]


def test_a_refused_decision_changes_nothing(log, found):
    with Policy(log) as policy:
        with pytest.raises(ValueError, match="amount"):
            policy.decide({"amount": float("inf"), "age": 1.0})
        assert policy.alarms == found
        assert policy.agent.watched.n_rounds == policy.n_events - policy.model_version
