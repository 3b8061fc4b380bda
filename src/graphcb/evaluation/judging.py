"""From a log to the loss of another policy."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from graphcb.checks import as_losses, as_probabilities, as_range
from graphcb.decisions import LoggedDecision, LoggedFeedback
from graphcb.decisions.replaying import pick
from graphcb.evaluation.intervals import (
    Interval,
    check_confidence,
    confidence_sequence,
    normal_interval,
    standard_error,
)
from graphcb.evaluation.rounds import FLOOR, JudgedRound, RoundTerms, terms_of
from graphcb.evaluation.targets import Target
from graphcb.evaluation.terms import Flags, Floats
from graphcb.oracles import Oracle

# So many rounds are held in memory; of all others only their terms are kept.
AT_A_TIME = 1000


@dataclass(frozen=True)
class Estimate:
    """The mean loss a policy would have had, and two intervals for it.

    `normal` is for looking once; `anytime` stays right however often one looks.
    """

    value: float
    standard_error: float
    normal: Interval
    anytime: Interval | None


@dataclass(frozen=True)
class Evaluation:
    """What a log says about a policy.

    An estimate is None where the log cannot give it: `unseen_share` of the policy's play was on
    actions whose loss could not have been seen, or `plain_unseen_share` on actions that do not
    show themselves; the doubly robust one then trusts the oracle for that share.
    """

    n_decisions: int
    n_without_feedback: int
    n_incomplete: int
    unseen_share: float
    plain_unseen_share: float
    graph: Estimate | None
    plain: Estimate | None
    doubly_robust: Estimate | None

    @property
    def n_used(self) -> int:
        """Decisions that the estimates are made of."""
        return self.n_decisions - self.n_without_feedback - self.n_incomplete


def evaluate(
    rows: Iterable[LoggedDecision],
    target: Target,
    *,
    oracle: Oracle | None = None,
    loss_range: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
) -> Evaluation:
    """Estimate the mean loss of `target` from the decisions of a log.

    `rows` is a `DecisionLog` or a part of one. With an untrained `oracle` the doubly robust
    estimate is made too: a copy predicts each round before it learns it. All losses must lie in
    `loss_range`, for the anytime-valid intervals. Decisions without feedback are left out, which
    is right if feedback is missing by chance, and so are those whose feedback lacks a loss that
    the graph reveals for certain. An action that reveals nothing needs no feedback. A policy
    that was trained on these rows looks better than it is: judge it on later ones.

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
    low, high = as_range("loss_range", loss_range)
    judge = _Judge(target, None if oracle is None else copy.deepcopy(oracle), low, high)
    n_decisions = n_without_feedback = n_incomplete = 0
    for row in rows:
        n_decisions += 1
        if row.feedback is None and row.graph.row(row.action).any():
            n_without_feedback += 1
        elif _is_incomplete(row):
            n_incomplete += 1
        else:
            judge.add(row)
    if n_decisions == n_without_feedback + n_incomplete:
        raise ValueError(
            f"the log must have decisions with feedback to judge by, got {n_decisions} decisions, "
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
        if unseen > 0.0:  # the interval at any time needs terms that are unbiased
            robust = replace(robust, anytime=None)
    return Evaluation(
        n_decisions,
        n_without_feedback,
        n_incomplete,
        unseen,
        plain_unseen,
        graph if unseen == 0.0 else None,
        plain if plain_unseen == 0.0 else None,
        robust,
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
            revealed[row.feedback.actions] = True
            losses[row.feedback.actions] = self._scaled(row.feedback, row.decision_id)
        self.rounds.append(
            JudgedRound(
                row.graph,
                target,
                row.probabilities,
                row.action,
                revealed,
                losses,
                self._predict_then_learn(row),
            )
        )
        if len(self.rounds) == AT_A_TIME:
            self._work_out()

    def all_terms(self) -> RoundTerms:
        """Of all rounds so far, in their order."""
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
                "give the range that holds for all"
            )
        return scaled

    def _predict_then_learn(self, row: LoggedDecision) -> Floats | None:
        if self.oracle is None:
            return None
        answered = as_losses(self.oracle.predict(row.context, row.actions), row.graph.n_actions)
        if row.feedback is not None:
            chosen = pick(row.actions, row.feedback.actions)
            self.oracle.update(row.context, chosen, row.feedback.losses)
        return np.clip((answered - self.low) / self.width, 0.0, 1.0)

    def estimate(
        self,
        terms: Floats,
        below: Floats,
        above: Floats,
        confidence: float,
        *,
        floor: float = 0.0,
    ) -> Estimate:
        """In the losses' own units; `below` and `above` are terms for the interval at any time."""
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


def _is_incomplete(row: LoggedDecision) -> bool:
    """Whether a loss is missing that the graph says is always revealed."""
    certain: Flags = row.graph.row(row.action) == 1.0
    if row.feedback is not None:
        certain[row.feedback.actions] = False
    return bool(certain.any())
