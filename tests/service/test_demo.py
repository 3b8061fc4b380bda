import itertools
import threading
import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog, Problem
from graphcb.service.demo import PRICE, PROBLEM, Simulator, messages


def test_messages_are_generated_without_data_and_never_end(monkeypatch):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    found = list(itertools.islice(messages(), 6000))
    assert len(found) == 6000
    assert found[:5] == list(itertools.islice(messages(), 5))
    for one in found:
        assert one.losses["deliver"] + one.losses["block"] == 1.0
        assert one.losses["review"] == PRICE
    spam = sum(one.losses["deliver"] for one in found) / 6000
    assert 0.1 < spam < 0.2  # reviewing is not the best action, and never reviewing is not either


def test_messages_are_real_where_the_data_is(monkeypatch, tmp_path):
    folder = tmp_path / "sms_spam"
    folder.mkdir()
    (folder / "SMSSpamCollection").write_text("ham\thello\nspam\twin now\n")
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path))
    assert {one.text for one in itertools.islice(messages(), 4)} == {"hello", "win now"}


def test_the_problem_of_the_demo_is_a_file_like_any_other():
    assert Problem.from_toml(PROBLEM.to_toml()) == PROBLEM


def test_the_simulator_sends_messages_and_what_reviews_found(serve, tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    service = serve(PROBLEM)
    simulator = Simulator(service.address, per_second=500.0)
    simulator.start()
    deadline = time.monotonic() + 60.0
    shown = {}
    while shown.get("n_feedbacks", 0) < 20 and time.monotonic() < deadline:
        threading.Event().wait(0.2)
        shown = service.call("GET", "/v1/status")[1]
    simulator.stop()
    assert shown["n_feedbacks"] >= 20
    assert set(shown["requests"]["/v1/decisions"]) == {"200"}
    assert set(shown["requests"]["/v1/decisions/{id}/feedback"]) == {"200"}
    service.stop()
    with DecisionLog(tmp_path / "log.db") as log:
        rows = list(log)
    assert {row.action for row in rows if row.feedback} == {"review"}
    assert all(set(row.feedback.actions) == set(PROBLEM.actions) for row in rows if row.feedback)


def test_a_simulator_waits_for_a_service_that_does_not_answer():
    simulator = Simulator("http://127.0.0.1:9", per_second=1000.0)
    simulator.start()
    threading.Event().wait(0.1)
    simulator.stop()
    assert not simulator._thread.is_alive()
