"""What the default agent takes up: in memory, and as a checkpoint of a policy."""

import gc
import sqlite3
import tracemalloc
from contextlib import closing

import numpy as np
import pytest

from graphcb import InformationDirected, Policy, Problem, graphs


def learn(agent, n_actions, n_features, n_rounds):
    rng = np.random.default_rng(0)
    graph = graphs.bandit(n_actions)
    for _ in range(n_rounds):
        context = rng.normal(size=n_features)
        action = int(agent.act(context, graph).argmax())
        agent.learn(context, [action], rng.random(1))


@pytest.mark.parametrize(
    ("n_actions", "n_features", "most"), [(100, 50, 30e6), (10, 20, 5e6), (1000, 50, 100e6)]
)
def test_memory_of_the_agent(n_actions, n_features, most):
    learn(InformationDirected(), n_actions, n_features, 2)  # so that all is compiled and cached
    gc.collect()
    tracemalloc.start()
    try:
        agent = InformationDirected()
        learn(agent, n_actions, n_features, 40)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most / 10 < kept < most


def test_a_checkpoint_of_a_policy_is_small(tmp_path):
    names = [f"offer {k}" for k in range(10)]
    rng = np.random.default_rng(0)
    with Policy(
        tmp_path / "log.db", problem=Problem(names), seed=0, durability="process-kill"
    ) as policy:
        for row in rng.normal(size=(60, 20)).tolist():
            decision = policy.decide({f"x{i}": value for i, value in enumerate(row)})
            policy.feedback(decision.decision_id, {decision.action: float(row[0] > 0.0)})
    with closing(sqlite3.connect(tmp_path / "log.db")) as log:
        sizes = log.execute("SELECT length(agent) + length(n_parts) FROM graphcb_checkpoints")
        assert 1e5 < max(size for (size,) in sizes) < 5e6
