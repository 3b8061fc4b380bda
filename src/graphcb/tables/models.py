"""Models that are fitted to a sample of a table: how likely actions were, and what they bring.

With cross-fitting there are two of each, one for the rows with an even hash, fitted to those with
an odd one, and the other way round: no prediction has seen its own row. Where rows repeat each
other, a hash cannot split them: one model, fitted to all, serves all rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.estimates.terms import Floats
from graphcb.tables.columns import Codes, Vocabulary
from graphcb.tables.design import Design
from graphcb.tables.rows import ReadRows, Sets
from graphcb.tables.sampling import row_hashes


class Calibration(NamedTuple):
    """How well estimated probabilities fit rows that they were not fitted to.

    `gap` is by how much they miss the shares that were played, over groups of similar
    probabilities, as a share of all decisions; `chance` is what is to be expected of it by chance.
    `log_loss` is per decision, beside that of the shares of the actions alone. `smallest` is the
    smallest probability of an action that was played, `below` the share of rows in which that of
    some action is less than 1 %.
    """

    n: int
    gap: float
    chance: float
    log_loss: float
    log_loss_of_shares: float
    smallest: float
    below: float

    @property
    def fails(self) -> bool:
        """Whether the probabilities are further off than chance explains."""
        return self.gap > 0.02 and self.gap > 3.0 * self.chance

    def warnings(self) -> list[str]:
        """What is bad about it, and what to do."""
        found = []
        if self.fails:
            found.append(
                f"estimated probabilities miss the shares that were played by {self.gap:.1%}, so "
                "intervals are withheld: give `features` that say how actions were chosen, and "
                "none that was known only afterwards"
            )
        if self.below > 0.05:
            found.append(
                f"in {self.below:.1%} of the rows some action had an estimated probability below "
                "1 %: little overlap with a policy that plays it there"
            )
        return found


@dataclass(frozen=True)
class Linear:
    """Coefficients by fold (n_folds, K, d + 1), the constant last; rows by hash if two folds."""

    design: Design
    actions: tuple[str, ...]
    coefficients: Floats
    hashed: tuple[str, ...]
    words: tuple[str | None, ...] = ()  # among them, those that hold names

    def parts(self, rows: ReadRows) -> tuple[Floats, NDArray[np.int64]]:
        """Features of rows, and the fold that predicts each."""
        features = self.design.matrix(rows.batch, rows.place)
        if self.coefficients.shape[0] == 1:
            return features, np.zeros(rows.n, dtype=np.int64)
        hashes = row_hashes(rows.batch, self.hashed, rows.place, self.words)
        return features, folds_of(hashes)

    def codes(self, rows: ReadRows) -> Codes:
        """The number of the played action among those of the model."""
        known = Vocabulary(self.actions)
        return np.array([known.find(name) for name in rows.vocabulary.names])[rows.codes]


@dataclass(frozen=True)
class Propensities:
    """Estimated probabilities of actions: a logistic model, mixed with the shares of actions."""

    linear: Linear
    shares: Floats  # of actions in the table
    mixed: float  # how much of them
    calibration: Calibration | None = None

    def applied(self, rows: ReadRows) -> ReadRows:
        """Rows with the estimated probability of what was played."""
        codes = self.linear.codes(rows)
        if not self.linear.design.parts:
            return rows._replace(probability=self.shares[codes])
        features, folds = self.linear.parts(rows)
        every = softmax(scores(features, folds, self.linear.coefficients))
        likely = every[np.arange(rows.n), codes]
        mixture = (1.0 - self.mixed) * likely + self.mixed * self.shares[codes]
        return rows._replace(probability=mixture)


@dataclass(frozen=True)
class Outcomes:
    """Predicted values of actions: a ridge regression for each, within the range of values."""

    linear: Linear
    value_range: tuple[float, float]
    explained: float  # of squared errors around the mean of each action, on rows held out

    def predict(self, rows: ReadRows) -> tuple[Sets, Floats]:
        """Values of all actions of the rows, and which actions these are."""
        known = Vocabulary(self.linear.actions)
        sets = rows.sets
        if sets is None:
            codes = [rows.vocabulary.code(name) for name in self.linear.actions]
            sets = Sets.same(np.array(codes, dtype=np.int64), rows.n)
        places = np.array([known.find(name) for name in rows.vocabulary.names])[sets.codes]
        features, folds = self.linear.parts(rows)
        return sets, _values_of(features, folds, self.linear.coefficients, sets.ends, places,
                                *self.value_range)  # fmt: skip


def folds_of(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The fold of each row, 0 or 1."""
    return (hashes & np.uint64(1)).astype(np.int64)


@compiled
def scores(features: Floats, folds: NDArray[np.int64], coefficients: Floats) -> Floats:
    """Of each action, (n, K); row by row, so that the bits do not depend on the batch."""
    n, n_features = features.shape
    found = np.empty((n, coefficients.shape[1]))
    for i in range(n):
        mine = coefficients[folds[i]]
        for a in range(found.shape[1]):
            total = mine[a, n_features]
            for k in range(n_features):
                total += features[i, k] * mine[a, k]
            found[i, a] = total
    return found


def softmax(found: Floats) -> Floats:
    """Scores (n, K) as probabilities."""
    shares = np.exp(found - found.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@compiled
def _values_of(
    features: Floats,
    folds: NDArray[np.int64],
    coefficients: Floats,
    ends: NDArray[np.int64],
    places: Codes,
    low: float,
    high: float,
) -> Floats:
    n_features = features.shape[1]
    found = np.empty(places.size)
    for i in range(features.shape[0]):
        for j in range(ends[i], ends[i + 1]):
            if places[j] < 0:
                found[j] = 0.5 * (low + high)
                continue
            of_action = coefficients[folds[i], places[j]]
            total = of_action[n_features]
            for k in range(n_features):
                total += features[i, k] * of_action[k]
            found[j] = min(max(total, low), high)
    return found
