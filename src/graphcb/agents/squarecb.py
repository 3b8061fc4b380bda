"""SquareCB: exploration by inverse gap weighting, blind to the graph."""

from collections.abc import Sequence
from functools import lru_cache

from graphcb.agents.budgets import Budget
from graphcb.agents.prediction import OpenRound
from graphcb.agents.scheduled import Scheduled
from graphcb.checks import as_gamma
from graphcb.exploration import Limits, Schedule, SquareRoot, solve_dec
from graphcb.exploration.closed_forms import inverse_gap_weighting
from graphcb.graphs import FeedbackGraph, bandit
from graphcb.graphs.structure import Floats
from graphcb.oracles import Oracle


class SquareCB(Scheduled):
    """Explores as if each action revealed only itself; learns from everything that is revealed.

    The paper compares SquareCB.G with it: same oracle, same feedback, different probabilities. The
    oracle is a `DefaultOracle` if left out.
    `gamma` is a number or a schedule. The default is `SquareRoot(32.0, "n_actions")`: the
    constant of `Automatic`, with the number of actions in place of the DEC, which SquareCB does
    not compute. The agent keeps a copy of the schedule; its `gamma` is that of the last round.
    With `limits`, which inverse gap weighting does not know, it plays the distribution that
    obeys and has the smallest DEC under bandit feedback (`solve_dec`). With `budgets`,
    predictions include what actions cost, at prices that keep to the budgets. `explore` as in
    `SquareCBG`.

    >>> from graphcb import graphs, oracles
    >>> agent = SquareCB(oracles.NewsvendorOGD(1, learning_rate=0.5), gamma=10.0)
    >>> agent.act([0.3], graphs.inventory(3), [0.0, 0.5, 1.0]).round(3)
    array([0.077, 0.125, 0.798])
    """

    def __init__(
        self,
        oracle: Oracle | None = None,
        *,
        gamma: float | Schedule | None = None,
        limits: Limits | None = None,
        budgets: Sequence[Budget] = (),
        explore: float = 0.0,
    ) -> None:
        usual = SquareRoot(32.0, "n_actions")
        super().__init__(oracle, usual if gamma is None else gamma, limits, budgets, explore)
        self._check_schedule()

    def _choose(self, opened: OpenRound) -> Floats:
        losses, box = opened.losses, opened.box
        gamma = as_gamma(self.schedule.gamma(self.n_rounds + 1, losses.size))
        if box is None:
            probabilities = inverse_gap_weighting(losses, gamma)
        else:
            probabilities = solve_dec(losses, _bandit(losses.size), gamma, limits=box).probabilities
        self.gamma = gamma
        return probabilities

    def check_loaded(self) -> None:
        super().check_loaded()
        self._check_schedule()

    def _check_schedule(self) -> None:
        if self.schedule.needs != "nothing":
            raise ValueError(
                "`gamma` must be a schedule that needs no DEC, such as "
                'SquareRoot(c, "n_actions"), as SquareCB computes none; '
                f"got {type(self.schedule).__name__}, which is for SquareCBG"
            )


@lru_cache
def _bandit(n_actions: int) -> FeedbackGraph:
    return bandit(n_actions)
