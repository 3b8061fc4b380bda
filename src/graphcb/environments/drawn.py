"""What environments share whose losses are drawn around expected losses before the first round."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from graphcb.environments.protocol import Observation, Round
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats


class DrawnLosses(ABC):
    """One graph, and losses around expected ones; the loss of an action is its regret."""

    graph: FeedbackGraph

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Contexts (n_rounds, n_features), expected losses and losses (n_rounds, K)."""

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Contexts (n_features,), always the same graph."""
        for context, means, losses in zip(*self.draw(rng), strict=True):
            yield Round(context, self.graph, None, (means, losses))

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        """Losses of the actions that the graph reveals."""
        revealed = round.graph.draw_revealed(action, rng)
        return Observation(revealed, round.hidden[1][revealed])

    def loss(self, round: Round, action: int) -> float:
        """The expected loss above the best expected loss."""
        means = round.hidden[0]
        return float(means[action] - means.min())


def on_sphere(rng: np.random.Generator, size: int, dimension: int) -> Floats:
    """Points (size, dimension) of norm 1, in directions that are equally likely."""
    points = rng.standard_normal((size, dimension))
    unit: Floats = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit
