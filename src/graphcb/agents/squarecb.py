"""SquareCB: exploration by inverse gap weighting, blind to the graph."""

import copy
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.budgets import Budget
from graphcb.agents.obeying import Obeys
from graphcb.agents.prediction import predicted_losses
from graphcb.agents.rules import Rules
from graphcb.checks import as_gamma
from graphcb.describing import describe
from graphcb.exploration import Limits, Schedule, SquareRoot, as_schedule, solve_dec
from graphcb.exploration.closed_forms import inverse_gap_weighting
from graphcb.exploration.schedules import as_setting
from graphcb.graphs import FeedbackGraph, bandit
from graphcb.loaded import check_counts, check_kind, check_numbers
from graphcb.oracles import Oracle, as_oracle


class SquareCB(Obeys):
    """Explores as if each action revealed only itself; learns from everything that is revealed.

    The paper compares SquareCB.G with it: same oracle, same feedback, different probabilities.
    `gamma` is a number or a schedule. The default is `SquareRoot(32.0, "n_actions")`: the
    constant of `Automatic`, with the number of actions in place of the DEC, which SquareCB does
    not compute. The agent keeps a copy of the schedule; its `gamma` is that of the last round.
    With `limits`, which inverse gap weighting does not know, it plays the distribution that
    obeys and has the smallest DEC under bandit feedback (`solve_dec`). With `budgets`,
    predictions include what actions cost, at prices that keep to the budgets.

    >>> from graphcb import graphs, oracles
    >>> agent = SquareCB(oracles.NewsvendorOGD(1, learning_rate=0.5), gamma=10.0)
    >>> agent.act(np.array([0.3]), graphs.inventory(3), np.array([0.0, 0.5, 1.0])).round(3)
    array([0.077, 0.125, 0.798])
    """

    gamma: float | None = None

    def __init__(
        self,
        oracle: Oracle,
        *,
        gamma: float | Schedule | None = None,
        limits: Limits | None = None,
        budgets: Sequence[Budget] = (),
    ) -> None:
        rules = Rules.of(limits, budgets)
        self.oracle = as_oracle(oracle)
        self.schedule: Schedule = SquareRoot(32.0, "n_actions")
        if gamma is not None:
            self.schedule = copy.deepcopy(as_schedule(gamma))
        if self.schedule.needs != "nothing":
            raise ValueError(
                "`gamma` must be a schedule that needs no DEC, such as "
                'SquareRoot(c, "n_actions"), as SquareCB computes none; '
                f"got {type(self.schedule).__name__}, which is for SquareCBG"
            )
        self.n_rounds = 0
        if rules is not None:
            self.rules = rules

    def act(
        self,
        context: Any,
        graph: FeedbackGraph,
        actions: Any = None,
        *,
        names: Any = None,
        costs: Any = None,
    ) -> NDArray[np.float64]:
        """Probabilities of this round, whatever the graph reveals."""
        predicted = predicted_losses(self.oracle, context, graph, actions)
        gamma = as_gamma(self.schedule.gamma(self.n_rounds + 1, graph.n_actions))
        predicted, box, rules = self._ruled(predicted, context, actions, names, costs)
        if box is None:
            probabilities = inverse_gap_weighting(predicted, gamma)
        else:
            blind = _bandit(graph.n_actions)
            probabilities = solve_dec(predicted, blind, gamma, limits=box).probabilities
        if rules is not None:
            self.rules = rules
        self.n_rounds += 1
        self.gamma = gamma
        return probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.oracle.update(context, actions, losses)

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        as_oracle(self.oracle)
        check_kind(self, "schedule", Schedule)
        check_kind(self, "rules", Rules, type(None))
        if self.schedule.needs != "nothing":
            raise ValueError(f"`schedule` must need no DEC, got {self.schedule!r}")
        check_counts(self, n_rounds=0)
        if self.gamma is not None:
            check_numbers(self, "gamma", least=0.0, most=math.inf)

    def __copy__(self) -> "SquareCB":
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), schedule=copy.copy(self.schedule))
        return twin

    def __repr__(self) -> str:
        return describe(self, gamma=as_setting(self.schedule))


@lru_cache
def _bandit(n_actions: int) -> FeedbackGraph:
    return bandit(n_actions)
