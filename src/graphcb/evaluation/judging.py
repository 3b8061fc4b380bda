"""From a log to the estimated loss of another policy."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from graphcb.checks import as_range
from graphcb.decisions import DecisionLog, LoggedDecision
from graphcb.estimates.intervals import (
    Interval,
    check_confidence,
    confidence_sequence,
    normal_interval,
    standard_error,
)
from graphcb.estimates.means import AnytimeEnds, deviations, differences, normalised_mean
from graphcb.estimates.terms import Floats, Terms
from graphcb.evaluation.rounds import Rounds, RoundTerms
from graphcb.evaluation.settling import Settling
from graphcb.evaluation.targets import Target
from graphcb.evaluation.weighing import Graphs, Weights, weighed, weighing_graphs, weights_of
from graphcb.oracles import Oracle


@dataclass(frozen=True)
class Estimate:
    """The mean loss that a policy would have had, and two confidence intervals for it.

    `normal` is valid for looking once, `anytime` however often one looks.
    """

    value: float
    standard_error: float
    normal: Interval
    anytime: Interval | None


@dataclass(frozen=True)
class Evaluation:
    """What a log says about a policy.

    `graph` is the estimate that `log summary` and the page of the service show as well, see
    `estimates.means`. `plain` uses the loss of the played action alone, and `doubly_robust` what
    an oracle predicts. An estimate is None if the log does not support it: if part of what the
    policy plays, `unseen_share`, is on actions whose loss could not have been revealed, only
    `bounds` hold, which count this share at both ends of the range, and `guess` is what the
    oracle makes of it. `plain_unseen_share` is the share on actions that could not have been
    played and shown their own loss, and `silent_share` the part of it on actions that never show
    their own loss. `difference` is by how much the mean loss is larger than that of the policy
    it was compared with.

    `Settling` says which decisions count. `n_silent` reveal nothing and are left out with one
    whose feedback is missing, or wait for the next one.

    `weights` says where the reveal probabilities come from, see `weighing_graphs`. If they are
    "learned", not "known", all estimates but `plain` are as good as these: they have no
    anytime-valid interval, and the normal one leaves out the error of the probabilities. If they
    are "certain", only what was revealed for certain is used.
    """

    n_decisions: int
    n_without_feedback: int
    n_incomplete: int
    unseen_share: float
    plain_unseen_share: float
    graph: Estimate | None
    plain: Estimate | None
    doubly_robust: Estimate | None
    silent_share: float = 0.0
    difference: Estimate | None = None
    weights: Weights = "known"
    n_silent: int = 0
    bounds: Interval | None = None
    guess: float | None = None

    @property
    def n_used(self) -> int:
        """The number of decisions that the estimates are based on."""
        return self.n_decisions - self.n_without_feedback - self.n_incomplete - self.n_silent


def evaluate(
    rows: Iterable[LoggedDecision],
    target: Target,
    *,
    against: Target | None = None,
    oracle: Oracle | None = None,
    loss_range: tuple[float, float] | None = None,
    confidence: float = 0.95,
    graphs: Graphs | None = None,
) -> Evaluation:
    """Estimate the mean loss of `target` from the decisions of a log.

    `rows` is a `DecisionLog` or a part of one. An untrained `oracle` adds the doubly robust
    estimate: a copy of it predicts each round before learning from it. With `against`, another
    target, the difference of the two is estimated too, round by round, which is much sharper than
    two intervals. All losses must lie in
    `loss_range`, which the anytime-valid intervals need; left out, it is that of the log's
    problem, or of all its versions together, else 0 to 1. If the problem has rewards, all losses
    here are rewards. Decisions without feedback are left out, which is right if feedback is
    missing at random, and so are those whose feedback lacks a loss that the graph always reveals.
    A policy that was trained on these rows looks better than it is: evaluate it on later ones.

    Where nobody knew what would be revealed, `graphs` gives the graph by which a decision is
    weighed; if `rows` is a whole log, it is `weighing_graphs(log)`.

    >>> import tempfile, pathlib, graphcb
    >>> from graphcb.evaluation import constant
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> with graphcb.Policy(file, graphcb.Uniform(), seed=0) as policy:
    ...     for _ in range(100):
    ...         made = policy.decide(None, graphcb.graphs.full_information(2))
    ...         receipt = policy.feedback(made.decision_id, {0: 0.25, 1: 0.75})
    >>> with graphcb.DecisionLog(file) as log:
    ...     evaluate(log, constant(1)).graph.value
    0.75
    """
    check_confidence(confidence)
    if loss_range is None:
        known = rows.versions.range if isinstance(rows, DecisionLog) else None
        loss_range = (0.0, 1.0) if known is None else known
    scale = as_range("loss_range", loss_range)
    targets = [target] if against is None else [target, against]
    rounds, settling = Rounds(targets, oracle, scale), Settling()
    if graphs is None and isinstance(rows, DecisionLog) and not rows.informed:
        graphs = weighing_graphs(rows)
    weights: Weights = "known"
    for given in rows:
        row = weighed(given, graphs)
        if weights != "learned":
            weights = weights_of(given, row)
        for settled in settling.add(given, row):
            rounds.add(settled)
    if settling.n_used == 0:
        raise ValueError(
            f"the log must have decisions with complete feedback, got {settling.n} decisions, "
            f"{settling.n_without_feedback} of them without feedback, {settling.n_incomplete} "
            f"with part of it and {settling.n_silent} that reveal nothing"
        )
    mine, *others = rounds.terms()
    found = _Estimating(rounds.low, rounds.width, confidence, has_anytime=weights != "learned")
    unseen, plain_unseen = float(mine.unseen.mean()), float(mine.plain_unseen.mean())
    robust = None if oracle is None else found.robust(mine)
    return Evaluation(
        settling.n,
        settling.n_without_feedback,
        settling.n_incomplete,
        unseen,
        plain_unseen,
        found.graph(mine) if unseen == 0.0 else None,
        found.plain(mine) if plain_unseen == 0.0 else None,
        robust if unseen == 0.0 else None,
        float(mine.silent.mean()),
        None if not others else found.difference(mine, others[0]),
        weights,
        settling.n_silent,
        found.bounds(mine.terms),
        None if robust is None or unseen == 0.0 else robust.value,
    )


class _Estimating:
    """Estimates from terms, in the losses' own units."""

    def __init__(self, low: float, width: float, confidence: float, *, has_anytime: bool) -> None:
        self.low, self.width, self.confidence = low, width, confidence
        self.has_anytime = has_anytime  # it does not hold for weights with an error of their own

    def graph(self, terms: RoundTerms) -> Estimate | None:
        return self._normalised(terms.below, terms.above, self.bounds(terms.terms))

    def plain(self, terms: RoundTerms) -> Estimate | None:
        below, above = terms.plain, terms.plain_above  # whose weights are never learned
        ends = confidence_sequence(below, above, confidence=self.confidence)
        lower, upper = (self.low + self.width * float(end[-1]) for end in ends)
        return self._normalised(below, above, Interval(lower, upper))

    def robust(self, terms: RoundTerms) -> Estimate:
        values = self.low + self.width * terms.robust
        around = terms.robust_below, terms.robust_above
        bounds = self.bounds(Terms(terms.below, terms.above, *around, terms.unseen))
        return self._estimate(float(values.mean()), values, bounds)

    def bounds(self, terms: Terms) -> Interval | None:
        if not self.has_anytime:
            return None
        ends = AnytimeEnds(1.0 - self.confidence).add(terms)[-1]
        return Interval(*(self.low + self.width * float(end) for end in ends))

    def difference(self, mine: RoundTerms, other: RoundTerms) -> Estimate | None:
        """The mean of one policy less that of another, which lies between -width and width."""
        if mine.unseen.any() or other.unseen.any():
            return None
        means = [float(normalised_mean(one.below.sum(), one.above.sum())) for one in (mine, other)]
        if np.isnan(means).any():
            return None
        both = zip(mine.terms, other.terms, strict=True)
        halves = differences(Terms(*(np.stack(pair) for pair in both)))
        anytime = None
        if self.has_anytime:
            ends = AnytimeEnds(1.0 - self.confidence).add(halves)[0, -1]
            anytime = Interval(*(self.width * (2.0 * float(end) - 1.0) for end in ends))
        errors = deviations(mine.below, mine.above) - deviations(other.below, other.above)
        return self._estimate(self.width * (means[0] - means[1]), self.width * errors, anytime)

    def _normalised(
        self, below: Floats, above: Floats, anytime: Interval | None
    ) -> Estimate | None:
        """None if nothing of what the policy plays was revealed."""
        mean = float(normalised_mean(below.sum(), above.sum()))
        if np.isnan(mean):
            return None
        errors = self.width * deviations(below, above)
        return self._estimate(self.low + self.width * mean, errors, anytime)

    def _estimate(self, value: float, errors: Floats, anytime: Interval | None) -> Estimate:
        normal = normal_interval(errors - errors.mean() + value, self.confidence)
        return Estimate(value, standard_error(errors), normal, anytime)
