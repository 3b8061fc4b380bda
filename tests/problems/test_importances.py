import numpy as np
import pytest

from graphcb import DecisionLog, Learner, Policy, Problem
from graphcb.evaluation import importances


def rounds(n, seed):
    """Losses of a depend on x, those of b on the kind, none on the noise."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        context = {"x": rng.normal(), "noise": rng.normal(), "kind": str(rng.choice(["u", "v"]))}
        yield context, {"a": 5 + 2 * np.tanh(context["x"]), "b": 7.0 * (context["kind"] == "u")}


PROBLEM = Problem(["a", "b"], reveals="full-information", range=(0, 10))


@pytest.fixture(scope="module")
def learner():
    learner = Learner(PROBLEM)
    for context, losses in rounds(300, 1):
        learner.learn(context, list(losses), list(losses.values()))
    return learner


def test_features_that_matter_come_first_with_intervals_beyond_zero(learner):
    found = learner.importances(rounds(200, 2))
    assert found.n == 200
    assert [one.feature for one in found.overall] == ["kind", "x", "noise"]
    assert found.by_action["a"][0].feature == "x"
    assert found.by_action["b"][0].feature == "kind"
    for one in found.overall[:2]:
        assert 0.0 < one.interval[0] < one.increase < one.interval[1]
    assert abs(found.overall[2].increase) < 0.05 * found.overall[1].increase
    assert found.error < 0.2 * found.typical_error
    assert 0.3 < found.overall[0].share < 1.5
    assert "without kind: +" in str(found)


def test_words_of_a_text_are_one_feature():
    learner = Learner(Problem(["a"], range=(0, 1), features={"text": "text"}))
    for k in range(60):
        text = "free pills for you" if k % 2 else "see you at noon"
        learner.learn({"text": text}, ["a"], [float(k % 2)])
    found = learner.importances([({"text": "free pills for you"}, {"a": 1.0})] * 12)
    assert [one.feature for one in found.overall] == ["text"]
    assert found.overall[0].increase > 0.05


def test_actions_that_come_with_rounds():
    learner = Learner(Problem("each round", range=(0, 1)))
    items = [{"p": {"price": float(k)}} for k in range(10)]
    for k in range(100):
        learner.learn({"hour": 1.0}, items[k % 10], [(k % 10) / 10])
    found = learner.importances([({"hour": 1.0}, {"p": k / 10}, items[k]) for k in range(10)])
    assert found.overall[0].feature == "price"


def test_nothing_to_go_by():
    with pytest.raises(ValueError, match="must have decisions with feedback and features"):
        Learner(PROBLEM).importances([])
    with pytest.raises(ValueError, match="must have decisions with feedback and features"):
        Learner(PROBLEM).importances([(np.ones(3), {"a": 1.0})])


def play(path, n=150, **settings):
    with Policy(path, problem=PROBLEM, seed=0, **settings) as policy:
        for context, losses in rounds(n, 3):
            policy.feedback(policy.decide(context).decision_id, losses)


def test_on_a_log_predictions_come_before_their_feedback(tmp_path):
    """A checkpoint is a shortcut: the same numbers without it."""
    found = []
    for name, every in (("a.db", 37), ("b.db", 10_000)):
        play(tmp_path / name, checkpoint_every=every)
        with DecisionLog(tmp_path / name) as log:
            found.append(importances(log, n=60))
    assert found[0] == found[1]
    assert (found[0].n, found[0].overall[0].feature) == (60, "kind")
    with DecisionLog(tmp_path / "a.db") as log:
        everything = importances(log)
    assert everything.n == 150
    assert everything.error > found[0].error  # it knew nothing at first


def test_a_log_without_feedback(tmp_path):
    with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
        policy.decide({"x": 1.0})
    with DecisionLog(tmp_path / "a.db") as log:
        with pytest.raises(ValueError, match="must have decisions with feedback"):
            importances(log)
        with pytest.raises(ValueError, match="`n` must be"):
            importances(log, n=0)


def test_a_picture(learner):
    pytest.importorskip("matplotlib")
    figure = learner.importances(rounds(20, 2)).plot()
    assert [axes.get_title("left") for axes in figure.axes] == ["all actions", "a", "b"]
