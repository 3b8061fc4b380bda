"""What every agent with limits and budgets has."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.budgets import Budget
from graphcb.agents.rules import Ruled, Rules
from graphcb.agents.spending import Spending
from graphcb.exploration import Limits
from graphcb.rounds import Played

Floats = NDArray[np.float64]


class Obeys:
    """What every agent that takes `limits` and `budgets` has: they, and the hooks they need."""

    rules: Rules | None = None  # set where there are any

    @property
    def limits(self) -> Limits | None:
        """The limits that every distribution obeys."""
        return None if self.rules is None else self.rules.limits

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """The budgets that are kept to over time."""
        spending = self._spending
        return () if spending is None else spending.budgets

    @property
    def settle(self) -> Callable[[Played], None] | None:
        """The hook `settle`, which only budgets need."""
        return None if self._spending is None else self._settle

    @property
    def at_time(self) -> Callable[[float], None] | None:
        """The hook `at_time`, which only budgets by the clock need."""
        spending = self._spending
        return None if spending is None or not spending.has_clock else self._at_time

    def learn_costs(self, context: Any, actions: Any, costs: Any) -> None:
        """Teach the oracles that predict costs what playing these actions did cost.

        `costs` are numbers, one per action, or {budget: numbers} if several budgets have an oracle.
        """
        spending = self._spending
        if spending is None or all(budget.oracle is None for budget in spending.budgets):
            raise TypeError("`learn_costs` must have a budget whose `costs` is an oracle, got none")
        spending.learn_costs(context, actions, costs)

    @property
    def _spending(self) -> Spending | None:
        return None if self.rules is None else self.rules.spending

    def _settle(self, played: Played) -> None:
        if self.rules is not None and self.rules.spending is not None:
            spending = self.rules.spending.settled(played.probabilities, played.action)
            self.rules = replace(self.rules, spending=spending)

    def _at_time(self, seconds: float) -> None:
        if self.rules is not None and self.rules.spending is not None:
            self.rules = replace(self.rules, spending=self.rules.spending.at(seconds))

    def _ruled(
        self, predicted: Floats, context: Any, actions: Any, names: Any, costs: Any
    ) -> Ruled:
        """What the rules, if there are any, make of a round with these predicted losses."""
        if self.rules is not None:
            return self.rules.ruled(predicted, context, actions, names, costs)
        if costs is not None:
            raise ValueError(f"`costs` must come with budgets, got {costs!r} without any")
        return Ruled(predicted, None, None)
