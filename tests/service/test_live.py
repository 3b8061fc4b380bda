"""/v1/live, and the files of the page."""

import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

import msgspec
import numpy as np

from graphcb import Problem
from graphcb.compilation import watch as compiling
from graphcb.evaluation.settling import Settled
from graphcb.graphs import full_information
from graphcb.service import pages
from graphcb.service.keys import Keys
from graphcb.service.live_answers import LiveAnswer
from graphcb.service.standing import keeps_up
from graphcb.service.tally import LiveTally

from .conftest import FRAUD, ITEMS, only

GUARDED = Problem(
    ["approve", "review"],
    reveals={"all": ["review"], "own": True},
    feedback="rewards",
    range=(-50.0, 20.0),
    name="fraud review",
    limits={
        "floors": {"review": 0.1},
        "linear": [{"actions": ["approve", "review"], "at_least": 0.5, "name": "team"}],
    },
    budgets={"reviews": {"costs": {"review": 1}, "at_most": 1.0}},
)  # fmt: skip
REWARDS = {"approve": 6.0, "review": -1.0}


def live(service):
    status, content = service.call("GET", "/v1/live")
    assert status == 200
    return msgspec.convert(content, LiveAnswer)


def decide(service, n, problem=GUARDED):
    """Decisions with feedback; what was played."""
    played = []
    for _ in range(n):
        made = service.call("POST", "/v1/decisions", {"context": {"amount": 1.0}})[1]
        played.append(made["action"])
        shown = REWARDS if made["action"] == "review" else {"approve": REWARDS["approve"]}
        path = f"/v1/decisions/{made['decision_id']}/feedback"
        assert service.call("POST", path, {problem.feedback: shown})[0] == 200
    return played


def test_a_new_service_says_that_nothing_is_known(start):
    shown = live(start(GUARDED))
    assert (shown.log.n_events, shown.log.n_decisions, shown.log.n_settled) == (0, 0, 0)
    assert shown.estimates.policy.mean is None
    assert (shown.estimates.policy.lower, shown.estimates.policy.upper) == (-50.0, 20.0)
    assert shown.estimates.best is None
    assert shown.estimates.curve.decisions == []
    assert shown.feedback.delay_p50 is None
    assert shown.service.requests == []


def test_what_was_decided_is_shown(start):
    service = start(GUARDED)
    service.service.watcher.pause = 0.0
    before = time.time()
    played = decide(service, 40)
    service.call("POST", "/v1/decisions", {"context": 5})
    shown = live(service)
    assert (shown.name, shown.unit) == ("fraud review", "reward")
    assert shown.service.agent == "InformationDirected"
    assert (shown.log.n_events, shown.log.seen_event, shown.log.model_version) == (80, 80, 40)
    assert (shown.log.n_decisions, shown.log.n_settled) == (40, 40)
    shares = {one.name: one.share for one in shown.actions}
    assert shares == {name: pytest.approx(played.count(name) / 40) for name in REWARDS}
    assert {name: one[-1] for name, one in shown.windows.shares.items()}.keys() == REWARDS.keys()
    assert shown.windows.decisions == [20, 40]
    assert shown.windows.colours == {"approve": 0, "review": 1}
    for times in (shown.windows.times, shown.estimates.curve.times):
        assert before <= times[0] <= times[-1] <= shown.now
    assert (shown.hour.n_decisions, shown.hour.n_settled) == (40, 40)
    assert shown.hour.mean == pytest.approx(shown.estimates.policy.mean)
    assert shown.exploration.hour == pytest.approx(shown.exploration.share)
    assert [one.hour for one in shown.actions] == [one.share for one in shown.actions]
    assert shown.estimates.best.name == "approve"
    assert shown.estimates.best.mean == pytest.approx(6.0)  # every decision shows it
    assert shown.estimates.baseline is None
    assert shown.estimates.policy.lower < shown.estimates.policy.mean < shown.estimates.policy.upper
    assert shown.estimates.gain_on_best.mean == pytest.approx(shown.estimates.policy.mean - 6.0)
    assert shown.estimates.curve.decisions == [10, 20, 30, 40]
    assert shown.estimates.curve.mean[-1] == pytest.approx(shown.estimates.policy.mean)
    assert shown.estimates.curve.best[-1] == pytest.approx(6.0)
    assert shown.feedback.answered == shown.feedback.expected == 40
    assert shown.feedback.delay_p50 > 0.0
    assert shown.graph.matrix == [[1.0, 0.0], [1.0, 1.0]]
    decisions, feedback = shown.service.requests
    assert (decisions.path, decisions.requests, decisions.refused) == ("/v1/decisions", 41, 1)
    assert (feedback.requests, feedback.failed) == (40, 0)


def test_the_last_hour_is_not_all_time(start):
    service = start(GUARDED)
    service.service.watcher.pause = 0.0
    decide(service, 20)
    watch = live(service) and service.service.watcher._worker.watch
    for minutes in (watch.tally.minutes, watch.tally.judge._minutes):
        minutes._values = {minute - 61: value for minute, value in minutes._values.items()}
    shown = live(service)
    assert (shown.log.n_decisions, shown.log.n_settled) == (20, 20)
    assert (shown.hour.n_decisions, shown.hour.n_settled, shown.hour.mean) == (0, 0, None)
    assert shown.exploration.hour is None
    assert [one.hour for one in shown.actions] == [None, None]
    decide(service, 1)
    shown = live(service)
    assert (shown.hour.n_decisions, shown.hour.n_settled) == (1, 1)
    assert shown.hour.mean in (REWARDS["approve"], REWARDS["review"])


def test_it_says_when_machine_code_is_compiled(start, monkeypatch):
    service = start(GUARDED)
    service.service.watcher.pause = 0.0
    assert live(service).service.is_compiling is False
    monkeypatch.setattr(compiling, "_names", ["graphcb.kernel"])
    assert live(service).service.is_compiling is True


def test_the_page_is_told_when_its_numbers_take_long(start, monkeypatch):
    service = start(GUARDED)

    async def takes_long(describe):
        return None

    monkeypatch.setattr(service.service.watcher, "look", takes_long)
    status, headers, body = service.ask("GET", "/v1/live")
    assert (status, headers["retry-after"]) == (202, "1")
    assert b"machine code may have to be compiled" in body


def test_rules_are_shown_with_how_they_stand(start):
    service = start(GUARDED)
    decide(service, 10)
    limits, budget = live(service).rules
    assert limits.says == "probability of review at least 0.1; team: approve + review at least 0.5"
    assert (limits.stands, limits.held) == ("held in all 10 decisions", True)
    assert budget.name == "budget reviews"
    assert budget.says == "at most 1 per round, where review costs 1"
    assert "spent" in budget.stands
    assert budget.held


def test_the_baseline_is_a_rule_and_a_line(start):
    problem = Problem(["a", "b"], range=(0.0, 2.0), baseline={"action": "b", "mode": "shadow"})
    service = start(problem)
    for _ in range(20):
        made = service.call("POST", "/v1/decisions", {"context": {"x": 1.0}})[1]
        path = f"/v1/decisions/{made['decision_id']}/feedback"
        service.call("POST", path, {"losses": {made["action"]: 0.5}})
    shown = live(service)
    (rule,) = shown.rules
    assert rule.says.startswith("b is always played; what the learner")
    assert (rule.stands, rule.held) == ("the baseline decided all", True)
    assert (shown.estimates.baseline.name, shown.estimates.baseline.mean) == ("b", 0.5)
    assert shown.estimates.gain_on_baseline.mean == 0.0
    assert shown.estimates.curve.baseline == [0.5, 0.5]
    unseen = {one.name: one.value for one in shown.actions}["a"]
    assert (unseen.mean, unseen.unseen) == (None, 1.0)
    assert (unseen.lower, unseen.upper) == (0.0, 2.0)


def test_a_policy_that_loses_far_more_than_its_baseline_has_not_kept_up():
    for feedback, bad in (("losses", 1.0), ("rewards", 0.0)):
        problem = Problem(["a", "b"], reveals="full-information", feedback=feedback, baseline="a")
        for p, kept in (([1.0, 0.0], True), ([0.0, 1.0], False)):
            tally = LiveTally(only(problem))
            losses = np.array([0.5, bad])
            one = Settled(full_information(2), ("a", "b"), np.array(p), np.ones(2, bool), losses)
            tally.judge.add([one] * 500)
            assert keeps_up(tally, "a") is kept


def test_actions_that_come_with_each_round(start):
    service = start(ITEMS)
    for n in range(12):
        items = {f"item {n % 3}": {"price": 1.0}, f"item {n}": {"price": 2.0}, "x": {"price": 0.0}}
        request = {"context": {"y": 1.0}, "actions": items}
        made = service.call("POST", "/v1/decisions", request)[1]
        path = f"/v1/decisions/{made['decision_id']}/feedback"
        service.call("POST", path, {"rewards": {made["action"]: 0.5}})
    shown = live(service)
    assert shown.graph is None
    assert shown.estimates.best is None
    assert shown.estimates.policy.mean is not None
    assert "others" in shown.windows.shares or len(shown.windows.shares) <= 8
    assert sum(one[0] for one in shown.windows.shares.values()) == pytest.approx(1.0)
    assert all(one.value is None for one in shown.actions)


def test_versions_are_shown_with_what_was_seen_of_them(start):
    service = start(GUARDED)
    service.service.watcher.pause = 0.0
    decide(service, 30)
    (only_one,) = live(service).versions.last
    assert (only_one.number, only_one.note, only_one.n_decisions) == (1, "", 30)
    before = live(service)
    calls = Problem(
        ["approve", "review", "call"], feedback="rewards", range=(-50.0, 20.0), name="with calls"
    )
    sent = {"toml": calls.to_toml(), "note": "calls are new"}
    assert service.call("POST", "/v1/problem", sent)[0] == 200
    shown = live(service)
    assert (shown.versions.counted, shown.versions.n, shown.log.n_decisions) == (2, 2, 0)
    assert (shown.name, shown.log.first_event, shown.rules) == ("with calls", 61, [])
    now, first = shown.versions.last
    assert (now.number, now.note, now.n_decisions, now.is_whole) == (2, "calls are new", 0, True)
    assert now.since > first.since
    assert (first.number, first.n_decisions, first.unit) == (1, 30, "reward")
    assert first.value.mean == pytest.approx(before.estimates.policy.mean)
    assert (first.value.lower, first.value.upper) == (
        before.estimates.policy.lower,
        before.estimates.policy.upper,
    )
    for _ in range(12):
        service.call("POST", "/v1/rollback", {"version": 1})
    shown = live(service)
    assert (shown.versions.n, len(shown.versions.last)) == (14, 10)
    assert [one.number for one in shown.versions.last] == list(range(14, 4, -1))
    assert shown.name == "fraud review"


def test_the_answer_is_about_the_version_that_was_counted(start):
    """The desk may be a version ahead of what was read."""
    service = start(GUARDED)
    service.service.watcher.pause = 1000.0
    decide(service, 5)
    assert live(service).log.n_decisions == 5
    calls = Problem(["review", "call"], range=(0.0, 1.0), name="with calls")
    assert service.call("POST", "/v1/problem", {"toml": calls.to_toml()})[0] == 200
    shown = live(service)
    assert (shown.name, shown.unit, shown.versions.counted) == ("fraud review", "reward", 1)
    assert [one.name for one in shown.actions] == ["approve", "review"]


def test_defaults_are_shown_apart_from_feedback(start):
    clicks = Problem(["a", "b"], feedback="rewards", defaults={"waiting": 0.01, "reward": 0.0})
    service = start(clicks, tend_every=0.02)
    service.service.watcher.pause = 0.0
    made = [service.call("POST", "/v1/decisions", {"context": {"x": 1.0}})[1] for _ in range(5)]
    end = time.monotonic() + 30.0
    while live(service).feedback.by_default < 5:
        assert time.monotonic() < end
        time.sleep(0.02)
    path = f"/v1/decisions/{made[0]['decision_id']}/feedback"
    service.call("POST", path, {"rewards": {made[0]["action"]: 1.0}})
    shown = live(service)
    assert shown.log.n_settled == 5
    found = shown.feedback
    assert (found.expected, found.answered, found.by_default, found.replaced) == (5, 1, 4, 1)
    assert found.waiting == 0
    assert live(start(GUARDED, "other.db")).feedback.by_default is None


def test_where_chances_are_learned_there_are_no_estimates(start):
    service = start(Problem(["a", "b"], reveals="unknown"))
    for _ in range(20):
        made = service.call("POST", "/v1/decisions", {"context": {"x": 1.0}})[1]
        path = f"/v1/decisions/{made['decision_id']}/feedback"
        assert service.call("POST", path, {"losses": {made["action"]: 0.5}})[0] == 200
    shown = live(service)
    assert "graphcb log summary LOG" in shown.estimates.missing
    assert (shown.log.n_decisions, shown.log.n_settled, shown.feedback.answered) == (20, 0, 20)
    assert shown.estimates.policy.mean is None
    assert shown.estimates.best is None
    assert shown.estimates.curve.decisions == []
    assert shown.exploration.cost.mean is None
    assert [one.value for one in shown.actions] == [None, None]
    assert shown.versions.last[0].value is None
    assert shown.graph.matrix == [[None, None], [None, None]]


def test_the_graph_of_a_hidden_price(start):
    service = start(Problem(["1", "2", "3"], reveals={"unknown": "bids"}, feedback="rewards"))
    shown = live(service)
    assert shown.estimates.missing == ""
    assert shown.graph.matrix == [[1.0, 1.0, 1.0], [None, 1.0, 1.0], [None, None, 1.0]]


def test_the_page_and_its_files(start):
    service = start()
    status, headers, body = service.ask("GET", "/")
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["x-content-type-options"] == "nosniff"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert b"http://" not in body
    assert b"https://" not in body
    assert b"style=" not in body
    for name in pages.FILES:
        status, headers, body = service.ask("GET", f"/page/{name}")
        assert status == 200
        assert len(body) > 100
        assert "content-security-policy" in headers
        if not name.endswith(".svg"):  # whose namespace is an address
            assert b"://" not in body
    for wrong in ("nothing.js", "..%2Fapp.py", "index.html", "%2e%2e"):
        status, answer = service.call("GET", f"/page/{wrong}")
        assert (status, answer["error"]["message"]) == (404, "the page has no such file")


def test_the_chart_library_comes_from_its_package(start, monkeypatch):
    pytest.importorskip("dygraphs", reason="needs the extra `serve`")
    service = start()
    status, headers, body = service.ask("GET", f"/page/{pages.CHARTS}")
    assert status == 200
    assert headers["content-type"].startswith("text/javascript")
    assert b"Dygraph" in body
    assert len(body) < 200_000
    script = b'<script src="/page/dygraph.js" defer></script>'
    whole = service.ask("GET", "/")[2]
    assert script in whole
    monkeypatch.setattr(pages, "find_spec", lambda name: None)  # as if it were not installed
    assert service.ask("GET", "/")[2] == whole.replace(script + b"\n", b"")
    status, answer = service.call("GET", f"/page/{pages.CHARTS}")
    assert status == 404
    assert answer["error"]["message"] == (
        "the package dygraphs is not installed: pip install 'graphcb[serve]'"
    )


def test_with_keys_the_page_is_open_and_its_numbers_are_not(start, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    reader, decider = keys.add("page", ["read"]), keys.add("shop", ["decide"])
    service = start(FRAUD, keys=keys)
    assert service.ask("GET", "/")[0] == 200
    assert service.ask("GET", "/page/page.js")[0] == 200
    assert service.call("GET", "/v1/live")[0] == 401
    for key, status in ((reader, 200), (decider, 403)):
        found = service.call("GET", "/v1/live", headers={"Authorization": f"Bearer {key}"})
        assert found[0] == status
