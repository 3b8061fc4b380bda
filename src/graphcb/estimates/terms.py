"""Importance-weighted terms: what each logged decision says about the loss of another policy.

Arrays have the actions on their last axis, and any axes before it. `target` are the probabilities
of the policy that is evaluated. There is one term per decision, and their mean is the estimate.
All three kinds are unbiased if every action that `target` plays could have been revealed.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def graph_terms(
    target: Floats, reveal_probabilities: Floats, revealed: Flags, losses: Floats
) -> Floats:
    """Every revealed loss, with the probability that it was *revealed* as its propensity.

    sum over revealed a of target_a * loss_a / reveal_probabilities_a; the entries of `losses` for
    other actions do not matter.

    >>> half = np.array([0.5, 0.5])
    >>> graph_terms(half, np.array([1.0, 0.5]), np.array([True, True]), np.array([0.2, 0.4]))
    array(0.5)
    """
    weights = np.zeros(np.broadcast_shapes(target.shape, reveal_probabilities.shape, losses.shape))
    np.divide(target, reveal_probabilities, out=weights, where=revealed)
    return np.asarray(np.where(revealed, weights * losses, 0.0).sum(axis=-1))


def plain_terms(
    target: Floats, self_probabilities: Floats, played: Flags, revealed: Flags, losses: Floats
) -> Floats:
    """The loss of the played action only, divided by the probability of playing and seeing it.

    `self_probabilities` are probabilities * graph.matrix.diagonal(); `played` marks the action.
    This is inverse propensity weighting without a graph, for comparison.
    """
    return graph_terms(target, self_probabilities, played & revealed, losses)


def doubly_robust_terms(
    target: Floats,
    reveal_probabilities: Floats,
    revealed: Flags,
    losses: Floats,
    predicted_losses: Floats,
) -> Floats:
    """The predicted loss of `target`, corrected by the importance-weighted errors that were seen.

    Unbiased whatever the predictions, if they were made before these losses were seen. The better
    the predictions, the smaller the variance.
    """
    predicted = (target * predicted_losses).sum(axis=-1)
    errors = losses - predicted_losses
    return np.asarray(predicted + graph_terms(target, reveal_probabilities, revealed, errors))
