"""The models inside the default oracle: one for dense contexts, one for sparse ones.

Both work on shares of the loss range. `predict` and `learn` trust their input: they take what
`read` made of a context.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from graphcb.compilation import compiled
from graphcb.oracles.bayesian import BayesianLogistic
from graphcb.oracles.features import DenseFeatures, SparseFeatures
from graphcb.oracles.posterior import mean_shares
from graphcb.oracles.rows import Columns, Floats, SparseRow, every_index

PRODUCTS_UP_TO = 64  # dense features, which have 2,080 products
FULL_UP_TO = 256  # features with a full covariance,
FULL_ENTRIES = 4_000_000  # and 32 MB for the covariances of all actions

RATE = 2.0  # at which weights fall with squared errors: Vovk's for losses between 0 and 1


class Blend(NamedTuple):
    """Mean shares, their leverages, and the variance of the members' answers about the mean."""

    shares: Floats
    leverages: Floats
    disagreements: Floats


class DenseBlend:
    """A full covariance on the features and a diagonal one on features and products, weighed.

    With more than 64 features there are no products and the full one is alone; with more than
    256, or too many actions for its memory, it is the diagonal one that is.
    """

    def __init__(self, n_actions: int, n_features: int) -> None:
        self.features = DenseFeatures(n_features, products=n_features <= PRODUCTS_UP_TO)
        self.members: list[BayesianLogistic] = []
        linear, places = self.features.n_linear, self.features.n_places
        if affords_full(n_actions, linear):
            self.members.append(BayesianLogistic(n_actions, linear))
        if places > linear or not self.members:
            self.members.append(BayesianLogistic(n_actions, places, covariance="diagonal"))
        self.log_weights = np.zeros(len(self.members))

    def read(self, context: Any) -> Floats:
        """The context, checked."""
        return self.features.read(context)

    def predict(self, x: Any, columns: Columns) -> Blend:
        """The members' answers together."""
        values = self.features.scale(x)
        answers = [member.scores(_head(values, member), columns) for member in self.members]
        if len(answers) == 1:
            scores, leverages = answers[0]
            return Blend(mean_shares(scores, leverages), leverages, np.zeros(columns.size))
        (scores, leverages), (more_scores, more_leverages) = answers
        weight = 1.0 / (1.0 + math.exp(self.log_weights[1] - self.log_weights[0]))
        return Blend(*_mix(scores, leverages, more_scores, more_leverages, weight))

    def learn(self, x: Any, columns: Columns, shares: Floats) -> None:
        """Weigh the members by what they predicted, let them learn, and count the context."""
        values = self.features.scale(x)
        for m, member in enumerate(self.members):
            row = _head(values, member)
            if len(self.members) > 1:
                errors = mean_shares(*member.scores(row, columns)) - shares
                self.log_weights[m] -= RATE * float(errors @ errors)
            member.learn(row, columns, shares)
        self.log_weights -= self.log_weights.max()
        self.features.learn(x)

    def grow(self, n_actions: int) -> None:
        """Make room for more actions."""
        for member in self.members:
            member.grow(n_actions, member.n_features)


class SparseBlend:
    """A full covariance while few features have been seen, then a diagonal one, which learns along.

    One-hot tables keep the first; text soon has the second.
    """

    def __init__(self, n_actions: int) -> None:
        self.features = SparseFeatures()
        self.full: BayesianLogistic | None = None
        if affords_full(n_actions, 1):
            self.full = BayesianLogistic(n_actions, 1)
        self.diagonal = BayesianLogistic(n_actions, 1, covariance="diagonal")

    def read(self, context: Any) -> SparseRow:
        """The context, checked."""
        return self.features.read(context)

    def predict(self, x: Any, columns: Columns) -> Blend:
        """The answer of the full member while there is one."""
        row, novelty = self.features.scale(x)
        member = self.diagonal if self.full is None else self.full
        scores, leverages = member.scores(row, columns)
        leverages += novelty * member.prior_variance
        return Blend(mean_shares(scores, leverages), leverages, np.zeros(columns.size))

    def learn(self, x: Any, columns: Columns, shares: Floats) -> None:
        """Give new features a place, then let the members learn."""
        self.features.learn(x)
        self._make_room(self.diagonal.n_actions)
        row, _ = self.features.scale(x)
        if self.full is not None:
            self.full.learn(row, columns, shares)
        self.diagonal.learn(row, columns, shares)

    def grow(self, n_actions: int) -> None:
        """Make room for more actions."""
        self._make_room(n_actions)

    def _make_room(self, n_actions: int) -> None:
        """Grow with actions and features, in doubles; a full covariance that is too large goes."""
        places = self.features.n_places
        if self.full is not None and _lacks_room(self.full, n_actions, places):
            larger = max(self.full.n_features, min(2 * places, FULL_UP_TO))
            if affords_full(n_actions, max(places, larger)):
                self.full.grow(n_actions, max(places, larger))
            else:
                self.full = None
        if _lacks_room(self.diagonal, n_actions, places):
            self.diagonal.grow(n_actions, max(self.diagonal.n_features, 2 * places))


def affords_full(n_actions: int, n_features: int) -> bool:
    """Whether a full covariance of these sizes is kept."""
    return n_features <= FULL_UP_TO and n_actions * n_features * n_features <= FULL_ENTRIES


def _lacks_room(member: BayesianLogistic, n_actions: int, n_features: int) -> bool:
    return member.n_actions < n_actions or member.n_features < n_features


def _head(values: Floats, member: BayesianLogistic) -> SparseRow:
    """The part of a dense row that this member knows."""
    return every_index(member.n_features), values[: member.n_features]


@compiled
def _mix(
    scores: Floats,
    leverages: Floats,
    more_scores: Floats,
    more_leverages: Floats,
    weight: float,
) -> tuple[Floats, Floats, Floats]:
    """The mean of two answers, and their variance about it; `weight` is that of the first."""
    first, second = mean_shares(scores, leverages), mean_shares(more_scores, more_leverages)
    shares = weight * first + (1.0 - weight) * second
    disagreements = weight * (1.0 - weight) * (first - second) ** 2
    return shares, weight * leverages + (1.0 - weight) * more_leverages, disagreements
