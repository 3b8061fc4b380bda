"""Deciders and trainers that are killed under load lose nothing, and do nothing twice."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
pytest.importorskip("psycopg", reason="needs the extra `postgres`")

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "service"))
import audit
import kills
from crowd import Client, Made, Part
from faults.server import why_not

from graphcb import Policy, Problem

pytestmark = pytest.mark.slow


def test_nothing_is_lost_or_doubled_when_processes_are_killed_or_fall_silent():
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    outcome = kills.run(kills.QUICK)
    assert outcome.findings == []
    assert sum(outcome.kills.values()) == 6
    assert set(outcome.kills) == {"decider", "trainer"}
    assert outcome.silences == {"frozen": 1, "cut off": 1, "held up": 1}
    assert sum(outcome.restarts.values()) == 1
    assert outcome.n_decisions > 50
    assert outcome.n_parts > 50
    assert 0.0 < outcome.longest_gap < float("inf")


def test_a_process_that_waits_for_a_server_ends_in_order():
    command = [sys.executable, "-m", "graphcb", "serve", "--decide-only", "--port", "0"]
    with subprocess.Popen(
        [*command, "--log", "postgresql://nobody@127.0.0.1:1/none"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert "waiting: " in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60.0) == 0


@pytest.fixture
def told(tmp_path):
    """A log, and a client that was told what is in it."""
    location, client = str(tmp_path / "log.db"), Client([], 0, 0.0)
    with Policy(location, problem=Problem(["a", "b", "c"]), seed=0) as policy:
        for _ in range(3):
            one = policy.decide(None)
            policy.feedback(one.decision_id, {one.action: 0.5})
            answer = {
                "action": one.action,
                "probabilities": {
                    name: p for name, p in zip(one.actions, one.probabilities, strict=True) if p
                },
                "gamma": one.gamma,
                "model_version": one.model_version,
            }
            part = Part({one.action: 0.5}, time.monotonic(), False, n_counted=1, done=True)
            client.made[one.decision_id] = Made(answer, [part])
    return location, client


def compared(told):
    location, client = told
    with audit.DecisionLog(location) as log:
        return list(audit.compare(log, client.made, client.n_unanswered))


def test_the_audit_finds_nothing_in_a_log_that_is_right(told):
    assert compared(told) == []


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda made: made.answer.update(action="z"), "but the log has"),
        (lambda made: made.answer["probabilities"].update(a=0.1), "but the log has"),
        (lambda made: made.parts[0].losses.update(a=0.25), "but the log has"),
        (lambda made: made.parts.append(Part({"b": 1.0}, 0.0, False, 1, 0, True)), "the log has"),
        (lambda made: setattr(made.parts[0], "n_counted", 2), "was counted 2 times"),
        (lambda made: setattr(made.parts[0], "n_counted", 0), "was counted 0 times"),
        (lambda made: setattr(made.parts[0], "done", False), "was not acknowledged"),
    ],
)
def test_the_audit_finds_what_differs(told, spoil, text):
    spoil(next(iter(told[1].made.values())))
    (found,) = compared(told)
    assert text in found


def test_the_audit_finds_what_is_lost_and_what_nobody_asked_for(told):
    _, client = told
    name = next(iter(client.made))
    known = client.made.pop(name)
    assert compared(told) == [
        f"{name}: has feedback, but nobody knows of it",
        "1 decisions that nobody got, but only 0 requests failed",
    ]
    client.made[name] = client.made["another"] = known
    assert compared(told) == ["another: acknowledged, and not in the log"]
