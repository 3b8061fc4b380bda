"""Feedback names actions by what was decided on, in Python and through JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphcb
from graphcb import Decision, DecisionLog, Policy, SquareCBG, graphs
from graphcb.decisions import replay
from graphcb.oracles import LinearOGD, NewsvendorOGD
from graphcb.rounds.identifiers import Identifiers
from graphcb.saving import to_bytes

ORDERS = [[2, 0, 1], (1, 2, 0), np.array([0, 2, 1]), range(3), None]


def as_json(losses):
    """The same losses after a journey through JSON, whose keys are texts."""
    return json.loads(json.dumps(losses))


class Recorder:
    """An agent that keeps what it was taught."""

    def __init__(self):
        self.taught = []

    def act(self, context, graph, actions=None):
        return np.full(graph.n_actions, 1.0 / graph.n_actions)

    def learn(self, context, actions, losses):
        self.taught.append([list(actions), losses.tolist()])


@pytest.mark.parametrize("actions", ORDERS, ids=repr)
@pytest.mark.parametrize("through", [dict, as_json])
def test_feedback_trains_the_actions_that_it_names(new_log, actions, through):
    losses = {2: 0.9, 0: 0.1, 1: 0.5}
    twin = SquareCBG(LinearOGD(3, 1, learning_rate=0.1))
    twin.act([1.0], graphs.full_information(3), actions)
    twin.learn([1.0], [0, 1, 2], [0.1, 0.5, 0.9])
    with Policy(new_log(), SquareCBG(LinearOGD(3, 1, learning_rate=0.1)), seed=0) as policy:
        decision = policy.decide([1.0], graphs.full_information(3), actions)
        assert policy.feedback(decision.decision_id, through(losses)).counted
        np.testing.assert_array_equal(policy.agent.oracle.weights, twin.oracle.weights)
        again = policy.feedback(decision.decision_id, through(losses))
        assert "with the same losses" in again.message
    expected = (0, 1, 2) if actions is None else tuple(actions)
    assert decision.actions == expected
    assert decision.action == expected[decision.action_index]
    assert decision.probability == decision.probabilities[decision.action_index]
    assert Decision.from_json(decision.to_json()) == decision
    with DecisionLog(policy.location) as log:
        (row,) = log
        assert to_bytes(replay(log).agent) == to_bytes(replay(log, from_checkpoint=True).agent)
    assert (row.action, row.action_index) == (decision.action, decision.action_index)
    assert list(row.feedback.actions) == list(expected)
    assert row.feedback.losses.tolist() == [losses[a] for a in expected]


@pytest.mark.parametrize("through", [dict, as_json])
def test_stock_levels_are_named_by_their_exact_value(tmp_path, through):
    levels = np.linspace(0.0, 1.0, 11)  # 0.30000000000000004 is one of them
    with Policy(tmp_path / "a.db", SquareCBG(NewsvendorOGD(1, learning_rate=0.1))) as policy:
        decision = policy.decide([0.5], graphs.inventory(11), levels)
        losses = {level: abs(level - 0.4) for level in levels[: decision.action_index + 1]}
        assert policy.feedback(decision.decision_id, through(losses)).counted
        before = to_bytes(policy.agent)
        other = policy.decide([0.5], graphs.inventory(11), levels)
        with pytest.raises(
            ValueError, match=r"decided on \(0\.0, 0\.1, 0\.2, .* and 1 more\), got 0\.3"
        ):
            policy.feedback(other.decision_id, {0.3: 0.5})
        assert to_bytes(policy.agent) != before  # of the decision, not of the refused feedback
        assert policy.model_version == 1
        assert policy.feedback(other.decision_id, {"0": 0.4, "0.1": 0.3}).counted  # 0.0 elsewhere


@pytest.mark.parametrize("actions", [["small", "large"], np.array(["small", "large"])])
def test_actions_with_names(tmp_path, actions):
    with Policy(tmp_path / "a.db", Recorder(), seed=0, classes=[Recorder]) as policy:
        decision = policy.decide(None, graphs.full_information(2), actions)
        assert decision.actions == ("small", "large")
        assert decision.action in decision.actions
        for key in ("medium", 0, "0"):
            with pytest.raises(ValueError, match=r"decided on \('small', 'large'\), got"):
                policy.feedback(decision.decision_id, {key: 0.5})
        policy.feedback(decision.decision_id, {"large": 0.75, "small": 0.25})
        assert policy.agent.taught == [[["small", "large"], [0.25, 0.75]]]


def test_actions_that_are_rows_of_a_catalogue(tmp_path):
    with Policy(tmp_path / "a.db", Recorder(), seed=0, classes=[Recorder]) as policy:
        decision = policy.decide(None, graphs.full_information(2), [[1, 0.5], [2, 0.25]])
        assert decision.actions == ((1, 0.5), (2, 0.25))
        assert Decision.from_json(decision.to_json()) == decision
        policy.feedback(decision.decision_id, {(2, 0.25): 0.75, "[1, 0.5]": 0.5})
        assert policy.agent.taught == [[[[1, 0.5], [2, 0.25]], [0.5, 0.75]]]
    with DecisionLog(tmp_path / "a.db") as log:
        assert next(iter(log)).action == decision.action


@pytest.mark.parametrize(
    ("actions", "kind", "text"),
    [
        ([0, 1, 0], ValueError, "`actions` must be distinct, got 0 again at index 2; feedback"),
        ([1.0, 0, 1], ValueError, "`actions` must be distinct, got 1.0 again at index 2"),
        (["2", 1, 2], ValueError, "`actions` must be distinct, got 2 again at index 2"),
        ([0, 1], ValueError, "must have one identifier per action of the graph, 3, got 2"),
        ([{}, {}, {}], TypeError, "must be numbers, texts or lists of these, got dict"),
        ([None, 1, 2], TypeError, "must be numbers, texts or lists of these, got NoneType"),
        ("abc", TypeError, "`actions` must be a list or an array, got str"),
        (3, TypeError, "`actions` must be a list or an array, got int"),
        (np.array(3), TypeError, "`actions` must be a list or an array, got ndarray"),
        ({0, 1, 2}, TypeError, "`actions` must be a list or an array, got set"),
    ],
)
def test_actions_that_feedback_could_not_name_are_refused(tmp_path, actions, kind, text):
    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
        with pytest.raises(kind, match=text):
            policy.decide(None, graphs.bandit(3), actions)
        assert policy.n_events == 0


def test_an_action_that_could_not_be_revealed_is_named(tmp_path):
    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
        decision = policy.decide(None, graphs.bandit(2), [10, 20])
        other = 30 - decision.action
        text = rf"playing {decision.action} can reveal \({decision.action}\), got action {other}"
        with pytest.raises(ValueError, match=text):
            policy.feedback(decision.decision_id, {other: 0.5})


@given(
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=9, unique=True)
    | st.lists(st.floats(allow_nan=False), min_size=1, max_size=9, unique=True)
    | st.lists(st.text(max_size=5), min_size=1, max_size=9, unique=True)
)
def test_every_identifier_is_found_again_also_through_json(values):
    known = Identifiers(values, len(values))
    assert [known.index(value) for value in values] == list(range(len(values)))
    keys = json.loads(json.dumps(dict.fromkeys(values, 0.0)))
    assert [known.index(key) for key in keys] == list(range(len(values)))
