"""How gamma grows with the rounds: what `gamma=` takes in an agent, beside a number."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

from graphcb.checks import as_gamma


class Schedule(Protocol):
    """Gives gamma for a round."""

    def gamma(self, round_number: int, n_actions: int) -> float:
        """Gamma of round 1, 2, ... over today's `n_actions`."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same gamma in every round.

    >>> Fixed(10.0).gamma(round_number=7, n_actions=3)
    10.0
    """

    value: float

    def __post_init__(self) -> None:
        as_gamma(self.value)

    def gamma(self, round_number: int, n_actions: int) -> float:
        """The value."""
        return self.value


@dataclass(frozen=True, slots=True)
class SquareRoot:
    """gamma = c * sqrt(alpha * t), as in the paper's experiments.

    `alpha` is the independence number of the graph, or "n_actions" for the number of actions
    of the round, which is what it is for SquareCB: it explores as if each action showed only
    itself.

    >>> SquareRoot(c=2.0, alpha=4.0).gamma(round_number=9, n_actions=50)
    12.0
    >>> SquareRoot(c=2.0, alpha="n_actions").gamma(round_number=9, n_actions=4)
    12.0
    """

    c: float
    alpha: float | Literal["n_actions"]

    def __post_init__(self) -> None:
        if not 0.0 < self.c < math.inf:
            raise ValueError(f"`c` must be a positive finite number, got {self.c}")
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
        """The square root law."""
        alpha = n_actions if isinstance(self.alpha, str) else self.alpha
        return self.c * math.sqrt(alpha * round_number)


def as_schedule(gamma: float | Schedule) -> Schedule:
    """A schedule as it is; a number as `Fixed`."""
    return Fixed(gamma) if isinstance(gamma, int | float) else gamma
