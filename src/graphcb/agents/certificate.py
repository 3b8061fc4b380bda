"""A bound on regret that an agent can state for the rounds it has played."""

import math
from dataclasses import dataclass

from graphcb.loaded import Count, Learned, Number


@dataclass(frozen=True)
class Certificate:
    """What regret is at most, in expectation, if the oracle can represent the losses.

    The proof of the paper's Theorem 3.1 bounds the regret of any run, whatever its graphs, against
    the best action of each round, or the best policy within limits (`exploration.allowed`):

        regret <= sum of DEC_t + (gamma / 4) * regression regret

    `exploration` is the first sum, at the probabilities that were played, and `gamma` the largest
    so far (with a schedule that starts the oracle again, the sum of the largest of each epoch). The
    regression regret is how much more squared loss the oracle has on what was revealed than the
    true expected losses have; only a bound or an estimate of it can be given, to `regret`. The
    proof takes one round at a time, so the true losses may change: then it is the regression regret
    against those of each round, which an oracle that forgets keeps small.

    >>> from graphcb import SquareCBG, graphs, oracles
    >>> agent = SquareCBG(oracles.OnlineRidge(3, 1), gamma=20.0, certify=True)
    >>> for _ in range(10):
    ...     probabilities = agent.act([1.0], graphs.bandit(3))
    >>> round(agent.certificate.exploration, 6)  # bandit feedback: (K - 1) / gamma per round
    1.0
    >>> round(agent.certificate.regret(regression_regret=2.0), 6)
    11.0
    """

    n_rounds: int = 0
    exploration: float = 0.0
    largest_gamma: float = 0.0
    earlier_epochs: float = 0.0
    learned = Learned(
        n_rounds=Count(),
        **dict.fromkeys(("exploration", "largest_gamma", "earlier_epochs"), Number(0.0, math.inf)),
    )

    @property
    def gamma(self) -> float:
        """What the regression regret is multiplied by, times 4."""
        return self.earlier_epochs + self.largest_gamma

    def regret(self, regression_regret: float) -> float:
        """The bound, for a regression regret of at most this; with restarts, of each epoch."""
        if not 0.0 <= regression_regret < math.inf:
            raise ValueError(
                f"`regression_regret` must be finite and not negative, got {regression_regret}"
            )
        return self.exploration + self.gamma / 4.0 * regression_regret

    def after(self, dec: float, gamma: float, *, restarts: bool = False) -> "Certificate":
        """The certificate after one more round; `restarts`: it is the first of a new epoch."""
        earlier, largest = self.earlier_epochs, self.largest_gamma
        if restarts:
            earlier, largest = earlier + largest, 0.0
        return Certificate(self.n_rounds + 1, self.exploration + dec, max(largest, gamma), earlier)
