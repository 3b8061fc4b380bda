"""Every agent, found by reflection, keeps the contract of its role."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import graphcb.agents
from graphcb import (
    DecisionLog,
    FeedbackGraph,
    Policy,
    SquareRoot,
    graphs,
    load,
    oracles,
    save,
)
from graphcb.agents import (
    Conservative,
    EpsilonGreedy,
    Greedy,
    InformationDirected,
    Shadow,
    SquareCB,
    SquareCBG,
    Uniform,
    gamma_of,
)
from graphcb.decisions import replay
from graphcb.saving import to_bytes

LEVELS = np.linspace(0.0, 1.0, 6)


def oracle():
    return oracles.NewsvendorOGD(3, learning_rate=0.1)


class OnlyPredicts:
    def predict(self, context, actions):
        return np.zeros(6)


BUILD = {
    Conservative: lambda: Conservative(SquareCBG(oracle(), gamma=SquareRoot(4.0, 1.0)), 0.0),
    EpsilonGreedy: lambda: EpsilonGreedy(oracle(), epsilon=0.2),
    Greedy: lambda: Greedy(oracle()),
    InformationDirected: lambda: InformationDirected(oracles.OnlineRidge(6, 3)),
    Shadow: lambda: Shadow(SquareCB(oracle(), gamma=SquareRoot(4.0, "n_actions")), 0.0),
    SquareCB: lambda: SquareCB(oracle(), gamma=SquareRoot(4.0, "n_actions")),
    SquareCBG: lambda: SquareCBG(oracle(), gamma=SquareRoot(4.0, 1.0)),
    Uniform: Uniform,
}


def build(agent):
    return BUILD[agent]()


def actions_of(agent):
    """What its oracle calls the six actions: no oracle of stock levels says how sure it is."""
    return np.arange(6) if agent is InformationDirected else LEVELS


def through_a_file(agent, folder):
    save(agent, folder / "agent.npz")
    return load(folder / "agent.npz")


def play(agent, n_rounds, seed=0):
    """Contexts, draws and noise from one seed; the probabilities of every round."""
    rng, actions = np.random.default_rng(seed), actions_of(type(agent))
    played = []
    for _ in range(n_rounds):
        x = rng.normal(size=3)
        p = agent.act(x, graphs.inventory(6), actions)
        seen = LEVELS[: rng.choice(6, p=p) + 1]
        losses = np.abs(seen - 0.4) + 0.01 * rng.normal(size=seen.size)
        agent.learn(x, actions[: seen.size], losses)
        played.append(p)
    return np.array(played)


def test_every_agent_has_an_example_here():
    found = {
        value
        for name, value in vars(graphcb.agents).items()
        if inspect.isclass(value)
        and hasattr(value, "act")
        and getattr(value, "informed", True)  # else in tests/agents/test_squarecbug.py
        and name != "Agent"
    }
    assert found == set(BUILD)


@pytest.mark.parametrize("agent", BUILD)
class TestAgent:
    def test_returns_a_distribution_from_the_first_round_on(self, agent):
        played = play(build(agent), 200)
        assert played.shape == (200, 6)
        assert (played >= 0).all()
        np.testing.assert_allclose(played.sum(axis=1), 1.0, atol=1e-12)

    def test_shows_itself_as_the_call_that_makes_it(self, agent):
        learner = build(agent)
        play(learner, 3)
        again = eval(repr(learner), {**vars(graphcb), **vars(oracles)})
        assert repr(again) == repr(build(agent)) == repr(learner)
        np.testing.assert_array_equal(play(again, 10), play(build(agent), 10))

    def test_reports_the_gamma_of_its_last_round(self, agent):
        learner = build(agent)
        assert gamma_of(learner) is None
        play(learner, 9)
        expected = {SquareCB: 4.0 * np.sqrt(6 * 9), SquareCBG: 12.0}
        expected |= {Shadow: expected[SquareCB], Conservative: expected[SquareCBG]}
        assert gamma_of(learner) == expected.get(agent)

    def test_a_shallow_copy_plays_without_changing_the_original(self, agent):
        learner = build(agent)
        play(learner, 5)
        before = to_bytes(learner)
        copy.copy(learner).act(np.ones(3), graphs.inventory(6), actions_of(agent))
        assert to_bytes(learner) == before

    def test_an_array_is_no_graph(self, agent):
        text = r"must be a FeedbackGraph, got an array of shape \(6, 6\); use graphcb.FeedbackGraph"
        learner = build(agent)
        with pytest.raises(TypeError, match=text):
            learner.act(np.ones(3), np.eye(6), actions_of(agent))
        assert learner.n_rounds == 0

    def test_what_is_no_oracle_is_refused(self, agent):
        if agent in (Uniform, Conservative, Shadow):
            pytest.skip("has no oracle of its own")
        with pytest.raises(TypeError, match=r"predict and update, .*got str without predict and"):
            agent("logistic")
        with pytest.raises(TypeError, match=r"got the class LinearOGD; make one.*LinearOGD\(...\)"):
            agent(oracles.LinearOGD)
        with pytest.raises(TypeError, match="got OnlyPredicts without update"):
            agent(OnlyPredicts())

    def test_falling_stock_levels_are_refused_on_the_inventory_graph(self, agent):
        if agent in (Uniform, InformationDirected):
            pytest.skip("has no oracle to know that these are levels")
        learner = build(agent)
        text = "rising stock levels, .*got 0.5 after 1 at index 1; sort them, or use"
        with pytest.raises(ValueError, match=text):
            learner.act(np.ones(3), graphs.inventory(3), [1.0, 0.5, 0.0])
        assert learner.n_rounds == 0
        learner.act(np.ones(3), graphs.posted_price(3), [1.0, 0.5, 0.0])

    def test_same_seed_same_bits(self, agent):
        np.testing.assert_array_equal(play(build(agent), 50), play(build(agent), 50))

    def test_changes_no_input(self, agent):
        x, levels, losses = np.ones(3), actions_of(agent).copy(), LEVELS.copy()
        for array in (x, levels, losses):
            array.setflags(write=False)
        learner = build(agent)
        learner.act(x, graphs.inventory(6), levels)
        learner.learn(x, levels, losses)

    @pytest.mark.parametrize(
        "store",
        [
            lambda a, _: copy.deepcopy(a),
            lambda a, _: pickle.loads(pickle.dumps(a)),
            through_a_file,
        ],
        ids=["copied", "pickled", "saved"],
    )
    def test_a_stored_agent_goes_on_as_if_it_had_never_stopped(self, agent, store, tmp_path):
        learner = build(agent)
        play(learner, 30)
        stored = store(learner, tmp_path)
        assert stored.n_rounds == 30
        np.testing.assert_array_equal(play(learner, 30, seed=1), play(stored, 30, seed=1))

    def test_a_log_of_its_decisions_leads_to_the_same_bits(self, agent, tmp_path):
        rng = np.random.default_rng(4)
        with Policy(tmp_path / "log.db", build(agent), durability="process-kill") as policy:
            for _ in range(30):
                decision = policy.decide(rng.normal(size=3), graphs.inventory(6), actions_of(agent))
                losses = dict(zip(actions_of(agent), abs(LEVELS - 0.4), strict=True))
                seen = actions_of(agent)[: decision.action_index + 1]
                policy.feedback(decision.decision_id, {a: losses[a] for a in seen})
            state = to_bytes(policy.agent)
        with DecisionLog(tmp_path / "log.db") as log:
            assert to_bytes(replay(log).agent) == state

    def test_a_copy_is_independent(self, agent):
        learner = build(agent)
        kept = copy.deepcopy(learner)
        play(learner, 30)
        np.testing.assert_array_equal(play(kept, 30), play(build(agent), 30))

    def test_a_round_that_reveals_nothing_counts(self, agent):
        learner = build(agent)
        for _ in range(3):
            learner.act(np.ones(3), graphs.inventory(6), actions_of(agent))
            learner.learn(np.ones(3), [], [])
        assert learner.n_rounds == 3

    def test_a_single_action_is_played(self, agent):
        p = build(agent).act(np.ones(3), graphs.inventory(1), actions_of(agent)[:1])
        np.testing.assert_array_equal(p, [1.0])

    @pytest.mark.parametrize(
        ("context", "graph", "text"),
        [
            (np.ones(2), graphs.inventory(6), "`context` must have shape"),
            (np.array([1.0, np.nan, 1.0]), graphs.inventory(6), "`context` must be finite"),
            (
                np.ones(3),
                graphs.inventory(5),
                r"must have (shape \(5,\)|one name for each)",
            ),
        ],
    )
    def test_bad_rounds_get_an_error_and_change_nothing(self, agent, context, graph, text):
        if agent is Uniform:
            pytest.skip("looks at nothing, so nothing can be wrong")
        learner = build(agent)
        with pytest.raises(ValueError, match=text):
            learner.act(context, graph, actions_of(agent))
        assert learner.n_rounds == 0
        with pytest.raises(ValueError, match="`losses` must have shape"):
            learner.learn(np.ones(3), actions_of(agent), LEVELS[:2])
        np.testing.assert_array_equal(play(learner, 20), play(build(agent), 20))


def test_squarecbg_refuses_a_graph_it_cannot_learn_from():
    hidden = FeedbackGraph([[1, 0], [1, 0]])
    agent = build(graphcb.SquareCBG)
    text = "`graph` must be observable to learn from it, but no action reveals action 1"
    with pytest.raises(ValueError, match=text):
        agent.act(np.ones(3), hidden, LEVELS[:2])
    assert agent.n_rounds == 0
