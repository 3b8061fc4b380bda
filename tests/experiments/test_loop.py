import numpy as np
import pytest

from graphcb import FeedbackGraph, graphs
from graphcb.environments import Observation, Round, SyntheticInventory
from graphcb.experiments import run


class Spy:
    """Plays a fixed distribution and keeps all it meets."""

    def __init__(self, probabilities):
        self.probabilities = np.array(probabilities)
        self.contexts, self.learnt = [], []

    def act(self, context, graph, actions=None):
        self.contexts.append(context)
        return self.probabilities

    def learn(self, context, actions, losses):
        self.learnt.append((list(actions), list(losses)))


class CopsAndRobbers:
    """Action i costs i and is never seen by who plays it."""

    n_rounds = 50

    def rounds(self, rng):
        for _ in range(self.n_rounds):
            yield Round(rng.random(), graphs.cops_and_robbers(3), None, np.arange(3.0))

    def reveal(self, round, action, rng):
        seen = round.graph.draw_revealed(action, rng)
        return Observation(seen, round.hidden[seen])

    def loss(self, round, action):
        return float(round.hidden[action])


def test_one_row_a_round_with_the_mean_loss_so_far():
    agent = Spy([0.2, 0.3, 0.5])
    rows = list(run(agent, CopsAndRobbers(), seed=0))
    assert [row.round for row in rows] == list(range(1, 51))
    assert {row.action for row in rows} == {0, 1, 2}
    losses = np.array([row.loss for row in rows])
    np.testing.assert_array_equal(losses, [row.action for row in rows])
    np.testing.assert_allclose([r.mean_loss for r in rows], np.cumsum(losses) / np.arange(1, 51))
    assert all(row.probability == agent.probabilities[row.action] for row in rows)
    assert all(row.n_revealed == 2 for row in rows)


def test_an_agent_learns_what_is_revealed_and_nothing_else():
    agent = Spy([0.2, 0.3, 0.5])
    for row, (actions, losses) in zip(
        run(agent, CopsAndRobbers(), seed=0), agent.learnt, strict=False
    ):
        assert row.action not in actions
        assert losses == actions


def test_two_agents_meet_the_same_rounds_whatever_they_play():
    one, other = Spy([1.0, 0.0, 0.0]), Spy([0.2, 0.3, 0.5])
    first = list(run(one, CopsAndRobbers(), seed=3))
    second = list(run(other, CopsAndRobbers(), seed=3))
    assert one.contexts == other.contexts
    assert [r.action for r in first] != [r.action for r in second]
    assert list(run(Spy([0.2, 0.3, 0.5]), CopsAndRobbers(), seed=3)) == second
    assert list(run(Spy([0.2, 0.3, 0.5]), CopsAndRobbers(), seed=4)) != second


@pytest.mark.parametrize("p", [[0.5, 0.4, 0.0], [0.5, 0.5], [1.5, -0.5, 0.0]])
def test_an_agent_that_returns_no_distribution_is_found_out(p):
    with pytest.raises(ValueError, match="`probabilities` must"):
        next(run(Spy(p), CopsAndRobbers(), seed=0))


def test_stochastic_graphs_reveal_by_chance():
    class Chances(CopsAndRobbers):
        def rounds(self, rng):
            graph = FeedbackGraph(np.full((3, 3), 0.5))
            for _ in range(200):
                yield Round(None, graph, None, np.arange(3.0))

    agent = Spy([1.0, 0.0, 0.0])
    rows = list(run(agent, Chances(), seed=0))
    assert {row.n_revealed for row in rows} == {0, 1, 2, 3}
    assert 1.3 < np.mean([row.n_revealed for row in rows]) < 1.7


def test_environments_can_be_run_again():
    environment = SyntheticInventory(n_rounds=5, levels=3)
    agents = [Spy([0.2, 0.3, 0.5]), Spy([0.2, 0.3, 0.5])]
    first, second = (list(run(agent, environment, seed=1)) for agent in agents)
    assert first == second


class Diary(Spy):
    """A spy with hooks; it has no clock to be told."""

    def __init__(self, probabilities):
        super().__init__(probabilities)
        self.told = []

    def act(self, context, graph, actions=None):
        self.told.append(("act", context))
        return super().act(context, graph, actions)

    def on_draw(self, played):
        self.told.append(("on_draw", played))

    def on_feedback(self, played, indices, losses):
        self.told.append(("on_feedback", played, indices.tolist(), losses.tolist()))

    def learn(self, context, actions, losses):
        self.told.append(("learn", context))
        super().learn(context, actions, losses)

    def at_time(self, seconds):
        raise AssertionError("the run loop has no clock")


def test_hooks_hear_of_what_was_played_and_of_what_feedback_is_for():
    agent = Diary([0.2, 0.3, 0.5])
    rows = list(run(agent, CopsAndRobbers(), seed=0))
    assert rows == list(run(Spy([0.2, 0.3, 0.5]), CopsAndRobbers(), seed=0))
    assert [entry[0] for entry in agent.told] == ["act", "on_draw", "on_feedback", "learn"] * 50
    for t, row in enumerate(rows):
        (_, context), (_, settled), (_, judged, indices, losses) = agent.told[4 * t : 4 * t + 3]
        assert settled.action == judged.action == row.action
        assert settled.context == judged.context == context
        assert settled.graph.family == "cops_and_robbers"
        np.testing.assert_array_equal(settled.probabilities, agent.probabilities)
        assert indices == [action for action in range(3) if action != row.action]
        assert losses == indices


@pytest.mark.parametrize(
    "actions", [np.array([0.5, 0.0, 1.0]), ["x", "y", "z"], {"x": 1.0, "y": None, "z": None}]
)
def test_judging_is_by_index_whatever_the_actions_are_called(actions):
    class Named(CopsAndRobbers):
        def rounds(self, rng):
            for _ in range(20):
                yield Round(None, graphs.cops_and_robbers(3), actions, np.arange(3.0))

        def reveal(self, round, action, rng):
            seen = super().reveal(round, action, rng)
            return seen._replace(actions=[list(actions)[index] for index in seen.actions])

    agent = Diary([0.2, 0.3, 0.5])
    for t, row in enumerate(run(agent, Named(), seed=0)):
        _, played, indices, losses = agent.told[4 * t + 2]
        assert played.actions is actions
        assert indices == losses == [index for index in range(3) if index != row.action]


def test_a_hook_that_is_none_is_not_called():
    agent = Spy([0.2, 0.3, 0.5])
    agent.on_draw = agent.on_feedback = None
    rows = list(run(agent, CopsAndRobbers(), seed=0))
    assert rows == list(run(Spy([0.2, 0.3, 0.5]), CopsAndRobbers(), seed=0))
