"""Linear losses where looking is costly and the differences to find are small."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphcb.checks import as_action, as_count
from graphcb.environments.drawn import DrawnLosses, on_sphere
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats

COSTLY, USUAL = 0.75, 0.35  # expected losses
SLOPE = 0.25  # in half of the rounds, by the direction of the context
LARGEST_LEAD = 0.3  # in the other half, of one action over the others
DIRECTIONS = 3
FIRST_BLOCK = 6  # of 2^6 rounds, and what comes before


@dataclass(frozen=True)
class CostlyLooks(DrawnLosses):
    """Expected losses linear in the context; no policy has regret below the order of t^(2/3).

    The actions in `costly` cost more than the others in every round. If only they reveal the
    others, to learn costs regret. In half of the rounds, chosen by chance, the losses of the
    others depend on a direction, the same way all the time: this has to be learned once. In the
    other half one of them leads by 2 n^(-1/3), at most 0.3, through the n rounds from a power of
    two to the next, and which one is drawn anew each time: about n^(2/3) looks find it, and to do
    without it costs n^(2/3) too. Losses are 0 or 1. `loss` is the expected loss above the best
    one, so that its sum is the regret.

    >>> from graphcb import graphs
    >>> environment = CostlyLooks(graphs.apple_tasting(3), costly=(0,), n_rounds=100)
    >>> environment.n_features  # a constant, the direction, and one for each block
    5
    """

    graph: FeedbackGraph
    costly: Sequence[int]
    n_rounds: int = 10_000

    def __post_init__(self) -> None:
        as_count("n_rounds", self.n_rounds)
        for action in self.costly:
            as_action(action, self.graph.n_actions, name="costly")
        if len(set(self.costly)) > self.graph.n_actions - 2:
            raise ValueError(
                "`costly` must leave at least two actions to choose from, "
                f"got {len(set(self.costly))} of {self.graph.n_actions}"
            )

    @property
    def n_blocks(self) -> int:
        """How many times the leading action is drawn."""
        return max(1, self.n_rounds.bit_length() - FIRST_BLOCK)

    @property
    def n_features(self) -> int:
        """Width of the contexts."""
        return 1 + DIRECTIONS + self.n_blocks

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        n, n_actions = self.n_rounds, self.graph.n_actions
        weights = np.zeros((self.n_features, n_actions))
        weights[0] = USUAL
        weights[1 : 1 + DIRECTIONS] = SLOPE * on_sphere(rng, n_actions, DIRECTIONS).T
        others = np.setdiff1d(np.arange(n_actions), self.costly)
        for block in range(self.n_blocks):
            lead = min(LARGEST_LEAD, 2.0 * 2.0 ** (-(block + FIRST_BLOCK) / 3.0))
            weights[1 + DIRECTIONS + block, rng.choice(others)] = -lead
        weights[:, list(self.costly)] = 0.0
        weights[0, list(self.costly)] = COSTLY
        blocks = [max(0, t.bit_length() - 1 - FIRST_BLOCK) for t in range(1, n + 1)]
        contexts = np.zeros((n, self.n_features))
        contexts[:, 0] = 1.0
        directed = rng.random(n) < 0.5
        contexts[:, 1 : 1 + DIRECTIONS] = directed[:, None] * on_sphere(rng, n, DIRECTIONS)
        contexts[np.arange(n), 1 + DIRECTIONS + np.array(blocks)] = ~directed
        means = np.einsum("ij,jk->ik", contexts, weights)
        return contexts, means, (rng.random((n, n_actions)) < means).astype(np.float64)
