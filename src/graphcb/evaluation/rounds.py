"""Settled decisions of a log go in one by one; what they say about some targets comes out.

Losses and predictions are scaled so that all losses lie in [0, 1].
"""

import copy
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_losses, as_probabilities
from graphcb.decisions import LoggedDecision
from graphcb.estimates.terms import (
    Floats,
    Terms,
    doubly_robust_terms,
    graph_terms,
    terms_by_action,
)
from graphcb.evaluation.guesses import Guesses
from graphcb.evaluation.settling import Settled, SettledRow
from graphcb.evaluation.targets import Target
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import Oracle

# Rounds that are held in memory; of earlier ones only the terms are kept.
AT_A_TIME = 1000
MOST_SQUARED = 64  # actions up to which all pairs of them are looked at


class LoggedRound(NamedTuple):
    """A settled decision, what its losses were guessed to be, and what each target plays.

    `predicted` is None without an oracle. The losses of `known` actions need no feedback. If
    `informed` is False, the probabilities of the graph were learned and are not the true ones.
    """

    settled: Settled
    action: int
    guess: Floats
    predicted: Floats | None
    targets: tuple[Floats, ...]
    informed: bool = True
    known: tuple[int, ...] = ()


class RoundTerms(NamedTuple):
    """What each round says about a target, (n,) each; the first five are `Terms`.

    `plain` is weighted by the probability of playing. Of `plain_unseen`, the share that could not
    have been played and revealed, `silent` is the part on actions that never reveal their own
    loss. Where probabilities were learned, all actions that do not always reveal it count as
    silent: plain terms never have learned weights. `mass` is what the target plays in all, `known`
    what of it needs no feedback, and `expected` and `plain_expected` what the square of its weight
    was to be before anything was drawn. `robust` are terms around an oracle's prediction
    `predicted`, `robust_below` and `robust_above` those for intervals, 0 without an oracle.
    """

    below: Floats
    above: Floats
    centred_below: Floats
    centred_above: Floats
    unseen: Floats
    plain: Floats
    plain_above: Floats
    plain_unseen: Floats
    silent: Floats
    mass: Floats
    known: Floats
    expected: Floats
    plain_expected: Floats
    predicted: Floats
    robust: Floats
    robust_below: Floats
    robust_above: Floats

    @property
    def terms(self) -> Terms:
        """Those with the graph."""
        return Terms(*self[:5])

    @property
    def weights(self) -> Floats:
        """Those of decisions."""
        return self.below + self.above

    @property
    def is_known(self) -> bool:
        """Whether nothing that the target plays needs feedback."""
        return bool((self.known >= self.mass - 1e-12).all())


class Rounds:
    """Rounds of a log, added in the order in which their decisions were made.

    A copy of the `oracle` predicts each round before it learns from it. `loss_range` scales the
    losses, which must lie in it, unless it `is_guessed`: `within_range` then says whether all do.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        oracle: Oracle | None = None,
        loss_range: tuple[float, float] = (0.0, 1.0),
        *,
        is_guessed: bool = False,
    ) -> None:
        self.targets, self.oracle = tuple(targets), copy.deepcopy(oracle)
        self.low, self.width = loss_range[0], loss_range[1] - loss_range[0]
        self.within_range, self._is_guessed = True, is_guessed
        self._guesses = Guesses()
        self._rounds: list[LoggedRound] = []
        self._parts: list[Floats] = []
        self._groups: list[int] = []
        self._squares = np.zeros(2)  # of errors of guesses and of predictions

    def add(self, settled_row: SettledRow) -> None:
        """One decision that is settled, with the graph by which it is weighed."""
        row, group = settled_row
        self._groups.append(group)
        n_actions = row.graph.n_actions
        revealed, losses = np.zeros(n_actions, dtype=bool), np.zeros(n_actions)
        if row.feedback is not None:
            revealed[row.feedback.action_indices] = True
            losses[row.feedback.action_indices] = self._scaled(row.feedback.losses, row.decision_id)
        names = tuple(map(str, range(n_actions) if row.actions is None else row.actions))
        settled = Settled(
            row.graph, names, row.probabilities, revealed, losses, group, row.all_probabilities
        )
        guess, predicted = self._guesses.add(settled), self._predict_then_learn(row)
        if predicted is not None:
            errors = np.stack([guess, predicted])[:, revealed] - losses[revealed]
            self._squares += (errors**2).sum(axis=1)
        self._rounds.append(
            LoggedRound(
                settled,
                row.action_index,
                guess,
                predicted,
                self._targets_of(row),
                row.informed,
                tuple(row.known or ()),
            )
        )
        if len(self._rounds) == AT_A_TIME:
            self._work_out()

    def terms(self) -> list[RoundTerms]:
        """The terms of all rounds so far, in order, for each target.

        If there are two, those of how far they are apart follow: of |p - q|, action by action.
        """
        self._work_out()
        together = np.concatenate(self._parts, axis=-1)
        return [RoundTerms(*one) for one in together]

    @property
    def explained(self) -> float:
        """The share of the squared errors of each action's mean that the oracle takes away."""
        of_means, of_oracle = self._squares.tolist()
        return 1.0 - of_oracle / of_means if of_means > 0.0 else 0.0

    @property
    def groups(self) -> NDArray[np.int64]:
        """The group of the action of each round, as `Answers` has it."""
        return np.array(self._groups, dtype=np.int64)

    def _work_out(self) -> None:
        n_targets = len(self.targets)
        self._parts.append(terms_of(self._rounds, 3 if n_targets == 2 else n_targets))
        self._rounds = []

    def _targets_of(self, row: LoggedDecision) -> tuple[Floats, ...]:
        n_actions = row.graph.n_actions
        found = tuple(as_probabilities(target(row), n_actions) for target in self.targets)
        return (*found, np.abs(found[0] - found[1])) if len(found) == 2 else found

    def _scaled(self, losses: Floats, decision_id: str) -> Floats:
        scaled: Floats = (losses - self.low) / self.width
        wrong = np.flatnonzero((scaled < 0.0) | (scaled > 1.0))
        if wrong.size and self._is_guessed:
            self.within_range = False
        elif wrong.size:
            raise ValueError(
                f"losses must lie in loss_range ({self.low:g}, {self.low + self.width:g}), got "
                f"{losses[wrong[0]]:g} in the feedback for decision {decision_id}; "
                "give a range that contains all losses"
            )
        return scaled

    def _predict_then_learn(self, row: LoggedDecision) -> Floats | None:
        if self.oracle is None:
            return None
        answered = as_losses(self.oracle.predict(row.context, row.actions), row.graph.n_actions)
        if row.feedback is not None:
            self.oracle.update(row.context, row.feedback.actions, row.feedback.losses)
        scaled: Floats = (answered - self.low) / self.width
        return np.clip(scaled, 0.0, 1.0) if self.within_range else scaled


def terms_of(rounds: Sequence[LoggedRound], n_targets: int) -> Floats:
    """The `RoundTerms` of rounds in their order, (n_targets, fields, n)."""
    terms = np.zeros((n_targets, len(RoundTerms._fields), len(rounds)))
    places: dict[FeedbackGraph, list[int]] = {}
    for place, one in enumerate(rounds):
        places.setdefault(one.settled.graph, []).append(place)
    for graph, chosen in places.items():
        terms[:, :, chosen] = _on_one_graph(graph, [rounds[place] for place in chosen])
    return terms


def _on_one_graph(graph: FeedbackGraph, rounds: Sequence[LoggedRound]) -> Floats:
    p = np.array([one.settled.probabilities for one in rounds])
    revealed = np.array([one.settled.revealed for one in rounds])
    losses = np.array([one.settled.losses for one in rounds])
    reveal = np.array([graph.reveal_probabilities(row) for row in p])
    by_action = terms_by_action(reveal, revealed, losses, np.array([one.guess for one in rounds]))
    own = graph.own_chances
    if not rounds[0].informed:
        own = (own == 1.0).astype(np.float64)
    alone = p * own
    played = np.arange(graph.n_actions) == np.array([one.action for one in rounds])[:, None]
    # Without the graph: the loss of the played action alone, by the probability of seeing it so.
    own_seen = played & revealed & (alone > 0.0)
    weight = np.zeros(reveal.shape)
    np.divide(1.0, reveal, out=weight, where=reveal > 0.0)
    predicted = around = None
    if rounds[0].predicted is not None:
        predicted = np.array([one.predicted for one in rounds])
        around = terms_by_action(reveal, revealed, losses, predicted)
    found = []
    for place in range(len(rounds[0].targets)):
        target = np.array([one.targets[place] for one in rounds])
        robust = [np.zeros(len(rounds))] * 4
        if predicted is not None and around is not None:
            mean = doubly_robust_terms(target, reveal, revealed, losses, predicted)
            centred = around.of(target)
            model = (target * predicted).sum(axis=1)
            robust = [model, mean, centred.centred_below, centred.centred_above]
        found.append(
            [
                *by_action.of(target),
                graph_terms(target, alone, own_seen, losses),
                graph_terms(target, alone, own_seen, 1.0 - losses),
                np.where(alone > 0.0, 0.0, target).sum(axis=1),
                np.where(own > 0.0, 0.0, target).sum(axis=1),
                target.sum(axis=1),
                [part[list(one.known)].sum() for part, one in zip(target, rounds, strict=True)],
                _expected_squares(graph, p, target, target * weight),
                np.divide(target**2, alone, out=np.zeros(p.shape), where=alone > 0.0).sum(axis=1),
                *robust,
            ]
        )
    return np.array(found)


def _expected_squares(graph: FeedbackGraph, p: Floats, target: Floats, u: Floats) -> Floats:
    """Of the weight, the sum of u over what is revealed: E w^2, or a lower bound if K is large."""
    if graph.n_actions > MOST_SQUARED:
        return np.asarray((target * u).sum(axis=1))
    edges = graph.matrix
    means, variances = u @ edges.T, (u * u) @ (edges * (1.0 - edges)).T
    return np.asarray((p * (means * means + variances)).sum(axis=1))
