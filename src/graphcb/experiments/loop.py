"""The run loop: the one place where an agent acts, a draw is made, and the agent learns."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent, Played, UninformedAgent, act_on, hook, learn_from
from graphcb.decisions.identifiers import as_identifier
from graphcb.environments import Environment, Round, Truth
from graphcb.sampling import action_at


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
    """Play these rounds: act, draw, reveal, learn. `draws` also decides what is revealed by chance.

    Everything in graphcb that plays rounds goes through here. The kernels of compiled runs
    mirror this function, and the tests compare them with it bit for bit.
    """
    settle, judge = hook(agent, "settle"), hook(agent, "judge")
    total = 0.0
    for t, round in enumerate(rounds, start=1):
        probabilities = act_on(agent, *round[:3])
        action = action_at(draws.random(), probabilities, round.graph.n_actions)
        played = Played(*round[:3], probabilities, action)
        if settle is not None:
            settle(played)
        seen = truth.reveal(round, action, draws)
        if judge is not None:
            indices = _indices(seen.actions, round.actions)
            judge(played, indices, seen.losses)
        learn_from(agent, played, seen.actions, seen.losses, shown=seen.graph)
        loss = truth.loss(round, action)
        total += loss
        yield Row(t, action, float(probabilities[action]), loss, total / t, len(seen.losses))


def _indices(identifiers: Any, actions: Any) -> NDArray[np.int64]:
    """Where the identifiers of revealed actions stand among those of the round."""
    if actions is None:
        return np.asarray(identifiers, dtype=np.int64)
    places = {as_identifier(action): place for place, action in enumerate(actions)}
    found = [places[as_identifier(identifier)] for identifier in identifiers]
    return np.array(found, dtype=np.int64)
