"""The mean of a log's policy is one number: `evaluate`, `log summary` and the page agree on it."""

import json
import time

import numpy as np
import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")

from graphcb import DecisionLog, EpsilonGreedy, Learner, Policy, Problem
from graphcb.cli import main
from graphcb.evaluation import evaluate, logged, summarize
from graphcb.oracles import DefaultOracle
from graphcb.service.units import Units
from graphcb.service.watching import Watch

N = 100
REVIEW = {"all": ["b"]}
FLOORS = {"limits": {"floors": 0.15}}
REWARDS = {"feedback": "rewards", "range": (-20.0, 5.0)}


def write(path, problem, *, agent=None, answers=None, n=N):
    """A log of decisions; `answers` gives feedback for one of them, the last waits."""
    rng = np.random.default_rng(1)
    low, high = problem.scale
    learner = problem if agent is None else Learner(problem, agent)
    settings = {"problem": learner} if agent is None else {"agent": learner}
    with Policy(path, seed=3, durability="process-kill", **settings) as policy:
        for t in range(n):
            made = policy.decide({"x": float(t % 3)})
            losses = low + (high - low) * rng.random(len(problem.actions))
            row = problem.graph.row(made.action_index)
            shown = {
                name: float(loss)
                for name, loss, chance in zip(problem.actions, losses, row, strict=True)
                if rng.random() < chance
            }
            (answers or give)(policy, made, shown, t)
        policy.fill_in(time.time() + 60.0) if problem.defaults else None
        for made, shown in getattr(answers, "late", ()):
            policy.feedback(made.decision_id, shown)
        policy.decide({"x": 1.0})


def give(policy, made, shown, t):
    policy.feedback(made.decision_id, shown)


def half_is_missing(policy, made, shown, t):
    if t % 2:
        policy.feedback(made.decision_id, shown)


def in_parts(policy, made, shown, t):
    for name in list(shown)[: len(shown) - (t % 5 == 0)]:
        policy.feedback(made.decision_id, {name: shown[name]})


class LateOnes:
    """Every third decision is answered after its default."""

    def __init__(self):
        self.late = []

    def __call__(self, policy, made, shown, t):
        if t % 3:
            policy.feedback(made.decision_id, shown)
        elif t % 2:
            self.late.append((made, shown))


ABC = ["a", "b", "c"]
GREEDY = EpsilonGreedy(DefaultOracle(3), epsilon=0.2)
LOGS = {
    "bandit, learning": {"problem": Problem(ABC)},
    "bandit, fixed rate": {"problem": Problem(ABC, **REWARDS), "agent": GREEDY},
    "cops": {"problem": Problem(ABC, reveals="cops-and-robbers", **FLOORS)},
    "inventory, in parts": {
        "problem": Problem(ABC, reveals="inventory", **FLOORS, **REWARDS),
        "answers": in_parts,
    },
    "by chance": {
        "problem": Problem(
            ABC, reveals={"own": True, "edges": [("a", "b", 0.5), ("c", "b", 0.3)]}, **FLOORS
        )
    },
    "review with floors": {"problem": Problem(ABC, reveals=REVIEW, **FLOORS, **REWARDS)},
    "review, half is missing": {
        "problem": Problem(ABC, reveals=REVIEW, **FLOORS),
        "answers": half_is_missing,
    },
    "mostly certain": {  # of the last action, which shows the first one alone
        "problem": Problem(
            ABC, reveals={"all": ["a", "b"], "edges": [("c", "a")], "own": False}, **REWARDS
        ),
        "agent": EpsilonGreedy(DefaultOracle(3), epsilon=0.0),
    },
    "defaults, some answered later": {
        "problem": Problem(ABC, defaults={"waiting": 5.0, "loss": 1.0}),
        "answers": LateOnes(),
    },
    "hidden price": {"problem": Problem(["1", "2", "3"], reveals={"unknown": "stock"}, **FLOORS)},
}


def on_the_page(path):
    with DecisionLog(path) as log:
        watch, n_events = Watch(str(path), log.versions), log.n_events
    while watch.position < n_events:
        watch.look()
        tally = watch.tally
    watch.close()
    return tally, Units(tally.problem).value("policy", tally.judge.policy())


@pytest.mark.parametrize("name", LOGS)
def test_all_three_places_have_the_same_mean(name, tmp_path, capsys):
    path = tmp_path / "log.db"
    write(path, **LOGS[name])
    with DecisionLog(path) as log:
        found, summed = evaluate(log, logged), summarize(log)
    tally, page = on_the_page(path)
    assert found.n_used == summed.n_used == tally.judge.n > N / 8
    assert found.unseen_share == pytest.approx(summed.unseen_share, abs=1e-12)
    assert found.unseen_share == pytest.approx(page.unseen, abs=1e-12)
    assert (found.graph is None) == ("certain" in name)
    if found.graph is None:
        assert page.unseen > 0.0
        assert summed.mean is summed.interval is page.mean is None
    else:
        assert summed.mean == pytest.approx(found.graph.value, rel=1e-9)
        assert page.mean == pytest.approx(found.graph.value, rel=1e-9)
        assert summed.interval == pytest.approx(found.graph.normal, rel=1e-9)
        assert found.graph.anytime == found.bounds
    if "later" not in name:  # feedback came in the order of decisions
        assert (page.lower, page.upper) == pytest.approx(found.bounds, rel=1e-9)
    # and so on the screen
    assert main(["log", "summary", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mean"] == summed.mean
    assert main(["evaluate", str(path), "--policy", "logged"]) == 0
    out = capsys.readouterr().out
    assert ("not known: " in out) == (summed.mean is None)
    if summed.mean is not None:
        assert f"{summed.mean:.4f}" in out


def test_learned_graphs_are_estimated_where_the_log_is_replayed(tmp_path):
    problem = Problem(["a", "b"], reveals="unknown")
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        for t in range(60):
            made = policy.decide({"x": 1.0})
            policy.feedback(made.decision_id, {made.action: 0.25 + 0.5 * (t % 2)})
    with DecisionLog(tmp_path / "log.db") as log:
        found, summed = evaluate(log, logged), summarize(log)
    assert (found.weights, summed.weights) == ("learned", "learned")
    assert summed.mean == pytest.approx(found.graph.value, rel=1e-9)
    assert summed.interval == pytest.approx(found.graph.normal, rel=1e-9)
    assert found.graph.anytime is found.bounds is None
    assert not on_the_page(tmp_path / "log.db")[0].has_estimates


def test_the_declared_range_does_not_move_the_mean(tmp_path):
    means = []
    for high in (1.0, 100.0):
        path = tmp_path / f"{high}.db"
        problem = Problem(["a", "b"], reveals={"all": ["b"]}, range=(0.0, high))
        with Policy(path, Learner(problem, EpsilonGreedy(DefaultOracle(2), epsilon=0.5)),
                    seed=0) as policy:  # fmt: skip
            for _ in range(60):
                made = policy.decide({"x": 1.0})
                if made.action == "b":
                    policy.feedback(made.decision_id, {"a": 0.75, "b": 0.25})
        with DecisionLog(path) as log:
            means.append(evaluate(log, lambda row: np.array([0.5, 0.5])).graph.value)
    assert means == pytest.approx([0.5, 0.5])
