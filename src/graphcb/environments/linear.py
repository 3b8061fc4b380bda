"""A problem that a linear oracle can represent exactly, to measure how regret grows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphcb.checks import as_count
from graphcb.environments.drawn import on_sphere
from graphcb.environments.protocol import Observation, Round
from graphcb.graphs import FeedbackGraph


@dataclass(frozen=True)
class LinearLosses:
    """Expected losses linear in the context, seen with Gaussian noise; scored by regret.

    Contexts are uniform on the unit sphere with a constant in front. `loss` is the expected loss
    of the action played less that of the best action, so that the sum over rounds is the regret.

    >>> from graphcb import graphs
    >>> environment = LinearLosses(graphs.bandit(3), n_rounds=5)
    >>> rounds = list(environment.rounds(np.random.default_rng(0)))
    >>> [min(environment.loss(round, action) for action in range(3)) for round in rounds]
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """

    graph: FeedbackGraph
    n_rounds: int = 10_000
    n_features: int = 5
    noise: float = 0.2

    def __post_init__(self) -> None:
        as_count("n_rounds", self.n_rounds)
        as_count("n_features", self.n_features, at_least=2)
        if not 0.0 <= self.noise < float("inf"):
            raise ValueError(f"`noise` must not be negative, got {self.noise}")

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Contexts (n_features,), always the same graph, losses drawn around their means."""
        slopes = on_sphere(rng, self.graph.n_actions, self.n_features - 1).T
        for _ in range(self.n_rounds):
            direction = on_sphere(rng, 1, self.n_features - 1)[0]
            means = 0.5 + 0.5 * direction @ slopes
            losses = means + self.noise * rng.standard_normal(self.graph.n_actions)
            yield Round(np.append(1.0, direction), self.graph, None, (means, losses))

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        """Noisy losses of the actions that the graph reveals."""
        revealed = round.graph.draw_revealed(action, rng)
        return Observation(revealed, round.hidden[1][revealed])

    def loss(self, round: Round, action: int) -> float:
        """The expected loss above the best expected loss."""
        means = round.hidden[0]
        return float(means[action] - means.min())
