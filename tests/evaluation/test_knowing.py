"""Estimates use what a problem knows without feedback, and wait for nothing else."""

import numpy as np
import pytest

from graphcb import DecisionLog, Learner, Policy, Problem, Uniform
from graphcb.cli import main
from graphcb.evaluation import candidate, constant, evaluate, logged, summarize, uniform
from graphcb.evaluation.knowing import awaits_feedback, knowing

FRAUD = Problem(
    ["approve", "review"],
    reveals={"all": ["review"]},
    feedback="rewards",
    range=(-50.0, 1.0),
    known={"review": -2.0},
)
CALLS = Problem(["skip", "call"], feedback="rewards", range=(-1.0, 4.0), known={"skip": 0.0})


def contexts(n, seed=0):
    rng = np.random.default_rng(seed)
    return [{"country": "DE" if rng.random() < 0.6 else "XX"} for _ in range(n)]


def earns(row, n):
    return 1.0 if row["country"] == "DE" else (-50.0 if n % 2 else 1.0)


@pytest.fixture
def fraud_log(tmp_path):
    with Policy(tmp_path / "log.db", Uniform(), problem=FRAUD, seed=0) as policy:
        for n, row in enumerate(contexts(300)):
            made = policy.decide(row)
            if made.action == "review":
                policy.feedback(made.decision_id, {"approve": earns(row, n)})
    return tmp_path / "log.db"


def test_rows_have_it_in_their_graph_and_in_their_feedback(fraud_log):
    with DecisionLog(fraud_log) as log:
        rows = list(log)
    for row in rows:
        whole = knowing(row)
        assert whole.graph.matrix.tolist() == [[0.0, 1.0], [1.0, 1.0]]
        assert row.graph == FRAUD.graph
        assert awaits_feedback(row) == (row.action == "review")
        seen = dict(zip(whole.feedback.actions, whole.feedback.losses.tolist(), strict=True))
        assert seen["review"] == -2.0
        assert set(seen) == ({"review", "approve"} if row.action == "review" else {"review"})
    plain = rows[0]._replace(known=None)
    assert knowing(plain) is plain


def test_a_decision_whose_feedback_is_missing_stays_without(fraud_log):
    with DecisionLog(fraud_log) as log:
        row = next(row for row in log if row.action == "review")
    pending = knowing(row._replace(feedback=None))
    assert pending.feedback is None
    assert pending.graph == knowing(row).graph


def test_parts_are_completed_once(tmp_path):
    problem = Problem(["a", "b", "c"], reveals="full-information", known={"b": 0.5})
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        made = policy.decide({"x": 1.0})
        policy.feedback(made.decision_id, {"c": 0.25})
        policy.feedback(made.decision_id, {"a": 1.0})
    with DecisionLog(tmp_path / "log.db") as log:
        row = knowing(next(iter(log)))
        assert row.feedback.losses.tolist() == [1.0, 0.5, 0.25]
        assert [part.losses.tolist() for part in row.feedback.parts] == [[0.5, 0.25], [1.0]]
        found = evaluate(log, uniform)
    assert found.n_used == 1
    assert found.graph.value == pytest.approx(1.75 / 3)


def test_what_is_known_is_its_own_estimate(fraud_log):
    with DecisionLog(fraud_log) as log:
        found = evaluate(log, constant("review"), oracle=Learner(FRAUD))
        summed = summarize(log)
        own = evaluate(log, logged)
    assert found.unseen_share == 0.0
    assert found.is_known
    assert found.graph.value == pytest.approx(-2.0, abs=1e-12)
    assert found.graph.standard_error == 0.0
    assert found.graph.normal == found.graph.anytime == found.bounds
    assert found.bounds == (found.graph.value, found.graph.value)
    assert not own.is_known
    assert summed.mean == own.graph.value
    (answered,) = summed.answers
    assert (answered.action, answered.promised, answered.revealed) == ("review", 1.0, 1.0)
    assert summed.answer_rate == 1.0


def test_actions_that_only_show_what_is_known_await_nothing(tmp_path):
    """A call earns 4 or -1; skipping is known, and counts without feedback."""
    n, rng = 1000, np.random.default_rng(1)
    with Policy(tmp_path / "log.db", Uniform(), problem=CALLS, seed=0) as policy:
        for row in contexts(n):
            made = policy.decide(row)
            if made.action == "call":
                policy.feedback(made.decision_id, {"call": 4.0 if rng.random() < 0.3 else -1.0})
    with DecisionLog(tmp_path / "log.db") as log:
        skip, call, own = (evaluate(log, t) for t in (constant("skip"), constant("call"), logged))
        summed = summarize(log)
    assert skip.graph.value == pytest.approx(0.0, abs=1e-12)
    assert (skip.n_without_feedback, skip.n_incomplete) == (0, 0)
    assert call.graph.value == pytest.approx(0.5, abs=4.0 * call.graph.standard_error)
    assert own.graph.value == pytest.approx(call.graph.value / 2, abs=0.1)
    assert summed.mean == own.graph.value
    (answered,) = summed.answers
    assert (answered.action, answered.promised, answered.revealed) == ("call", 1.0, 1.0)


def test_pending_feedback_does_not_lean_to_what_is_known(tmp_path):
    """Half of the calls are not back: those that are count for all of them."""
    n, rng, truth = 2000, np.random.default_rng(1), 0.5
    with Policy(tmp_path / "log.db", Uniform(), problem=CALLS, seed=0) as policy:
        for row in contexts(n):
            made, value = policy.decide(row), 4.0 if rng.random() < 0.3 else -1.0
            if made.action == "call" and rng.random() < 0.5:
                policy.feedback(made.decision_id, {"call": value})
    with DecisionLog(tmp_path / "log.db") as log:
        call, own = evaluate(log, constant("call")), evaluate(log, logged)
    assert call.n_without_feedback > 400
    assert call.graph.value == pytest.approx(truth, abs=4.0 * call.graph.standard_error)
    assert own.graph.value == pytest.approx(truth / 2, abs=4.0 * own.graph.standard_error)


def test_a_candidate_may_believe_otherwise(fraud_log):
    other = Problem.from_toml(FRAUD.to_toml().replace("review = -2.0", "review = -40.0"))
    with DecisionLog(fraud_log) as log:
        found = evaluate(log, candidate(other))
        reviews = [candidate(FRAUD)(row)[1] for row in log][:3]
    assert found.n_used > 290
    assert len(reviews) == 3


def test_the_commands_print_it(fraud_log, capsys):
    assert main(["evaluate", str(fraud_log), "--policy", "constant:review"]) in (0, None)
    assert "-2.0000" in capsys.readouterr().out
    assert main(["log", "summary", str(fraud_log)]) in (0, None)
    assert "the reward of review is -2; needs no" in capsys.readouterr().out
