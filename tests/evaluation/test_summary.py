import json

import numpy as np
import pytest

import graphcb
from graphcb import graphs
from graphcb.evaluation.summary import summarize
from graphcb.problems import Problem


def fill(path, n, problem=None, graph=None, losses=None, feedback_every=1):
    agent = None if problem is not None else graphcb.Uniform()
    with graphcb.Policy(path, agent, problem=problem, seed=0, durability="process-kill") as policy:
        for t in range(n):
            made = policy.decide({"t": t} if problem else [float(t)], graph)
            if t % feedback_every == 0:
                policy.feedback(made.decision_id, losses(t, made.action))
    return path


def summary_of(path, **options):
    with graphcb.DecisionLog(path) as log:
        return summarize(log, **options)


def test_losses_over_time(tmp_path):
    path = fill(tmp_path / "log.db", 100, graph=graphs.bandit(2),
                losses=lambda t, a: {a: 0.25 if t < 50 else 0.75})  # fmt: skip
    found = summary_of(path, n_windows=4)
    assert (found.n_decisions, found.n_with_feedback, found.n_parts) == (100, 100, 100)
    assert [(window.first, window.last) for window in found.windows] == [
        (1, 25), (26, 50), (51, 75), (76, 100),
    ]  # fmt: skip
    assert [window.mean for window in found.windows] == pytest.approx([0.25, 0.25, 0.75, 0.75])
    assert found.mean == pytest.approx(0.5)
    assert found.interval.lower < 0.5 < found.interval.upper
    assert found.unit == "loss"
    assert sum(found.shares.values()) == pytest.approx(1.0)
    assert set(found.shares) == {"0", "1"}


def test_names_and_rewards_of_a_problem(tmp_path):
    terms = {"reveals": {"all": ["review"]}, "feedback": "rewards", "range": (0.0, 10.0)}
    approving, reviewing = (
        Problem(["approve", "review"], **terms, baseline={"action": action, "mode": "shadow"})
        for action in ("approve", "review")
    )
    path = fill(tmp_path / "log.db", 30, approving, losses=lambda t, a: {})
    with graphcb.Policy(path) as policy:
        policy.change(reviewing)
        for t in range(10):
            made = policy.decide({"t": t})
            policy.feedback(made.decision_id, {"approve": 8.0, "review": 2.0})
    found = summary_of(path, n_windows=4)
    assert found.unit == "reward"
    assert found.shares == {"approve": 0.75, "review": 0.25}
    assert found.n_used == 40
    assert found.unseen_share == 0.75  # approve, while nothing was reviewed
    assert (found.mean, found.interval) == (None, None)
    assert [window.mean for window in found.windows] == [None, None, None, 2.0]


def test_the_mean_does_not_lean_to_what_is_revealed(tmp_path):
    """Action 0 reveals both losses, action 1 nothing; half of the play is on each."""
    path = fill(tmp_path / "log.db", 400, graph=graphs.apple_tasting(),
                losses=lambda t, a: {0: 0.2, 1: 0.6} if a == 0 else {})  # fmt: skip
    found = summary_of(path)
    assert found.n_used > 390  # but for the last ones, which reveal nothing
    assert found.mean == pytest.approx(0.4)  # not 0.2, what is seen of action 0
    assert found.interval.upper - found.interval.lower < 0.04


def test_missing_feedback_is_counted(tmp_path):
    path = fill(tmp_path / "log.db", 30, graph=graphs.bandit(2), losses=lambda t, a: {a: 0.5},
                feedback_every=3)  # fmt: skip
    found = summary_of(path, n_windows=3)
    assert found.n_with_feedback == found.n_used == 10
    assert found.feedback_share == pytest.approx(1 / 3)
    assert [window.feedback_share for window in found.windows] == pytest.approx([0.4, 0.3, 0.3])


def test_parts_and_delays(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("graphcb.decisions.together.time.time", lambda: now[0])
    agent = graphcb.Uniform()
    with graphcb.Policy(tmp_path / "log.db", agent, seed=0, durability="process-kill") as policy:
        for delay in (10.0, 20.0, 30.0):
            made = policy.decide(None, graphs.full_information(2))
            now[0] += delay
            policy.feedback(made.decision_id, {0: 0.25})
            now[0] += 100.0
            policy.feedback(made.decision_id, {1: 0.75})
        policy.feedback(policy.decide(None, graphs.full_information(2)).decision_id, {0: 0.5})
    found = summary_of(tmp_path / "log.db")
    assert (found.n_with_feedback, found.n_parts, found.n_used) == (4, 7, 3)
    assert found.delays[1] == pytest.approx(15.0)
    assert found.delays[-1] == pytest.approx(30.0)
    assert found.last_delays[-1] == pytest.approx(130.0)
    assert found.mean == pytest.approx(0.5)


def test_nothing_is_known_of_a_log_without_feedback(tmp_path):
    path = tmp_path / "log.db"
    with graphcb.Policy(path, graphcb.Uniform(), seed=0, durability="process-kill") as policy:
        policy.decide(None, graphs.bandit(2))
    found = summary_of(path)
    assert (found.mean, found.interval, found.delays, found.n_used) == (None, None, None, 0)
    assert len(found.windows) == 1
    assert json.loads(json.dumps(found.to_dict()))["windows"][0]["mean"] is None


def test_an_empty_log_is_refused(tmp_path):
    graphcb.Policy(tmp_path / "log.db", graphcb.Uniform()).close()
    with pytest.raises(ValueError, match="must have decisions to sum up, got none"):
        summary_of(tmp_path / "log.db")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n_windows": 0}, "`n_windows` must be at least 1, got 0"),
        ({"confidence": 1.0}, "`confidence` must lie between 0 and 1"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, text):
    path = fill(tmp_path / "log.db", 2, graph=graphs.bandit(2), losses=lambda t, a: {a: 0.5})
    with pytest.raises(ValueError, match=text):
        summary_of(path, **options)


def test_the_json_has_everything(tmp_path):
    path = fill(tmp_path / "log.db", 10, graph=graphs.bandit(2), losses=lambda t, a: {a: 0.5})
    plain = json.loads(json.dumps(summary_of(path, n_windows=2).to_dict()))
    assert plain["n_decisions"] == 10
    assert plain["interval"][0] < 0.5 < plain["interval"][1]
    assert plain["anytime"][0] < plain["interval"][0]
    assert len(plain["windows"]) == 2
    assert np.isclose(plain["feedback_share"], 1.0)


def test_a_value_that_looks_like_a_code_for_missing_is_named(tmp_path):
    problem, rng = Problem(["a", "b"]), np.random.default_rng(0)
    with graphcb.Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        for age in rng.integers(20, 60, 100).tolist():
            odd = 999999 if age % 10 == 0 else 12.5
            made = policy.decide({"age": age, "spent": odd + age / 100 if odd < 99 else odd})
            policy.feedback(made.decision_id, {made.action: 0.5})
    found = summary_of(tmp_path / "log.db")
    (note,) = found.notes
    assert note.startswith("the feature 'spent' was 999999 more than once, far from all its other")
    assert json.loads(json.dumps(found.to_dict()))["notes"] == [note]
    assert "notes" not in summary_of(fill(tmp_path / "b.db", 9, problem,
                                          losses=lambda t, a: {a: 0.5})).to_dict()  # fmt: skip


def test_a_clock_that_was_ahead_is_noticed_and_said(tmp_path, monkeypatch):
    now, day = [1.7e9], 86_400.0
    monkeypatch.setattr("time.time", lambda: now[0])
    with graphcb.Policy(tmp_path / "log.db", problem=Problem(["a", "b"]), seed=0) as policy:
        for k in range(20):
            now[0] = 1.7e9 + 60.0 * k + (3650.0 * day if k == 7 else 0.0) - 200.0 * (k > 9)
            made = policy.decide({"x": 1.0})
            policy.feedback(made.decision_id, {made.action: 0.5})
    (note,) = summary_of(tmp_path / "log.db").notes
    assert note.startswith("the clock went back once by 315,359,940 seconds, before event 17: it ")
    with graphcb.Policy(tmp_path / "log.db") as policy:
        now[0] -= 1000.0
        policy.decide({"x": 1.0})
    (note,) = summary_of(tmp_path / "log.db").notes
    assert note.startswith("the clock went back 2 times, the furthest by 315,359,940 seconds")
