"""From the terms of a log's rounds to estimates, in the units of its losses or rewards."""

import math
from typing import NamedTuple

import numpy as np

from graphcb.estimates.comparing import Apart, difference
from graphcb.estimates.estimate import Conditions, Estimate, TargetEstimates
from graphcb.estimates.estimators import estimates, mean_of
from graphcb.estimates.intervals import Interval, confidence_sequence
from graphcb.estimates.means import AnytimeEnds, differences
from graphcb.estimates.moments import Moments
from graphcb.estimates.smoothing import smoothed
from graphcb.estimates.terms import Floats, Terms
from graphcb.evaluation.rounds import RoundTerms
from graphcb.evaluation.settling import Turnout

WITHOUT_RANGE = (
    "no range is declared, and not every {unit} lies between 0 and 1: without a bound no interval "
    "is anytime-valid, and normal ones rest on what was seen"
)
LEAST_EXPLAINED = 0.1  # of squared errors, for an oracle to be worth having


class Scale(NamedTuple):
    """From losses between 0 and 1 to those of a log."""

    low: float
    width: float

    def interval(self, ends: Floats) -> Interval:
        """An interval from its ends."""
        lower, upper = (self.low + self.width * float(end) for end in ends)
        return Interval(lower, upper)


class Estimating:
    """Estimates of targets from the terms of the same rounds.

    `stands_for` says for how many decisions each round stands. Anytime-valid intervals need true
    weights, and feedback that is missing as often for every action; `has_range` says that the
    losses are known to lie within the scale.
    """

    def __init__(
        self,
        scale: Scale,
        answers: Turnout,
        stands_for: Floats,
        confidence: float,
        *,
        has_true_weights: bool,
        has_range: bool = True,
    ) -> None:
        self.scale, self.confidence, self.stands_for = scale, confidence, stands_for
        self.is_sound = has_range and answers.are_alike
        self.has_anytime = self.is_sound and has_true_weights
        value_range = (scale.low, scale.low + scale.width) if has_range else None
        self.asked = Conditions(value_range, confidence, False, None, answers.missing_share)

    def with_graph(self, terms: list[RoundTerms]) -> tuple[Moments, list[TargetEstimates]]:
        """What is said by reveal probabilities."""
        squares = self.stands_for**2
        expected = [float((squares * one.expected).sum()) for one in terms]
        moments = self._moments([(one.below, one.above) for one in terms])
        return moments, estimates(moments, self.asked._replace(expected=expected))

    def every(
        self, terms: RoundTerms, found: TargetEstimates, *, has_oracle: bool
    ) -> dict[str, Estimate]:
        """Every estimate of a target by its name, the one that is always shown first."""
        if terms.is_known:
            return {"with the graph": self._known(terms)}
        bounds = self.bounds(terms.terms)
        named: dict[str, Estimate] = {}
        if found.estimates:
            names = {"with the graph": "self-normalised", "clipped": "clipped"}
            for name, same in names.items():
                if same in found.estimates:  # nothing is clipped without a range
                    named[name] = found.estimates[same]._replace(anytime=bounds)
        if has_oracle:
            around = terms.robust_below, terms.robust_above
            robust = self.bounds(Terms(terms.below, terms.above, *around, terms.unseen))
            named["doubly robust"] = self._mean(terms.robust, terms, found, robust)
            if self.asked.value_range is not None:
                named["switch"] = self._switch(terms, found, robust)
        named.update(self._plain(terms))
        if self.has_anytime:
            low, width = self.scale
            values = low * terms.weights + width * terms.below
            span = low, low + width
            named["log smoothing"] = smoothed(terms.weights, values, span, self.confidence)
        return named

    def _known(self, terms: RoundTerms) -> Estimate:
        """Of a target all of whose losses are known without feedback: nothing is left to chance."""
        mean = float((self.stands_for * terms.below).sum() / self.stands_for.sum())
        value = self.scale.low + self.scale.width * mean
        exact = Interval(value, value)
        return Estimate(value, 0.0, exact, exact)

    def bounds(self, terms: Terms) -> Interval | None:
        """Anytime-valid ends, for which what could not be seen may be anything."""
        if not self.has_anytime:
            return None
        return self.scale.interval(AnytimeEnds(1.0 - self.confidence).add(terms)[-1])

    def difference(
        self, moments: Moments, mine: RoundTerms, other: RoundTerms, between: RoundTerms
    ) -> Estimate | None:
        """The mean of the first target less that of the second, decision by decision."""
        if mine.unseen.any() or other.unseen.any():
            return None
        expected = [float(self.stands_for**2 @ one.expected) for one in (mine, other)]
        asked = self.asked._replace(expected=expected)
        both = difference(moments, 0, 1, asked, self._apart(mine, other, between))
        if both is None or not self.has_anytime:
            return both if both is None else both._replace(anytime=None)
        pairs = zip(mine.terms, other.terms, strict=True)
        halves = differences(Terms(*(np.stack(pair) for pair in pairs)))
        ends = AnytimeEnds(1.0 - self.confidence).add(halves)[0, -1]
        lower, upper = (self.scale.width * (2.0 * float(end) - 1.0) for end in ends)
        return both._replace(anytime=Interval(lower, upper))

    def _apart(self, mine: RoundTerms, other: RoundTerms, between: RoundTerms) -> Apart:
        """How far two targets are apart, by the terms of what differs between them."""
        weights, mass = self.stands_for * between.weights, self.stands_for * between.mass
        seen, total, n = float(weights @ weights), float(mass.sum()), float(self.stands_for.sum())
        expected = float((self.stands_for**2 * between.expected).sum())
        if seen == 0.0 or expected == 0.0:
            return Apart(min(1.0, 0.5 * total / n), 0.0)
        size = min(float(weights.sum()) ** 2 / seen, total**2 / expected)
        variance = _pooled_variance(self.stands_for * (mine.below - other.below), weights)
        least = self.scale.width * math.sqrt(variance / size) * total / n
        return Apart(min(1.0, 0.5 * total / n), size, least)

    def _plain(self, terms: RoundTerms) -> dict[str, Estimate]:
        """By the probabilities of playing, whose weights are never learned."""
        if terms.plain_unseen.any():
            return {}
        asked = self.asked._replace(
            expected=[float((self.stands_for**2 * terms.plain_expected).sum())]
        )
        found = estimates(self._moments([(terms.plain, terms.plain_above)]), asked)[0]
        if not found.estimates:
            return {}
        anytime = None
        if self.is_sound:
            ends = confidence_sequence(terms.plain, terms.plain_above, confidence=self.confidence)
            anytime = self.scale.interval(np.array([end[-1] for end in ends]))
        names = {"plain": "self-normalised", "inverse propensity": "ips"}
        return {name: found.estimates[one]._replace(anytime=anytime) for name, one in names.items()}

    def _switch(
        self, terms: RoundTerms, found: TargetEstimates, anytime: Interval | None
    ) -> Estimate:
        """Doubly robust where weights are small; where they are large, the prediction alone.

        A prediction is off by at most the range, which bounds the bias by the weight that is
        left aside. What is large is decided by the weights alone, as in the clipped estimate.
        """
        weights = self.stands_for * terms.weights
        aside = weights > found.cut
        lost = float(weights[aside].sum()) / max(float(weights.sum()), 1e-300)
        switched = np.where(aside, terms.predicted, terms.robust)
        return self._mean(switched, terms, found, anytime, bias=lost * self.scale.width)

    def _mean(
        self,
        terms: Floats,
        mine: RoundTerms,
        found: TargetEstimates,
        anytime: Interval | None,
        bias: float = 0.0,
    ) -> Estimate:
        """Of terms around predictions; what these leave is spread as the weights are."""
        values = self.scale.low + self.scale.width * terms
        mean = float((self.stands_for * values).sum() / self.stands_for.sum())
        around = mean + (self.stands_for / self.stands_for.mean()) * (values - mean)
        size, least = found.weights.effective_size, 0.0
        if size > 0.0:
            left, weights = self.stands_for * (terms - mine.predicted), mine.weights
            variance = _pooled_variance(left, self.stands_for * weights)
            least = self.scale.width * math.sqrt(variance / size)
        one = mean_of(around, found, self.asked, bias=bias, least_error=least)
        return one._replace(anytime=anytime)

    def _moments(self, sides: list[tuple[Floats, Floats]]) -> Moments:
        """Sums for targets, from terms of losses between 0 and 1, and of what they lack to 1."""
        low, width = self.scale
        weights = np.array([below + above for below, above in sides])
        values = np.array([width * below for below, _ in sides]) + low * weights
        moments = Moments(len(sides))
        moments.add(self.stands_for * weights, self.stands_for * values)
        moments.n = round(float(self.stands_for.sum()))
        return moments


def _pooled_variance(terms: Floats, weights: Floats) -> float:
    """Of the values of terms, each counted by its weight: as if weight did not go with value."""
    total = float(weights.sum())
    squares = np.divide(terms**2, weights, out=np.zeros(terms.size), where=weights > 0.0)
    return max(0.0, float(squares.sum()) / total - (float(terms.sum()) / total) ** 2)


def best_name(named: dict[str, Estimate], explained: float) -> str | None:
    """The doubly robust estimate if the oracle explains more than the mean of each action.

    Choosing the narrowest interval would favour the luckiest, and intervals would hold less often
    than they say. With its bias counted, the clipped estimate is never narrower.
    """
    if "doubly robust" in named and explained > LEAST_EXPLAINED:
        return "doubly robust"
    return "with the graph" if "with the graph" in named else None
