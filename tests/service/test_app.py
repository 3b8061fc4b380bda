import contextlib
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog, Policy, Problem
from graphcb.decisions import replay, verify
from graphcb.saving import to_bytes
from graphcb.service.admission import RequestLimits
from graphcb.service.app import Service
from graphcb.service.desk import Desk
from graphcb.service.refused_connections import REFUSED
from graphcb.service.routes import EXPLAINING

from .conftest import FRAUD, ITEMS


def context(n):
    return {"amount": 10.0 * (n % 7), "country": "DE" if n % 2 else None}


def test_a_decision_and_its_feedback(start):
    service = start()
    status, made = service.call("POST", "/v1/decisions", {"context": context(1)})
    assert status == 200
    assert made["action"] in ("approve", "review")
    assert made["probabilities"] == {"review": 1.0}  # it tells of both
    assert made["probability"] == made["probabilities"][made["action"]]
    assert made["model_version"] == 0
    path = f"/v1/decisions/{made['decision_id']}"
    status, receipt = service.call("POST", f"{path}/feedback", {"rewards": {made["action"]: 5.0}})
    assert (status, receipt["counted"], receipt["message"]) == (200, True, "counted")
    status, again = service.call("POST", f"{path}/feedback", {"rewards": {made["action"]: 5.0}})
    assert (status, again["counted"]) == (200, False)
    assert "this one changes nothing" in again["message"]
    status, logged = service.call("GET", path)
    assert status == 200
    assert logged["context"] == context(1)
    assert logged["feedback"] == {made["action"]: 5.0}
    assert logged["probabilities"] == made["probabilities"]


def test_the_desk_is_told_what_a_request_decides(start, monkeypatch):
    told, ask = [], Desk.ask

    def asked(self, job, **given):
        told.append(given.get("decides"))
        return ask(self, job, **given)

    monkeypatch.setattr(Desk, "ask", asked)
    service = start()
    assert service.call("POST", "/v1/decisions", {"context": context(1)})[0] == 200
    assert [one.context.value for one in told if one is not None] == [context(1)]


def test_why_a_decision_was_made(start, monkeypatch):
    service = start()
    for n in range(12):
        made = service.call("POST", "/v1/decisions", {"context": context(n)})[1]
        path = f"/v1/decisions/{made['decision_id']}"
        service.call("POST", f"{path}/feedback", {"rewards": {made["action"]: 5.0}})
    status, found = service.call("GET", f"{path}/explanation")
    assert (status, found["action"]) == (200, made["action"])
    assert found["reason"].startswith(f"played '{made['action']}'")
    assert [one["action"] for one in found["actions"]] == ["approve", "review"]
    assert {one["feature"] for one in found["actions"][0]["contributions"]} >= {"amount", "country"}
    assert found["text"].lower().startswith("played")
    status, refused = service.call("GET", f"/v1/decisions/{made['decision_id'][:-1]}x/explanation")
    assert status == 404
    monkeypatch.setattr("graphcb.service.routes.REPLAYED", 3)
    status, refused = service.call("GET", f"{path}/explanation")
    assert (status, "at most 3 are replayed here" in refused["error"]["message"]) == (400, True)
    with EXPLAINING:
        status, refused = service.call("GET", f"{path}/explanation")
    assert (status, refused["error"]["code"]) == (503, "unavailable")


def test_what_was_answered_is_what_a_policy_would_have_decided(start, tmp_path):
    service = start()
    answers = []
    for n in range(30):
        made = service.call("POST", "/v1/decisions", {"context": context(n)})[1]
        path = f"/v1/decisions/{made['decision_id']}/feedback"
        assert service.call("POST", path, {"rewards": {made["action"]: float(n % 20)}})[0] == 200
        answers.append(made)
    service.stop()
    with Policy(tmp_path / "own.db", problem=FRAUD, seed=0) as policy:
        for n, answer in enumerate(answers):
            made = policy.decide(context(n))
            assert made.action == answer["action"]
            each = zip(made.actions, made.probabilities, strict=True)
            assert {name: p for name, p in each if p > 0.0} == answer["probabilities"]
            policy.feedback(made.decision_id, {made.action: float(n % 20)})
        agent = to_bytes(policy.agent)
    assert verify(str(tmp_path / "log.db")) == []
    with DecisionLog(tmp_path / "log.db") as log:
        assert to_bytes(replay(log).agent) == agent
        assert [row.context for row in log] == [context(n) for n in range(30)]


def test_many_clients_share_commits_and_lose_nothing(serve, tmp_path):
    service = serve()

    def client(number):
        names = []
        for n in range(10):
            made = service.call("POST", "/v1/decisions", {"context": context(number + n)})[1]
            path = f"/v1/decisions/{made['decision_id']}/feedback"
            status, receipt = service.call("POST", path, {"rewards": {made["action"]: 1.0}})
            assert (status, receipt["counted"]) == (200, True)
            names.append(made["decision_id"])
        return names

    with ThreadPoolExecutor(8) as pool:
        names = [name for found in pool.map(client, range(8)) for name in found]
    service.stop()
    assert len(set(names)) == 80
    with DecisionLog(tmp_path / "log.db") as log:
        rows = list(log)
        assert {row.decision_id for row in rows} == set(names)
        assert all(row.feedback is not None for row in rows)
    assert verify(str(tmp_path / "log.db")) == []


def test_a_batch_is_decided_as_a_whole_or_not_at_all(start):
    service = start()
    rounds = [{"context": context(n)} for n in range(3)]
    status, made = service.call("POST", "/v1/decisions", {"decisions": rounds})
    assert status == 200
    assert len({one["decision_id"] for one in made["decisions"]}) == 3
    bad = [*rounds, {"context": {"amount": "many"}}]
    status, error = service.call("POST", "/v1/decisions", {"decisions": bad})
    assert status == 400
    assert "`context['amount']` must be a number, got 'many'" in error["error"]["message"]
    assert service.call("GET", "/v1/status")[1]["n_decisions"] == 3
    assert service.call("POST", "/v1/decisions", {"decisions": []})[1] == {"decisions": []}
    status, error = service.call("POST", "/v1/decisions", {"context": {}, "decisions": rounds})
    assert (status, error["error"]["message"]) == (
        400,
        "`decisions` must stand alone: put context, actions and reveals into each",
    )


def test_actions_with_features_and_what_they_reveal_come_with_a_round(start):
    service = start(ITEMS)
    actions = {"tea": {"price": 2.0}, "cake": {"price": 4.0, "tags": ["sweet"]}}
    asked = {"context": {"user": {"age": 30}}, "actions": actions, "reveals": {"all": ["cake"]}}
    status, made = service.call("POST", "/v1/decisions", asked)
    assert status == 200
    assert made["action"] == "cake"
    path = f"/v1/decisions/{made['decision_id']}"
    assert service.call("POST", f"{path}/feedback", {"rewards": {"tea": 1.0}})[0] == 200
    logged = service.call("GET", path)[1]
    assert logged["context"] == {"user.age": 30}
    assert logged["feedback"] == {"tea": 1.0}
    asked["reveals"] = [[1.0, 0.5], [0.0, 1.0]]
    assert service.call("POST", "/v1/decisions", asked)[0] == 200
    assert service.call("POST", "/v1/decisions", {**asked, "reveals": "bandit"})[0] == 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "the body must be JSON as /openapi.json describes it: Input data was truncated"),
        (b'{"contest": {}}', "Object contains unknown field `contest`"),
        ({"context": 3}, "`context` must be an object with features by name, a row of numbers"),
        ({"context": {"amount": 1e60}}, "`context['amount']` must be at most 1e+50 in size"),
        ({"actions": ["aprove"]}, "did you mean 'approve'?"),
        ({"actions": {"approve": {}}}, "`actions` must be names in a problem with fixed actions"),
        ({"reveals": {"file": "/etc/passwd"}}, "`reveals` of a round must have a family, or all"),
        ({"reveals": [[1.0]]}, "`reveals` as a matrix must have a row and a column for each"),
        ({"reveals": "bandits"}, "did you mean 'bandit'?"),
    ],
)
def test_a_bad_round_is_refused_in_the_librarys_words(start, content, message):
    service = start()
    status, answer = service.call("POST", "/v1/decisions", content)
    assert status == 400
    assert answer["error"]["code"] == "bad_request"
    assert message in answer["error"]["message"]
    assert service.call("GET", "/v1/status")[1]["n_events"] == 0


def test_bad_feedback_is_refused_and_changes_nothing(start):
    service = start()
    made = service.call("POST", "/v1/decisions", {"context": context(1), "actions": ["approve"]})[1]
    path = f"/v1/decisions/{made['decision_id']}/feedback"

    def refused(content, at=path):
        status, answer = service.call("POST", at, content)
        return status, answer["error"]["message"]

    assert refused({"losses": {"approve": 1.0}}) == (
        400,
        "`rewards` must be given for this problem, {action: reward, ...}, and nothing else; {} "
        "means that nothing was seen",
    )
    assert refused({"rewards": {"approve": 21.0}}) == (
        400,
        "`rewards` must lie in the problem's range, -50 to 20, got 21 for action 'approve'",
    )
    assert "must be one of the actions decided on" in refused({"rewards": {"review": 1.0}})[1]
    status, text = refused({"rewards": {}}, "/v1/decisions/nothing/feedback")
    assert status == 404
    assert text.startswith("`decision_id` must be one that `decide` returned")
    other = made["decision_id"][:-1] + ("0" if made["decision_id"][-1] != "0" else "1")
    assert refused({"rewards": {}}, f"/v1/decisions/{other}/feedback")[0] == 404
    assert service.call("GET", "/v1/status")[1]["n_events"] == 1
    assert service.call("POST", path, {"rewards": {"approve": 1.0}})[0] == 200
    status, text = refused({"rewards": {"approve": 2.0}})
    assert status == 400
    assert "must agree with what is known of decision" in text
    assert service.call("GET", "/v1/status")[1]["n_events"] == 2


def test_paths_methods_and_kinds_of_bodies(start):
    service = start()
    assert service.call("GET", "/nothing")[0] == 404
    status, headers, _ = service.ask("DELETE", "/v1/decisions")
    assert (status, headers["Allow"]) == (405, "POST")
    plain = {"Content-Type": "text/plain"}
    assert service.call("POST", "/v1/decisions", {"context": {}}, plain)[0] == 415
    assert service.call("GET", "/v1/decisions/%FF")[0] == 404
    assert service.call("GET", "/v1/decisions/%00")[0] == 404
    assert service.call("GET", "/v1/decisions/a%2Fb")[0] == 404


def test_the_problem_status_metrics_and_health(start):
    service = start()
    shown = service.call("GET", "/v1/problem")[1]
    assert Problem.from_toml(shown["toml"]) == FRAUD
    assert shown["actions"] == ["approve", "review"]
    service.call("POST", "/v1/decisions", {"context": context(1)})
    service.call("POST", "/v1/decisions", b"{")
    status = service.call("GET", "/v1/status")[1]
    assert status["n_decisions"] == 1
    assert status["requests"]["/v1/decisions"] == {"200": 1, "400": 1}
    assert service.call("GET", "/healthz") == (200, {"status": "ok"})
    code, headers, text = service.ask("GET", "/metrics")
    assert code == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = text.decode().splitlines()
    assert 'graphcb_requests_total{route="/v1/decisions",status="400"} 1.0' in lines
    assert "graphcb_decisions_total 1.0" in lines
    assert 'graphcb_request_seconds_count{route="/v1/decisions"} 2.0' in lines


def test_limits_on_what_a_request_holds(start):
    limits = RequestLimits(body=2000, batch=2, features=3, actions=2, in_all=3)
    service = start(ITEMS, limits=limits)

    def refused(content):
        status, answer = service.call("POST", "/v1/decisions", content)
        assert (status, answer["error"]["code"]) == (413, "too_large")
        return answer["error"]["message"]

    assert refused(b" " * 3000) == "the body must be at most 2,000 bytes"
    assert refused({"decisions": [{}] * 3}) == "the decisions must be at most 2, got 3"
    flat = {str(n): n for n in range(4)}
    assert refused({"context": flat}) == "the features of the context must be at most 3, got 4"
    nested = refused({"context": {"a": flat}})
    assert nested == "the features of the context must be at most 3, got 4"
    assert refused({"actions": list("abc")}) == "the actions must be at most 2, got 3"
    named = refused({"actions": {"a": flat}})
    assert named == "the features of action 'a' must be at most 3, got 4"
    several = refused({"decisions": [{"actions": ["a", "b"]}] * 2})
    assert several == "the actions of all decisions together must be at most 3, got 4"
    assert service.call("GET", "/v1/status")[1]["n_events"] == 0


def test_deep_nesting_is_refused(start):
    service = start()
    for opened, closed in ((b"[", b"]"), (b'{"a":', b"}")):
        inner = 20_000 * opened + b"1" + 20_000 * closed
        status, answer = service.call("POST", "/v1/decisions", b'{"context": %s}' % inner)
        assert status == 400
        assert "not nested this deeply" in answer["error"]["message"]
    assert service.call("GET", "/v1/status")[1]["n_events"] == 0


def test_a_slow_client_is_told_and_holds_nobody_up(serve):
    service = serve(limits=RequestLimits(body_seconds=0.3))
    where = urlsplit(service.address)
    with socket.create_connection((where.hostname, where.port), timeout=20.0) as slow:
        head = (
            b"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        )
        slow.sendall(head + b"Content-Length: 100\r\n\r\n{")
        assert service.call("POST", "/v1/decisions", {"context": context(1)})[0] == 200
        answer = b"".join(iter(lambda: slow.recv(10_000), b""))  # until it is closed
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"the body must arrive within 0.3 seconds" in answer


def test_a_connection_without_a_request_is_closed(serve, monkeypatch):
    monkeypatch.setattr("graphcb.service.server.HEAD_SECONDS", 0.3)
    service = serve()
    where = urlsplit(service.address)
    for sent in (b"", b"GET", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "):
        with socket.create_connection((where.hostname, where.port), timeout=20.0) as idle:
            idle.sendall(sent)
            assert idle.recv(100) == b""
    with contextlib.closing(service.connect()) as kept:
        for _ in range(3):
            kept.request("GET", "/healthz")
            assert kept.getresponse().read() == b'{"status":"ok"}'
            time.sleep(0.4)


def test_headers_that_do_not_end_are_not_kept(serve, monkeypatch):
    """A thousand connections with as many bytes of them as they like would take all memory."""
    monkeypatch.setattr("graphcb.service.server.HEAD_SECONDS", 1000.0)
    service = serve()
    where, before = urlsplit(service.address), REFUSED["slow"]
    for name in (b"X", b"X" * 100_000):  # many, or one whose name does not end
        with socket.create_connection((where.hostname, where.port), timeout=20.0) as endless:
            with contextlib.suppress(ConnectionError):
                endless.sendall(b"GET /healthz HTTP/1.1\r\n")
                for _ in range(1000):
                    endless.sendall(name + b": 1\r\n" * (name == b"X") + b"X" * 1000)
            with contextlib.suppress(ConnectionError):
                assert endless.recv(100) == b""
    assert REFUSED["slow"] == before + 2
    body = json.dumps({"context": {"amount": 1.0}}).encode() + b" " * 500_000
    kind = {"Content-Type": "application/json"}
    assert service.call("POST", "/v1/decisions", body, kind)[0] == 200


def test_a_client_that_leaves_changes_nothing(serve):
    service = serve()
    where = urlsplit(service.address)
    for sent in (
        b"",
        b"GET",
        b"\x00\xff\r\n\r\n",
        b"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\n",
    ):
        with socket.create_connection((where.hostname, where.port), timeout=20.0) as broken:
            broken.sendall(sent)
    assert service.call("GET", "/healthz")[0] == 200
    assert service.call("GET", "/v1/status")[1]["n_events"] == 0


def test_a_log_continues_where_the_last_service_stopped(start):
    first = start()
    made = first.call("POST", "/v1/decisions", {"context": context(1)})[1]
    first.stop()
    second = start()
    path = f"/v1/decisions/{made['decision_id']}"
    assert second.call("POST", f"{path}/feedback", {"rewards": {}})[0] == 200
    assert second.call("GET", path)[1]["feedback"] == {}


def test_a_policy_without_a_problem_is_refused(tmp_path):
    from graphcb import Uniform

    with Policy(tmp_path / "log.db", Uniform()) as policy, pytest.raises(ValueError, match="names"):
        Service(policy)


def test_numbers_keep_every_bit(start):
    service = start(Problem(["a", "b"]))
    value = 0.1 + 0.2
    made = service.call("POST", "/v1/decisions", {"context": [value, 5, 1e-300]})[1]
    logged = service.call("GET", f"/v1/decisions/{made['decision_id']}")[1]
    assert logged["context"] == [value, 5.0, 1e-300]
    assert json.dumps(logged["context"][0]) == json.dumps(value)
