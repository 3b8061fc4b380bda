"""The service while the network or another client of the server misbehaves: it fails, soon."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
pytest.importorskip("psycopg", reason="needs the extra `postgres`")

import psycopg
from faults.proxy import DROPS, FREEZES, PASSES, Proxy

from graphcb import DecisionLog, Policy
from graphcb.decisions import Decider, LogError, Trainer, postgresql, verify
from graphcb.decisions.storage import open_storage
from graphcb.service.admission import RequestLimits
from graphcb.service.app import Service

from .conftest import FRAUD, Running

ASK = {"context": {"amount": 12.5, "country": "DE"}}
SERVE = (  # with a last resort that a test can wait for
    "import sys; from graphcb.service import server; server.LAST_RESORT = 2.0; "
    "from graphcb.cli import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture
def proxied(server, location):
    """The URL of an empty log through a proxy, and the proxy."""
    proxy = Proxy(server.port, in_thread=True)
    yield location.replace(f":{server.port}/", f":{proxy.port}/"), proxy
    proxy.close()


@contextmanager
def running(policy):
    one = Running(Service(policy, limits=RequestLimits(answer_seconds=2.0)))
    one.service.desk.n_commits = 1000  # the first requests have more time
    try:
        yield one
    finally:
        one.stop()


def opened(seconds, opening):
    """What could be opened in time, and after how many seconds."""
    began = time.monotonic()
    while True:
        try:
            return opening(), time.monotonic() - began
        except LogError:
            assert time.monotonic() - began < seconds


def test_a_request_without_an_answer_is_refused_in_time(start):
    service = start()
    desk, begun, release = service.service.desk, threading.Event(), threading.Event()

    def holds(together):
        begun.set()
        release.wait(60.0)

    async def hold():
        await desk.ask(holds, is_long=True)

    assert service.call("POST", "/v1/decisions", ASK)[0] == 200
    service.service.limits = RequestLimits(answer_seconds=0.2)
    desk.n_commits = 1000  # the first requests have more time
    held, n_events = service._run(hold()), desk.position
    assert begun.wait(60.0)
    status, headers, body = service.ask("POST", "/v1/decisions", ASK)
    release.set()
    held.result(60.0)
    assert (status, headers["retry-after"]) == (503, "1")
    assert json.loads(body)["error"]["message"] == (
        "there was no answer within 0.2 seconds; try again"
    )
    assert service.call("POST", "/v1/decisions", ASK)[0] == 200
    assert desk.position == n_events + 1  # nothing is decided that nobody waits for
    assert desk.n_waiting == 0


def test_a_request_that_a_stop_cuts_off_is_refused(start):
    """uvicorn cancels the last requests, and would answer 500 in words of its own."""
    service = start()
    release, sent = threading.Event(), []

    async def cut_off():
        held = service.service.desk.ask(lambda together: release.wait(60.0), is_long=True)
        receive = asyncio.Queue()
        receive.put_nowait({"type": "http.request", "body": json.dumps(ASK).encode()})
        scope = {"type": "http", "method": "POST", "raw_path": b"/v1/decisions"}
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]

        async def send(message):
            sent.append(message)

        task = asyncio.create_task(
            service.service({**scope, "headers": headers}, receive.get, send)
        )
        await asyncio.sleep(0.1)
        task.cancel()
        await task
        release.set()
        await held

    service._run(cut_off()).result(60.0)
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["error"]["message"] == "the service is about to stop"


@pytest.mark.slow
def test_timeouts_are_set_unless_the_address_has_others(location):
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")

    def settings(url):
        storage = open_storage(url, writes=False)
        found = [storage.execute(f"SHOW {name}")[0][0] for name in names]
        network = storage._connection.info.get_parameters()
        storage.close()
        return found, network["connect_timeout"], storage._connection.patience

    assert settings(location) == (["10s", "5s", "30s"], "5", 15.0)
    own = f"{location}%20-cstatement_timeout%3D2s%20-clock_timeout%3D1s&connect_timeout=7"
    assert settings(own) == (["2s", "1s", "30s"], "7", 7.0)


@pytest.mark.slow
@pytest.mark.parametrize("how", [DROPS, FREEZES])
def test_a_decider_behind_a_dead_network_refuses_and_recovers(location, proxied, how, monkeypatch):
    monkeypatch.setattr(postgresql, "LONGER", 2.0)
    url, proxy = proxied
    url += "%20-cstatement_timeout%3D1s&connect_timeout=2"
    with Trainer(location, problem=FRAUD, seed=0), running(Decider(url)) as decider:
        assert decider.call("POST", "/v1/decisions", ASK)[0] == 200
        proxy.behave(PASSES, delay=0.01)
        assert decider.call("POST", "/v1/decisions", ASK)[0] == 200
        proxy.behave(how)
        began = time.monotonic()
        status, headers, _ = decider.ask("POST", "/v1/decisions", ASK)
        assert (status, headers["retry-after"]) == (503, "1")
        assert time.monotonic() - began < 4.0
        proxy.behave(PASSES)
        end = time.monotonic() + 15.0
        while decider.call("POST", "/v1/decisions", ASK)[0] != 200:
            assert time.monotonic() < end
    assert verify(location) == []


@pytest.mark.slow
def test_a_locked_table_is_not_waited_for(location):
    url = f"{location}%20-clock_timeout%3D200ms"
    with Trainer(url, problem=FRAUD, seed=0), running(Decider(url)) as decider:
        with psycopg.connect(location) as other:
            other.execute("LOCK TABLE graphcb_inbox IN ACCESS EXCLUSIVE MODE")
            assert decider.call("POST", "/v1/decisions", ASK)[0] == 503
            with Decider(url) as one, pytest.raises(LogError, match="the tables are locked"):
                one.decide(ASK["context"])
        assert decider.call("POST", "/v1/decisions", ASK)[0] == 200


@pytest.mark.slow
def test_a_stop_ends_while_the_network_is_dead(location, proxied, tmp_path):
    url, proxy = proxied
    (tmp_path / "problem.toml").write_text(FRAUD.to_toml())
    command = [sys.executable, "-c", SERVE, "serve", "problem.toml", "--log", url, "--learn-only"]
    with subprocess.Popen(
        [*command, "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        assert "learning at" in process.stdout.readline()
        proxy.behave(FREEZES)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert process.wait(20.0) == 1
        assert time.monotonic() - began < 10.0
        assert "stopped without a checkpoint, as the log does not answer" in process.stderr.read()


@pytest.mark.slow
@pytest.mark.parametrize("how", [DROPS, FREEZES])
def test_a_trainer_that_vanished_is_replaced_and_can_write_nothing(location, proxied, how):
    url, proxy = proxied
    first = Trainer(f"{url}%20-cstatement_timeout%3D500ms", problem=FRAUD, seed=0)
    with Decider(location) as decider:
        names = [decider.decide(ASK["context"]).decision_id]
        stack = ExitStack()
        together = stack.enter_context(first.together())
        first.take_in(together)
        together.store()
        proxy.behave(how)  # in the middle of a transaction
        second, seconds = opened(5.0, lambda: Trainer(location))
        assert seconds < 5.0
        names.append(decider.decide(ASK["context"]).decision_id)
        second.step()
        proxy.behave(PASSES)
        with pytest.raises(LogError):
            stack.close()
        with pytest.raises(LogError, match="another policy is writing to this log"):
            first.step()
        first.close()
        second.step()
        second.close()
    with DecisionLog(location) as log:
        assert [row.decision_id for row in log] == names
    assert verify(location) == []


@pytest.mark.slow
def test_the_end_of_a_silence_is_waited_for_and_a_writer_that_lives_is_not(location, proxied):
    """Once the network took the answer of a writer's last call, the next one is its own caller."""
    url, proxy = proxied
    first = Trainer(f"{url}%20-cstatement_timeout%3D500ms", problem=FRAUD, seed=0)
    with pytest.raises(LogError, match="another policy is writing to this log"):
        Trainer(location)
    proxy.behave(DROPS)
    time.sleep(1.5 * postgresql.PATIENCE)
    with Trainer(location) as second:  # the first one is still its holder by the server's clock
        second.step()
    proxy.behave(PASSES)
    first.close()
    assert verify(location) == []


@pytest.mark.slow
def test_a_session_is_known_before_it_has_the_lock(location, monkeypatch):
    """One that is lost while it is opened is ended by the next call, not after a silence."""
    with Policy(location, problem=FRAUD, seed=0) as policy:
        policy.decide(ASK["context"])
        policy._log.storage.close()
        lost = []

        def dead(storage):
            lost.append(storage._connection)  # which stays, with its lock
            storage._connection = None
            raise LogError("no answer")

        with monkeypatch.context() as patched:
            patched.setattr(postgresql.PostgreSQLStorage, "_set_durability", dead)
            for _ in range(2):  # the first finds the connection closed
                with pytest.raises(LogError):
                    policy.decide(ASK["context"])
        monkeypatch.setattr(postgresql, "_SILENT", "SELECT 1 WHERE false")
        assert policy.decide(ASK["context"]).decision_id
    (connection,) = lost
    connection.close()
    assert verify(location) == []


@pytest.mark.slow
def test_a_frozen_trainer_is_replaced_and_an_idle_one_is_not(location, tmp_path):
    (tmp_path / "problem.toml").write_text(FRAUD.to_toml())
    command = [sys.executable, "-m", "graphcb", "serve", "problem.toml", "--log", location]
    with subprocess.Popen(
        [*command, "--learn-only", "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert "learning at" in process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        second, seconds = opened(5.0, lambda: Trainer(location))
        assert seconds < 5.0
        process.send_signal(signal.SIGCONT)
        end = time.monotonic() + postgresql.SILENCE + 1.0
        while time.monotonic() < end:  # the second one does nothing, and still lives
            with pytest.raises(LogError, match="another policy is writing to this log"):
                Trainer(location)
        second.step()
        second.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30.0) == 0
    assert verify(location) == []
