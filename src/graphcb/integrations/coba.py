"""graphcb agents in coba experiments, with the losses that a feedback graph reveals.

Needs the extra `coba`. coba has rewards, graphcb losses: a loss here is a negated reward.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import tee
from typing import Any

import numpy as np
from coba.environments import Finalize, Unbatch
from coba.random import CobaRandom
from coba.safety import SafeLearner
from numpy.typing import NDArray

from graphcb.agents import Agent, SquareCBG
from graphcb.checks import as_numbers, as_range, check_in_range
from graphcb.environments import Observation, Round
from graphcb.experiments.loop import Row, play
from graphcb.graphs import FeedbackGraph, bandit
from graphcb.graphs.structure import Floats
from graphcb.hashing import place_of
from graphcb.oracles import LogisticOGD

N_PLACES = 2**18  # for contexts that come as a mapping


def squarecbg(n_actions: int, n_features: int) -> SquareCBG:
    """SquareCB.G with a logistic oracle, for contexts of size 1."""
    return SquareCBG(LogisticOGD(n_actions, n_features, learning_rate=4.0))


class GraphLearner:
    """A coba learner around a graphcb agent.

    `build(n_actions, n_features)` makes the agent in the first round, when both are known; to run
    on several processes it must be a function of a module. Rewards must lie in `reward_range`
    and become losses between 0 and 1. In coba's own evaluators an action reveals only its own
    reward; under `GraphCB` it reveals what the graph says. Contexts are divided by the square
    root of their length, so scale an environment's features first, for example by
    `.scale("mean", "std")`.

    >>> from coba import Environments, Experiment
    >>> from graphcb.graphs import full_information
    >>> environment = Environments.from_linear_synthetic(100, n_action_features=0)
    >>> learner = GraphLearner(reward_range=(-0.5, 1.5))
    >>> experiment = Experiment(environment, learner, GraphCB(full_information))
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
        self.build = build
        self.reward_range = as_range("reward_range", reward_range)
        self.seed = seed
        self.agent: Agent | None = None
        self.columns: dict[Any, int] = {}
        self.draws = CobaRandom(seed)

    @property
    def params(self) -> Mapping[str, Any]:
        """What coba stores with the results."""
        return {"family": "graphcb", "build": _name(self.build), "seed": self.seed}

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float]:
        """An action and its probability, where each action reveals only its own reward."""
        p = self.probabilities(context, actions, bandit(len(actions)))
        action, probability = self.draws.choicew(list(actions), p.tolist())
        return action, probability

    def learn(self, context: Any, action: Any, reward: float, probability: float) -> None:
        """Learn the reward of one action."""
        self.learn_revealed(context, [action], [reward])

    def score(self, context: Any, actions: Sequence[Any], action: Any) -> float:
        """Refused: to give the probability of an action, an agent must begin a round."""
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
            raise ValueError("`learn` must come after `predict`, which counts the actions")
        low, high = self.reward_range
        seen = as_numbers("rewards", rewards)
        check_in_range("rewards", seen, "reward_range", self.reward_range)
        losses = (high - seen) / (high - low)
        self.agent.learn(_features(context)[0], self._columns(actions), losses)

    def _columns(self, actions: Sequence[Any]) -> NDArray[np.int64]:
        """The oracle's columns of these actions: the actions of the first round are all there."""
        try:
            return np.array([self.columns[_key(action)] for action in actions], dtype=np.int64)
        except KeyError as unknown:
            raise ValueError(
                f"`actions` must be among the {len(self.columns)} of the first round, "
                f"got {unknown.args[0]!r}; actions with their own features are not recognised"
            ) from None


class GraphCB:
    """A coba evaluator in which playing an action shows the rewards that a graph reveals.

    `graph` is a `FeedbackGraph`, or a function of the number of actions such as
    `graphcb.graphs.cops_and_robbers`. A `GraphLearner` knows the graph and is shown all it
    reveals. Any other coba learner is shown the reward of its own action where the graph reveals
    it, so that both can be compared in one experiment.
    """

    def __init__(
        self, graph: FeedbackGraph | Callable[[int], FeedbackGraph], *, seed: int = 1
    ) -> None:
        self.graph = graph
        self.seed = seed
        self.built: dict[int, FeedbackGraph] = {}  # by size, so that a family is built once

    @property
    def params(self) -> Mapping[str, Any]:
        """What coba stores with the results."""
        named = isinstance(self.graph, FeedbackGraph)
        graph = repr(self.graph) if named else _name(self.graph)
        return {"eval_type": "GraphCB", "graph": graph, "seed": self.seed}

    def evaluate(self, environment: Any, learner: Any) -> Iterator[Mapping[str, Any]]:
        """One row per round: the action, its probability, its reward, how many were revealed."""
        inner = learner.learner if isinstance(learner, SafeLearner) else learner
        rng = np.random.default_rng(self.seed)
        read = Finalize().filter(Unbatch().filter(environment.read()))
        rounds, same = tee(self._rounds(read))
        agent: _GraphAgent | _OtherAgent
        if isinstance(inner, GraphLearner):
            agent, draws = _GraphAgent(inner), rng
        else:  # the learner draws its actions itself: `draws` decide nothing
            agent = _OtherAgent(SafeLearner(inner, self.seed))
            draws = np.random.default_rng(self.seed)
        for row, round in zip(play(agent, _Interactions(rng), rounds, draws), same, strict=True):
            action, reward = round.actions[row.action], -row.loss
            yield {"reward": reward, "action": action, **agent.report(row)}

    def _rounds(self, interactions: Iterable[Mapping[str, Any]]) -> Iterator[Round]:
        for one in interactions:
            actions = one["actions"]
            yield Round(one.get("context"), self._graph(actions), actions, one["rewards"])

    def _graph(self, actions: Sequence[Any]) -> FeedbackGraph:
        if not actions:
            raise ValueError("`actions` must be a list: a graph needs actions that can be counted")
        graph = self.graph
        if not isinstance(graph, FeedbackGraph):
            if len(actions) not in self.built:
                self.built[len(actions)] = graph(len(actions))
            graph = self.built[len(actions)]
        if graph.n_actions != len(actions):
            text = f"`graph` must have {len(actions)} actions, as the environment has"
            raise ValueError(f"{text}, got {graph.n_actions}")
        return graph


class _Interactions:
    """What coba's interactions reveal; by chance from a stream of its own."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        seen = [round.actions[i] for i in round.graph.draw_revealed(action, self.rng).tolist()]
        return Observation(seen, np.array([-round.hidden(one) for one in seen], dtype=np.float64))

    def loss(self, round: Round, action: int) -> float:
        loss: float = -round.hidden(round.actions[action])
        return loss


class _GraphAgent:
    """A `GraphLearner` in the role of an agent."""

    def __init__(self, learner: GraphLearner) -> None:
        self.learner = learner

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        return self.learner.probabilities(context, actions, graph)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.learner.learn_revealed(context, actions, -losses)

    def report(self, row: Row) -> Mapping[str, Any]:
        return {"probability": row.probability, "n_revealed": row.n_revealed}


class _OtherAgent:
    """A learner of coba in the role of an agent.

    It has drawn its action already, so that all probability is on it, and learns only its reward.
    """

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        self.action, self.probability, self.more = self.learner.predict(context, actions)
        drawn = np.zeros(len(actions))
        drawn[actions.index(self.action)] = 1.0
        return drawn

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.has_learned = self.action in actions
        if self.has_learned:
            reward = -float(losses[actions.index(self.action)])
            self.learner.learn(context, self.action, reward, self.probability, **self.more)

    def report(self, row: Row) -> Mapping[str, Any]:
        return {"probability": self.probability, "n_revealed": int(self.has_learned)}


def _features(context: Any) -> tuple[Any, int]:
    """The context with a constant, in a size of about 1, and how many features there are."""
    if hasattr(context, "items"):
        items = [(place_of(str(k), N_PLACES), float(v)) for k, v in context.items()]
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
