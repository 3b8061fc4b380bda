"""Shadow: an agent that learns while today's rule decides."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.baselines import (
    as_baseline,
    as_inner,
    baseline_probabilities,
    check_budgets,
    check_limits,
)
from graphcb.agents.protocol import Agent, Played, gamma_of, hook
from graphcb.describing import describe
from graphcb.graphs import FeedbackGraph
from graphcb.loaded import check_counts


class Shadow:
    """Plays a baseline, and lets an agent learn from what that reveals.

    `baseline` as in `Conservative`. What the agent would have played is not kept: it follows,
    bit for bit, from a replay of the log. `evaluation.shadow(log)` makes a target of it, and
    `graphcb evaluate LOG --policy shadow` says what it would have gained.

    >>> from graphcb import SquareCBG, graphs
    >>> agent = Shadow(SquareCBG(), "approve")
    >>> agent.act([1.0], graphs.full_information(2), names=["approve", "review"])
    array([1., 0.])
    """

    def __init__(self, agent: Agent, baseline: Any) -> None:
        self.agent, self.baseline = as_inner(agent), as_baseline(baseline)
        check_budgets(getattr(agent, "budgets", ()), self.baseline)
        self.n_rounds = 0

    @property
    def oracle(self) -> Any:
        """The oracle of the agent inside, if it has one."""
        return self.agent.oracle

    @property
    def gamma(self) -> float | None:
        """The gamma of the agent inside in the last round, if there is one."""
        return gamma_of(self.agent)

    @property
    def at_time(self) -> Callable[[float], None] | None:
        """The hook of the agent inside, if it has one."""
        return hook(self.agent, "at_time")

    @property
    def settle(self) -> Callable[[Played], None] | None:
        """The hook of the agent inside, if it has one."""
        return hook(self.agent, "settle")

    @property
    def judge(self) -> Callable[[Played, Any, Any], None] | None:
        """The hook of the agent inside, if it has one."""
        return hook(self.agent, "judge")

    def act(
        self, context: Any, graph: FeedbackGraph, actions: Any = None, **given: Any
    ) -> NDArray[np.float64]:
        """The baseline's probabilities; the agent inside has its round too.

        `given` are `names` and `costs`, for agents with limits and budgets.
        """
        names = given.get("names")
        baseline = baseline_probabilities(self.baseline, context, graph, actions, names)
        check_limits(self.agent, baseline, graph, actions, names)
        self.agent.act(context, graph, actions, **given)
        self.n_rounds += 1
        return baseline

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """The agent inside learns what the baseline revealed."""
        self.agent.learn(context, actions, losses)

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        as_inner(self.agent)
        as_baseline(self.baseline)
        check_counts(self, n_rounds=0)

    def __copy__(self) -> "Shadow":
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), agent=copy.copy(self.agent))
        return twin

    __repr__ = describe
