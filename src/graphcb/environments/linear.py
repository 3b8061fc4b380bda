"""A problem that a linear oracle can represent exactly, to measure how regret grows."""

from dataclasses import dataclass

import numpy as np

from graphcb.checks import as_count
from graphcb.environments.drawn import DrawnLosses, on_sphere
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats


@dataclass(frozen=True)
class LinearLosses(DrawnLosses):
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

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        n_actions, width = self.graph.n_actions, self.n_features - 1
        slopes = on_sphere(rng, n_actions, width).T
        contexts = np.ones((self.n_rounds, self.n_features))
        means, losses = np.empty((2, self.n_rounds, n_actions))
        for t in range(self.n_rounds):
            contexts[t, 1:] = on_sphere(rng, 1, width)[0]
            means[t] = 0.5 + 0.5 * contexts[t, 1:] @ slopes
            losses[t] = means[t] + self.noise * rng.standard_normal(n_actions)
        return contexts, means, losses
