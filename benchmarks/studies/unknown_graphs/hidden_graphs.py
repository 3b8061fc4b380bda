"""Graphs that depend on the context in a way that has to be learned, like the losses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count, as_one_of
from graphcb.environments import Observation, Round
from graphcb.graphs import FeedbackGraph
from studies.unknown_graphs import SHOWN

Floats = NDArray[np.float64]

N_FEATURES = 3
USUAL, SLOPE, DEAR = 0.35, 0.25, 0.75  # expected losses: USUAL +- SLOPE, and DEAR of scouts


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

    A context is a heading, drawn from the whole circle: a constant, its cosine and its sine.
    Losses are 0 or 1. The expected loss of an action is between 0.1 and 0.6 and lowest where the
    heading is the action's own; these divide the circle equally. Playing i reveals j with a
    probability whose log-odds are those of `density`, plus `steepness` times the cosine of the
    angle between the heading and one that belongs to the edge. An action reveals itself always,
    or in the same way with an `own_density` below 1. What is revealed is drawn apart from the
    losses.

    With `n_scouts` the first actions are scouts. They have an expected loss of 0.75 in every
    context, and no other action reveals anything, not even itself. All edges of a scout have one
    heading, and those of the scouts divide the circle equally: which of them to send depends on
    the context.

    The graph of a `Round`, which informed agents see, holds these probabilities. `shown` says
    what an agent sees afterwards: "row" is what its action revealed, "full" all edges that were
    drawn. `loss` is the expected loss above the best one, so that its sum is the regret.

    >>> environment = HiddenGraphs(n_actions=3, n_rounds=5, density=0.1)
    >>> drawn = environment.draw(np.random.default_rng(0))
    >>> drawn.edge_probabilities.shape, bool(drawn.edges[:, 0, 0].all())
    ((5, 3, 3), True)
    """

    n_actions: int = 10
    n_rounds: int = 5_000
    density: float = 0.3
    own_density: float = 1.0
    n_scouts: int = 0
    steepness: float = 4.0
    shown: str = "row"

    def __post_init__(self) -> None:
        as_count("n_actions", self.n_actions, at_least=2)
        as_count("n_rounds", self.n_rounds)
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
        """Width of the contexts."""
        return N_FEATURES

    def draw(self, rng: np.random.Generator) -> DrawnRounds:
        """What happens in all rounds, whatever is played."""
        n, n_scouts = self.n_rounds, self.n_scouts
        headings = 2.0 * np.pi * rng.random((n, 1))
        means = np.full((n, self.n_actions), DEAR)
        own = _around(self.n_actions - n_scouts, rng)
        means[:, n_scouts:] = USUAL - SLOPE * np.cos(headings - own)
        log_odds, towards = self._draw_edges(rng)
        turned = self.steepness * np.cos(headings[:, :, None] - towards)
        probabilities = 1.0 / (1.0 + np.exp(-(log_odds + turned)))
        return DrawnRounds(
            np.column_stack((np.ones(n), np.cos(headings), np.sin(headings))),
            means,
            (rng.random(means.shape) < means).astype(np.float64),
            probabilities,
            rng.random(probabilities.shape) < probabilities,
        )

    def _draw_edges(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The log-odds of each edge without the context, and its heading: (K, K)."""
        n_actions, n_scouts = self.n_actions, self.n_scouts
        densities = np.full((n_actions, n_actions), self.density)
        if n_scouts:
            densities[n_scouts:] = 0.0
            towards = np.zeros((n_actions, n_actions))
            towards[:n_scouts] = _around(n_scouts, rng)[:, None]
        else:
            np.fill_diagonal(densities, self.own_density)
            towards = 2.0 * np.pi * rng.random((n_actions, n_actions))
        with np.errstate(divide="ignore"):  # of edges that are certain or never there
            return np.log(densities) - np.log1p(-densities), towards

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


def _around(n: int, rng: np.random.Generator) -> Floats:
    """Headings (n,) that divide the circle into equal parts."""
    return 2.0 * np.pi * (np.arange(n) / n + rng.random())
