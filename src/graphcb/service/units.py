"""Estimates in the units of a problem."""

import math
from collections.abc import Mapping

from graphcb.problems import Problem
from graphcb.service.judged import Judged
from graphcb.service.live_answers import ValueShown


class Units:
    """From the scale of 0 to 1 to the problem's own units."""

    def __init__(self, problem: Problem) -> None:
        self.low, high = problem.scale
        self.width = high - self.low
        self.rewards = problem.feedback == "rewards"

    def best(self, means: Mapping[str, float]) -> str | None:
        """The action that looks best."""
        if not means:
            return None
        return (max if self.rewards else min)(means, key=lambda name: means[name])

    def at(self, mean: float | None) -> float | None:
        """A mean, if it is known."""
        return None if mean is None or not math.isfinite(mean) else self.low + self.width * mean

    def value(self, name: str, one: Judged) -> ValueShown:
        """A mean with its interval."""
        lower, upper = (self.low + self.width * end for end in (one.lower, one.upper))
        return ValueShown(name, self.at(one.mean), lower, upper, one.unseen)

    def gain(self, name: str, excess: Judged) -> ValueShown:
        """How much better the policy is, from how much more it loses."""
        sign = self.width if self.rewards else -self.width
        mean = None if excess.mean is None else sign * excess.mean
        lower, upper = sorted((sign * excess.lower, sign * excess.upper))
        return ValueShown(name, mean, lower, upper, excess.unseen)
