"""From a log to the estimated loss of another policy."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from graphcb.checks import as_losses, as_probabilities, as_range
from graphcb.decisions import DecisionLog, LoggedDecision, LoggedFeedback
from graphcb.estimates.intervals import (
    Interval,
    check_confidence,
    confidence_sequence,
    normal_interval,
    standard_error,
)
from graphcb.estimates.terms import Flags, Floats
from graphcb.evaluation.rounds import FLOOR, JudgedRound, RoundTerms, terms_of
from graphcb.evaluation.targets import Target
from graphcb.evaluation.weighing import Graphs, Weights, weighed, weighing_graphs, weights_of
from graphcb.oracles import Oracle

# Rounds that are held in memory; of earlier ones only the terms are kept.
AT_A_TIME = 1000


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

    An estimate is None if the log does not support it. `unseen_share` is the share of the
    policy's play on actions whose loss could not have been revealed, `plain_unseen_share` the
    share on actions that could not have been played and shown their own loss, and `silent_share`
    the part of it on actions that never show their own loss. The doubly robust estimate relies
    on the oracle for the unseen share. `difference` is by how much the mean loss is larger than
    that of the policy it was compared with.

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

    @property
    def n_used(self) -> int:
        """The number of decisions that the estimates are based on."""
        return self.n_decisions - self.n_without_feedback - self.n_incomplete


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
    target, the difference of the two is estimated too, by the graph if it can be, else doubly
    robust: round by round, which is much sharper than two intervals. All losses must lie in
    `loss_range`, which the anytime-valid intervals need; left out, it is that of the log's
    problem, or of all its versions together, else 0 to 1. If the problem has rewards, all losses
    here are rewards. Decisions without feedback are left out, which is right if feedback is
    missing at random, and so are those whose feedback lacks a loss that the graph always reveals.
    An action that reveals nothing needs no feedback. A policy that was trained on these rows
    looks better than it is: evaluate it on later ones.

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
    low, high = as_range("loss_range", loss_range)
    judge = _Judge(target, copy.deepcopy(oracle), low, high)
    other = None if against is None else _Judge(against, copy.deepcopy(oracle), low, high)
    n_decisions = n_without_feedback = n_incomplete = 0
    if graphs is None and isinstance(rows, DecisionLog) and not rows.informed:
        graphs = weighing_graphs(rows)
    weights: Weights = "known"
    for given in rows:
        n_decisions += 1
        row = weighed(given, graphs)
        if weights != "learned":
            weights = weights_of(given, row)
        if row.feedback is None and row.graph.row(row.action_index).any():
            n_without_feedback += 1
        elif is_incomplete(row):
            n_incomplete += 1
        else:
            judge.add(row)
            if other is not None:
                other.add(row)
    if n_decisions == n_without_feedback + n_incomplete:
        raise ValueError(
            f"the log must have decisions with complete feedback, got {n_decisions} decisions, "
            f"{n_without_feedback} of them without feedback and {n_incomplete} with part of it"
        )
    terms = judge.all_terms()
    unseen, plain_unseen = float(terms.unseen.mean()), float(terms.plain_unseen.mean())
    graph = judge.estimate(terms.graph, terms.graph, terms.graph_above, confidence)
    plain = judge.estimate(terms.plain, terms.plain, terms.plain_above, confidence)
    robust = None
    if oracle is not None:
        robust = judge.estimate(
            terms.robust, terms.robust_below, terms.robust_above, confidence, floor=FLOOR
        )
        if unseen > 0.0:  # the anytime-valid interval needs unbiased terms
            robust = replace(robust, anytime=None)
    difference = None if other is None else judge.difference(terms, other.all_terms(), confidence)
    if weights == "learned":  # nor does it hold for weights with an error of their own
        graph = replace(graph, anytime=None)
        robust = None if robust is None else replace(robust, anytime=None)
        difference = None if difference is None else replace(difference, anytime=None)
    return Evaluation(
        n_decisions,
        n_without_feedback,
        n_incomplete,
        unseen,
        plain_unseen,
        graph if unseen == 0.0 else None,
        plain if plain_unseen == 0.0 else None,
        robust,
        float(terms.silent.mean()),
        difference,
        weights,
    )


class _Judge:
    """Rounds go in one by one, their terms come out."""

    def __init__(self, target: Target, oracle: Oracle | None, low: float, high: float) -> None:
        self.target, self.oracle = target, oracle
        self.low, self.width = low, high - low
        self.rounds: list[JudgedRound] = []
        self.parts: list[RoundTerms] = []

    def add(self, row: LoggedDecision) -> None:
        """One decision that has all its feedback."""
        n_actions = row.graph.n_actions
        target = as_probabilities(self.target(row), n_actions)
        revealed, losses = np.zeros(n_actions, dtype=bool), np.zeros(n_actions)
        if row.feedback is not None:
            revealed[row.feedback.action_indices] = True
            losses[row.feedback.action_indices] = self._scaled(row.feedback, row.decision_id)
        self.rounds.append(
            JudgedRound(
                row.graph,
                target,
                row.probabilities,
                row.action_index,
                revealed,
                losses,
                self._predict_then_learn(row),
                row.informed,
            )
        )
        if len(self.rounds) == AT_A_TIME:
            self._work_out()

    def all_terms(self) -> RoundTerms:
        """The terms of all rounds so far, in order."""
        self._work_out()
        return RoundTerms(*(np.concatenate(terms) for terms in zip(*self.parts, strict=True)))

    def _work_out(self) -> None:
        self.parts.append(terms_of(self.rounds))
        self.rounds = []

    def _scaled(self, feedback: LoggedFeedback, decision_id: str) -> Floats:
        scaled: Floats = (feedback.losses - self.low) / self.width
        wrong = np.flatnonzero((scaled < 0.0) | (scaled > 1.0))
        if wrong.size:
            raise ValueError(
                f"losses must lie in loss_range ({self.low:g}, {self.low + self.width:g}), got "
                f"{feedback.losses[wrong[0]]:g} in the feedback for decision {decision_id}; "
                "give a range that contains all losses"
            )
        return scaled

    def _predict_then_learn(self, row: LoggedDecision) -> Floats | None:
        if self.oracle is None:
            return None
        answered = as_losses(self.oracle.predict(row.context, row.actions), row.graph.n_actions)
        if row.feedback is not None:
            self.oracle.update(row.context, row.feedback.actions, row.feedback.losses)
        return np.clip((answered - self.low) / self.width, 0.0, 1.0)

    def estimate(
        self, terms: Floats, below: Floats, above: Floats, confidence: float, *, floor: float = 0.0
    ) -> Estimate:
        """In the losses' own units; `below` and `above` are for the anytime-valid interval."""
        values = self.low + self.width * terms
        lower, upper = confidence_sequence(below, above, confidence=confidence, floor=floor)
        return Estimate(
            float(values.mean()),
            standard_error(values),
            normal_interval(values, confidence),
            Interval(
                self.low + self.width * float(lower[-1]), self.low + self.width * float(upper[-1])
            ),
        )

    def difference(self, mine: RoundTerms, other: RoundTerms, confidence: float) -> Estimate | None:
        """The mean of these rounds less that of others, which lies between -width and width."""
        if not (mine.unseen.any() or other.unseen.any()):
            values = self.width * (mine.graph - other.graph)
            below = 0.5 * (mine.graph + other.graph_above)
            above = 0.5 * (mine.graph_above + other.graph)
            ends = confidence_sequence(below, above, confidence=confidence)
            lower, upper = (self.width * (2.0 * float(end[-1]) - 1.0) for end in ends)
            anytime: Interval | None = Interval(lower, upper)
        elif self.oracle is not None:
            values, anytime = self.width * (mine.robust - other.robust), None
        else:
            return None
        error = standard_error(values)
        return Estimate(float(values.mean()), error, normal_interval(values, confidence), anytime)


def is_incomplete(row: LoggedDecision) -> bool:
    """Whether a loss is missing that the graph always reveals."""
    certain: Flags = row.graph.row(row.action_index) == 1.0
    if row.feedback is not None:
        certain[row.feedback.action_indices] = False
    return bool(certain.any())
