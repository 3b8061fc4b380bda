"""How gamma grows with the rounds: what an agent takes as `gamma`, besides a number."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count, as_gamma, as_positive
from graphcb.loaded import Count, Learned, Number

Need = Literal["nothing", "value", "optimum", "graph"]

LARGEST = 1e300  # what a schedule works out from DECs stays below this: they may be infinite


@runtime_checkable
class Schedule(Protocol):
    """Gives gamma for a round.

    `needs` is what `observe` must be given after each round: "nothing", the "value" of the DEC
    of what was played, or its "optimum". `FromGraphs` needs the "graph" instead. When `epoch`
    changes, the agent starts again with a fresh oracle. A schedule that needs nothing and never
    starts again can derive from this class, and has `gamma` alone.
    """

    needs: ClassVar[Need] = "nothing"

    @property
    def epoch(self) -> int:
        """Number of fresh starts so far."""
        return 0

    def gamma(self, round_number: int, n_actions: int) -> float:
        """Gamma of round 1, 2, ... over today's `n_actions`."""
        ...

    def observe(self, value: float) -> None:
        """Take the DEC of the round that was just played, at the gamma given for it."""
        return


@dataclass(frozen=True)
class Fixed(Schedule):
    """The same gamma in every round.

    >>> Fixed(10.0).gamma(round_number=7, n_actions=3)
    10.0
    """

    value: float
    learned = Learned(value=Number(0.0, math.inf))

    def __post_init__(self) -> None:
        as_gamma(self.value)

    def gamma(self, round_number: int, n_actions: int) -> float:
        """The value."""
        return self.value


@dataclass(frozen=True)
class SquareRoot(Schedule):
    """gamma = c * sqrt(alpha * t), as in the paper's experiments.

    `alpha` is the independence number of the graph, or "n_actions" for the number of actions
    of the round. The latter is right for SquareCB, which explores as if each action revealed
    only itself.

    >>> SquareRoot(c=2.0, alpha=4.0).gamma(round_number=9, n_actions=50)
    12.0
    >>> SquareRoot(c=2.0, alpha="n_actions").gamma(round_number=9, n_actions=4)
    12.0
    """

    c: float
    alpha: float | Literal["n_actions"]
    learned = Learned()

    def __post_init__(self) -> None:
        as_positive("c", self.c)
        if isinstance(self.alpha, str):
            if self.alpha != "n_actions":
                raise ValueError(
                    f'`alpha` must be a number of at least 1 or "n_actions", got {self.alpha!r}'
                )
        elif not 1.0 <= self.alpha < math.inf:
            raise ValueError(
                f"`alpha` must be at least 1, as an independence number is, got {self.alpha}"
            )

    def gamma(self, round_number: int, n_actions: int) -> float:
        alpha = n_actions if isinstance(self.alpha, str) else self.alpha
        return self.c * math.sqrt(alpha * round_number)


@dataclass(frozen=True)
class TwoThirds(Schedule):
    """gamma = c * (d t^2)^(1/3): for weakly observable graphs and an unknown horizon.

    `d` is the weak domination number of the graph. The paper gives this rate for a known number
    of rounds; with the round's number in its place, regret grows no faster than t^(2/3).

    >>> TwoThirds(c=2.0, d=1.0).gamma(round_number=8, n_actions=50)
    8.0
    """

    c: float
    d: float = 1.0
    learned = Learned()

    def __post_init__(self) -> None:
        as_positive("c", self.c)
        if not 1.0 <= self.d < math.inf:
            raise ValueError(
                f"`d` must be at least 1, as a weak domination number is, got {self.d}; "
                "use SquareRoot for strongly observable graphs"
            )

    def gamma(self, round_number: int, n_actions: int) -> float:
        """The law of two thirds."""
        return self.c * math.cbrt(self.d * round_number * round_number)


@dataclass(frozen=True)
class FromTheory(Schedule):
    """The gamma of the paper's corollaries, for a known horizon and regression regret.

    Strongly observable graphs (`weak_domination_number` left at 0): max(4, sqrt(alpha T / R)).
    Weakly observable ones: max(16 d, sqrt(alpha T / R), d^(1/3) (T / R)^(2/3)), where alpha is
    the independence number among the actions with self-loops.

    >>> FromTheory(horizon=10_000, regression_regret=4.0, independence_number=9).gamma(1, 20)
    150.0
    """

    horizon: int
    regression_regret: float
    independence_number: float
    weak_domination_number: float = 0.0
    learned = Learned()

    def __post_init__(self) -> None:
        as_count("horizon", self.horizon)
        as_positive("regression_regret", self.regression_regret)
        for name in ("independence_number", "weak_domination_number"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ValueError(f"`{name}` must not be negative, got {getattr(self, name)}")

    def gamma(self, round_number: int, n_actions: int) -> float:
        rounds = self.horizon / self.regression_regret
        strong = math.sqrt(self.independence_number * rounds)
        if self.weak_domination_number == 0.0:
            return max(4.0, strong)
        d = self.weak_domination_number
        return max(16.0 * d, strong, math.pow(d, 1 / 3) * math.pow(rounds, 2 / 3))


@dataclass
class Doubling:
    """The paper's adaptive gamma for graphs that may change: no graph number is needed.

    Starts at sqrt(horizon / regression_regret). When the optimal DECs of the rounds of an epoch
    add up to more than gamma * regression_regret, gamma doubles, and the epoch and the oracle
    start again. Works for strongly and weakly observable graphs; not with closed forms, which are
    not the optimum.

    >>> schedule = Doubling(horizon=100, regression_regret=1.0)
    >>> schedule.gamma(1, 5)
    10.0
    >>> for _ in range(11):
    ...     schedule.observe(1.0)
    >>> schedule.gamma(12, 5), schedule.epoch
    (20.0, 1)
    """

    horizon: int
    regression_regret: float
    epoch: int = field(default=0, repr=False)
    spent: float = field(default=0.0, repr=False)
    needs: ClassVar[Need] = "optimum"
    learned = Learned(epoch=Count(most=1023), spent=Number())

    def __post_init__(self) -> None:
        as_count("horizon", self.horizon)
        as_positive("regression_regret", self.regression_regret)

    def gamma(self, round_number: int, n_actions: int) -> float:
        doubled = 2.0 ** min(self.epoch, 1000) * math.sqrt(self.horizon / self.regression_regret)
        return min(doubled, LARGEST)

    def observe(self, value: float) -> None:
        """Add the optimal DEC of the round, and double once the epoch has spent too much."""
        self.spent += value
        if self.spent > self.gamma(0, 0) * self.regression_regret:
            self.epoch += 1
            self.spent = 0.0


@dataclass
class Automatic:
    """A gamma that needs no settings: no horizon, no graph number, no constant.

    gamma = c * sqrt(t * mean of gamma * DEC so far), at least c * sqrt(t). The independence number
    bounds gamma * DEC, which is known after each round. `c` was chosen by measurement, see
    docs/decisions.

    >>> schedule = Automatic(c=2.0)
    >>> schedule.gamma(1, 5)
    2.0
    >>> schedule.observe(4.5)  # gamma * DEC = 9
    >>> schedule.gamma(4, 5)
    12.0
    """

    c: float = 32.0
    last: float = field(default=0.0, repr=False)
    total: float = field(default=0.0, repr=False)
    count: int = field(default=0, repr=False)
    epoch: ClassVar[int] = 0
    needs: ClassVar[Need] = "value"
    learned = Learned(last=Number(), total=Number(), count=Count())

    def __post_init__(self) -> None:
        as_positive("c", self.c)

    def gamma(self, round_number: int, n_actions: int) -> float:
        """The square root law with the mean so far in place of the independence number."""
        mean = self.total / self.count if self.count else 1.0
        self.last = min(self.c * math.sqrt(round_number * max(1.0, mean)), LARGEST)
        return self.last

    def observe(self, value: float) -> None:
        """Add gamma * DEC of the round to the mean."""
        self.total = min(self.total + self.last * value, LARGEST)
        self.count += 1


def as_schedule(gamma: float | Schedule) -> Schedule:
    """A schedule unchanged; a number as `Fixed`."""
    if isinstance(gamma, int | float):
        return Fixed(gamma)
    if not isinstance(gamma, Schedule):
        raise TypeError(
            "`gamma` must be a number or a schedule such as SquareRoot(c, alpha), "
            f"got {type(gamma).__name__}"
        )
    return gamma


def as_setting(schedule: Schedule) -> float | Schedule:
    """What a person would pass as `gamma` for this schedule: the number behind a `Fixed`."""
    return schedule.value if isinstance(schedule, Fixed) else schedule


def gammas(schedule: Schedule, n_rounds: int, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Gamma of each round after the first `n_rounds`; `sizes` are their numbers of actions.

    For a schedule that needs nothing, whose gammas are known in advance.

    >>> gammas(SquareRoot(2.0, "n_actions"), 0, np.array([1, 2])).tolist()
    [2.0, 4.0]
    """
    numbers = np.arange(n_rounds + 1, n_rounds + 1 + sizes.size)
    if type(schedule) is SquareRoot:  # the same bits, all at once
        alpha = sizes if isinstance(schedule.alpha, str) else schedule.alpha
        return np.asarray(schedule.c * np.sqrt(alpha * numbers))
    pairs = zip(numbers.tolist(), sizes.tolist(), strict=True)
    return np.array([schedule.gamma(t, size) for t, size in pairs])
