"""Memory has a bound, however large contexts and graphs are and however many there are."""

import tracemalloc

import numpy as np
import pytest

import graphcb
from graphcb import DecisionLog, Policy, graphs
from graphcb.decisions import replay
from graphcb.decisions.stored_graphs import BYTES_IN_MEMORY, StoredGraphs

BANDIT = graphs.bandit(2)
LARGE = 250_000  # numbers: 2 MB


@pytest.fixture
def large_log(new_log):
    """40 contexts of 2 MB, each with feedback."""
    location = new_log()
    with Policy(location, graphcb.Uniform(), seed=0, durability="process-kill") as policy:
        for number in range(40):
            made = policy.decide(np.full(LARGE, float(number)), BANDIT)
            policy.feedback(made.decision_id, {made.action: 0.5})
        policy._log._checkpoint = lambda *_: True  # as if it had been killed
    return location


def peak(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_large_contexts_are_read_a_few_at_a_time(large_log):
    def read():
        with DecisionLog(large_log) as log:
            assert sum(row.feedback is not None for row in log) == 40

    def rebuild():
        with DecisionLog(large_log) as log:
            assert replay(log).position == 80

    assert peak(read) < 40e6
    assert peak(rebuild) < 40e6


def test_a_batch_of_feedbacks_on_large_contexts(new_log):
    with Policy(new_log(), graphcb.Uniform(), seed=0, durability="process-kill") as policy:
        rows = [policy.decide(np.zeros(LARGE), BANDIT) for _ in range(40)]
        losses = {row.decision_id: {row.action: 0.5} for row in rows}
        receipts = []
        assert peak(lambda: receipts.extend(policy.feedback_many(losses))) < 40e6
        assert all(receipt.counted for receipt in receipts)
        assert not any(receipt.counted for receipt in policy.feedback_many(losses))


def test_an_export_of_large_contexts(large_log, tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra `experiments`")
    from graphcb.decisions.export import export_parquet

    def export():
        with DecisionLog(large_log) as log:
            assert export_parquet(log, tmp_path / "a.parquet") == 40

    assert peak(export) < 120e6  # numbers become Python's own on their way


def test_graphs_in_memory_have_a_bound(tmp_path):
    rng = np.random.default_rng(0)
    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0, durability="process-kill") as policy:
        made = []

        def decide():
            for _ in range(30):
                graph = graphs.random_self_aware(512, 0.005, rng)
                graph.matrix  # noqa: B018  # remembered by the graph
                made.append(policy.decide(None, graph).decision_id)

        assert peak(decide) < 2 * BYTES_IN_MEMORY
        cache = policy._log.graphs
        assert 1 < len(cache._kept) < 30
        assert cache.n_bytes <= BYTES_IN_MEMORY
        assert policy.feedback(made[0], {}).counted  # its graph is read again
        for name in made[::7]:
            policy.feedback(name, {})
    with DecisionLog(tmp_path / "a.db") as log:
        assert replay(log).n_feedbacks == log.n_feedbacks


def test_the_graph_used_last_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("graphcb.decisions.stored_graphs.BYTES_IN_MEMORY", 1000)
    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
        for n_actions in (2, 5, 20, 2, 20, 5):
            policy.decide(None, graphs.bandit(n_actions))
        assert len(policy._log.graphs._kept) == 1
    with DecisionLog(tmp_path / "a.db") as log:
        cache = StoredGraphs(log.storage)
        assert [row.graph.n_actions for row in log] == [2, 5, 20, 2, 20, 5]
        assert [cache.read(number).n_actions for number in (1, 2, 3, 2, 1)] == [2, 5, 20, 5, 2]
