"""Pacing: the price of a resource, learned as it goes, and how far spending may run ahead.

A budget accrues an allowance and pays for what is played. The balance is what is left,

    balance = accrued - spent,

and u is the mean, so far, of what the dearest action of a round costs. Two things hold it.

The price y, in units of loss per unit of cost, is the multiplier of a Lagrangian: predicted losses
plus y times costs go into the choice, and the oracle never hears of it. After each round it takes
a step of dual ascent, on the cost c @ p that was expected,

    y <- max(0, y + s (c @ p - a (1 + balance / (LEVEL u))) / u),   s = STEP d / (u sqrt(1 + accrued / u))

where a is the allowance of the round and d the mean range of the predictions, which sets the scale. A
balance above 0 raises what is aimed at, up to twice the allowance; one below lowers it. So what
is over or left is made up for within about LEVEL dear actions, whatever the horizon.

The band is certain. An action may be played if its cost is at most balance + band,

    band = u (1 + AHEAD / (1 + accrued / (PAID_BACK u)))

and if none may be, the cheapest is. As long as each round has an action that costs no more than
the round's allowance, spent <= accrued + the largest band so far, whatever the losses, the costs
and the draws: 10 dear actions at first, when nothing has been learned and seeing is worth
most, and little more than one later, less than 1 % of what was accrued after 155 of them.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.budgets import Budget
from graphcb.loaded import check_counts, check_numbers

Floats = NDArray[np.float64]

# By measurement, docs/decisions/0030.
STEP = 0.5
LEVEL = 8.0
AHEAD = 9.0
PAID_BACK = 10.0


@dataclass(frozen=True)
class Account:
    """What a budget has accrued and spent, and its price; a value that never changes.

    `unit` is the mean of the dearest costs, `spread` that of the ranges of predictions. `began`
    and `now` are times of the clock, None if there is none. `period` and `spent_in_period` are
    for budgets with a hard stop; `allowance` is what the open round has brought.
    """

    n_rounds: int = 0
    accrued: float = 0.0
    allowance: float = 0.0
    spent: float = 0.0
    price: float = 0.0
    unit: float = 0.0
    spread: float = 0.0
    began: float | None = None
    now: float | None = None
    period: int = 0
    spent_in_period: float = 0.0

    @property
    def balance(self) -> float:
        """What is left of what has been accrued; negative if spending is ahead."""
        return self.accrued - self.spent

    @property
    def band(self) -> float:
        """How far spending may run ahead now."""
        if self.unit == 0.0:
            return 0.0
        return self.unit * (1.0 + AHEAD / (1.0 + self.accrued / (PAID_BACK * self.unit)))

    def at(self, seconds: float) -> "Account":
        """The account at a later time; a clock that goes back is taken to stand still."""
        now = seconds if self.now is None else max(self.now, seconds)
        return replace(self, now=now, began=now if self.began is None else self.began)

    def opened(self, budget: Budget, dearest: float, spread: float) -> "Account":
        """The account in the next round, with its allowance."""
        n = self.n_rounds + 1
        if budget.rounds is not None:
            accrued, period = budget.at_most * (n / budget.rounds), (n - 1) // budget.rounds
        elif self.now is None or self.began is None or budget.seconds is None:
            raise ValueError(
                f"`at_time` must be called before `act`, as budget {budget.name!r} is per "
                f'{budget.per!r}; a Policy does so. Without a clock, use per="round"'
            )
        else:
            accrued = budget.at_most * ((self.now - self.began) / budget.seconds)
            period = math.floor(self.now / budget.seconds)
        return replace(
            self,
            n_rounds=n,
            accrued=accrued,
            allowance=accrued - self.accrued,
            unit=self.unit + (dearest - self.unit) / n,
            spread=self.spread + (spread - self.spread) / n,
            period=period,
            spent_in_period=self.spent_in_period if period == self.period else 0.0,
        )

    def room(self, budget: Budget) -> float:
        """The largest cost that may be paid in this round."""
        if not budget.hard:
            return self.balance + self.band
        if budget.per == "round":
            return self.balance
        return min(self.balance + self.band, budget.at_most - self.spent_in_period)

    def settled(self, expected: float, paid: float) -> "Account":
        """The account after a round, with a new price."""
        paid_for = replace(
            self, spent=self.spent + paid, spent_in_period=self.spent_in_period + paid
        )
        if self.unit == 0.0:
            return paid_for
        ahead = min(1.0, max(-1.0, paid_for.balance / (LEVEL * self.unit)))
        error = (expected - self.allowance * (1.0 + ahead)) / self.unit
        step = STEP * self.spread / (self.unit * math.sqrt(1.0 + self.accrued / self.unit))
        price = max(0.0, self.price + step * min(1.0, max(-1.0, error)))
        return replace(paid_for, price=price)

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        check_counts(self, n_rounds=0, period=0)
        sums = ("accrued", "allowance", "spent", "price", "unit", "spread", "spent_in_period")
        check_numbers(self, *sums, least=0.0)
        if (self.began is None) != (self.now is None):
            raise ValueError("`began` and `now` must both be times, or both be None")
        if self.began is not None:
            check_numbers(self, "began", "now")
