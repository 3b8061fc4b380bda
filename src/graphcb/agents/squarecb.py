"""SquareCB: exploration by inverse gap weighting, blind to the graph."""

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.prediction import predicted_losses
from graphcb.checks import as_gamma
from graphcb.describing import describe
from graphcb.exploration import Schedule, SquareRoot, as_schedule
from graphcb.exploration.closed_forms import inverse_gap_weighting
from graphcb.exploration.schedules import as_setting
from graphcb.graphs import FeedbackGraph
from graphcb.loaded import check_counts, check_kind, check_numbers
from graphcb.oracles import Oracle, as_oracle


class SquareCB:
    """Explores as if each action revealed only itself; learns from everything that is revealed.

    The paper compares SquareCB.G with it: same oracle, same feedback, different probabilities.
    `gamma` is a number or a schedule. The default is `SquareRoot(32.0, "n_actions")`: the
    constant of `Automatic`, with the number of actions in place of the DEC, which SquareCB does
    not compute. The agent keeps a copy of the schedule; its `gamma` is that of the last round.

    >>> from graphcb import graphs, oracles
    >>> agent = SquareCB(oracles.NewsvendorOGD(1, learning_rate=0.5), gamma=10.0)
    >>> agent.act(np.array([0.3]), graphs.inventory(3), np.array([0.0, 0.5, 1.0])).round(3)
    array([0.077, 0.125, 0.798])
    """

    gamma: float | None = None

    def __init__(self, oracle: Oracle, *, gamma: float | Schedule | None = None) -> None:
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

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> NDArray[np.float64]:
        """Probabilities of this round, whatever the graph reveals."""
        predicted = predicted_losses(self.oracle, context, graph, actions)
        gamma = as_gamma(self.schedule.gamma(self.n_rounds + 1, graph.n_actions))
        self.n_rounds += 1
        self.gamma = gamma
        return inverse_gap_weighting(predicted, gamma)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.oracle.update(context, actions, losses)

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        as_oracle(self.oracle)
        check_kind(self, "schedule", Schedule)
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
