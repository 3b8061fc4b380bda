"""Several problems in one service: paths, keys, failures and pages of their own."""

import threading
import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog, Policy
from graphcb.decisions import LogError
from graphcb.service import overview
from graphcb.service.admission import RequestLimits
from graphcb.service.app import Service
from graphcb.service.errors import LOGGER
from graphcb.service.keys import Keys
from graphcb.service.problems import Problems
from graphcb.service.routes import ROUTES

from .conftest import FRAUD, ITEMS, InProcess

ASK = {"context": {"amount": 12.5, "country": "DE"}}
OWN = {"actions": {"a": {"price": 1.0}, "b": {"price": 2.0}}}


def until(is_true, *, seconds=60.0):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def begin(tmp_path):
    """A function that starts a service of problems by name, and waits until none is starting."""
    running = []

    def opened(name, problem, settings):
        policy = Policy(tmp_path / f"{name}.db", problem=problem, seed=0, durability="process-kill")
        return Service(policy, name=name, **settings)

    def begin(problems, settings=None, **more):
        openings = {
            name: one if callable(one) else lambda n=name, p=one: opened(n, p, settings or {})
            for name, one in problems.items()
        }
        running.append(InProcess(Problems(openings, **more)))
        until(lambda: "is starting" not in running[-1].ask("GET", "/readyz")[2].decode())
        return running[-1]

    yield begin
    for one in running:
        one.stop()


def test_each_problem_has_its_own_paths_and_log(begin, tmp_path):
    service = begin({"fraud": FRAUD, "items": ITEMS})
    status, made = service.call("POST", "/v1/problems/fraud/decisions", ASK)
    assert (status, made["action"] in ("approve", "review")) == (200, True)
    path = f"/v1/problems/fraud/decisions/{made['decision_id']}"
    told = {"rewards": {made["action"]: 1.5}}
    assert service.call("POST", f"{path}/feedback", told)[1]["counted"]
    assert service.call("GET", path)[1]["feedback"] == {made["action"]: 1.5}
    assert service.call("POST", "/v1/problems/items/decisions", OWN)[1]["action"] in ("a", "b")
    status, refused = service.call("GET", path.replace("fraud", "items"))
    assert (status, refused["error"]["code"]) == (404, "not_found")
    service.stop()
    with DecisionLog(tmp_path / "fraud.db") as fraud, DecisionLog(tmp_path / "items.db") as items:
        assert [log.n_decisions for log in (fraud, items)] == [1, 1]


def test_one_table_of_routes_serves_one_problem_and_many(begin, start):
    many, one = begin({"fraud": FRAUD}), start(log="alone.db")
    until(lambda: many.ask("GET", "/v1/problems/fraud/live")[0] == 200)  # once it is counted
    until(lambda: one.ask("GET", "/v1/live")[0] == 200)
    for route in ROUTES:
        path = route.path.replace("{id}", "page.css" if "page" in route.path else "x")
        there = "/v1/problems/fraud" + path.removeprefix("/v1")
        content = {} if route.method == "POST" and route.takes is not None else None
        found, expected = (
            many.ask(route.method, there, content),
            one.ask(route.method, path, content),
        )
        assert found[0] == expected[0], path
    document = many.call("GET", "/v1/problems/fraud/openapi.json")[1]
    assert "/v1/problems/fraud/decisions" in document["paths"]
    assert all(path.startswith("/v1/problems/fraud/") for path in document["paths"])


def test_the_service_lists_its_problems_for_programs_and_people(begin):
    service = begin({"fraud": FRAUD, "items": ITEMS})
    assert service.call("GET", "/v1/problems")[1] == {
        "problems": [
            {"name": name, "path": f"/v1/problems/{name}/", "state": "ok"}
            for name in ("fraud", "items")
        ]
    }
    status, headers, page = service.ask("GET", "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert b'<a href="/v1/problems/items/">items</a>' in page
    status, _, page = service.ask("GET", "/v1/problems/fraud/")
    assert (status, b"page.js" in page) == (200, True)
    assert service.ask("GET", "/page/page.js")[0] == 200
    assert "/v1/problems" in service.call("GET", "/openapi.json")[1]["paths"]
    until(lambda: service.call("GET", "/v1/problems/fraud/live")[0] == 200)  # once it is counted
    assert service.call("GET", "/v1/decisions")[0] == 404
    for path, code in (("decisions", "not_found"), ("personalizer/v1.0/rank", "ResourceNotFound")):
        status, answer = service.call("POST", f"/v1/problems/none/{path}", {})
        assert (status, answer["error"]["code"]) == (404, code)


def test_the_document_of_these_paths_is_made_once(begin, monkeypatch):
    made, describe = [], overview.describe
    monkeypatch.setattr(overview, "describe", lambda *given: made.append(1) or describe(*given))
    overview._document.cache_clear()
    service = begin({"fraud": FRAUD})
    for _ in range(3):
        assert service.ask("GET", "/openapi.json")[0] == 200
    assert made == [1]


def test_what_is_wrong_with_one_problem_is_named_and_leaves_the_others_alone(begin, caplog):
    is_mended = threading.Event()

    def broken():
        raise ValueError("/secret/path/prices.toml: actions must be distinct")

    def lost():
        if not is_mended.is_set():
            raise LogError("postgresql://secret: the server cannot be reached")
        raise ValueError("another reason")

    with caplog.at_level("WARNING", LOGGER.name):
        service = begin({"fraud": FRAUD, "prices": broken, "stock": lost})
        status, ready = service.call("GET", "/readyz")
        assert (status, ready["status"], ready["problems"]["fraud"]) == (200, "ok", "ok")
        assert ready["problems"]["prices"].startswith("its file, keys or log are not in order")
        assert ready["problems"]["stock"].startswith("its log cannot be opened")
        assert service.call("POST", "/v1/problems/fraud/decisions", ASK)[0] == 200
        status, headers, body = service.ask("POST", "/v1/problems/prices/decisions", ASK)
        assert (status, headers["retry-after"], b"secret" in body) == (503, "1", False)
        status, refused = service.call("POST", "/v1/problems/none/decisions", ASK)
        assert (status, "/v1/problems lists" in refused["error"]["message"]) == (404, True)
        is_mended.set()
        until(lambda: "stock is not served: another reason" in caplog.text)
    assert caplog.text.count("prices is not served: /secret/path/prices.toml") == 1


def test_a_problem_that_is_mended_is_served(begin, tmp_path):
    file = tmp_path / "is there"

    def opening():
        if not file.exists():
            raise FileNotFoundError("not yet")
        policy = Policy(tmp_path / "later.db", problem=FRAUD, durability="process-kill")
        return Service(policy, name="later")

    service = begin({"later": opening})
    status, _, body = service.ask("GET", "/readyz")
    assert (status, b"later: its file" in body) == (503, True)
    assert service.call("GET", "/livez") == (200, {"status": "ok"})
    file.touch()
    until(lambda: service.ask("GET", "/readyz")[0] == 200)
    assert service.call("POST", "/v1/problems/later/decisions", ASK)[0] == 200


def test_a_key_is_for_its_problem_alone(tmp_path, begin):
    keys = {name: Keys(tmp_path / f"{name}.json") for name in ("fraud", "other")}
    secrets = {name: one.add("client", ["decide"]) for name, one in keys.items()}

    def opening(name):
        policy = Policy(tmp_path / f"{name}.db", problem=FRAUD, durability="process-kill")
        limits = RequestLimits(per_second=1.0 if name == "other" else None)
        return Service(policy, keys=keys[name], limits=limits, name=name)

    service = begin({name: lambda n=name: opening(n) for name in keys}, is_local=False)

    def ask(problem, secret):
        headers = {"Authorization": f"Bearer {secret}", "Host": "example.com"}
        return service.call("POST", f"/v1/problems/{problem}/decisions", ASK, headers)[0]

    assert [ask("fraud", secrets["fraud"]) for _ in range(3)] == [200] * 3
    assert (ask("other", secrets["fraud"]), ask("fraud", secrets["other"])) == (401, 401)
    assert [ask("other", secrets["other"]) for _ in range(2)] == [200, 429]
    assert service.call("GET", "/readyz", headers={"Host": "example.com"})[0] == 200


def test_without_keys_the_list_is_for_this_machine(begin):
    service = begin({"fraud": FRAUD})
    for path in ("/", "/v1/problems", "/readyz"):
        assert service.call("GET", path, headers={"Host": "attacker.example"})[0] == 403


def test_one_that_is_about_to_stop_is_not_ready(begin):
    service = begin({"fraud": FRAUD})
    service.service.leave()
    for path in ("/readyz", "/v1/problems/fraud/readyz"):
        status, refused = service.call("GET", path)
        assert (status, refused["error"]["message"]) == (503, "the service is about to stop")
    assert service.call("POST", "/v1/problems/fraud/decisions", ASK)[0] == 200


def test_a_process_has_at_most_its_part_and_gives_back_what_is_more(begin, tmp_path):
    class Sharing:
        n = 2

    def opening(name):
        policy = Policy(tmp_path / f"{name}.db", problem=FRAUD, durability="process-kill")
        return Service(policy, name=name)

    sharing = Sharing()
    service = begin({n: lambda n=n: opening(n) for n in "abcde"}, sharing=sharing)

    def n_served():
        return sum(
            one["state"] == "ok" for one in service.call("GET", "/v1/problems")[1]["problems"]
        )

    until(lambda: n_served() == 3)
    sharing.n = 1
    until(lambda: n_served() == 5)
    sharing.n = 3
    until(lambda: n_served() == 2)

    def left():
        states = service.call("GET", "/readyz")[1]["problems"].values()
        return [state for state in states if state != "ok"]

    until(lambda: left() == ["it is left to another learner"] * 3)
