"""graphcb agents in coba experiments, with the losses that a feedback graph reveals.

Needs the extra `coba`.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from coba.environments import Finalize, Unbatch
from coba.random import CobaRandom
from coba.safety import SafeLearner
from numpy.typing import NDArray

from graphcb.agents import Agent, SquareCBG
from graphcb.experiments.loop import draw
from graphcb.graphs import FeedbackGraph, bandit
from graphcb.oracles import LogisticOGD

Floats = NDArray[np.float64]
N_PLACES = 2**18  # for contexts that come as a mapping


def squarecbg(n_actions: int, n_features: int) -> SquareCBG:
    """SquareCB.G with a logistic oracle, for contexts of size 1."""
    return SquareCBG(LogisticOGD(n_actions, n_features, learning_rate=4.0))


class GraphLearner:
    """A coba learner around a graphcb agent.

    `build(n_actions, n_features)` makes the agent in the first round, when both are known; to run
    on several processes it must be a function of a module. Rewards in `reward_range` become
    losses between 0 and 1. In coba's own evaluators an action shows its own reward alone; under
    `GraphCB` it shows what the graph says. Contexts are divided by the square root of their
    length, so scale an environment's features first, for example by `.scale("mean", "std")`.

    >>> from coba import Environments, Experiment
    >>> from graphcb.graphs import full_information
    >>> environment = Environments.from_linear_synthetic(100, n_action_features=0)
    >>> experiment = Experiment(environment, GraphLearner(), GraphCB(full_information))
    >>> result = experiment.run(quiet=True)
    >>> len(result.interactions)
    100
    """

    def __init__(
        self,
        build: Callable[[int, int], Agent] = squarecbg,
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: int = 1,
    ) -> None:
        low, high = reward_range
        if not -np.inf < low < high < np.inf:
            raise ValueError(
                f"`reward_range` must be (low, high) with low < high, got {reward_range}"
            )
        self.build = build
        self.reward_range = (float(low), float(high))
        self.seed = seed
        self.agent: Agent | None = None
        self.columns: dict[Any, int] = {}
        self.draws = CobaRandom(seed)

    @property
    def params(self) -> Mapping[str, Any]:
        """What coba writes beside the results."""
        return {"family": "graphcb", "build": _name(self.build), "seed": self.seed}

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float]:
        """An action and its probability, where each action shows its own reward alone."""
        p = self.probabilities(context, actions, bandit(len(actions)))
        action, probability = self.draws.choicew(list(actions), p.tolist())
        return action, probability

    def learn(self, context: Any, action: Any, reward: float, probability: float) -> None:
        """Learn the reward of one action."""
        self.learn_revealed(context, [action], [reward])

    def score(self, context: Any, actions: Sequence[Any], action: Any) -> float:
        """coba asks for the probability of an action; to answer, an agent must begin a round."""
        raise NotImplementedError("`score` would begin a round: graphcb agents count their rounds")

    def probabilities(self, context: Any, actions: Sequence[Any], graph: FeedbackGraph) -> Floats:
        """The agent's distribution over these actions, in their order."""
        x, n_features = _features(context)
        if self.agent is None:
            self.columns = {_key(action): i for i, action in enumerate(actions)}
            self.agent = self.build(len(actions), n_features)
        return self.agent.act(x, graph, self._columns(actions))

    def learn_revealed(
        self, context: Any, actions: Sequence[Any], rewards: Sequence[float]
    ) -> None:
        """Learn the rewards of all actions that were revealed; there may be none."""
        if self.agent is None:
            raise ValueError("`learn` must come after `predict`, which tells how many actions are")
        low, high = self.reward_range
        losses = (high - np.asarray(rewards, dtype=np.float64)) / (high - low)
        self.agent.learn(_features(context)[0], self._columns(actions), losses)

    def _columns(self, actions: Sequence[Any]) -> NDArray[np.int64]:
        """The oracle's columns of these actions: the actions of the first round are all there."""
        try:
            return np.array([self.columns[_key(action)] for action in actions], dtype=np.int64)
        except KeyError as unknown:
            raise ValueError(
                f"`actions` must be among the {len(self.columns)} of the first round, "
                f"got {unknown.args[0]!r}; actions with features of their own are not known again"
            ) from None


class GraphCB:
    """A coba evaluator in which playing an action shows the rewards that a graph reveals.

    `graph` is a `FeedbackGraph`, or a function of the number of actions such as
    `graphcb.graphs.cops_and_robbers`. A `GraphLearner` knows the graph and is shown all it
    reveals. Any other coba learner is shown the reward of its own action where the graph reveals
    it, and can be compared in the same experiment.
    """

    def __init__(
        self, graph: FeedbackGraph | Callable[[int], FeedbackGraph], *, seed: int = 1
    ) -> None:
        self.graph = graph
        self.seed = seed
        self.built: dict[int, FeedbackGraph] = {}  # by size, so that a family is built once

    @property
    def params(self) -> Mapping[str, Any]:
        """What coba writes beside the results."""
        named = isinstance(self.graph, FeedbackGraph)
        graph = repr(self.graph) if named else _name(self.graph)
        return {"eval_type": "GraphCB", "graph": graph, "seed": self.seed}

    def evaluate(self, environment: Any, learner: Any) -> Iterator[Mapping[str, Any]]:
        """One row a round: the action, its probability, its reward, how many were revealed."""
        inner = learner.learner if isinstance(learner, SafeLearner) else learner
        play = self._play_graph if isinstance(inner, GraphLearner) else self._play_other
        player = inner if isinstance(inner, GraphLearner) else SafeLearner(inner, self.seed)
        rng = np.random.default_rng(self.seed)
        for interaction in Finalize().filter(Unbatch().filter(environment.read())):
            yield play(player, interaction, rng)

    def _play_graph(
        self, learner: GraphLearner, interaction: Mapping[str, Any], rng: np.random.Generator
    ) -> Mapping[str, Any]:
        context, actions = interaction.get("context"), interaction["actions"]
        graph = self._graph(actions)
        p = learner.probabilities(context, actions, graph)
        chosen = draw(p, len(actions), rng)
        seen = [actions[i] for i in graph.draw_revealed(chosen, rng).tolist()]
        learner.learn_revealed(context, seen, [interaction["rewards"](a) for a in seen])
        return _row(interaction, actions[chosen], float(p[chosen]), len(seen))

    def _play_other(
        self, learner: Any, interaction: Mapping[str, Any], rng: np.random.Generator
    ) -> Mapping[str, Any]:
        context, actions = interaction.get("context"), interaction["actions"]
        action, probability, more = learner.predict(context, actions)
        chosen = actions.index(action)
        seen = chosen in self._graph(actions).draw_revealed(chosen, rng)
        if seen:
            reward = interaction["rewards"](action)
            learner.learn(context, action, reward, probability, **more)
        return _row(interaction, action, probability, int(seen))

    def _graph(self, actions: Sequence[Any]) -> FeedbackGraph:
        if not actions:
            raise ValueError("`actions` must be a list: a graph needs actions that can be counted")
        if isinstance(self.graph, FeedbackGraph):
            graph = self.graph
        else:
            if len(actions) not in self.built:
                self.built[len(actions)] = self.graph(len(actions))
            graph = self.built[len(actions)]
        if graph.n_actions != len(actions):
            raise ValueError(
                f"`graph` must have {len(actions)} actions as the environment, "
                f"got {graph.n_actions}"
            )
        return graph


def _row(
    interaction: Mapping[str, Any], action: Any, probability: float | None, n_revealed: int
) -> Mapping[str, Any]:
    reward = interaction["rewards"](action)
    return {
        "reward": reward,
        "action": action,
        "probability": probability,
        "n_revealed": n_revealed,
    }


def _features(context: Any) -> tuple[Any, int]:
    """The context with a constant, in a size of about 1, and how many features there are."""
    if hasattr(context, "items"):
        items = [(zlib.crc32(str(k).encode()) % N_PLACES, float(v)) for k, v in context.items()]
        places = np.array([*(place for place, _ in items), N_PLACES], dtype=np.int64)
        values = np.array([*(value for _, value in items), 1.0])
        return (places, values / np.sqrt(values.size)), N_PLACES + 1
    dense = np.append(np.asarray([] if context is None else context, dtype=np.float64), 1.0)
    return dense / np.sqrt(dense.size), dense.size


def _key(action: Any) -> Any:
    """Something to find an action by, whatever coba calls an action."""
    if hasattr(action, "items"):
        return tuple(sorted(action.items()))
    return tuple(action) if isinstance(action, list) else action


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))
