"""Who meets the streams of benchmarks/learning.py: learners, their grids, how they are played."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rival_learners import (
    CobaLearner,
    Learner,
    RiverLearner,
    VowpalWabbitGraph,
    VowpalWabbitLearner,
)

from graphcb import Automatic, FeedbackGraph, SquareCBG, SquareRoot
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.experiments.loop import streams
from graphcb.exploration import Schedule
from graphcb.oracles import LogisticOGD, OnlineRidge, Oracle
from graphcb.rounds.round import invert

Floats = NDArray[np.float64]

ORACLES = {"logistic": "learning rate", "ridge": "penalty"}
VALUES = {"logistic": (2, 8, 32, 128), "ridge": (0.1, 0.3, 1)}
CS = (8, 32, 128, 512)
WIDEST = 100  # features up to which dense second-order learners take part


class Data(NamedTuple):
    """A table of known losses; grids are tried on `n_trial` rounds, or `n_short` by the slow."""

    name: str
    contexts: Any
    losses: Floats
    n_rounds: int
    n_trial: int
    n_short: int

    @property
    def n_actions(self) -> int:
        return int(self.losses.shape[1])

    def environment(self, graph: FeedbackGraph, n_rounds: int) -> KnownLosses:
        return KnownLosses(self.contexts, self.losses, graph, n_rounds=n_rounds)


class Contender(NamedTuple):
    """A learner with its grid, under one graph; `play` runs a setting: seed, rounds -> result."""

    name: str
    graph: str
    grid: tuple[str, ...]
    play: Callable[[str, int, int], "Result"]
    is_slow: bool = False


class Result(NamedTuple):
    losses: Floats
    seconds: float


def play_graphcb(data: Data, graph: FeedbackGraph, setting: str, seed: int, n: int) -> Result:
    kind, value, c = setting.split(", ")
    oracle, contexts = oracle_of(kind, float(value.split()[-1]), data)
    agent = SquareCBG(oracle, gamma=schedule_of(c.removeprefix("c = "), graph))
    environment = KnownLosses(contexts, data.losses, graph, n_rounds=n)
    start = time.perf_counter()
    losses = [row.loss for row in run(agent, environment, seed=seed)]
    return Result(np.array(losses), time.perf_counter() - start)


def oracle_of(kind: str, value: float, data: Data) -> tuple[Oracle, Any]:
    """The oracle, and the contexts as it takes them."""
    size = (data.n_actions, data.contexts.shape[1])
    if kind == "ridge":
        return OnlineRidge(*size, penalty=value), data.contexts.toarray()
    return LogisticOGD(*size, learning_rate=value), data.contexts


def schedule_of(c: str, graph: FeedbackGraph) -> Schedule:
    return Automatic() if c == "automatic" else SquareRoot(float(c), graph.independence_number())


def play_rival(
    data: Data,
    graph: FeedbackGraph,
    build: Callable[..., Learner],
    setting: str,
    seed: int,
    n: int,
) -> Result:
    """The run loop for learners that draw, or give probabilities to draw from."""
    world, draws = streams(seed)
    rounds = list(data.environment(graph, n).rounds(world))
    learner = build(setting, data.n_actions, data.contexts.shape[1], seed)
    prepared = [learner.prepare(round.context) for round in rounds]
    environment = data.environment(graph, n)
    losses = np.empty(n)
    start = time.perf_counter()
    for t, round in enumerate(rounds):
        action, p = choose(learner, prepared[t], draws)
        seen = environment.reveal(round, action, draws)
        learner.learn(prepared[t], action, p, dict(zip(seen.actions, seen.losses, strict=True)))
        losses[t] = round.hidden[action]
    return Result(losses, time.perf_counter() - start)


def choose(learner: Learner, context: Any, draws: np.random.Generator) -> tuple[int, float]:
    """An action and the probability with which it was drawn."""
    answer = learner.act(context)
    if isinstance(answer, tuple):
        return answer
    p = answer / answer.sum()
    action = int(invert(p, draws.random()))
    return action, float(p[action])


class Grid(NamedTuple):
    """A text with places for values, and the values for each place.

    >>> print(Grid("--epsilon {} -l {}", ((0.1,), (1, 2))))
    --epsilon 0.1 -l {1, 2}
    """

    text: str
    values: tuple[tuple[object, ...], ...]

    def settings(self) -> tuple[str, ...]:
        """Every combination."""
        return tuple(self.text.format(*chosen) for chosen in product(*self.values))

    def __str__(self) -> str:
        written = [", ".join(map(str, values)) for values in self.values]
        return self.text.format(*(f"{{{text}}}" if "," in text else text for text in written))


def grid(text: str, *values: tuple[object, ...]) -> Grid:
    return Grid(text, values)


def contenders(data: Data, graphs_here: dict[str, FeedbackGraph]) -> Iterator[Contender]:
    """graphcb under every graph, the rivals under the first."""
    is_narrow = data.contexts.shape[1] <= WIDEST
    for (name, graph), kind in product(graphs_here.items(), ORACLES if is_narrow else ["logistic"]):
        play = partial(play_graphcb, data, graph)
        text = f"{kind}, {ORACLES[kind]} {{}}, c = {{}}"
        for what, cs in (("gamma left out", ("automatic",)), ("gamma = c sqrt(alpha t)", CS)):
            settings = grid(text, VALUES[kind], cs).settings()
            yield Contender(f"graphcb, {kind}, {what}", name, settings, play)
    feedback, graph = next(iter(graphs_here.items()))
    for name, package, build, choices, is_slow in rivals(graph, data.n_actions, is_narrow):
        if find_spec(package) and find_spec("vowpalwabbit" if "owpal" in name else package):
            play = partial(play_rival, data, graph, build)
            yield Contender(name, feedback, choices.settings(), play, is_slow)


def rivals(
    graph: FeedbackGraph, n_actions: int, is_narrow: bool
) -> Iterator[tuple[str, str, Callable[..., Learner], Grid, bool]]:
    """Name, package, learner, grid, and whether it is slow. Vowpal Wabbit may shift its costs."""
    shifts, rates = ("loss", "loss - 1"), (0.5, 2, 8)
    gammas, epsilons = (100, 1000, 10_000), (0.005, 0.02, 0.1)
    yield (
        "Vowpal Wabbit --squarecb", "vowpalwabbit", VowpalWabbitLearner,
        grid("{}; --squarecb --gamma_scale {} -l {}", shifts, gammas, rates), False,
    )  # fmt: skip
    yield (
        "Vowpal Wabbit, epsilon-greedy", "vowpalwabbit", VowpalWabbitLearner,
        grid("{}; --epsilon {} -l {}", shifts, epsilons, rates), False,
    )  # fmt: skip
    if n_actions <= 3:
        yield (
            "Vowpal Wabbit --graph_feedback", "vowpalwabbit", partial(VowpalWabbitGraph, graph),
            grid("{}; --gamma_scale {} -l {}", shifts, gammas[:2], rates[1:]), True,
        )  # fmt: skip
    yield (
        "coba VowpalSquarecbLearner", "coba", CobaLearner,
        grid("squarecb, gamma_scale {}, learning_rate {}", gammas, rates), True,
    )  # fmt: skip
    yield (
        "coba VowpalEpsilonLearner", "coba", CobaLearner,
        grid("epsilon {}, learning_rate {}", epsilons, rates), True,
    )  # fmt: skip
    if is_narrow:
        yield (
            "coba LinUCBLearner", "coba", CobaLearner,
            grid("linucb, alpha {}", (0.1, 0.5, 1)), True,
        )  # fmt: skip
        yield (
            "river LinUCBDisjoint", "river", RiverLearner,
            grid("alpha {}, beta {}", (0.3, 1, 3), (3, 10, 30)), False,
        )  # fmt: skip
