"""Evaluation on a log with a problem: its names, its units, its learners."""

import numpy as np
import pytest

from graphcb import (
    DecisionLog,
    InformationDirected,
    Learner,
    Policy,
    Problem,
    Uniform,
    graphs,
    save,
)
from graphcb.cli import main
from graphcb.evaluation import as_saved, constant, evaluate, greedy, summarize, uniform

FRAUD = Problem(
    ["approve", "review"], reveals={"all": ["review"]}, feedback="rewards", range=(-50.0, 20.0)
)


def worth(context):
    return {"approve": 15.0 if context["country"] == "DE" else -40.0, "review": 5.0}


def contexts(n, seed=0):
    rng = np.random.default_rng(seed)
    return [{"country": "DE" if rng.random() < 0.6 else "FR"} for _ in range(n)]


@pytest.fixture
def log(tmp_path):
    with Policy(tmp_path / "log.db", Uniform(), problem=FRAUD, seed=0) as policy:
        for x in contexts(400):
            decision = policy.decide(x)
            policy.feedback(decision.decision_id, worth(x) if decision.action == "review" else {})
    return tmp_path / "log.db"


def taught():
    learner = Learner(FRAUD)
    for x in contexts(100, seed=1):
        learner.learn(x, ["approve", "review"], list(worth(x).values()))
    return learner


def true_mean(action=None):
    values = [worth(x) for x in contexts(400)]
    return np.mean([max(v.values()) if action is None else v[action] for v in values])


def test_estimates_are_mean_rewards_in_the_problems_units(log):
    with DecisionLog(log) as rows:
        found = evaluate(rows, constant("review"), oracle=Learner(FRAUD))
        assert found.graph.value == 5.0
        assert found.graph.normal.lower < 5.0 < found.graph.normal.upper
        assert found.doubly_robust.value == pytest.approx(5.0, abs=0.6)
        assert found.graph.anytime.lower >= -50.0
        assert found.graph.anytime.upper <= 20.0
        approve = evaluate(rows, constant("approve"), oracle=Learner(FRAUD))
        assert abs(approve.graph.value - true_mean("approve")) < 3.0 * approve.graph.standard_error
        assert approve.doubly_robust.value == pytest.approx(true_mean("approve"), abs=1.5)
        assert approve.doubly_robust.standard_error < approve.graph.standard_error
        with pytest.raises(ValueError, match="must be one of the actions decided on"):
            evaluate(rows, constant("reject"))


def test_a_learner_is_judged_as_it_is_or_greedily(log):
    learner = taught()
    with DecisionLog(log) as rows:
        for target in (greedy(learner), as_saved(learner)):
            found = evaluate(rows, target, oracle=Learner(FRAUD))
            assert found.doubly_robust.value == pytest.approx(true_mean(), abs=2.0)
        assert evaluate(rows, uniform).graph.value < found.graph.value


def test_the_rows_of_a_log_without_a_problem_are_judged_as_before(tmp_path):
    with Policy(tmp_path / "a.db", Uniform(), seed=0) as policy:
        for _ in range(20):
            made = policy.decide(None, graphs.full_information(2))
            policy.feedback(made.decision_id, {0: 0.25, 1: 0.75})
    with DecisionLog(tmp_path / "a.db") as rows:
        assert evaluate(rows, constant(1)) == evaluate(rows, constant(1), loss_range=(0.0, 1.0))
        assert evaluate(list(rows), constant(1)).graph.value == 0.75


def test_actions_with_features(tmp_path):
    problem = Problem("each round", reveals="full-information", feedback="rewards")
    rng = np.random.default_rng(0)
    with Policy(tmp_path / "a.db", InformationDirected(), problem=problem, seed=0) as policy:
        for n in range(60):
            items = {f"i{n}-{k}": {"price": float(rng.uniform(0, 10))} for k in range(3)}
            made = policy.decide({}, actions=items)
            policy.feedback(
                made.decision_id, {name: 0.1 * item["price"] for name, item in items.items()}
            )
        learner = policy.agent
    with DecisionLog(tmp_path / "a.db") as rows:
        best = evaluate(rows, greedy(learner), oracle=Learner(problem))
        assert best.graph.value > evaluate(rows, uniform).graph.value + 0.15
        assert best.doubly_robust.value == pytest.approx(best.graph.value, abs=1e-9)


def out_of(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, " ".join(captured.out.replace("│", " ").split()), captured.err


def test_the_command_speaks_of_rewards_and_names(log, tmp_path, capsys):
    code, out, _ = out_of(capsys, "evaluate", log, "--policy", "constant:review")
    assert code == 0
    assert "mean reward of constant:review (larger is better)" in out
    assert "doubly robust" in out
    code, out, _ = out_of(capsys, "evaluate", log, "--policy", "constant:approve")
    assert "of this policy's play is on actions that do not reveal their own reward" in out
    model = tmp_path / "model.npz"
    save(taught(), model)
    for policy in (model, f"greedy:{model}"):
        code, out, _ = out_of(capsys, "evaluate", log, "--policy", policy)
        assert code == 0
        assert "mean reward of" in out


def test_the_range_is_the_problems(log, capsys):
    code, _, err = out_of(capsys, "evaluate", log, "--policy", "uniform", "--loss-range", "0", "1")
    assert code == 2
    assert "`--loss-range` must not be given: the log's problem says -50 to 20" in err
    code, _, err = out_of(capsys, "evaluate", log, "--policy", "constant:reveiw")
    assert code == 2
    assert "must be one of the actions decided on ('approve', 'review'), got 'reveiw'" in err


@pytest.fixture
def rents(tmp_path):
    """A log without a range, whose rewards are beyond 0 to 1."""
    problem, rng = Problem(["flat", "house"], feedback="rewards"), np.random.default_rng(0)
    with Policy(tmp_path / "rents.db", Uniform(), problem=problem, seed=0) as policy:
        for _ in range(200):
            made = policy.decide({"rooms": rng.uniform(1, 5)})
            worth = (900.0 if made.action == "flat" else 1500.0) + rng.normal(0, 50)
            policy.feedback(made.decision_id, {made.action: worth})
    return tmp_path / "rents.db"


def test_without_a_range_what_needs_one_is_withheld(rents, capsys):
    with DecisionLog(rents) as rows:
        found = evaluate(rows, constant("house"), against=constant("flat"), oracle=Learner(
            Problem(["flat", "house"], feedback="rewards")))  # fmt: skip
        summed = summarize(rows)
    assert not found.has_range
    assert found.graph.value == pytest.approx(1500.0, abs=20.0)
    assert found.graph.normal.lower < 1500.0 < found.graph.normal.upper
    assert found.doubly_robust.value == pytest.approx(1500.0, abs=20.0)
    assert [name for name, one in found.estimates.items() if one.anytime is not None] == []
    assert not {"clipped", "switch", "log smoothing"} & set(found.estimates)
    assert (found.bounds, found.difference.normal, found.difference.anytime) == (None, None, None)
    assert found.difference.value == pytest.approx(600.0, abs=20.0)
    assert summed.anytime is None
    assert summed.interval is not None
    assert "no range is declared, and not every reward lies between 0 and 1" in summed.warnings[-1]
    assert main(["evaluate", str(rents), "--policy", "constant:house"]) == 0
    out = capsys.readouterr().out
    assert "no range is declared, and not every reward lies between 0 and 1: without a bound" in out
    assert main(["log", "summary", str(rents)]) == 0
    assert "without a bound no interval is anytime-valid" in capsys.readouterr().out


def test_a_range_may_be_given_where_the_problem_has_none(rents, log, capsys):
    options = ["--policy", "constant:house", "--reward-range", "0,2000"]
    assert main(["evaluate", str(rents), *options]) == 0
    assert "no range is declared" not in capsys.readouterr().out
    assert main(["evaluate", str(log), *options[:1], "constant:review", *options[2:]]) == 2
    assert "the log's problem says -50 to 20" in capsys.readouterr().err


def test_without_a_range_values_between_0_and_1_have_every_interval(tmp_path):
    with Policy(tmp_path / "log.db", Uniform(), problem=Problem(["a", "b"]), seed=0) as policy:
        for k in range(100):
            made = policy.decide({"x": 1.0})
            policy.feedback(made.decision_id, {made.action: float(k % 3 == 0)})
    with DecisionLog(tmp_path / "log.db") as rows:
        found, summed = evaluate(rows, constant("a")), summarize(rows)
        same = evaluate(rows, constant("a"), loss_range=(0.0, 1.0))
    assert found.has_range
    assert found == same
    assert None not in (found.graph.anytime, summed.anytime)
    assert summed.warnings == ()
