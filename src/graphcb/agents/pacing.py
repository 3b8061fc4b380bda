"""Pacing: the price of a resource, learned as it goes, and how far spending may run ahead.

A budget accrues an allowance and pays for what is played. Its balance is accrued - spent; the
unit u is the mean, so far, of what the most costly action of a round costs. No horizon is needed.

**The price** is the multiplier of a Lagrangian, in units of loss per unit of cost: predicted
losses plus price times costs go into the choice, and the oracle never hears of it. It has two
parts. The slow one takes a step of dual ascent after each round,

    base <- max(0, base + s (c @ p - a (1 + balance / (LEVEL u))) / u)
    s = STEP d / (u sqrt(1 + accrued / u))

where c @ p is the expected cost, a the allowance of the round and d the mean range of the
predictions, which gives the scale; it does not fall while an action cannot be paid for. The fast
one follows the balance,

    price = base (1 - balance / (LEVEL u)),   from 0 to 2 base,

so that what is left is spent, and what is over is saved, within a few costly actions.

**The band** is certain. The room of a round is max(0, balance + band), with

    band = u (1 + AHEAD / (1 + accrued / (PAID_BACK u))^2)

and an action may be played if it costs no more than the room of each budget. If there is none,
those are considered that cost no more than the room or the allowance of each budget, and if there
is none again, all; what is least over is played (`Spending.within`). So whatever the losses and
the draws, and for every budget at once:

- if one action of each round is free in all budgets, spent is at most the largest accrued + band
  so far. If u is steady, that is accrued + band of now: 6 costly actions ahead at first, when
  nothing has been learned and seeing is worth most, and little more than one later, 1 % of what
  was accrued after 104 of them. (AHEAD and PAID_BACK are such that accrued + band never falls.)
- if one action of each round costs no more than the allowance in all budgets, and nothing in
  those with a hard stop, spent is at most accrued + the largest band so far, at most 6 u if u is
  steady.

Otherwise nothing is certain: each action may cost too much in some budget. Limits come first: a
floor is played without room, and where limits leave no action with room, they hold and the budget
gives way, unless it has a hard stop. The baseline of `Conservative` is played whatever it costs.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from graphcb.agents.budgets import LARGEST, Budget
from graphcb.loaded import Count, Instance, Learned, Number

# By measurement, docs/decisions/0030.
STEP = 0.5
LEVEL = 2.0
AHEAD = 5.0
PAID_BACK = 10.0
TINY = 1e-100  # a unit below this counts as none
DOUBTS = 3  # readings behind the clock, after which the clock was ahead
PERIODS = 8  # whose spending is known beside that of the present one


Value = TypeVar("Value")


def changed(value: Value, **attributes: Any) -> Value:
    """`dataclasses.replace` for a value that checks nothing when it is made, six times as fast."""
    twin = object.__new__(type(value))
    object.__setattr__(twin, "__dict__", vars(value) | attributes)
    return twin


@dataclass(frozen=True)
class Account:
    """What a budget has accrued and spent, and its price; a value that never changes.

    `allowance` is what the open round has brought. `base` is the slow part of the price, `unit`
    the mean of the highest costs, `spread` that of the ranges of predictions. `began` and `now`
    are times of the clock, None if there is none, and `doubts` counts readings that were behind.
    `period` is the number of the present one, None before the first, and `periods` are others with
    what was spent in them. `brought` was accrued in `n_before` rounds on other terms.
    """

    n_rounds: int = 0
    accrued: float = 0.0
    allowance: float = 0.0
    spent: float = 0.0
    base: float = 0.0
    unit: float = 0.0
    spread: float = 0.0
    began: float | None = None
    now: float | None = None
    doubts: int = 0
    period: float | None = None
    spent_in_period: float = 0.0
    periods: tuple[tuple[float, float], ...] = ()
    brought: float = 0.0
    n_before: int = 0
    learned = Learned(
        n_rounds=Count(),
        n_before=Count(),
        doubts=Count(),
        periods=Instance(tuple),
        **dict.fromkeys(("began", "now"), Number(-LARGEST, LARGEST, optional=True)),
        period=Number(optional=True),
        **dict.fromkeys(
            ("accrued", "allowance", "spent", "base", "unit", "spread", "spent_in_period"),
            Number(0.0, LARGEST),
        ),
        brought=Number(0.0, LARGEST),
    )

    @property
    def balance(self) -> float:
        """What is left of what has been accrued; negative if spending is ahead."""
        return self.accrued - self.spent

    @property
    def price(self) -> float:
        """What a unit of the resource costs now, in units of loss."""
        return self.base * (1.0 - self._level)

    @property
    def band(self) -> float:
        """How far spending may run ahead now."""
        if self.unit < TINY:
            return 0.0
        later = 1.0 + self.accrued / (PAID_BACK * self.unit)
        return self.unit * (1.0 + AHEAD / (later * later))

    @property
    def _level(self) -> float:
        return self._level_of(self.balance)

    def _level_of(self, balance: float) -> float:
        """A balance in units, from -1 to 1 at LEVEL of them."""
        if self.unit < TINY:
            return 0.0
        return min(1.0, max(-1.0, balance / (LEVEL * self.unit)))

    def at(self, seconds: float) -> "Account":
        """The account at a time that a clock shows.

        A clock that goes back is taken to stand still. Once more readings were behind than not,
        by `DOUBTS`, it was ahead before: time goes on from where it is now, and what was accrued in
        the time that never passed is taken back.
        """
        if self.now is None or self.began is None or seconds >= self.now:
            began = seconds if self.began is None else self.began
            return changed(self, now=seconds, began=began, doubts=max(0, self.doubts - 1))
        if self.doubts + 1 < DOUBTS:
            return changed(self, doubts=self.doubts + 1)
        return changed(self, now=seconds, began=min(self.began, seconds), doubts=0)

    def under(self, before: Budget, budget: Budget) -> "Account":
        """The account of a budget that goes on as another one, with the same costs.

        What was accrued and spent stays. If periods have another length, all that was spent counts
        as spent in the one that runs now.
        """
        if before == budget:
            return self
        after = changed(self, brought=self.accrued, n_before=self.n_rounds, began=self.now)
        if before.per == budget.per:
            return after
        return changed(after, period=None, spent_in_period=self.spent, periods=())

    def opened(self, budget: Budget, highest: float, spread: float) -> "Account":
        """The account in the next round, with its allowance."""
        n = self.n_rounds + 1
        if budget.rounds is not None:
            accrued = budget.at_most * ((n - self.n_before) / budget.rounds)
            period = float((n - 1) // budget.rounds)
        elif self.now is None or self.began is None or budget.seconds is None:
            raise ValueError(
                f"`at_time` must be called before `act`, as budget {budget.name!r} is per "
                f'{budget.per!r}; a Policy does so. Without a clock, use per="round"'
            )
        else:
            accrued = budget.at_most * ((self.now - self.began) / budget.seconds)
            period = float(np.floor(self.now / budget.seconds))
        accrued += self.brought
        spent, periods = self.spent_in_period, self.periods
        if period != self.period and budget.per != "round":  # which has a hard stop by what accrued
            spent, periods = self._moved(period)
        return changed(
            self,
            n_rounds=n,
            accrued=accrued,
            allowance=max(0.0, accrued - self.accrued),
            unit=self.unit + (highest - self.unit) / n,
            spread=self.spread + (spread - self.spread) / n,
            period=period,
            spent_in_period=spent,
            periods=periods,
        )

    def _moved(self, period: float) -> tuple[float, tuple[tuple[float, float], ...]]:
        """What was spent in a period that begins or is met again, and what in those before.

        Where the clock went back, what was spent since counts in both.
        """
        if self.period is None:
            return self.spent_in_period, self.periods
        others = dict(self.periods)
        spent = others.pop(period, 0.0)
        if period < self.period:
            spent += self.spent_in_period
        others.pop(self.period, None)
        others[self.period] = self.spent_in_period
        return spent, tuple(others.items())[-PERIODS:]

    def room(self, budget: Budget) -> float:
        """The largest cost that may be paid in this round; what costs nothing always may."""
        if budget.hard and budget.per == "round":
            room = _left(self.accrued, self.spent)
        else:
            room = _left(self.accrued + self.band, self.spent)
        if budget.hard and budget.per != "round":
            room = min(room, _left(budget.at_most, self.spent_in_period))
        return max(0.0, room)  # a band that shrank with the unit may leave less than nothing

    def paid(self, expected: float, paid: float, held: bool) -> "Account":
        """The account after a round; `held`: there was an action that could not be paid for."""
        spent, base = self.spent + paid, self.base
        if self.unit >= TINY:
            level = self._level_of(self.accrued - spent)
            error = (expected - self.allowance * (1.0 + level)) / self.unit
            error = min(1.0, max(0.0 if held else -1.0, error))
            step = STEP * self.spread / (self.unit * math.sqrt(1.0 + self.accrued / self.unit))
            base = max(0.0, self.base + step * error)
        return changed(self, spent=spent, spent_in_period=self.spent_in_period + paid, base=base)

    def check_loaded(self) -> None:
        """Refuse a clock that has no start, and periods that are none."""
        if (self.began is None) != (self.now is None):
            raise ValueError("`began` and `now` must both be times, or both be None")
        pairs: tuple[Any, ...] = self.periods
        for pair in pairs:
            if not isinstance(pair, tuple) or list(map(type, pair)) != [float, float]:
                raise ValueError(f"`periods` must be pairs of numbers, got {pair!r:.60}")


def _left(total: float, spent: float) -> float:
    """The most that can be added to `spent` without a sum above `total`, to the last bit."""
    left = total - spent
    return left if spent + left <= total else math.nextafter(left, -math.inf)
