"""What the agent behind a baseline would have played, and what it would have gained."""

import numpy as np
import pytest

from graphcb import (
    Conservative,
    DecisionLog,
    FeedbackGraph,
    InformationDirected,
    Learner,
    Policy,
    Problem,
    Shadow,
    SquareCBG,
    Uniform,
    graphs,
)
from graphcb.evaluation import constant, evaluate, logged, shadow, uniform
from graphcb.oracles import LinearOGD, OnlineRidge

LOOK = FeedbackGraph([[0, 0], [1, 1]])


class Remembers:
    """Notes what the agent inside plays."""

    def __init__(self, agent):
        self.agent, self.noted = agent, []

    def act(self, context, graph, actions=None):
        p = self.agent.act(context, graph, actions)
        self.noted = [*self.noted, p.tolist()]
        return p

    def learn(self, context, actions, losses):
        self.agent.learn(context, actions, losses)


def write(file, agent, graph, n=120, *, classes=(), delay=3):
    rng, waiting = np.random.default_rng(0), []
    with Policy(file, agent, seed=1, durability="process-kill", classes=classes) as policy:
        for _ in range(n):
            made = policy.decide([1.0, rng.normal()], graph)
            row = (rng.random(2) < [0.1, 0.6]).astype(float)
            seen = np.flatnonzero(graph.row(made.action_index))
            waiting.append((made.decision_id, {int(i): row[i] for i in seen}))
            if len(waiting) > delay:
                policy.feedback(*waiting.pop(0))
        for late in waiting:
            policy.feedback(*late)
        return policy.agent


@pytest.mark.parametrize("wrap", [Shadow, Conservative])
def test_it_is_what_the_agent_played_bit_for_bit(wrap, tmp_path):
    agent = wrap(Remembers(SquareCBG(OnlineRidge(2, 2), gamma=20.0)), 1)
    after = write(tmp_path / "log.db", agent, LOOK, classes=[Remembers])
    with DecisionLog(tmp_path / "log.db") as log:
        target = shadow(log, classes=[Remembers])
        again = [target(row).tolist() for row in log]
        assert again == after.agent.noted
        rows = list(log)
        assert target(rows[50]).tolist() == again[50]
        assert target(rows[10]).tolist() == again[10]  # it starts anew
        with pytest.raises(
            ValueError, match=r"`row` must be a decision of DecisionLog.*position 999"
        ):
            target(rows[0]._replace(position=999))
        assert target(rows[3]).tolist() == again[3]


def test_the_gain_is_estimated_with_an_interval(tmp_path):
    write(tmp_path / "log.db", Shadow(InformationDirected(), 1), LOOK, n=300)
    with DecisionLog(tmp_path / "log.db") as log:
        found = evaluate(log, shadow(log), against=logged)
        rows = list(log)
    truth = np.mean([row.feedback.losses[0] - row.feedback.losses[1] for row in rows])
    gain = found.difference
    assert gain.value == pytest.approx(truth, abs=0.05)
    assert gain.anytime.lower < gain.normal.lower < gain.value < gain.normal.upper < 0.0
    assert gain.normal.upper < gain.anytime.upper
    assert found.graph.value - evaluate(rows, logged).graph.value == pytest.approx(gain.value)


def test_a_difference_is_that_of_two_evaluations(tmp_path):
    write(tmp_path / "log.db", Uniform(), graphs.bandit(2))
    with DecisionLog(tmp_path / "log.db") as log:
        found = evaluate(log, constant(0), against=uniform, oracle=LinearOGD(2, 2))
        alone = evaluate(log, uniform, oracle=LinearOGD(2, 2))
        assert found.difference.value == pytest.approx(found.graph.value - alone.graph.value)
        assert evaluate(log, constant(0)).difference is None
        same = evaluate(log, uniform, against=uniform).difference
        assert same.value == same.standard_error == 0.0


def test_where_the_baseline_shows_nothing_there_is_no_difference(tmp_path):
    hidden = FeedbackGraph([[0, 0], [0, 1]])
    with Policy(tmp_path / "log.db", Uniform(), seed=0) as policy:
        for _ in range(20):
            made = policy.decide([1.0, 0.0], hidden)
            policy.feedback(made.decision_id, {1: 0.5} if made.action == 1 else {})
    with DecisionLog(tmp_path / "log.db") as log:
        oracle = OnlineRidge(2, 2)
        found = evaluate(log, constant(1), against=constant(0), oracle=oracle)
    assert found.difference is None  # the baseline's loss could not have been revealed
    assert found.graph is not None


def test_a_shadow_inside_a_learner(tmp_path):
    problem = Problem(["keep", "change"], reveals="full_information", feedback="rewards")
    learner = Learner(problem, Shadow(InformationDirected(), 0))
    with Policy(tmp_path / "log.db", learner, seed=0, durability="process-kill") as policy:
        for _ in range(60):
            made = policy.decide({"x": 1.0})
            assert made.action == "keep"
            policy.feedback(made.decision_id, {"keep": 0.25, "change": 0.75})
    with DecisionLog(tmp_path / "log.db") as log:
        found = evaluate(log, shadow(log), against=logged)
    assert found.difference.value == pytest.approx(0.5, abs=0.05)


def test_a_log_without_a_baseline_is_refused(tmp_path):
    write(tmp_path / "log.db", Uniform(), LOOK, n=5)
    with (
        DecisionLog(tmp_path / "log.db") as log,
        pytest.raises(
            ValueError, match="an agent behind a baseline, a Shadow or Conservative, got Uniform"
        ),
    ):
        evaluate(log, shadow(log))
