"""What every agent that explores with a gamma has."""

import copy
import math
from collections.abc import Sequence
from typing import Self

from graphcb.agents.budgets import Budget
from graphcb.agents.prediction import Predicts
from graphcb.exploration import Limits, Schedule, as_schedule
from graphcb.exploration.schedules import as_setting
from graphcb.loaded import check_kind, check_numbers
from graphcb.oracles import Oracle


class Scheduled(Predicts):
    """An agent with a schedule of its own, and the gamma of its last round."""

    gamma: float | None = None

    def __init__(
        self,
        oracle: Oracle | None,
        gamma: float | Schedule,
        limits: Limits | None,
        budgets: Sequence[Budget],
        explore: float,
    ) -> None:
        super().__init__(oracle, limits, budgets, explore)
        self.schedule = copy.deepcopy(as_schedule(gamma))

    def check_loaded(self) -> None:
        super().check_loaded()
        check_kind(self, "schedule", Schedule)
        if self.gamma is not None:
            check_numbers(self, "gamma", least=0.0, most=math.inf)

    def __copy__(self) -> Self:
        twin = super().__copy__()
        twin.schedule = copy.copy(self.schedule)
        return twin

    def __repr__(self) -> str:
        return self._described(gamma=as_setting(self.schedule))
