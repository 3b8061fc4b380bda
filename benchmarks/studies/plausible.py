"""SquareCB.G over the plausible actions, with a gamma that balances its certificate.

A prototype, to see what a certificate costs (decision note 0070): the paper's program with our
oracle. An action is plausible while its loss may be the smallest. The losses of the others count as
known: their columns of the graph become ones, so that nothing is paid to see them, and they may
still be played for what they reveal.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.exploration import solve_dec
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import ForecastingOracle

Floats = NDArray[np.float64]

WIDTH = 2.0  # deviations that an action may be off
LEAST = 1.0  # of both sides of the certificate at the start
LOOKS = 200.0  # over which the number of parameters is averaged


class Plausible:
    """Solves the program over plausible actions; gamma is a multiple of the balanced one.

    Regret is at most the sum of DEC_t and gamma / 4 times the sum of the squared errors that were
    revealed, as long as the best action is plausible. In place of the errors are those that the
    oracle expects, with deviations divided by the root of the parameters that a look is shared
    among, as the default has them. At the balanced gamma both sides are equal.

    >>> from graphcb import graphs, oracles
    >>> Plausible(oracles.DefaultOracle(2)).act([1.0], graphs.bandit(2)).round(6).tolist()
    [0.5, 0.5]
    """

    def __init__(self, oracle: ForecastingOracle, times: float = 1.0) -> None:
        self.oracle = oracle
        self.times = times
        self.explored = LEAST  # sum of gamma_t DEC_t
        self.errors = LEAST  # sum of expected squared errors that were revealed
        self.exploration = 0.0  # sum of DEC_t
        self.shared = 1.0
        self.known: dict[bytes, FeedbackGraph] = {}

    @property
    def gamma(self) -> float:
        """A multiple of that at which sum of DEC_t = gamma / 4 * errors."""
        return self.times * 2.0 * float(np.sqrt(self.explored / self.errors))

    @property
    def certificate(self) -> float:
        """The bound on regret, in shares of the range, with the errors that the oracle expects."""
        return self.exploration + self.gamma / 4.0 * self.errors

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """The optimum of the program on the graph in which implausible losses are known."""
        forecast, gamma = self.oracle.forecast(context, actions), self.gamma
        losses = forecast.losses / forecast.span
        deviations = forecast.deviations / forecast.span / np.sqrt(self.shared)
        wide = WIDTH * deviations
        plausible = losses - wide <= (losses + wide).min()
        found = solve_dec(losses, self._with_known(graph, plausible), gamma)
        p: Floats = found.probabilities
        self.exploration += found.value
        self.explored += gamma * found.value
        seen = graph.structure.reveal_probabilities(p)
        self.errors += float(seen @ (plausible * deviations**2))
        shared = np.maximum(1.0, (1.0 + forecast.counts) * (1.0 - np.exp(-forecast.gains)))
        self.shared += (float(p @ shared) - self.shared) / LOOKS
        return p

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Pass what was revealed to the oracle."""
        self.oracle.update(context, actions, losses)

    def _with_known(self, graph: FeedbackGraph, plausible: NDArray[np.bool_]) -> FeedbackGraph:
        if plausible.all():
            return graph
        key = plausible.tobytes()
        if key not in self.known:
            self.known[key] = FeedbackGraph(np.where(plausible, graph.matrix, 1.0))
        return self.known[key]
