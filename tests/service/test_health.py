"""Checks of health that can fail, one reason at a time."""

import contextlib
import http.client
import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb.decisions import LogError
from graphcb.service import health
from graphcb.service.desk import Desk
from graphcb.service.health import answering
from graphcb.service.server import address_of, listen

OK = (200, {"status": "ok"})
ASK = {"context": {"amount": 12.5, "country": "DE"}}


def refused(service, path):
    status, headers, _ = service.ask("GET", path)
    assert status == 503
    assert path == "/livez" or headers["retry-after"] == "1"
    return service.call("GET", path)[1]["error"]["message"]


def test_a_service_that_is_well_says_so(start):
    service = start()
    assert [service.call("GET", path) for path in ("/livez", "/readyz", "/healthz")] == [OK] * 3


def test_one_that_is_about_to_stop_lives_and_answers_but_is_not_ready(start):
    service = start()
    service.service.desk.is_leaving = True
    for path in ("/readyz", "/healthz"):
        assert refused(service, path) == "the service is about to stop"
    assert service.call("GET", "/livez") == OK
    assert service.call("POST", "/v1/decisions", ASK)[0] == 200


@pytest.mark.parametrize(
    ("seconds", "is_long", "lives"),
    [(3.0, False, True), (70.0, False, False), (70.0, True, True), (4000.0, True, False)],
)
def test_a_long_transaction_is_not_ready_and_an_endless_one_not_alive(
    start, seconds, is_long, lives
):
    service = start()
    desk = service.service.desk
    desk._began, desk.is_in_long = time.monotonic() - seconds, is_long
    assert refused(service, "/readyz") == "the service is busy with a long transaction"
    if lives:
        assert service.call("GET", "/livez") == OK
    else:
        assert refused(service, "/livez") == f"one transaction has taken {seconds:.0f} seconds"


def test_a_log_that_cannot_be_written_is_not_ready_until_it_can(start, monkeypatch):
    service = start()
    desk, statements = service.service.desk, []

    def broken():
        raise LogError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(desk.policy, "together", broken)
        assert service.call("POST", "/v1/decisions", ASK)[0] == 503
        assert refused(service, "/readyz") == "the log could not be written just now"
        desk.failed_at = desk.committed_at = time.monotonic() - 10.0
        text = "the log cannot be written at the moment; try again"
        assert service.call("GET", "/readyz")[1]["error"]["message"] == text
    together = desk.policy.together

    @contextlib.contextmanager
    def seen():
        with together() as one:
            execute = one.storage.execute
            with monkeypatch.context() as patched:
                patched.setattr(
                    one.storage,
                    "execute",
                    lambda *given: statements.append(given) or execute(*given),
                )
                yield one

    desk.failed_at, desk.committed_at = time.monotonic() - 10.0, time.monotonic() - 20.0
    monkeypatch.setattr(desk.policy, "together", seen)
    assert service.call("GET", "/readyz") == OK
    assert any("UPDATE graphcb_writer" in given[0] for given in statements)  # it was tried
    monkeypatch.undo()
    n_commits = desk.n_commits
    assert service.call("GET", "/readyz") == OK
    assert desk.n_commits == n_commits  # and is not tried at each look


def test_a_log_that_does_not_answer_is_not_ready(start, monkeypatch):
    monkeypatch.setattr(health, "PROBE", 0.05)
    service = start()
    desk = service.service.desk
    desk.committed_at -= 10.0
    monkeypatch.setattr(desk, "_schedule", lambda: None)
    assert refused(service, "/readyz") == "the log does not answer"
    monkeypatch.undo()


def test_a_model_that_is_behind_is_not_ready(start, monkeypatch):
    service = start()
    monkeypatch.setattr(Desk, "staleness", 61.0)
    assert refused(service, "/readyz") == "the model is 61 seconds behind"
    monkeypatch.setattr(Desk, "staleness", 59.0)
    assert service.call("GET", "/readyz") == OK


def test_while_a_log_is_opened_the_process_lives_and_is_not_ready():
    with listen("127.0.0.1", 0) as listener:
        port = int(address_of(listener).rpartition(":")[2])

        def look(path):
            with contextlib.closing(
                http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            ) as one:
                one.request("GET", path)
                answer = one.getresponse()
                return answer.status, answer.headers["Retry-After"], answer.read()

        with answering(listener):
            assert look("/livez") == (200, None, b'{"status": "ok"}')
            for path in ("/readyz", "/healthz", "/v1/status"):
                status, retry, body = look(path)
                assert (status, retry) == (503, "1")
                assert b"the service is starting; try again" in body
        with answering(listener):  # the socket still listens
            assert look("/livez")[0] == 200
