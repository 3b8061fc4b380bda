"""The run loop: an agent meets an environment, one row a round."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent
from graphcb.checks import SUM_TOLERANCE, as_numbers, as_probabilities
from graphcb.compilation import compiled
from graphcb.environments import Environment, Round


class Row(NamedTuple):
    """What happened in one round; `mean_loss` is the progressive validation loss so far."""

    round: int
    action: int
    probability: float
    loss: float
    mean_loss: float
    n_revealed: int


def run(agent: Agent, environment: Environment, *, seed: int) -> Iterator[Row]:
    """Run the agent through the environment and yield one `Row` a round.

    The environment and the draws have streams of their own, so two agents with the same seed
    meet the same rounds whatever they play.

    >>> import graphcb
    >>> from graphcb.environments import SyntheticInventory
    >>> oracle = graphcb.oracles.NewsvendorOGD(100, learning_rate=0.5)
    >>> agent = graphcb.SquareCBG(oracle, gamma=graphcb.SquareRoot(c=4.0, alpha=1.0))
    >>> rows = list(run(agent, SyntheticInventory(n_rounds=20), seed=0))
    >>> rows[0].round, rows[-1].round
    (1, 20)
    """
    world, draws = streams(seed)
    return play(agent, environment, environment.rounds(world), draws)


def streams(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """The world's stream and that of the draws."""
    world, draws = np.random.SeedSequence(seed).spawn(2)
    return np.random.default_rng(world), np.random.default_rng(draws)


def play(
    agent: Agent, environment: Environment, rounds: Iterable[Round], draws: np.random.Generator
) -> Iterator[Row]:
    """The round of the paper, over and over."""
    total = 0.0
    for t, round in enumerate(rounds, start=1):
        probabilities = agent.act(round.context, round.graph, round.actions)
        action = draw(probabilities, round.graph.n_actions, draws)
        seen = environment.reveal(round, action, draws)
        agent.learn(round.context, seen.actions, seen.losses)
        loss = environment.loss(round, action)
        total += loss
        yield Row(t, action, float(probabilities[action]), loss, total / t, len(seen.losses))


def draw(probabilities: NDArray[np.float64], n_actions: int, rng: np.random.Generator) -> int:
    """An action drawn from a distribution, which is checked on the way."""
    p = as_numbers("probabilities", probabilities)
    action = invert(p, rng.random()) if p.shape == (n_actions,) else -1
    if action < 0:
        as_probabilities(p, n_actions)  # raises the text that says what is wrong
    return action


@compiled
def invert(p: NDArray[np.float64], uniform: float) -> int:
    """The first action at which the cumulative probability passes `uniform`.

    -1 if `p` is no distribution.
    """
    total = 0.0
    chosen = -1
    last = -1
    for i in range(p.size):
        if not p[i] >= 0.0:  # also true for NaN
            return -1
        if p[i] > 0.0:
            total += p[i]
            last = i
            if chosen < 0 and uniform < total:
                chosen = i
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        return -1
    return chosen if chosen >= 0 else last  # rounding may leave the sum a hair below 1
