"""The role of an environment, and what passes between it and an agent."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph


class Round(NamedTuple):
    """What a round brings.

    `actions` are today's identifiers in the oracle's terms, in the graph's order, or None for
    all of them. `hidden` is the environment's own record of the truth of this round: the loop
    passes it back to the environment and never shows it to an agent.
    """

    context: Any
    graph: FeedbackGraph
    actions: Any = None
    hidden: Any = None


class Observation(NamedTuple):
    """What an agent sees after a draw: identifiers of the revealed actions, and their losses.

    `graph` is that of the round where an agent that did not know it gets to see all of it.
    """

    actions: Any
    losses: NDArray[np.float64]
    graph: FeedbackGraph | None = None


class Truth(Protocol):
    """Knows what the actions of a round cost."""

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        """What the graph of the round reveals when `action` (an index) is played."""
        ...

    def loss(self, round: Round, action: int) -> float:
        """What playing `action` (an index) costs, whether it is revealed or not."""
        ...


class Environment(Truth, Protocol):
    """Where rounds come from. It holds no state: the same stream gives the same rounds."""

    @property
    def n_rounds(self) -> int:
        """How many rounds there are."""
        ...

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """The rounds, in order."""
        ...
