"""What the service says about itself: /metrics and /v1/status."""

import re
import threading
import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import Policy, Problem
from graphcb.decisions import LogError
from graphcb.decisions.writer import Took
from graphcb.service.desk import Desk
from graphcb.service.refused_connections import REFUSED

CLICKS = Problem(
    ["a", "b"], feedback="rewards", defaults={"waiting": 0.01, "reward": 0.0, "keep_days": 1.0}
)


def metrics(service):
    """The samples by name with labels, and their values."""
    status, headers, body = service.ask("GET", "/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def until(condition):
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_sizes_of_the_log_and_of_the_process(start, tmp_path):
    service = start()
    found = metrics(service)
    written = sum(one.stat().st_size for one in tmp_path.glob("log.db*"))
    assert found["graphcb_log_bytes"] == written > 4096
    assert 10e6 < found["graphcb_memory_bytes"] < 100e9


def test_a_log_on_a_server_has_a_size_too(location):
    from graphcb import Policy
    from graphcb.service.app import Service

    from .conftest import FRAUD, InProcess

    running = InProcess(Service(Policy(location, problem=FRAUD, seed=0)))
    try:
        assert metrics(running)["graphcb_log_bytes"] > 8192
    finally:
        running.stop()


def test_failures_of_the_log_are_counted(start, monkeypatch):
    service = start()
    desk = service.service.desk
    assert metrics(service)["graphcb_log_failures_total"] == 0

    def fails():
        raise LogError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(desk.policy, "together", fails)
        assert service.call("POST", "/v1/decisions", {"context": {"amount": 1.0}})[0] == 503
    assert service.call("GET", "/v1/status")[1]["log_failures"] == 1
    assert metrics(service)["graphcb_log_failures_total"] == 1


def test_defaults_prunes_and_checkpoints(start):
    before = time.time()
    service = start(CLICKS, tend_every=0.02)
    for _ in range(3):
        service.call("POST", "/v1/decisions", {"context": {"x": 1.0}})
    until(lambda: service.call("GET", "/v1/status")[1]["defaults"] == 3)
    until(lambda: service.service.desk.last_prune is not None)
    found = metrics(service)
    assert found["graphcb_defaults_total"] == 3
    assert found["graphcb_withheld_defaults_total"] == 0
    assert before < found["graphcb_prune_time_seconds"] < time.time()
    assert 0.0 <= found["graphcb_prune_seconds"] < 60.0
    assert "graphcb_checkpoint_seconds" not in found  # none was stored yet
    status = service.call("POST", "/v1/problem", {"toml": CLICKS.to_toml() + '\nname = "b"'})[0]
    assert status == 400
    changed = Problem(["a", "b", "c"], feedback="rewards")
    assert service.call("POST", "/v1/problem", {"toml": changed.to_toml()})[0] == 200
    service.service.desk.n_withheld = 5
    found = metrics(service)
    assert found["graphcb_withheld_defaults_total"] == 5
    assert before < found["graphcb_checkpoint_time_seconds"] < time.time()
    assert 0.0 < found["graphcb_checkpoint_seconds"] < 60.0


def test_jumps_of_the_clock_are_said(start):
    service = start()
    status = service.call("GET", "/v1/status")[1]
    assert (status["clock_jumps"], status["last_clock_jump"]) == (0, None)
    assert "graphcb_clock_jump_seconds" not in metrics(service)
    clock = service.service.desk.clock
    clock._wall = lambda: time.time() - 7200.0
    service.call("POST", "/v1/decisions", {"context": {"amount": 1.0}})
    status = service.call("GET", "/v1/status")[1]
    assert status["clock_jumps"] == 1
    assert status["last_clock_jump"] == pytest.approx(-7200.0, abs=60.0)
    found = metrics(service)
    assert found["graphcb_clock_jumps_total"] == 1
    assert found["graphcb_clock_jump_seconds"] == pytest.approx(-7200.0, abs=60.0)


def test_refused_connections_are_counted_by_reason(start):
    found = metrics(start())
    for reason in ("full", "room", "slow", "unread"):
        sample = f'graphcb_refused_connections_total{{reason="{reason}"}}'
        assert found[sample] == REFUSED[reason]


def test_took_is_when_and_how_long():
    assert re.fullmatch(r"Took\(at=1.0, seconds=2.0\)", repr(Took(1.0, 2.0)))


def test_a_look_at_the_service_waits_for_no_transaction(start, monkeypatch):
    """Nor does what is asked meanwhile: the event loop itself must not wait for the model."""
    monkeypatch.setattr("graphcb.service.metrics.LOOK_EVERY", 0.0)
    service = start()
    begun, release, was_in_time = threading.Event(), threading.Event(), []

    def hold(together):
        begun.set()
        was_in_time.append(release.wait(60.0))

    async def held():
        await service.service.desk.ask(hold, is_long=True)

    waiting = service._run(held())
    assert begun.wait(60.0)
    paths = ("/v1/status", "/v1/live", "/metrics", "/livez", "/v1/problem", "/v1/versions", "/",
             "/openapi.json", "/personalizer/configurations/service")  # fmt: skip
    for path in paths:
        assert service.ask("GET", path)[0] == 200
    n_looks = [one.name for one in threading.enumerate()].count("graphcb-aside")
    release.set()
    waiting.result(60.0)
    assert was_in_time == [True]
    assert n_looks == 1  # which all of them waited for
    assert service.call("GET", "/v1/live")[1]["service"]["agent"] == "InformationDirected"


def test_without_a_log_the_service_still_tells_its_numbers(start, monkeypatch):
    """Alerts on failures of the log are for this moment."""
    service = start()
    assert service.call("POST", "/v1/decisions", {"context": {"amount": 1.0}})[0] == 200

    def fails(policy):
        raise LogError("the server cannot be reached")

    monkeypatch.setattr(Policy, "_alone", fails)
    assert service.call("POST", "/v1/decisions", {"context": {"amount": 1.0}})[0] == 503
    assert service.call("GET", "/v1/status")[1]["log_failures"] == 1
    assert metrics(service)["graphcb_log_failures_total"] == 1
    monkeypatch.undo()


def test_a_look_is_good_for_a_moment(start, monkeypatch):
    running, looks = start(), []
    service = running.service
    monkeypatch.setattr("graphcb.service.metrics.LOOK_EVERY", 3600.0)
    agent = property(lambda desk: looks.append(1) or "somebody")
    monkeypatch.setattr(Desk, "played_by", agent)
    for _ in range(3):
        service.metrics.look_now(service.desk)
    running._run(service.metrics.look(service.desk)).result(60.0)
    assert (len(looks), service.metrics.model.agent) == (1, "somebody")
    assert service.metrics._looking is None  # no thread was begun
