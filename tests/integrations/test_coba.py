"""graphcb in coba 8.1, for real where it is installed."""

import copy
import functools
import pickle

import numpy as np
import pytest

coba = pytest.importorskip("coba", reason="extra `coba` not installed")
from coba import Environments, Experiment, RandomLearner, SequentialCB  # noqa: E402
from coba.environments import LambdaSimulation  # noqa: E402
from coba.primitives import Categorical  # noqa: E402
from coba.random import CobaRandom  # noqa: E402

from graphcb import FeedbackGraph, SquareCBG, draw, graphs  # noqa: E402
from graphcb.environments import KnownLosses  # noqa: E402
from graphcb.integrations.coba import GraphCB, GraphLearner, squarecbg  # noqa: E402
from graphcb.oracles import LogisticOGD  # noqa: E402

N_ACTIONS = 5


def context(i):
    return CobaRandom(i).randoms(6)


def actions(i, x):
    return list("abcde")


def reward(i, x, action):
    return float("abcde".index(action) == int(np.argmax(x[:N_ACTIONS])))


def classes(n_rounds=1500):
    return Environments(LambdaSimulation(n_rounds, context, actions, reward))


def mean_rewards(environments, learners, evaluator):
    result = Experiment(environments, learners, evaluator).run(quiet=True)
    rewards = {}
    for row in result.interactions.to_dicts():
        rewards.setdefault(row["learner_id"], []).append(row["reward"])
    return [float(np.mean(rewards[i])) for i in sorted(rewards)], result


def test_it_learns_in_an_experiment_of_coba():
    rewards, result = mean_rewards(classes(), [GraphLearner(), RandomLearner()], SequentialCB())
    assert rewards[0] > 2.0 * rewards[1]
    assert "graphcb" in {row["family"] for row in result.learners.to_dicts()}


def test_the_more_the_graph_reveals_the_more_is_learned():
    rewards = {
        graph.__name__: mean_rewards(classes(), [GraphLearner()], GraphCB(graph))[0][0]
        for graph in (graphs.bandit, graphs.cops_and_robbers, graphs.full_information)
    }
    assert rewards["bandit"] < rewards["cops_and_robbers"]
    assert rewards["bandit"] < rewards["full_information"]


def test_rows_tell_what_was_revealed():
    _, result = mean_rewards(classes(50), [GraphLearner()], GraphCB(graphs.cops_and_robbers))
    rows = list(result.interactions.to_dicts())
    assert len(rows) == 50
    assert {row["n_revealed"] for row in rows} == {N_ACTIONS - 1}
    assert all(0.0 < row["probability"] <= 1.0 for row in rows)
    assert [row["graph"] for row in result.evaluators.to_dicts()] == ["cops_and_robbers"]


def test_the_evaluator_plays_what_the_run_loop_plays():
    n_rounds = 200
    x = np.array([[*context(i), 1.0] for i in range(n_rounds)]) / np.sqrt(7.0)
    losses = 1.0 - np.array([[reward(i, context(i), a) for a in "abcde"] for i in range(n_rounds)])
    graph = graphs.cops_and_robbers(N_ACTIONS)
    learner = GraphLearner()
    played = list(GraphCB(graph, seed=4).evaluate(classes(n_rounds)[0], learner))
    agent, rng = squarecbg(N_ACTIONS, 7), np.random.default_rng(4)
    environment = KnownLosses(x, losses, graph, shuffle=False)
    for row, round in zip(played, environment.rounds(rng), strict=True):
        p = agent.act(round.context, graph)
        action = draw(p, rng)
        seen = environment.reveal(round, action, rng)
        agent.learn(round.context, seen.actions, seen.losses)
        assert row["action"] == "abcde"[action]
        assert row["probability"] == p[action]
        assert row["reward"] == 1.0 - environment.loss(round, action)
    np.testing.assert_array_equal(learner.agent.oracle.weights, agent.oracle.weights)


def test_other_learners_see_their_own_reward_where_it_is_revealed():
    class Counting(RandomLearner):
        learned = 0

        def learn(self, context, action, reward, probability):
            Counting.learned += 1

    list(GraphCB(graphs.bandit).evaluate(classes(40)[0], Counting()))
    assert Counting.learned == 40
    rows = list(GraphCB(graphs.cops_and_robbers).evaluate(classes(40)[0], Counting()))
    assert Counting.learned == 40
    assert {row["n_revealed"] for row in rows} == {0}


def test_contexts_of_every_kind():
    for given in (None, 3.0, [1.0, 2.0], (1.0, 2.0), {"a": 1.0, 5: 2.0}):
        learner = GraphLearner()
        for _ in range(3):
            action, probability = learner.predict(given, ["x", "y"])
            learner.learn(given, action, 1.0, probability)
        assert action in ("x", "y")
        assert 0.0 < probability <= 1.0


def test_actions_of_every_kind_are_known_again_in_any_order():
    for first, second in (("x", "y"), ([1, 0], [0, 1]), ({"a": 1}, {"b": 1}), ((1, 0), (0, 1))):
        learner = GraphLearner()
        for _ in range(200):
            for order in ([first, second], [second, first]):
                action, probability = learner.predict([1.0], order)
                learner.learn([1.0], action, float(action == second), probability)
        p = learner.probabilities([1.0], [second, first], graphs.bandit(2))
        assert p[0] > 0.9


def test_supervised_data_with_a_categorical_feature():
    levels = ["red", "blue", "green"]
    rows = [[Categorical(levels[i % 3], levels), float(i % 2)] for i in range(300)]
    labels = [levels[i % 3] for i in range(300)]
    (environment,) = Environments.from_supervised(rows, labels, label_type="c")
    learner = GraphLearner()
    played = list(GraphCB(graphs.bandit).evaluate(environment, learner))
    assert np.mean([row["reward"] for row in played]) > 0.8
    assert learner.agent.oracle.n_features == 3 + 1 + 1  # one per level, the number, a constant


def test_batches_are_taken_apart():
    batched = classes(50).batch(7)
    assert len(list(GraphCB(graphs.bandit).evaluate(batched[0], GraphLearner()))) == 50


def test_rewards_of_another_range():
    learner = GraphLearner(reward_range=(-10.0, 10.0))
    learner.predict(None, ["x", "y"])
    learner.learn_revealed(None, ["x", "y"], [10.0, -10.0])
    x, y = learner.agent.oracle.predict([1.0])
    assert x < 0.5 < y
    assert x + y == pytest.approx(1.0)


def test_rewards_outside_the_range_are_refused():
    learner = GraphLearner()
    learner.predict(None, ["x", "y"])
    with pytest.raises(ValueError, match=r"`rewards` must lie in reward_range .*got 3.0 at"):
        learner.learn_revealed(None, ["x", "y"], [1.0, 3.0])


def test_what_a_graph_reveals_by_chance_does_not_depend_on_how_a_learner_draws():
    graph = FeedbackGraph(np.full((N_ACTIONS, N_ACTIONS), 0.5))
    rows = list(GraphCB(graph, seed=4).evaluate(classes(200)[0], RandomLearner()))
    rng = np.random.default_rng(4)  # the stream of what is revealed, and of nothing else
    for row in rows:
        chosen = "abcde".index(row["action"])
        assert row["n_revealed"] == int(chosen in graph.draw_revealed(chosen, rng))
    assert all(row["probability"] == pytest.approx(0.2) for row in rows)


def test_it_is_copied_and_pickled_as_coba_does():
    build = functools.partial(squarecbg)
    for learner in (GraphLearner(), GraphLearner(build, seed=3)):
        for copied in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
            assert copied.predict([1.0], ["x", "y"]) == copy.deepcopy(learner).predict(
                [1.0], ["x", "y"]
            )


def test_an_agent_of_your_own():
    def build(n_actions, n_features):
        return SquareCBG(LogisticOGD(n_actions, n_features), gamma=7.0)

    learner = GraphLearner(build)
    learner.predict([1.0], ["x", "y"])
    assert learner.agent.schedule.value == 7.0
    assert learner.params == {"family": "graphcb", "build": "build", "seed": 1}


def test_bad_input_gets_a_clear_error():
    with pytest.raises(ValueError, match=r"`reward_range` must be \(low, high\) with low < high"):
        GraphLearner(reward_range=(1.0, 0.0))
    learner = GraphLearner()
    with pytest.raises(ValueError, match="`learn` must come after `predict`"):
        learner.learn(None, "x", 1.0, 1.0)
    learner.predict(None, ["x", "y"])
    with pytest.raises(ValueError, match="must be among the 2 of the first round, got 'z'"):
        learner.predict(None, ["x", "z"])
    with pytest.raises(NotImplementedError, match="`score` would begin a round"):
        learner.score(None, ["x", "y"], "x")
    with pytest.raises(ValueError, match="must have 5 actions, as the environment has, got 2"):
        list(GraphCB(graphs.bandit(2)).evaluate(classes(5)[0], GraphLearner()))
    with pytest.raises(ValueError, match="a graph needs actions that can be counted"):
        GraphCB(FeedbackGraph([[1]]))._graph([])
