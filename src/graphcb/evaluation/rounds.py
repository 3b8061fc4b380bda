"""The terms of logged rounds, worked out for all rounds on one graph together.

Losses and predictions are scaled so that all losses lie in [0, 1].
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.estimates.terms import Flags, Floats, doubly_robust_terms, graph_terms, plain_terms
from graphcb.graphs import FeedbackGraph

# The doubly robust terms of the confidence sequence are at least -FLOOR: predictions are shrunk
# until none can be smaller.
FLOOR = 2.0
# Up to this number of actions the smallest term is found from what can be revealed together;
# above it, all actions are taken together, which is a bound.
LOOKED_AT = 512


class JudgedRound(NamedTuple):
    """One logged round; arrays over its actions. `predicted` is None without an oracle.

    If `informed` is False, the probabilities of the graph were learned and are not the true ones.
    """

    graph: FeedbackGraph
    target: Floats
    probabilities: Floats
    action: int
    revealed: Flags
    losses: Floats
    predicted: Floats | None
    informed: bool = True


class RoundTerms(NamedTuple):
    """One number per round. `above` are terms of 1 - loss, for the upper ends of intervals.

    `unseen` is the share of the target's play whose loss could not have been revealed. Of
    `plain_unseen`, the share that could not have been played and revealed, `silent` is the part
    on actions that never reveal their own loss. Where probabilities were learned, all actions
    that do not always reveal it count as silent: plain terms never have learned weights.
    """

    graph: Floats
    graph_above: Floats
    plain: Floats
    plain_above: Floats
    robust: Floats
    robust_below: Floats
    robust_above: Floats
    unseen: Floats
    plain_unseen: Floats
    silent: Floats


def terms_of(rounds: Sequence[JudgedRound]) -> RoundTerms:
    """The terms of rounds, in their order."""
    terms = np.zeros((len(RoundTerms._fields), len(rounds)))
    places: dict[FeedbackGraph, list[int]] = {}
    for place, judged in enumerate(rounds):
        places.setdefault(judged.graph, []).append(place)
    for graph, chosen in places.items():
        terms[:, chosen] = _terms_on_one_graph(graph, [rounds[place] for place in chosen])
    return RoundTerms(*terms)


def _terms_on_one_graph(graph: FeedbackGraph, rounds: Sequence[JudgedRound]) -> RoundTerms:
    target, p = _stack(rounds, "target"), _stack(rounds, "probabilities")
    revealed, losses = _stack(rounds, "revealed"), _stack(rounds, "losses")
    reveal = np.array([graph.reveal_probabilities(row) for row in p])
    own = graph.remember("self reveal", _self_reveal)
    if not rounds[0].informed:
        own = (own == 1.0).astype(np.float64)
    alone = p * own
    shown = revealed & (alone > 0.0)
    played = np.arange(graph.n_actions) == np.array([judged.action for judged in rounds])[:, None]
    robust = below = above = np.zeros(len(rounds))
    if rounds[0].predicted is not None:
        predicted = _stack(rounds, "predicted")
        robust = doubly_robust_terms(target, reveal, revealed, losses, predicted)
        shrunk = _shrunk(graph, p, target, reveal, predicted)
        below = doubly_robust_terms(target, reveal, revealed, losses, shrunk)
        shrunk = _shrunk(graph, p, target, reveal, 1.0 - predicted)
        above = doubly_robust_terms(target, reveal, revealed, 1.0 - losses, shrunk)
    return RoundTerms(
        graph_terms(target, reveal, revealed, losses),
        graph_terms(target, reveal, revealed, 1.0 - losses),
        plain_terms(target, alone, played, shown, losses),
        plain_terms(target, alone, played, shown, 1.0 - losses),
        robust,
        below,
        above,
        np.where(reveal > 0.0, 0.0, target).sum(axis=1),
        np.where(alone > 0.0, 0.0, target).sum(axis=1),
        np.where(own > 0.0, 0.0, target).sum(axis=1),
    )


def _stack(rounds: Sequence[JudgedRound], name: str) -> NDArray[Any]:
    return np.array([getattr(judged, name) for judged in rounds])


def _self_reveal(graph: FeedbackGraph) -> Floats:
    """The probability that each action reveals itself."""
    if graph.is_deterministic:
        return graph.structure.self_loops().astype(np.float64)
    return np.array([graph.row(action)[action] for action in range(graph.n_actions)])


def _shrunk(
    graph: FeedbackGraph, p: Floats, target: Floats, reveal: Floats, guess: Floats
) -> Floats:
    """The guesses, scaled down where a term could be smaller than -FLOOR.

    A term is smallest when all losses that are revealed together are 0. The factor is known
    before any loss is seen, so the terms stay unbiased.
    """
    weights = np.zeros(guess.shape)
    np.divide(target * guess, reveal, out=weights, where=reveal > 0.0)
    if graph.n_actions <= LOOKED_AT:
        possible = graph.remember("possible", lambda graph: (graph.matrix > 0.0).astype(float))
        worst = np.where(p > 0.0, weights @ possible.T, 0.0).max(axis=1)
    else:
        worst = weights.sum(axis=1)
    return np.asarray(guess * (FLOOR / np.maximum(worst, FLOOR))[:, None])
