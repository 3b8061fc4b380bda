"""The run loop: an agent meets an environment, one row a round."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent
from graphcb.environments import Environment, Round
from graphcb.sampling import action_at


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
    return action_at(rng.random(), probabilities, n_actions)
