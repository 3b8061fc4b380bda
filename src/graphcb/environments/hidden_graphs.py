"""Graphs that depend on the context in a way that has to be learned, like the losses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count, as_one_of
from graphcb.environments.auctions import SHOWN
from graphcb.environments.drawn import on_sphere
from graphcb.environments.protocol import Observation, Round
from graphcb.graphs import FeedbackGraph

Floats = NDArray[np.float64]

DIRECTIONS = 4
USUAL, BEST, DEAR = 0.4, 0.15, 0.65  # expected losses: of most actions, the best one, scouts


class DrawnRounds(NamedTuple):
    """All rounds at once: expected losses (n_rounds, K), edges (n_rounds, K, K)."""

    contexts: Floats
    means: Floats
    losses: Floats
    edge_probabilities: Floats
    edges: NDArray[np.bool_]


@dataclass(frozen=True)
class HiddenGraphs:
    """Losses linear in the context, and edges whose log-odds are linear in it too.

    Contexts are uniform on the unit sphere with a constant in front. Losses are 0 or 1. Playing
    i reveals j with a probability whose log-odds are those of `density`, plus a term of the
    context's direction between -`steepness` and `steepness`, with a direction of its own for
    each edge. An action reveals itself in the same way with `own_density`; with 1.0 always.
    What is revealed is drawn apart from the losses.

    With `n_scouts` the first actions are scouts: dear in every context, and the only ones that
    reveal anything. `own_density` then says nothing. Which scout to send depends on the context.

    The graph of a `Round`, which informed agents see, holds these probabilities. `shown` says
    what an agent sees afterwards: "row" is what its action revealed, "full" all edges that were
    drawn. `loss` is the expected loss above the best one, so that its sum is the regret.

    >>> environment = HiddenGraphs(n_actions=3, n_rounds=5, density=0.1)
    >>> drawn = environment.draw(np.random.default_rng(0))
    >>> drawn.edge_probabilities.shape, bool(drawn.edges[:, 0, 0].all())
    ((5, 3, 3), True)
    """

    n_actions: int = 10
    n_rounds: int = 10_000
    n_groups: int = 5
    density: float = 0.3
    own_density: float = 1.0
    n_scouts: int = 0
    steepness: float = 4.0
    shown: str = "row"

    def __post_init__(self) -> None:
        as_count("n_actions", self.n_actions, at_least=2)
        as_count("n_rounds", self.n_rounds)
        as_count("n_groups", self.n_groups)
        as_one_of("shown", self.shown, SHOWN)
        if not 0 <= as_count("n_scouts", self.n_scouts, at_least=0) <= self.n_actions - 2:
            raise ValueError(
                "`n_scouts` must leave at least two actions to choose from, "
                f"got {self.n_scouts} of {self.n_actions}"
            )
        if not 0.0 < self.density < 1.0:
            raise ValueError(f"`density` must be above 0 and below 1, got {self.density}")
        if not 0.0 < self.own_density <= 1.0:
            raise ValueError(f"`own_density` must be above 0 and at most 1, got {self.own_density}")
        if not 0.0 <= self.steepness <= 100.0:
            raise ValueError(f"`steepness` must be between 0 and 100, got {self.steepness}")

    @property
    def n_features(self) -> int:
        """Width of the contexts: one for each group, and the direction."""
        return self.n_groups + DIRECTIONS

    def draw(self, rng: np.random.Generator) -> DrawnRounds:
        """What happens in all rounds, whatever is played."""
        n, n_actions = self.n_rounds, self.n_actions
        best = rng.integers(self.n_scouts, n_actions, size=self.n_groups)
        turns = self.steepness * on_sphere(rng, n_actions * n_actions, DIRECTIONS)
        groups = rng.integers(self.n_groups, size=n)
        directions = on_sphere(rng, n, DIRECTIONS)
        means = np.full((n, n_actions), USUAL)
        means[:, : self.n_scouts] = DEAR
        means[np.arange(n), best[groups]] = BEST
        densities = np.full((n_actions, n_actions), self.density)
        if self.n_scouts:
            densities[self.n_scouts :] = 0.0
        else:
            np.fill_diagonal(densities, self.own_density)
        with np.errstate(divide="ignore"):  # of edges that are certain or never there
            log_odds = np.log(densities) - np.log1p(-densities)
        turned = np.einsum("ij,kj->ik", directions, turns).reshape(n, n_actions, n_actions)
        probabilities = 1.0 / (1.0 + np.exp(-(log_odds + turned)))
        return DrawnRounds(
            np.column_stack((np.eye(self.n_groups)[groups], directions)),
            means,
            (rng.random(means.shape) < means).astype(np.float64),
            probabilities,
            rng.random(probabilities.shape) < probabilities,
        )

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Contexts (n_features,), and the edge probabilities as the graph."""
        for context, means, losses, probabilities, edges in zip(*self.draw(rng), strict=True):
            yield Round(context, FeedbackGraph(probabilities), None, (means, losses, edges))

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        """The losses of the actions to which an edge was drawn; the graph if it is shown."""
        _, losses, edges = round.hidden
        revealed = edges[action].nonzero()[0]
        graph = FeedbackGraph(edges.astype(np.float64)) if self.shown == "full" else None
        return Observation(revealed, losses[revealed], graph)

    def loss(self, round: Round, action: int) -> float:
        """The expected loss above the best expected loss."""
        means = round.hidden[0]
        return float(means[action] - means.min())
