"""The prior variances of pairs of a feature of an action and one of the context, learned.

That of a pair is the product of what its two features are worth. Names of actions may say much,
and nothing of the context matter to any: then its constant is worth much, and the rest little. Both
factors are estimated by the fixed point of `priors`, one after the other, from the same weights.
"""

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count
from graphcb.compilation import compiled
from graphcb.loaded import Array, Learned
from graphcb.oracles.features import DENSE_CONSTANT, SPARSE_CONSTANT
from graphcb.oracles.priors import CONSTANT_VARIANCE, LEAST, LEAST_LOSSES, MOST, estimate_group
from graphcb.oracles.rows import Columns, Floats

PRIOR_VARIANCE = 10.0  # of all pairs at first


class PairPriors:
    """What features are worth, by place, and at the end what an unseen one is.

    Those of actions are relative to 1, and their constant has place 0. That of contexts has the
    last place of `n_dense` features, or place 0 for sparse ones (0): under its prior every mean
    loss is about as likely.
    """

    learned = Learned(
        actions=Array(None, least=LEAST / PRIOR_VARIANCE, most=MOST),
        contexts=Array(None, least=LEAST, most=MOST),
    )

    def __init__(self, n_dense: int) -> None:
        self.n_dense = as_count("n_dense", n_dense, at_least=0)
        square = DENSE_CONSTANT**2 / n_dense if n_dense else SPARSE_CONSTANT**2
        self.actions = np.ones(2)
        self.contexts = np.full(self.constant + 2, PRIOR_VARIANCE)
        self.contexts[self.constant] = min(PRIOR_VARIANCE, CONSTANT_VARIANCE / square)

    @property
    def constant(self) -> int:
        """The place of the constant of contexts."""
        return max(self.n_dense - 1, 0)

    def check_loaded(self) -> None:
        """Refuse what lacks the constants."""
        if self.actions.size < 2 or self.contexts.size < max(self.n_dense, 1) + 1:
            raise ValueError("`actions` and `contexts` must have their constants and what is new")

    def of(self, actions: Columns, contexts: Columns) -> Floats:
        """The prior variances of these pairs."""
        found: Floats = self.actions[actions] * self.contexts[contexts]
        return found

    def relearn(
        self,
        actions: Columns,
        contexts: Columns,
        squares: Floats,
        variances: Floats,
        seen: Floats,
        n_contexts: int,
        most: float,
    ) -> Floats:
        """Estimate them again; the precision that this adds to each of these pairs.

        `squares` are those of the weights of pairs, relative to the noise. Features of actions that
        were `seen` in few losses have no say, as most losses of a bad action are alike, and are
        worth what others of their kind are.
        """
        self._grow(seen.size, n_contexts)
        before, says = self.of(actions, contexts), seen >= LEAST_LOSSES
        says[0] = False  # the constant of actions, which does not tell them apart
        if not says.any():
            return np.zeros(before.size)
        known = says[actions] * (1.0 - variances / before).clip(0.0, 1.0)
        heard = says[actions] * squares
        told = _sums(contexts, known, n_contexts)
        found = _sums(contexts, heard / self.actions[actions], n_contexts)
        is_constant = np.arange(n_contexts) == self.constant
        _estimate(self.contexts, is_constant, found, told, PRIOR_VARIANCE, most)
        level = _estimate(self.contexts, ~is_constant, found, told, PRIOR_VARIANCE, most)
        self.contexts[-1] = level
        told = _sums(actions, known, seen.size)
        found = _sums(actions, heard / self.contexts[contexts], seen.size)
        level = _estimate(self.actions, says, found, told, 1.0, most / PRIOR_VARIANCE)
        self.actions[-1] = level
        self.actions[:-1][~says] = level
        return 1.0 / self.of(actions, contexts) - 1.0 / before

    def _grow(self, n_actions: int, n_contexts: int) -> None:
        """Room for so many features; new ones are worth what was said of unseen ones."""
        self.actions = _grown(self.actions, n_actions)
        self.contexts = _grown(self.contexts, n_contexts)


def _estimate(
    worth: Floats,
    group: NDArray[np.bool_],
    squares: Floats,
    told: Floats,
    at_first: float,
    most: float,
) -> float:
    """Estimate what the features of a group are worth; the group's level, or what is unseen."""
    places = np.flatnonzero(group)
    if places.size == 0:
        return float(worth[-1])
    level, worth[places] = estimate_group(
        squares[places], told[places], float(np.median(worth[places])), at_first, most
    )
    return level


def _sums(places: Columns, values: Floats, n: int) -> Floats:
    """The sum of the values at each of n places."""
    return np.bincount(places, values, n).astype(np.float64, copy=False)


def _grown(worth: Floats, n: int) -> Floats:
    return np.append(worth, np.full(max(n + 1 - worth.size, 0), worth[-1]))


@compiled
def prior_of(worth: Floats, place: int) -> float:
    """What the feature at a place is worth; -1 is one that was never seen."""
    return float(worth[min(place, worth.size - 1)])
