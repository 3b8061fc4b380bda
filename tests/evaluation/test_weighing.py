"""Evaluation and summaries of logs whose graph nobody knew beforehand."""

import json
import shutil

import numpy as np
import pytest

from graphcb import DecisionLog, Learner, Policy, Problem, save
from graphcb.agents.predicted_graph import OnPredictedGraph
from graphcb.cli import main
from graphcb.decisions import ReplayError
from graphcb.evaluation import (
    constant,
    evaluate,
    greedy,
    logged,
    summarize,
    uniform,
    weighing_graphs,
)
from graphcb.evaluation.replayed import agents_before, predicted_graphs

BIDS = ("0.2", "0.4", "0.6", "0.8")
LEVELS = np.array([0.2, 0.4, 0.6, 0.8])
FLOORS = {"floors": dict.fromkeys(BIDS, 0.15)}  # every bid stays possible
N = 400


def auction(path, reveals):
    """First-price auctions with the value 1; the rewards of all bids in each round."""
    problem = Problem(BIDS, reveals=reveals, feedback="rewards", limits=FLOORS)
    rng, rewards = np.random.default_rng(5), []
    with Policy(path, problem=problem, seed=2, durability="process-kill") as policy:
        for price in rng.random(N):
            made = policy.decide({"site": "a"})
            worth = np.where(price < LEVELS, 1.0 - LEVELS, 0.0)
            won = price < LEVELS[made.action_index]
            seen = range(made.action_index if won else 0, 4)
            policy.feedback(made.decision_id, {BIDS[i]: worth[i] for i in seen})
            rewards.append(worth)
    return np.mean(rewards, axis=0)


def silent(path, reveals):
    """Of what `all` shows, three of four come, of what `own` shows, one of two; at random."""
    problem = Problem(["all", "own"], reveals=reveals, limits={"floors": {"all": 0.3, "own": 0.3}})
    rng, losses = np.random.default_rng(4), []
    with Policy(path, problem=problem, seed=2, durability="process-kill") as policy:
        for _ in range(N):
            made = policy.decide({"site": "a"})
            drawn = (rng.random(2) < [0.5, 0.2]).astype(float)
            chances = [0.75, 0.75] if made.action == "all" else [0.0, 0.5]
            seen = np.flatnonzero(rng.random(2) < chances)
            policy.feedback(made.decision_id, {("all", "own")[i]: drawn[i] for i in seen})
            losses.append(drawn)
    return np.mean(losses, axis=0)


ANSWERS = {"all": ["all"], "own": True, "answers": "learned"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Three logs and what is true, written once: nothing here changes them."""
    folder = tmp_path_factory.mktemp("logs")
    return {
        "bids": (folder / "bids.db", auction(folder / "bids.db", {"unknown": "bids"})),
        "unknown": (folder / "unknown.db", silent(folder / "unknown.db", "unknown")),
        "answers": (folder / "answers.db", silent(folder / "answers.db", ANSWERS)),
    }


def test_of_bids_only_what_is_always_revealed_counts(logs):
    path, truth = logs["bids"]
    with DecisionLog(path) as log:
        for index, bid in enumerate(BIDS):
            found = evaluate(log, constant(bid))
            assert found.weights == "certain"
            assert abs(found.graph.value - truth[index]) < 3.0 * found.graph.standard_error
            assert found.graph.anytime.lower <= truth[index] <= found.graph.anytime.upper
            assert found.plain is not None  # a bid always shows itself
        # By learned chances, lower bids would look as if they always lost.
        wrong = evaluate(log, constant("0.2"), graphs=predicted_graphs(log))
        assert wrong.weights == "learned"
        assert wrong.graph.anytime is None
        assert wrong.plain.anytime is not None  # whose weights are true
        assert truth[0] - wrong.graph.value > 3.0 * wrong.graph.standard_error


@pytest.mark.parametrize("name", ["unknown", "answers"])
def test_learned_weights_are_right_and_say_so(logs, name):
    path, truth = logs[name]
    with DecisionLog(path) as log:
        for index, action in enumerate(("all", "own")):
            found = evaluate(log, constant(action), against=logged, oracle=Learner(log.problem))
            assert found.weights == "learned"
            assert abs(found.graph.value - truth[index]) < 3.0 * found.graph.standard_error
            robust = found.doubly_robust
            assert abs(robust.value - truth[index]) < 3.0 * robust.standard_error
            assert found.graph.anytime is robust.anytime is found.difference.anytime is None
            assert found.plain is None  # that an action shows itself is learned, too
            assert found.silent_share == 1.0
        naive = np.mean([row.feedback.losses.sum() for row in log])  # as if all were certain
        assert abs(naive - truth.sum()) > 0.2


def test_rows_alone_do_not_say_how_likely_anything_was(logs):
    with DecisionLog(logs["unknown"][0]) as log:
        rows = list(log)
        with pytest.raises(ValueError, match="`graphs` must be given, as nobody knew beforehand"):
            evaluate(rows, uniform)
        late = [row for row in rows if row.position > 300]
        some = evaluate(late, uniform, graphs=weighing_graphs(log))
        assert some.n_decisions == len(late)
        with pytest.raises(ValueError, match="`row` must be a decision of"):
            agents_before(log)(rows[0]._replace(position=10**6))


def test_the_graph_is_that_before_the_decision(logs):
    with DecisionLog(logs["unknown"][0]) as log:
        graphs = predicted_graphs(log)
        counts = np.zeros((2, 2, 2))  # looked, seen
        for row in log:
            expected = (counts[1] + 0.5) / (counts[0] + 1.0)
            assert np.array_equal(graphs(row).matrix, expected)
            counts[0, row.action_index] += 1.0
            counts[1, row.action_index, row.feedback.action_indices] += 1.0


def test_summary_shows_how_often_feedback_came(logs):
    path, truth = logs["answers"]
    with DecisionLog(path) as log:
        found = summarize(log)
        played = np.mean([row.probabilities for row in log], axis=0)
    by_name = {one.action: one for one in found.answers}
    assert by_name["all"].promised == 2.0
    assert by_name["all"].rate == pytest.approx(0.75, abs=0.06)
    assert by_name["own"].rate == pytest.approx(0.5, abs=0.1)
    for one in found.answers:
        assert one.learned == pytest.approx(one.revealed, abs=0.1)
    assert 0.5 < found.answer_rate < 0.75
    assert found.weights == "learned"
    assert found.mean == pytest.approx(float(played @ truth), abs=0.1)
    assert found.to_dict()["weights"] == "learned"


def test_a_log_that_is_not_replayed_has_no_mean(logs, monkeypatch):

    def refuse(*arguments):
        raise ReplayError("another machine")

    monkeypatch.setattr("graphcb.decisions.replaying._check", refuse)
    with DecisionLog(logs["unknown"][0]) as log:
        found = summarize(log)
    assert found.mean is None
    assert found.answers[0].learned is None
    with DecisionLog(logs["bids"][0]) as log:
        assert summarize(log).mean is not None  # its weights are known


def test_a_known_graph_says_how_much_of_it_came(tmp_path):
    with Policy(
        tmp_path / "log.db", problem=Problem(["a", "b"], reveals="full-information")
    ) as one:
        for t in range(10):
            made = one.decide({"x": 1.0})
            one.feedback(made.decision_id, {"a": 0.5, "b": 0.5} if t % 2 else {"a": 0.5})
    with DecisionLog(tmp_path / "log.db") as log:
        found = summarize(log)
    assert found.answer_rate == 0.75
    assert found.weights == "known"
    assert {one.learned for one in found.answers} == {None}


def test_the_commands_say_where_weights_come_from(logs, capsys):
    bids, answers = str(logs["bids"][0]), str(logs["answers"][0])
    assert main(["evaluate", bids, "--policy", "constant:0.4"]) == 0
    assert "are those of what is always revealed" in capsys.readouterr().out
    assert main(["evaluate", answers, "--policy", "uniform"]) == 0
    out = capsys.readouterr().out
    assert "reveal probabilities were learned, not known" in out
    assert "on actions that do not always reveal their own loss" in out
    assert main(["log", "summary", answers]) == 0
    out = capsys.readouterr().out
    for text in ("reveal probabilities were learned, not known", "promised outcomes that came",
                 "outcomes revealed, on average", "share that came"):  # fmt: skip
        assert text in out
    assert main(["log", "summary", bids, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["weights"] == "certain"
    assert found["answer_rate"] is None
    assert {one["promised"] for one in found["answers"]} == {None}


def test_saved_learners_are_targets(logs, tmp_path, capsys):
    shutil.copy(logs["unknown"][0], tmp_path / "log.db")
    with Policy(tmp_path / "log.db") as policy:
        learner = policy.agent
    save(learner, tmp_path / "model.npz")
    with DecisionLog(tmp_path / "log.db") as log:
        best = evaluate(log, greedy(learner)).graph
        assert best.value < evaluate(log, constant("all")).graph.value
    assert (
        main(["evaluate", str(tmp_path / "log.db"), "--policy", str(tmp_path / "model.npz")]) == 0
    )
    assert isinstance(learner.agent, OnPredictedGraph)
