"""Clients that mean no good, with and without a key, and what they must not learn."""

import asyncio
import contextlib
import json
import logging
import os
import socket
import stat
import threading
import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import Policy, Problem, graphs
from graphcb.decisions import back_up
from graphcb.decisions.decided import NewRound
from graphcb.service import admission, server
from graphcb.service import keys as keys_module
from graphcb.service.admission import RequestLimits
from graphcb.service.errors import as_refusal
from graphcb.service.keys import Keys
from graphcb.service.tending import _Filling
from graphcb.service.work import work_of

from .conftest import FRAUD, ITEMS, SECONDS

ASK = {"context": {"amount": 12.5, "country": "DE"}}


def raw(service, *sent):
    """What comes back for these bytes, until the connection is closed."""
    where = urlsplit(service.address)
    with socket.create_connection((where.hostname, where.port), timeout=SECONDS) as one:
        for part in sent:
            one.sendall(part)
        got = b""
        while part := one.recv(65536):
            got += part
        return got


def test_errors_do_not_show_where_the_log_is(start, tmp_path):
    service = start()
    for call in (
        ("POST", f"/v1/decisions/00000000-1-{'0' * 16}/feedback", {"rewards": {}}),
        ("GET", f"/v1/decisions/00000000-1-{'0' * 16}"),
        ("POST", "/personalizer/v1.0/events/none/activate"),
    ):
        status, answer = service.call(*call)
        assert status == 404
        assert str(tmp_path) not in answer["error"]["message"]
    made = service.call("POST", "/v1/decisions", ASK)[1]["decision_id"]
    other = made[:-1] + ("1" if made[-1] == "0" else "0")
    message = service.call("GET", f"/v1/decisions/{other}")[1]["error"]["message"]
    assert message.startswith(f"decision {other!r} is not in the log, ")


def test_a_log_that_is_gone_is_named_to_the_operator_alone(start, tmp_path, caplog):
    service = start()
    assert service.call("POST", "/v1/decisions", ASK)[0] == 200
    for one in tmp_path.glob("*.db*"):
        one.unlink()
    answers = [service.call("POST", "/v1/decisions", ASK) for _ in range(3)]
    assert [status for status, _ in answers[1:]] == [500, 500]
    assert answers[-1][1]["error"]["message"] == (
        "the log is damaged or gone; the service's own log says more"
    )
    assert "the log is no longer there" in caplog.messages[-1]
    assert "Traceback" not in caplog.text


def test_what_clients_sent_is_not_in_the_services_own_log(start, caplog):
    caplog.set_level(logging.INFO)
    assert as_refusal(RuntimeError("event 'secret'")).status == 500
    service = start()
    desk = service.service.desk

    async def fail():
        def job(together):
            raise RuntimeError("event 'secret'")

        await_these = [desk.ask(job), desk.ask(job)]
        for one in await_these:
            with contextlib.suppress(RuntimeError):
                await one

    service._run(fail()).result(60.0)
    assert "a request failed: RuntimeError" in caplog.text
    assert "a shared transaction failed (RuntimeError)" in caplog.text
    assert "secret" not in caplog.text


def test_a_deleted_file_of_keys_takes_its_keys_with_it(start, tmp_path, monkeypatch):
    monkeypatch.setattr(keys_module, "LOOK_EVERY", 0.0)
    keys = Keys(tmp_path / "keys.json")
    headers = {"Authorization": f"Bearer {keys.add('shop', ['read'])}"}
    service = start(keys=keys)
    assert service.call("GET", "/v1/status", None, headers)[0] == 200
    keys.path.unlink()
    assert service.call("GET", "/v1/status", None, headers)[0] == 401


def test_wrong_keys_are_limited_and_right_ones_are_not(start, tmp_path, monkeypatch):
    monkeypatch.setattr(admission, "WRONG_KEYS", 3.0)
    keys = Keys(tmp_path / "keys.json")
    right = {"Authorization": f"Bearer {keys.add('shop', ['read'])}"}
    service = start(keys=keys)
    wrong = {"Authorization": "Bearer guess"}
    statuses = [service.call("GET", "/v1/status", None, wrong)[0] for _ in range(10)]
    assert statuses[:3] == [401] * 3
    assert 429 in statuses
    assert service.call("GET", "/v1/status", None, right)[0] == 200


def test_addresses_that_sent_wrong_keys_are_forgotten(monkeypatch):
    monkeypatch.setattr(admission, "MOST_CLIENTS", 5)
    now = [0.0]
    rates = admission.Rates(10.0, lambda: now[0])
    for address in range(100):
        rates.take(str(address))
        now[0] += 1.0
    assert len(rates._buckets) < 10


@pytest.mark.parametrize(
    "head", [b"", b"Host: localhost\r\nHost: evil\r\n", b"Host: localhost\r\nHost: localhost\r\n"]
)
def test_a_request_has_one_host(serve, head):
    answer = raw(serve(), b"GET /v1/status HTTP/1.1\r\nConnection: close\r\n" + head + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"the request must have one Host header" in answer


def test_a_trailer_is_no_header(serve, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    key = keys.add("shop", ["decide"]).encode()
    head = (
        b"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n"
    )
    body, service = b"\r\n2\r\n{}\r\n0\r\n", serve(keys=keys)
    key_line = b"Authorization: Bearer " + key + b"\r\n"
    assert raw(service, head + body + key_line + b"\r\n").startswith(b"HTTP/1.1 401 ")
    assert raw(service, head + key_line + body + b"\r\n").startswith(b"HTTP/1.1 200 ")


def test_the_document_is_made_once_per_version(start, monkeypatch):
    from graphcb.service import routes

    made, describe = [], routes.describe
    monkeypatch.setattr(routes, "describe", lambda *given: made.append(1) or describe(*given))
    service = start()
    first = [service.ask("GET", "/openapi.json")[2] for _ in range(3)]
    assert (len(made), len(set(first))) == (1, 1)
    other = FRAUD.to_toml().replace("fraud review", "renamed")
    assert service.call("POST", "/v1/problem", {"toml": other})[0] == 200
    assert json.loads(service.ask("GET", "/openapi.json")[2])["info"]["title"] == "renamed"
    assert len(made) == 2


def test_silent_connections_do_not_take_the_place_of_others(serve, monkeypatch):
    monkeypatch.setattr(server, "CONNECTIONS", 10)
    service = serve()
    where = urlsplit(service.address)
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            address = (where.hostname, where.port)
            stack.enter_context(socket.create_connection(address, timeout=20.0))
        for _ in range(3):
            assert service.call("POST", "/v1/decisions", ASK)[0] == 200


def test_requests_without_their_bodies_do_not_take_the_place_of_others(serve, monkeypatch):
    monkeypatch.setattr(server, "CONNECTIONS", 10)
    service = serve()
    assert service.call("POST", "/v1/decisions", ASK)[0] == 200  # machine code is loaded
    where = urlsplit(service.address)
    head = b"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            address = (where.hostname, where.port)
            one = stack.enter_context(socket.create_connection(address, timeout=20.0))
            with contextlib.suppress(OSError):
                one.sendall(head + b"Content-Length: 100\r\n\r\n{")
        end = time.monotonic() + 5.0  # half of what a body may take
        while (
            service.call("POST", "/v1/decisions", ASK)[0] != 200
        ):  # until they are noticed as gone
            assert time.monotonic() < end
        assert service.call("POST", "/v1/decisions", ASK)[0] == 200


def test_a_new_connection_is_not_closed_where_all_others_are_busy(serve, monkeypatch):
    monkeypatch.setattr(server, "CONNECTIONS", 20)
    service = serve()
    assert service.call("POST", "/v1/decisions", ASK)[0] == 200
    release, before = threading.Event(), server.REFUSED["room"]

    async def hold():
        await service.service.desk.ask(lambda together: release.wait(60.0), is_long=True)

    held = asyncio.run_coroutine_threadsafe(hold(), service.service.desk._loop)
    body = json.dumps(ASK)
    with contextlib.ExitStack() as stack:
        busy = [stack.enter_context(contextlib.closing(service.connect())) for _ in range(17)]
        for one in busy:
            one.request("POST", "/v1/decisions", body, {"Content-Type": "application/json"})
        assert service.call("GET", "/livez")[0] == 200
        release.set()
        held.result(60.0)
        assert [one.getresponse().status for one in busy] == [200] * 17
    assert server.REFUSED["room"] == before


def test_who_finds_no_place_is_told_as_the_service_tells_everything(serve, monkeypatch, caplog):
    """And the service's own log has no line for each."""
    monkeypatch.setattr(server, "CONNECTIONS", 5)
    service = serve()
    assert service.call("POST", "/v1/decisions", ASK)[0] == 200
    release, before = threading.Event(), server.REFUSED["full"]

    async def hold():
        await service.service.desk.ask(lambda together: release.wait(60.0), is_long=True)

    held = asyncio.run_coroutine_threadsafe(hold(), service.service.desk._loop)
    with contextlib.ExitStack() as stack:
        busy = [stack.enter_context(contextlib.closing(service.connect())) for _ in range(4)]
        for one in busy:
            one.request("GET", f"/v1/decisions/00000000-1-{'0' * 16}")
        end = time.monotonic() + 20.0
        while len(service._server.server_state.connections) < 4:
            assert time.monotonic() < end
        status, headers, body = service.ask("GET", "/livez")
        release.set()
        held.result(60.0)
        assert [one.getresponse().status for one in busy] == [404] * 4
    assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
    assert json.loads(body)["error"] == {
        "code": "unavailable", "message": "there are too many connections; try again",
    }  # fmt: skip
    assert server.REFUSED["full"] == before + 1
    assert caplog.records == []
    assert service.call("GET", "/livez")[0] == 200


@pytest.mark.parametrize("first", ["many", "few"])
def test_room_is_made_where_there_are_most(first):
    """An address with many silent connections does not take the places of another one's."""
    counts = {"many": [("10.0.0.1", 1)] * 3, "few": [("10.0.0.2", 1)] * 2}
    order = counts[first] + counts["few" if first == "many" else "many"]
    idle, closed = [], []
    for number, address in enumerate(order):
        transport = SimpleNamespace(
            is_closing=lambda: False, abort=lambda number=number: closed.append(number)
        )
        idle.append(
            SimpleNamespace(is_idle=True, client=address, _number=number, transport=transport)
        )
    server._make_room(idle)
    assert closed == [order.index(("10.0.0.1", 1))]  # the oldest of these


def test_a_client_that_does_not_read_is_closed(serve, monkeypatch):
    monkeypatch.setattr(server, "WRITE_SECONDS", 0.2)
    monkeypatch.setattr(server, "PIPELINED", 1000)
    service = serve()
    assert service.call("GET", "/livez")[0] == 200
    where = urlsplit(service.address)
    connections = service._server.server_state.connections
    with socket.create_connection((where.hostname, where.port), timeout=1.0) as greedy:
        request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with contextlib.suppress(OSError):
            greedy.sendall(250 * request)
        end = time.monotonic() + 20.0
        while connections:
            assert time.monotonic() < end
            time.sleep(0.02)
    assert service.call("GET", "/livez")[0] == 200


@pytest.mark.parametrize("n", [100, 5000])
def test_a_flood_of_pipelined_requests_is_closed(serve, n, caplog):
    """Each takes memory, and a chunk of them is parsed before anybody else has a turn."""
    service = serve()
    assert service.call("GET", "/livez")[0] == 200
    where, before = urlsplit(service.address), server.REFUSED["pipelined"]
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection((where.hostname, where.port), timeout=1.0) as greedy:
        with contextlib.suppress(OSError):
            greedy.sendall(n * request)
        end = time.monotonic() + 5.0  # half of what a client has that does not read
        while server.REFUSED["pipelined"] == before:
            assert time.monotonic() < end
            time.sleep(0.02)
    assert server.REFUSED["pipelined"] == before + 1
    assert raw(service, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert caplog.records == []
    assert service.call("GET", "/livez")[0] == 200


def test_clients_that_leave_before_their_answers_are_no_failures(serve, monkeypatch, caplog):
    """Each would be a traceback in the log, which anybody could fill."""
    monkeypatch.setattr(server, "WRITE_SECONDS", 0.1)
    monkeypatch.setattr(server, "PIPELINED", 1000)
    service = serve()
    assert service.call("GET", "/livez")[0] == 200
    where, connections = urlsplit(service.address), service._server.server_state.connections
    with socket.create_connection((where.hostname, where.port), timeout=SECONDS) as one:
        one.sendall(200 * b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        end = time.monotonic() + 20.0
        while connections:
            assert time.monotonic() < end
            time.sleep(0.02)
    service.stop()
    assert "Exception" not in caplog.text


def test_features_that_are_missing_are_counted(start):
    service = start()
    contexts = [{}, {"amount": None}, {"amount": 1.0}]
    assert service.call("POST", "/v1/decisions", {"context": {"amuont": 1.0}})[0] == 400
    for context in contexts:
        assert service.call("POST", "/v1/decisions", {"context": context})[0] == 200
    batch = {"decisions": [{"context": one} for one in contexts]}
    assert service.call("POST", "/v1/decisions", batch)[0] == 200
    assert service.call("POST", "/v1/decisions", {})[0] == 200
    assert service.call("POST", "/v1/decisions", {"context": [1.0, 2.0]})[0] == 200
    text = service.ask("GET", "/metrics")[2].decode()
    assert 'graphcb_missing_features_total{feature="amount"} 7.0' in text
    assert 'feature="country"' not in text  # it may be missing


def test_a_feature_inside_an_object_is_not_missing(start):
    service = start(replace(FRAUD, features={"user.age": "number"}))
    for context in ({"user": {"age": 31}}, {"user.age": 31}, {"user": {"age": None}}):
        assert service.call("POST", "/v1/decisions", {"context": context})[0] == 200
    assert service.service.metrics.missing == {"user.age": 1}


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_logs_and_backups_are_their_owners_alone(tmp_path):
    before = os.umask(0o022)
    try:
        with Policy(tmp_path / "log.db", problem=FRAUD) as policy:
            policy.decide(ASK["context"])
            back_up(tmp_path / "log.db", tmp_path / "copy.db")
            modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert {"log.db", "log.db-wal", "log.db-shm", "copy.db"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_an_outage_of_feedback_is_said_once_and_counted(caplog):
    class Withholding:
        def __init__(self, n_filled, n_withheld):
            self.n_withheld, self._n_filled = n_withheld, n_filled
            self.unheard = Counter()

        def fill_in(self, now):
            return self._n_filled, True

    desk = SimpleNamespace(n_defaults=0, n_withheld=0, askers={})
    filling = _Filling(desk)
    for one in ((3, 0), (0, 5), (0, 7), (0, 0), (4, 0)):
        assert filling(Withholding(*one))
    assert (desk.n_defaults, desk.n_withheld) == (7, 12)
    said = [record.message for record in caplog.records]
    assert [text.split(",")[0].split(":")[0] for text in said] == [
        "hardly any feedback comes",
        "feedback comes again",
    ]


def test_a_key_that_may_only_decide_cannot_teach_by_silence(start, monkeypatch):
    problem = Problem(
        ["a", "b"], feedback="rewards", range=(0.0, 1.0), defaults={"waiting": 1, "reward": 0.0}
    )
    service = start(problem, tend_every=1e9)
    policy, now = service.service.desk.policy, time.time()
    for _ in range(40):
        made = policy.decide_many([None] * 10)
        policy.feedback_many(
            {one.decision_id: {one.action: float(one.action == "a")} for one in made}
        )
    before = policy.decide(None).probabilities[0]
    for _ in range(2):
        for actions in (["a"], None):
            ask = {"context": None, "actions": actions}
            assert service.call("POST", "/v1/decisions", {"decisions": [ask] * 500})[0] == 200
    policy.fill_in(now + 1e6)
    assert policy.decide(None).probabilities[0] > 0.9 * before
    assert before > 0.9


def test_a_key_whose_decisions_never_get_feedback_teaches_nothing(start, tmp_path, caplog):
    """It asks for a third of all decisions, which is too few to look like an outage."""
    keys = Keys(tmp_path / "keys.json")
    scopes = {"shop": ["decide", "feedback"], "app": ["decide"], "admin": ["admin"]}
    headers = {
        name: {"Authorization": f"Bearer {keys.add(name, of)}"} for name, of in scopes.items()
    }
    waiting = {"waiting": 1, "reward": 0.0}
    problem = Problem(["a", "b"], feedback="rewards", range=(0.0, 1.0), defaults=waiting)
    service = start(problem, keys=keys, tend_every=1e9)
    desk = service.service.desk
    filling = _Filling(desk)

    def decide(name, n):
        ask = {"decisions": [{"context": None}] * n}
        made = service.call("POST", "/v1/decisions", ask, headers[name])[1]["decisions"]
        for one in made[:8] if name == "shop" else []:
            path = f"/v1/decisions/{one['decision_id']}/feedback"
            body = {"rewards": {one["action"]: 1.0}}
            assert service.call("POST", path, body, headers["shop"])[0] == 200
        return [one["decision_id"] for one in made]

    async def fill_all():
        while not await desk.ask(filling, is_long=True):
            pass

    def fill():
        time.sleep(1.1)
        service._run(fill_all()).result(60.0)

    for _ in range(10):
        decide("shop", 10)
    fill()
    silent = []
    for _ in range(10):
        decide("shop", 10)
        silent += decide("app", 5)
    fill()
    assert (desk.n_defaults, desk.n_withheld) == (40, 50)
    for one in silent:
        shown = service.call("GET", f"/v1/decisions/{one}", None, headers["admin"])[1]
        assert not shown["feedback"]
    assert "decisions of the key 'app' never get feedback, nor a default now" in caplog.text


def test_the_rate_counts_rounds_and_not_requests(start, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    headers = [{"Authorization": f"Bearer {keys.add(name, ['decide'])}"} for name in "ab"]
    service = start(keys=keys, limits=RequestLimits(per_second=50.0))
    many = {"decisions": [ASK] * 900}
    assert service.call("POST", "/v1/decisions", many, headers[0])[0] == 200
    status, answered, _ = service.ask("POST", "/v1/decisions", ASK, headers[0])
    assert (status, 10 < int(answered["retry-after"]) <= 18) == (429, True)
    for _ in range(10):
        assert service.call("POST", "/v1/decisions", ASK, headers[1])[0] == 200


def test_the_rate_counts_the_bytes_of_long_bodies(start, tmp_path):
    """A text of a million characters takes a quarter of a second to hash."""
    keys = Keys(tmp_path / "keys.json")
    headers = {"Authorization": f"Bearer {keys.add('shop', ['decide'])}"}
    service = start(keys=keys, limits=RequestLimits(per_second=1.0))
    long = {"context": {"amount": 1.0, "note": "word " * 100_000}}
    assert service.call("POST", "/v1/decisions", long, headers)[0] == 200
    status, sent, _ = service.ask("POST", "/v1/decisions", ASK, headers)
    assert (status, 60 < int(sent["retry-after"]) <= 126) == (429, True)


def test_work_grows_with_actions_and_graphs_of_ones_own():
    one = NewRound(None, None, None)
    assert work_of([one]) == 1.0
    assert work_of([one._replace(actions=["a"] * 500), one]) == 4.0
    assert work_of([one._replace(graph=graphs.bandit(40))]) == 5.0


def test_ranks_of_personalizers_clients_are_limited_in_the_same_way(start, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    headers = {"Authorization": f"Bearer {keys.add('shop', ['decide'])}"}
    limits = RequestLimits(per_second=50.0, in_all=2000)
    problem = Problem("each round", feedback="rewards", features={"age": "number"})
    service = start(problem, keys=keys, limits=limits)

    def rank(path, n_slots):
        slots = [{"id": str(k), "baselineAction": "0"} for k in range(n_slots)]
        actions = [{"id": str(k), "features": [{"x": k}]} for k in range(100)]
        body = {"contextFeatures": [{"Age": 7}], "actions": actions}
        body |= {"slots": slots} if n_slots else {}
        return service.ask("POST", f"/personalizer/v1.0/{path}", body, headers)

    assert rank("rank", 0)[0] == 400  # as the feature that it must have is misspelt
    assert service.service.metrics.missing == {"age": 1}
    status, _, answer = rank("multislot/rank", 21)
    assert (status, "actions of all slots together must be at most 2,000" in str(answer)) == (
        413,
        True,
    )
    assert rank("multislot/rank", 20)[0] == 400
    assert service.service.metrics.missing == {"age": 21}
    for _ in range(3):
        status, answered, _ = rank("multislot/rank", 20)
    assert (status, int(answered["retry-after"]) >= 1) == (429, True)


def test_a_large_graph_of_ones_own_is_refused(start):
    service = start(ITEMS, limits=RequestLimits(graph=4))
    names = list("abcdef")

    def ask(n, rounds=1):
        one = {"actions": names[:n], "reveals": [[1.0] * n] * n}
        return service.call(
            "POST", "/v1/decisions", one if rounds == 1 else {"decisions": [one] * rounds}
        )

    assert ask(4)[0] == 200
    status, answer = ask(5)
    text = "the actions of a round with its own graph must be at most 4, got 5"
    assert (status, answer["error"]["message"]) == (413, text)
    assert ask(2, rounds=4)[0] == 200
    status, answer = ask(3, rounds=2)
    text = "the squared actions of all graphs together must be at most 16, got 18"
    assert (status, answer["error"]["message"]) == (413, text)


def test_a_graph_of_a_rounds_own_needs_a_scope_where_the_problem_has_one(start, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    secrets = {name: keys.add(name, name.split()) for name in ("decide", "decide graphs", "admin")}
    service = start(keys=keys)
    alone = {**ASK, "reveals": {"own": True}}

    def ask(name, content, service=service):
        headers = {"Authorization": f"Bearer {secrets[name]}"}
        return service.call("POST", "/v1/decisions", content, headers)

    for content in (alone, {"decisions": [ASK, alone]}):
        status, refused = ask("decide", content)
        assert status == 403
        text = "the key must have the scope 'graphs' for this request"
        assert refused["error"]["message"] == text
        assert [ask(name, content)[0] for name in ("decide graphs", "admin")] == [200, 200]
    assert ask("decide", ASK)[0] == 200
    assert service.service.desk.n_decisions == 2 * (1 + 2) + 1
    each = start(Problem("each round", reveals={"each_round": True}), log="each.db", keys=keys)
    own = {"actions": ["a", "b"], "reveals": {"own": True}}
    assert ask("decide", own, each)[0] == 200


@pytest.mark.parametrize("size", [40, 60])
def test_rounds_with_large_graphs_do_not_hold_up_the_event_loop(start, monkeypatch, size):
    service = start(Problem("each round", reveals={"each_round": True}))
    asked, ask = [], service.service.desk.ask
    note = lambda job, **more: asked.append(more.get("is_long", False)) or ask(job, **more)  # noqa: E731
    monkeypatch.setattr(service.service.desk, "ask", note)
    one = {"actions": [f"a{k}" for k in range(size)], "reveals": {"own": True}}
    for content in (one, {"decisions": [one]}):
        assert service.call("POST", "/v1/decisions", content)[0] == 200
    assert asked == [size > 50] * 2
