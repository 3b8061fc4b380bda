"""The run loop: rounds of an environment, each answered at once."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from graphcb.environments import Environment, Round, Truth
from graphcb.rounds import Agent, UninformedAgent, learn_revealed, play_round


class Row(NamedTuple):
    """What happened in one round; `mean_loss` is the progressive validation loss so far."""

    round: int
    action: int
    probability: float
    loss: float
    mean_loss: float
    n_revealed: int


def run(agent: Agent | UninformedAgent, environment: Environment, *, seed: int) -> Iterator[Row]:
    """Run the agent through the environment and yield one `Row` per round.

    The environment and the draws have separate random streams, so two agents with the same seed
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
    """The random streams of the world and of the draws."""
    world, draws = np.random.SeedSequence(seed).spawn(2)
    return np.random.default_rng(world), np.random.default_rng(draws)


def play(
    agent: Agent | UninformedAgent,
    truth: Truth,
    rounds: Iterable[Round],
    draws: np.random.Generator,
) -> Iterator[Row]:
    """Play these rounds; `draws` also decides what is revealed by chance."""
    total = 0.0
    for t, round in enumerate(rounds, start=1):
        played = play_round(agent, round.context, round.graph, round.actions, draws.random())
        seen = truth.reveal(round, played.action, draws)
        learn_revealed(agent, played, seen.actions, seen.losses, shown=seen.graph)
        loss = truth.loss(round, played.action)
        total += loss
        probability = float(played.probabilities[played.action])
        yield Row(t, played.action, probability, loss, total / t, len(seen.losses))
