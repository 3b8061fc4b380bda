"""Importance-weighted terms: what each logged decision says about the loss of another policy.

Arrays have the actions on their last axis, and any axes before it. `target` are the probabilities
of the policy that is evaluated. There is one term per decision. All kinds are unbiased if every
action that `target` plays could have been revealed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Terms around a guess are at least -FLOOR, as the confidence sequence requires. Of 1, 2, 5, 10
# and 20, this one has the narrowest intervals (`make bench-evaluation`, decision note 0015).
FLOOR = 10.0


class Terms(NamedTuple):
    """What decisions say about actions (..., K), or about policies. Losses are scaled to [0, 1].

    `below` are importance-weighted losses, `above` those of 1 - loss, for upper ends; together
    they are the weight of a decision, which is 1 on average. `centred_below` and `centred_above`
    are the same around a guess. `unseen` is the share that could not have been revealed: it
    counts as loss 0 below, and as loss 1 above.
    """

    below: Floats
    above: Floats
    centred_below: Floats
    centred_above: Floats
    unseen: Floats

    def of(self, target: Floats) -> "Terms":
        """Terms of a policy from those of the actions."""
        return Terms(*((target * part).sum(axis=-1) for part in self))


def terms_by_action(
    reveal_probabilities: Floats,
    revealed: Flags,
    losses: Floats,
    guess: Floats,
    *,
    floor: float = FLOOR,
) -> Terms:
    """The terms of each action, played in every round.

    A guess, made before the losses were seen, is cut at `floor` times the probability of seeing
    the loss: no term around it is then below -floor, nor is a mean of such terms. Around NaN, no
    guess, terms are the plain ones.
    """
    weights = np.zeros(losses.shape)
    could = reveal_probabilities > 0.0
    np.divide(1.0, reveal_probabilities, out=weights, where=revealed & could)
    most = floor * reveal_probabilities
    below, above = np.minimum(guess, most), np.minimum(1.0 - guess, most)
    if np.isnan(guess).any():
        below, above = (np.where(np.isnan(guess), 0.0, cut) for cut in (below, above))
    return Terms(
        weights * losses,
        weights * (1.0 - losses),
        below + weights * (losses - below),
        above + weights * (1.0 - losses - above),
        (~could).astype(np.float64),
    )


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
