"""What is refused costs nothing and leaves nothing behind, with one's own agents as well."""

import numpy as np
import pytest

import graphcb
from graphcb import DecisionLog, Policy, SquareCBG, graphs
from graphcb.decisions import LogError, replay
from graphcb.oracles import LinearOGD, VovkAggregation
from graphcb.saving import to_bytes

GRAPH = graphs.full_information(2)


def bounded_agent():
    return SquareCBG(VovkAggregation([LinearOGD(2, 1), LinearOGD(2, 1, learning_rate=0.5)]))


def test_a_refused_call_costs_no_replay(tmp_path, monkeypatch):
    with Policy(tmp_path / "a.db", bounded_agent(), seed=0) as policy:
        decision = policy.decide([1.0], GRAPH)
        monkeypatch.setattr("graphcb.decisions.writer.rebuild", lambda *_, **__: 1 / 0)
        agent = to_bytes(policy.agent)
        for losses in ({0: 5.0}, {0: float("nan")}, {7: 0.5}, {0: "high"}, [0.5]):
            with pytest.raises((ValueError, TypeError)):
                policy.feedback(decision.decision_id, losses)
        with pytest.raises(LookupError):
            policy.feedback("seven", {0: 0.5})
        with pytest.raises(ValueError, match="context"):
            policy.decide([1.0, 2.0], GRAPH)
        assert to_bytes(policy.agent) == agent
        assert policy.feedback(decision.decision_id, {0: 0.5}).counted
        assert policy.n_events == 2


def test_the_good_half_of_a_refused_batch_is_forgotten(new_log):
    location = new_log()
    with Policy(location, bounded_agent(), seed=0) as policy:
        first, second = policy.decide_many([[1.0], [0.5]], GRAPH)
        agent = to_bytes(policy.agent)
        with pytest.raises(ValueError, match="loss_range"):
            policy.feedback_many({first.decision_id: {0: 0.5}, second.decision_id: {0: 5.0}})
        assert to_bytes(policy.agent) == agent
        assert policy.n_events == 2
        policy.decide([1.0], GRAPH)
        state = to_bytes(policy.agent)
    with DecisionLog(location) as log:
        assert to_bytes(replay(log).agent) == state


class Poisoned:
    """An agent that changes itself before it refuses, in `act` and in `learn`."""

    def __init__(self):
        self.seen = [1.0, 1.0]

    def act(self, context, graph, actions=None):
        self.seen[0] += 1.0
        if context == "refuse":
            raise ValueError("not this context")
        return np.array(self.seen) / sum(self.seen)

    def learn(self, context, actions, losses):
        self.seen[1] += float(losses.sum())
        if (losses > 1.0).any():
            raise ValueError("not these losses")


def test_an_agent_that_changes_itself_in_a_refused_call_does_not_spoil_the_log(new_log):
    location = new_log()
    with Policy(location, Poisoned(), seed=0, classes=[Poisoned]) as policy:
        decision = policy.decide("begin", GRAPH)
        for _ in range(3):
            with pytest.raises(ValueError, match="not these losses"):
                policy.feedback(decision.decision_id, {0: 5.0, 1: 0.5})
            with pytest.raises(ValueError, match="not this context"):
                policy.decide("refuse", GRAPH)
            with pytest.raises(ValueError, match="not this context"):
                policy.decide_many(["fine", "refuse"], GRAPH)
            policy.decide("fine", GRAPH)
        assert policy.feedback(decision.decision_id, {0: 0.5, 1: 0.5}).counted
        policy.decide("fine", GRAPH)
        state = to_bytes(policy.agent)
    with DecisionLog(location) as log:
        assert to_bytes(replay(log, classes=[Poisoned]).agent) == state
        log.storage.close()
    with Policy(location, classes=[Poisoned]) as policy:
        assert policy.n_events == 6


class Unsaveable(graphcb.Uniform):
    """An agent that cannot be saved once it has learned."""

    def learn(self, context, actions, losses):
        self.function = max


def test_an_agent_that_can_no_longer_be_saved_is_replayed(tmp_path):
    location = tmp_path / "a.db"
    with Policy(location, Unsaveable(), seed=0, classes=[Unsaveable], checkpoint_every=1) as policy:
        decision = policy.decide(None, GRAPH)
        assert policy.feedback(decision.decision_id, {0: 0.5}).counted
        policy.decide(None, GRAPH)
    with Policy(location, classes=[Unsaveable]) as policy:
        assert policy.n_events == 3


def test_an_error_of_any_other_kind_is_no_refusal(new_log):
    class Broken(graphcb.Uniform):
        def learn(self, context, actions, losses):
            raise RuntimeError("broken")

    location = new_log()
    with Policy(location, Broken(), seed=0, classes=[Broken]) as policy:
        decision = policy.decide(None, GRAPH)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="broken"):
                policy.feedback(decision.decision_id, {0: 0.5})
        assert policy.n_events == 1
        policy.decide(None, GRAPH)
        with pytest.raises(LogError, match="another policy is writing"):
            Policy(location, classes=[Broken])
