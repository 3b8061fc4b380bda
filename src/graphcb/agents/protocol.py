"""The role of an agent."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph


class Agent(Protocol):
    """Chooses a distribution over the actions of a round and learns from what is revealed.

    An agent never draws: the caller samples from the distribution, so that sampling and seeding
    live in one place.

    Three conventions are optional. An agent that explores with a gamma keeps the gamma of its last
    round in an attribute `gamma`, None before the first round; `gamma_of` reads it. And
    `copy.copy(agent)` can play a round without changing the original: an agent whose `act`
    changes more than its own attributes defines `__copy__`. An agent that takes `limits` has a
    keyword `names` in `act`: what the limits call the actions of the round, in the graph's order.
    """

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> NDArray[np.float64]:
        """Probabilities (n_actions,) for this round; each call begins a new round.

        `actions` are today's identifiers in the oracle's terms, in the graph's order; None
        stands for all actions of the oracle.
        """
        ...

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Learn the losses revealed for these identifiers; there may be none."""
        ...


def gamma_of(agent: Agent) -> float | None:
    """The gamma of the agent's last round; None before the first, or if the agent has none.

    >>> from graphcb import SquareCBG, Uniform, graphs, oracles
    >>> agent = SquareCBG(oracles.LinearOGD(2, 1), gamma=10.0)
    >>> probabilities = agent.act([1.0], graphs.bandit(2))
    >>> gamma_of(agent), gamma_of(Uniform())
    (10.0, None)
    """
    gamma = getattr(agent, "gamma", None)
    return float(gamma) if isinstance(gamma, int | float) else None
