"""Feedback in parts: each action counts once, whatever order and however often they come."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphcb
from graphcb import DecisionLog, Policy, graphs
from graphcb.decisions import replay
from graphcb.decisions.export import export_parquet
from graphcb.decisions.parts import read_part
from graphcb.decisions.tables import FeedbackRow
from graphcb.evaluation import constant, evaluate
from graphcb.files import FileError
from graphcb.saving import to_bytes

FULL = graphs.full_information(3)


class Recorder(graphcb.Uniform):
    """An agent that keeps what it was taught."""

    def __init__(self):
        super().__init__()
        self.taught = []

    def learn(self, context, actions, losses):
        self.taught.append([[int(a) for a in actions], losses.tolist()])


@pytest.mark.parametrize(
    ("indices", "losses"),
    [
        ([3], [0.0]), ([-1], [0.0]), ([0], [np.nan]), ([0], [-np.inf]), ([0], []),
        ([0, 3], [0.0, 0.0]), ([-1, 0], [0.0, 0.0]), ([1, 0], [0.0, 0.0]), ([1, 1], [0.0, 0.0]),
        ([0, 1], [0.0, np.inf]), ([0, 1], [0.0]),
    ],
)  # fmt: skip
def test_a_part_that_is_none_on_its_graph_is_refused(indices, losses):
    def row(indices, losses):
        stored = np.array(indices, "<i8").tobytes(), np.array(losses, "<f8").tobytes()
        return FeedbackRow(7, 0.0, 1, *stored)

    for fine in ([], []), ([2], [0.5]), ([0, 2], [0.5, -1e300]):
        found = read_part(row(*fine), FULL, "here")
        assert [one.tolist() for one in found] == list(fine)
    with pytest.raises(FileError, match="here: damaged: event 7 is no feedback on its graph"):
        read_part(row(indices, losses), FULL, "here")


def test_each_part_is_learned_when_it_comes(new_log):
    location = new_log()
    with Policy(location, Recorder(), seed=0, classes=[Recorder]) as policy:
        name = policy.decide(None, FULL).decision_id
        assert policy.feedback(name, {2: 0.5}).message == "counted"
        again = policy.feedback(name, {2: 0.5})
        assert (again.counted, policy.n_events) == (False, 2)
        assert "already has its feedback (event 2), with the same losses" in again.message
        both = policy.feedback(name, {2: 0.5, 0: 0.25})
        assert both.message == "counted, except for 1 losses that were known"
        assert not policy.feedback(name, {}).counted
        text = r"action 0 has loss 0\.25 \(event 3\), got 0\.75"
        with pytest.raises(ValueError, match=text):
            policy.feedback(name, {1: 0.125, 0: 0.75})
        assert policy.feedback(name, {1: 0.125}).counted
        assert policy.agent.taught == [[[2], [0.5]], [[0], [0.25]], [[1], [0.125]]]
        assert policy.model_version == 3
        state = to_bytes(policy.agent)
    with DecisionLog(location) as log:
        assert (log.n_events, log.n_decisions, log.n_feedbacks) == (4, 1, 3)
        (row,) = log
        assert to_bytes(replay(log, classes=[Recorder]).agent) == state
    assert row.feedback.position == 4
    assert row.feedback.action_indices.tolist() == [0, 1, 2]
    assert row.feedback.losses.tolist() == [0.25, 0.125, 0.5]
    assert [part.position for part in row.feedback.parts] == [2, 3, 4]
    assert [part.losses.tolist() for part in row.feedback.parts] == [[0.5], [0.25], [0.125]]
    assert row.feedback.received_at == row.feedback.parts[-1].received_at


def test_nothing_seen_is_a_part_once_and_only_if_nothing_is_known(new_log):
    with Policy(new_log(), Recorder(), seed=0, classes=[Recorder]) as policy:
        name = policy.decide(None, FULL).decision_id
        assert [policy.feedback(name, {}).counted for _ in range(2)] == [True, False]
        assert policy.feedback(name, {1: 0.5}).counted
        assert policy.agent.taught == [[[], []], [[1], [0.5]]]


def test_a_contradiction_in_a_batch_refuses_all_of_it(new_log):
    with Policy(new_log(), Recorder(), seed=0, classes=[Recorder]) as policy:
        first, second = (d.decision_id for d in policy.decide_many([None, None], FULL))
        policy.feedback(second, {0: 0.5})
        with pytest.raises(ValueError, match="must agree with what is known"):
            policy.feedback_many({first: {0: 0.5}, second: {0: 0.25}})
        assert policy.n_events == 3
        receipts = policy.feedback_many({first: {0: 0.5}, second: {0: 0.5}})
        assert [receipt.counted for receipt in receipts] == [True, False]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sets(st.integers(0, 2)), max_size=8), st.integers(0, 8))
def test_any_parts_in_any_order_and_a_restart_in_between(tmp_path_factory, messages, restart):
    location = tmp_path_factory.mktemp("parts") / "a.db"
    losses = {0: 0.25, 1: 0.5, 2: 0.75}
    policy = Policy(location, Recorder(), seed=0, classes=[Recorder], durability="process-kill")
    name = policy.decide(None, FULL).decision_id
    known, n_parts = set(), 0
    for number, message in enumerate(messages):
        if number == restart:
            policy.close()
            policy = Policy(location, classes=[Recorder], durability="process-kill")
        is_new = not message <= known or n_parts == 0
        assert policy.feedback(name, {a: losses[a] for a in message}).counted == is_new
        known |= message
        n_parts += is_new
    with policy:
        taught = [action for actions, _ in policy.agent.taught for action in actions]
    assert sorted(taught) == sorted(known)
    with DecisionLog(location) as log:
        (row,) = log
        assert log.n_feedbacks == n_parts
    if n_parts:
        assert row.feedback.action_indices.tolist() == sorted(known)
    else:
        assert row.feedback is None


def test_evaluation_and_export_take_all_parts_together(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra `experiments`")
    for name, in_parts in (("whole", False), ("parts", True)):
        with Policy(tmp_path / name, graphcb.Uniform(), seed=0) as policy:
            made = [policy.decide(None, FULL).decision_id for _ in range(20)]
            for number, decision in enumerate(made):
                losses = {a: 0.01 * (number + a) for a in range(3)}
                for part in [{a: losses[a]} for a in (2, 0, 1)] if in_parts else [losses]:
                    policy.feedback(decision, part)
            last = policy.decide(None, FULL).decision_id
            policy.feedback(last, {1: 0.5})  # the other parts are still to come
    found = []
    for name in ("whole", "parts"):
        with DecisionLog(tmp_path / name) as log:
            found.append(evaluate(list(log)[:20], constant(1)))
            assert evaluate(log, constant(1)).n_incomplete == 1
            export_parquet(log, tmp_path / f"{name}.parquet")
    assert found[0] == found[1]
    tables = [pq.read_table(tmp_path / f"{name}.parquet") for name in ("whole", "parts")]
    for column in ("feedback_actions_json", "feedback_action_indices", "feedback_losses"):
        assert tables[0][column].to_pylist() == tables[1][column].to_pylist()


def test_more_parts_than_are_counted_one_by_one(tmp_path):
    wide = graphs.full_information(300)
    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0, durability="process-kill") as policy:
        name = policy.decide(None, wide).decision_id
        assert all(policy.feedback(name, {a: 0.5}).counted for a in range(300))
        assert not policy.feedback(name, {7: 0.5}).counted
    with DecisionLog(tmp_path / "a.db") as log:
        (row,) = log
    np.testing.assert_array_equal(row.feedback.action_indices, np.arange(300))
