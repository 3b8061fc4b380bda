"""From a log to the loss of another policy."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_losses, as_probabilities
from graphcb.decisions import LoggedDecision
from graphcb.decisions.replaying import pick
from graphcb.evaluation.intervals import (
    Interval,
    check_confidence,
    confidence_sequence,
    normal_interval,
    standard_error,
)
from graphcb.evaluation.targets import Target
from graphcb.evaluation.terms import doubly_robust_terms, graph_terms, plain_terms
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import Oracle

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# How far below 0 a doubly robust term of the confidence sequence may fall; predictions are
# shrunk until none can fall further.
FLOOR = 2.0
# Up to so many actions, what can be revealed together is looked at, not bounded by everything.
LOOKED_AT = 512


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
    low, high = loss_range
    if not low < high:
        raise ValueError(f"`loss_range` must be (low, high) with low < high, got {loss_range}")
    sums = _Terms(None if oracle is None else copy.deepcopy(oracle), low, high)
    n_decisions = n_without_feedback = n_incomplete = 0
    for row in rows:
        n_decisions += 1
        if row.feedback is None and row.graph.row(row.action).any():
            n_without_feedback += 1
        elif _is_incomplete(row):
            n_incomplete += 1
        else:
            sums.add(row, as_probabilities(target(row), row.graph.n_actions))
    if not sums.graph:
        raise ValueError(
            f"the log must have decisions with feedback to judge by, got {n_decisions} decisions, "
            f"{n_without_feedback} of them without feedback and {n_incomplete} with part of it"
        )
    unseen, plain_unseen = sums.unseen / len(sums.graph), sums.plain_unseen / len(sums.graph)
    return Evaluation(
        n_decisions,
        n_without_feedback,
        n_incomplete,
        unseen,
        plain_unseen,
        sums.graph_estimate(confidence) if unseen == 0.0 else None,
        sums.plain_estimate(confidence) if plain_unseen == 0.0 else None,
        sums.robust_estimate(confidence, anytime=unseen == 0.0) if sums.oracle else None,
    )


@dataclass
class _Terms:
    """The terms of each estimate, in units in which losses lie in [0, 1]."""

    oracle: Oracle | None
    low: float
    high: float
    unseen: float = 0.0
    plain_unseen: float = 0.0
    graph: list[float] = field(default_factory=list)
    graph_above: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    plain_above: list[float] = field(default_factory=list)
    robust: list[float] = field(default_factory=list)
    robust_below: list[float] = field(default_factory=list)
    robust_above: list[float] = field(default_factory=list)

    def add(self, row: LoggedDecision, target: Floats) -> None:
        """One decision with its feedback."""
        seen, losses = self._read(row)
        reveal = row.graph.reveal_probabilities(row.probabilities)
        played = np.arange(target.size) == row.action
        alone = row.probabilities * _self_reveal(row.graph)
        self.unseen += float(target[reveal == 0.0].sum())
        self.plain_unseen += float(target[alone == 0.0].sum())
        for terms, above in ((losses, False), (1.0 - losses, True)):
            into = (self.graph_above, self.plain_above) if above else (self.graph, self.plain)
            into[0].append(float(graph_terms(target, reveal, seen, terms)))
            into[1].append(float(plain_terms(target, alone, played, seen, terms)))
        if self.oracle is not None:
            self._add_robust(self.oracle, row, target, reveal, seen, losses)

    def _read(self, row: LoggedDecision) -> tuple[Flags, Floats]:
        seen, losses = np.zeros(row.graph.n_actions, dtype=bool), np.zeros(row.graph.n_actions)
        if row.feedback is not None:
            wrong = np.flatnonzero(
                (row.feedback.losses < self.low) | (row.feedback.losses > self.high)
            )
            if wrong.size:
                raise ValueError(
                    f"losses must lie in loss_range ({self.low:g}, {self.high:g}), got "
                    f"{row.feedback.losses[wrong[0]]:g} in the feedback for decision "
                    f"{row.decision_id}; give the range that holds for all"
                )
            seen[row.feedback.actions] = True
            scaled = (row.feedback.losses - self.low) / (self.high - self.low)
            losses[row.feedback.actions] = scaled
        return seen, losses

    def _add_robust(
        self,
        oracle: Oracle,
        row: LoggedDecision,
        target: Floats,
        reveal: Floats,
        seen: Flags,
        losses: Floats,
    ) -> None:
        answered = as_losses(oracle.predict(row.context, row.actions), row.graph.n_actions)
        predicted = np.clip((answered - self.low) / (self.high - self.low), 0.0, 1.0)
        self.robust.append(float(doubly_robust_terms(target, reveal, seen, losses, predicted)))
        for into, true, guess in (
            (self.robust_below, losses, predicted),
            (self.robust_above, 1.0 - losses, 1.0 - predicted),
        ):
            shrunk = guess * _shrinkage(row, target, reveal, guess)
            into.append(float(doubly_robust_terms(target, reveal, seen, true, shrunk)))
        if row.feedback is not None:
            chosen = pick(row.actions, row.feedback.actions)
            oracle.update(row.context, chosen, row.feedback.losses)

    def graph_estimate(self, confidence: float) -> Estimate:
        """With every revealed loss."""
        return self._estimate(self.graph, self.graph, self.graph_above, confidence, 0.0)

    def plain_estimate(self, confidence: float) -> Estimate:
        """With the played losses alone."""
        return self._estimate(self.plain, self.plain, self.plain_above, confidence, 0.0)

    def robust_estimate(self, confidence: float, *, anytime: bool) -> Estimate:
        """With the oracle's help; its interval at any time only where all could be seen."""
        below, above = (self.robust_below, self.robust_above) if anytime else ([], [])
        return self._estimate(self.robust, below, above, confidence, FLOOR)

    def _estimate(
        self,
        terms: list[float],
        below: list[float],
        above: list[float],
        confidence: float,
        floor: float,
    ) -> Estimate:
        values = self.low + (self.high - self.low) * np.array(terms)
        anytime = None
        if below:
            lower, upper = confidence_sequence(
                np.array(below), np.array(above), confidence=confidence, floor=floor
            )
            width = self.high - self.low
            anytime = Interval(
                self.low + width * float(lower[-1]), self.low + width * float(upper[-1])
            )
        return Estimate(
            float(values.mean()),
            standard_error(values),
            normal_interval(values, confidence),
            anytime,
        )


def _is_incomplete(row: LoggedDecision) -> bool:
    """Whether a loss is missing that the graph says is always revealed."""
    certain = row.graph.row(row.action) == 1.0
    if row.feedback is not None:
        certain[row.feedback.actions] = False
    return bool(certain.any())


def _self_reveal(graph: FeedbackGraph) -> Floats:
    """How likely each action shows itself."""

    def diagonal(graph: FeedbackGraph) -> Floats:
        if graph.is_deterministic:
            return graph.structure.self_loops().astype(np.float64)
        return np.array([graph.row(action)[action] for action in range(graph.n_actions)])

    return graph.remember("self reveal", diagonal)


def _shrinkage(row: LoggedDecision, target: Floats, reveal: Floats, guess: Floats) -> float:
    """By what to multiply the guesses so that no term can fall below -FLOOR.

    A term is least when all losses that are revealed together are 0. Known before any is seen.
    """
    weights = np.zeros(target.size)
    np.divide(target * guess, reveal, out=weights, where=reveal > 0.0)
    if row.graph.n_actions <= LOOKED_AT:
        possible = row.graph.remember("possible", lambda graph: graph.matrix > 0.0)
        worst = float((possible[row.probabilities > 0.0] @ weights).max())
    else:
        worst = float(weights.sum())
    return min(1.0, FLOOR / worst) if worst > 0.0 else 1.0
