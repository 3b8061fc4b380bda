"""Linear losses and something that no linear oracle can represent: misspecification by design."""

from dataclasses import dataclass

import numpy as np

from graphcb.checks import as_count
from graphcb.environments.drawn import DrawnLosses, on_sphere
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats

MIDDLE, SLOPE, LARGEST = 0.5, 0.3, 0.2  # 0.5 +- 0.3 +- 0.2 are the ends of [0, 1]
WAVES = 6.0


@dataclass(frozen=True)
class OffLinear(DrawnLosses):
    """Expected losses that are linear in the context up to +-`off`, at most 0.2.

    The linear part has slopes of norm 0.3. The other part is +`off` or -`off`, by the sign of a
    wave along a direction of its own for each action. Losses are 0 or 1. `loss` is the expected
    loss above the best one, so that its sum is the regret.

    >>> from graphcb import graphs
    >>> environment = OffLinear(graphs.bandit(3), off=0.1, n_rounds=5)
    >>> contexts, means, losses = environment.draw(np.random.default_rng(0))
    >>> contexts.shape, means.shape
    ((5, 5), (5, 3))
    """

    graph: FeedbackGraph
    off: float
    n_rounds: int = 4_000
    n_features: int = 5

    def __post_init__(self) -> None:
        as_count("n_rounds", self.n_rounds)
        as_count("n_features", self.n_features, at_least=2)
        if not 0.0 <= self.off <= LARGEST:
            raise ValueError(f"`off` must be between 0 and {LARGEST}, got {self.off}")

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        n, n_actions = self.n_rounds, self.graph.n_actions
        slopes, waves = (on_sphere(rng, n_actions, self.n_features - 1) for _ in range(2))
        directions = on_sphere(rng, n, self.n_features - 1)
        means = MIDDLE + SLOPE * np.einsum("ij,kj->ik", directions, slopes)
        signs = np.sign(np.cos(WAVES * np.einsum("ij,kj->ik", directions, waves)))
        means += self.off * signs
        losses = (rng.random((n, n_actions)) < means).astype(np.float64)
        return np.column_stack((np.ones(n), directions)), means, losses
