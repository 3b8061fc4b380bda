"""Versions of a problem over HTTP, and what the service does by itself."""

import contextlib
import sqlite3
import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog, Policy, Problem
from graphcb.cli import main
from graphcb.decisions import replay, verify
from graphcb.service.keys import Keys

from .conftest import FRAUD

FEATURES = {"amount": "number", "country": "category?"}
NEXT = Problem(
    ["review", "call"], feedback="rewards", range=(-50.0, 20.0), features=FEATURES,
    limits={"floors": {"call": 0.25}},
)  # fmt: skip
LOSSES = Problem(["review", "call"], features=FEATURES)
CONTEXT = {"context": {"amount": 30.0, "country": "DE"}}


def decide(service):
    status, made = service.call("POST", "/v1/decisions", CONTEXT)
    assert status == 200
    return made


def test_a_change_and_a_way_back(start, tmp_path):
    service = start()
    late = decide(service)
    status, answer = service.call("POST", "/v1/problem", {"toml": NEXT.to_toml(), "note": "calls"})
    assert (status, answer["version"], answer["position"]) == (200, 2, 2)
    assert answer["said"][0] == "what was learned of 'review' is kept"
    made = decide(service)
    assert made["probabilities"].keys() == {"review", "call"}
    assert made["probabilities"]["call"] >= 0.25
    status, found = service.call("GET", "/v1/status")
    assert (found["problem_version"], found["n_decisions"], found["n_events"]) == (2, 2, 3)
    assert service.call("GET", "/v1/problem")[1]["actions"] == ["review", "call"]
    assert b"graphcb_problem_version 2.0" in service.ask("GET", "/metrics")[2]
    path = f"/v1/decisions/{late['decision_id']}/feedback"
    assert service.call("POST", path, {"rewards": {late["action"]: 5.0}})[1]["counted"]
    status, answer = service.call("POST", "/v1/rollback", {"version": 1})
    assert (status, answer["version"]) == (200, 3)
    assert decide(service)["probabilities"].keys() == {"review"}  # which tells of both
    versions = service.call("GET", "/v1/versions")[1]["versions"]
    assert [one["toml"] for one in versions] == [FRAUD.to_toml(), NEXT.to_toml(), FRAUD.to_toml()]
    assert [one["note"] for one in versions] == ["", "calls", "back to version 1"]
    service.stop()
    assert verify(tmp_path / "log.db") == []


def test_feedback_is_in_the_word_of_the_version_that_decided(start):
    service = start()
    first = decide(service)
    assert service.call("POST", "/v1/problem", {"toml": LOSSES.to_toml()})[0] == 200
    second = decide(service)
    for made, word, other in ((first, "rewards", "losses"), (second, "losses", "rewards")):
        path = f"/v1/decisions/{made['decision_id']}/feedback"
        status, answer = service.call("POST", path, {other: {made["action"]: 0.5}})
        assert status == 400
        assert f"`{word}` must be given for this problem" in answer["error"]["message"]
        assert service.call("POST", path, {word: {made["action"]: 0.5}})[1]["counted"]


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("problem", {"toml": FRAUD.to_toml()}, "must differ from the current problem"),
        ("problem", {"toml": "[problem]\n"}, "[problem] must have actions = "),
        ("problem", {"toml": "[problem"}, "must be TOML"),
        ("problem", {}, "missing required field `toml`"),
        (
            "problem", {"toml": '[problem]\nactions = ["approve"]\n[reveals]\nfile = "/etc/x"\n'},
            "must contain the graph, got the name of a file in [reveals]",
        ),
        (
            "problem", {"toml": '[problem]\nactions = ["x", "y"]\nfeedback = "rewards"\n'
            'range = [-50, 20]\n[features]\namount = "number"\ncountry = "category?"\n'},
            "`problem` must keep an action of 'approve', 'review', got 'x', 'y'",
        ),
        ("rollback", {"version": 1}, "must be an earlier one, got 1, which decides now"),
        ("rollback", {"version": 9}, "`version` must be between 1 and 1, got 9"),
        ("rollback", {"version": True}, "Expected `int`, got `bool`"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(start, path, body, text):
    service = start()
    status, answer = service.call("POST", f"/v1/{path}", body)
    assert status == 400
    assert text in answer["error"]["message"]
    status, found = service.call("GET", "/v1/status")
    assert (found["n_events"], found["problem_version"]) == (0, 1)
    assert service.call("GET", "/v1/problem")[1]["actions"] == ["approve", "review"]
    assert decide(service)["probabilities"].keys() == {"review"}  # which tells of both


def test_a_change_needs_the_scope_admin(start, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    plain, admin = keys.add("shop", ["decide", "feedback", "read"]), keys.add("boss", ["admin"])
    service = start(keys=keys)
    for path, body in (("problem", {"toml": NEXT.to_toml()}), ("rollback", {"version": 1})):
        for key, expected in (("", 401), (plain, 403), (admin, 200)):
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            assert service.call("POST", f"/v1/{path}", body, headers)[0] == expected


def test_decisions_that_wait_get_their_default_by_themselves(start, tmp_path):
    clicks = Problem(
        ["a", "b"], feedback="rewards", features=FEATURES, defaults={"waiting": 0.2, "reward": 0.0}
    )
    service = start(clicks, tend_every=0.05)
    made = decide(service)
    path = f"/v1/decisions/{made['decision_id']}"
    end = time.monotonic() + 30.0
    while service.call("GET", path)[1]["feedback"] is None:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert service.call("GET", path)[1]["feedback"] == {made["action"]: 0.0}
    receipt = service.call("POST", f"{path}/feedback", {"rewards": {made["action"]: 1.0}})[1]
    assert receipt["message"] == "counted, in place of the default after waiting"
    assert service.call("GET", path)[1]["feedback"] == {made["action"]: 1.0}
    service.stop()
    with DecisionLog(tmp_path / "log.db") as log:
        assert replay(log).n_feedbacks == 2


def test_old_decisions_are_removed_by_themselves(start):
    short = Problem(["a", "b"], features=FEATURES, defaults={"keep_days": 1e-9})
    service = start(short, tend_every=0.05)
    path = f"/v1/decisions/{decide(service)['decision_id']}"
    end = time.monotonic() + 30.0
    while service.call("GET", path)[0] != 404:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "old decisions were removed" in service.call("GET", path)[1]["error"]["message"]
    assert service.call("GET", "/v1/status")[1]["n_decisions"] == 1


def test_the_command_continues_with_the_last_version_for_an_earlier_file(
    tmp_path, monkeypatch, capsys
):
    FRAUD.write(tmp_path / "problem.toml")
    with Policy(tmp_path / "problem.db", problem=FRAUD) as policy:
        policy.change(NEXT)
    served = []
    monkeypatch.setattr(
        "graphcb.service.server.new_server",
        lambda service, tls: served.append(service.desk.problem),
    )
    monkeypatch.setattr("graphcb.service.server.run", lambda *_: None)
    assert main(["serve", str(tmp_path / "problem.toml"), "--port", "0"]) == 0
    assert served == [NEXT]
    words = "the file has version 1 of the problem; continuing with version 2, which the log has"
    assert words in capsys.readouterr().out
    LOSSES.write(tmp_path / "problem.toml")
    assert main(["serve", str(tmp_path / "problem.toml"), "--port", "0"]) != 0
    assert "change the log with graphcb log promote" in capsys.readouterr().err


def test_from_a_shadow_to_deciding_with_what_was_learned(start, tmp_path, capsys):
    given = {"feedback": "rewards", "reveals": "full_information", "features": FEATURES}
    shadow = Problem(["a", "b"], baseline={"action": "a", "mode": "shadow"}, **given)
    service = start(shadow)
    for _ in range(20):
        made = decide(service)
        assert made["probabilities"] == {"a": 1.0}
        path = f"/v1/decisions/{made['decision_id']}/feedback"
        assert service.call("POST", path, {"rewards": {"a": 0.0, "b": 1.0}})[0] == 200
    live = Problem(["a", "b"], **given)
    answer = service.call("POST", "/v1/problem", {"toml": live.to_toml()})[1]
    assert answer["said"] == ["what was learned is kept"]
    assert decide(service)["action"] == "b"
    service.stop()
    log = str(tmp_path / "log.db")
    assert main(["evaluate", log, "--policy", "shadow", "--version", "1"]) == 0
    assert "gain on what was played: 0." in capsys.readouterr().out


def test_a_person_is_forgotten(start, tmp_path):
    service = start()
    for who in ("eve", "adam", 7):
        body = {"context": {"amount": 30.0, "country": f"mark of {who}"}, "subject": who}
        assert service.call("POST", "/v1/decisions", body)[0] == 200
    batch = {"decisions": [{**CONTEXT, "subject": "eve"}, CONTEXT]}
    hers = service.call("POST", "/v1/decisions", batch)[1]["decisions"][0]
    status, text = service.call("POST", "/v1/decisions", {**batch, "subject": "eve"})
    assert status == 400
    assert "`decisions` must stand alone" in text["error"]["message"]
    status, receipt = service.call("POST", "/v1/forget", {"subject": "eve", "unlearn": True})
    assert (status, receipt["n_decisions"], receipt["unlearned"]) == (200, 2, True)
    assert receipt["left"] == ""
    with contextlib.closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as reader:
        reader.execute("PRAGMA busy_timeout = 0")
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM graphcb_decisions").fetchone() == (3,)
        left = service.call("POST", "/v1/forget", {"subject": "adam"})[1]["left"]
    assert left.startswith("the log-wal still has what was removed")
    assert str(tmp_path) not in left
    assert service.call("GET", f"/v1/decisions/{hers['decision_id']}")[0] == 404
    assert service.call("POST", "/v1/forget", {"subject": ""})[0] == 400
    found = [path.name for path in tmp_path.glob("log.db*") if b"mark of eve" in path.read_bytes()]
    assert found == []
    decide(service)
    service.stop()
    assert verify(tmp_path / "log.db") == []
    with DecisionLog(tmp_path / "log.db") as log:
        assert len(log.receipts) == 2
        assert len(list(log)) == 3
