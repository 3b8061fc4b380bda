"""Models that are fitted to a sample of a table: how likely actions were, and what they bring.

With cross-fitting there are two of each, one for the rows with an even hash, fitted to those with
an odd one, and the other way round: no prediction has seen its own row. Where rows repeat each
other, a hash cannot split them: one model, fitted to all, serves all rows.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled
from graphcb.estimates.terms import Floats
from graphcb.tables.columns import Codes, Vocabulary, codes_of
from graphcb.tables.design import Design
from graphcb.tables.rows import Rows, Sets
from graphcb.tables.sampling import Sample, row_hashes

MOST_WORK = 5e7  # rows times features times actions of a fit, which takes some ten seconds
MOST_PAIRS = 3e6  # of rows and actions that are checked at once
BINS: Floats = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97])


class Calibration(NamedTuple):
    """How well estimated probabilities fit rows that they were not fitted to.

    `gap` is by how much they miss the shares that were played, over groups of similar
    probabilities, as a share of all decisions; `chance` is what is to be expected of it by chance.
    `log_loss` is per decision, beside that of the shares of the actions alone. `smallest` is the
    smallest probability of an action that was played, `below` how many were less than 1 %.
    """

    n: int
    gap: float
    chance: float
    log_loss: float
    log_loss_of_shares: float
    smallest: float
    below: float

    def warnings(self) -> list[str]:
        """What is bad about it, and what to do."""
        found = []
        if self.gap > 0.02 and self.gap > 3.0 * self.chance:
            found.append(
                f"estimated probabilities miss the shares that were played by {self.gap:.1%}: "
                "give `features` that say how actions were chosen"
            )
        if self.below > 0.01:
            found.append(
                f"{self.below:.1%} of what was played had an estimated probability below 1 %: "
                "little overlap"
            )
        return found


@dataclass(frozen=True)
class Linear:
    """Coefficients by fold (n_folds, K, d + 1), the constant last; rows by hash if two folds."""

    design: Design
    actions: tuple[str, ...]
    coefficients: Floats
    hashed: tuple[str, ...]

    def parts(self, rows: Rows) -> tuple[Floats, NDArray[np.int64]]:
        """Features of rows, and the fold that predicts each."""
        features = self.design.matrix(rows.batch, rows.place)
        if self.coefficients.shape[0] == 1:
            return features, np.zeros(rows.n, dtype=np.int64)
        return features, folds_of(row_hashes(rows.batch, self.hashed, rows.place))

    def codes(self, rows: Rows) -> Codes:
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

    def applied(self, rows: Rows) -> Rows:
        """Rows with the estimated probability of what was played."""
        codes = self.linear.codes(rows)
        if not self.linear.design.parts:
            return rows._replace(probability=self.shares[codes])
        features, folds = self.linear.parts(rows)
        likely = _softmax_of(features, folds, self.linear.coefficients, codes)
        mixture = (1.0 - self.mixed) * likely + self.mixed * self.shares[codes]
        return rows._replace(probability=mixture)


@dataclass(frozen=True)
class Outcomes:
    """Predicted values of actions: a ridge regression for each, within the range of values."""

    linear: Linear
    value_range: tuple[float, float]

    def predict(self, rows: Rows) -> tuple[Sets, Floats]:
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


class Fitting:
    """A sample, prepared for fitting."""

    def __init__(
        self,
        sample: Sample,
        design: Design,
        actions: tuple[str, ...],
        action: str,
        hashed: tuple[str, ...],
    ) -> None:
        work = len(actions) * (len(design.parts) + 1)
        most = max(10_000, min(int(MOST_WORK / work), int(MOST_PAIRS / len(actions))))
        n = min(most, sample.hashes.size)
        table = sample.table.slice(0, n)
        self.design, self.actions, self.hashed, self.table = design, actions, hashed, table
        self.features = design.matrix(table)
        known = Vocabulary(actions)
        self.codes = codes_of(table.column(action), known)
        counts = sample.counts[:n].astype(np.float64)
        folds = folds_of(sample.hashes[:n])
        # Of rows that repeat each other, one half of the copies is for fitting, the other for
        # checking; of the rest, those with another hash.
        if sample.repeats:
            half = np.floor(0.5 * (counts + folds))
            self.fits, self.checks = [counts], [half, counts - half]
        else:
            self.fits = self.checks = [counts * (folds == 1), counts * (folds == 0)]

    def propensities(self, played: Mapping[str, int]) -> Propensities:
        """By logistic regression on the features; without any, the shares of the actions."""
        times = np.array([played.get(name, 0) for name in self.actions], dtype=np.float64)
        shares = times / times.sum()
        if not self.design.parts:
            return Propensities(self._linear(np.zeros((1, shares.size, 1))), shares, 1.0)
        n_actions = len(self.actions)
        mixed = n_actions / (n_actions + min(float(counts.sum()) for counts in self.fits))
        fits = [self._logistic(counts) for counts in self.fits]
        checks = fits if self.checks is self.fits else [self._logistic(one) for one in self.checks]
        found = Propensities(self._linear(np.stack(fits)), shares, mixed)
        likely, weights = [], []
        for coefficients, other in zip(checks, self.checks[::-1], strict=True):
            every = _softmax(self.features, coefficients)
            likely.append((1.0 - mixed) * every + mixed * shares)
            weights.append(other)
        calibration = _calibration(np.stack(likely), np.stack(weights), self.codes, shares)
        return Propensities(found.linear, shares, mixed, calibration)

    def outcomes(self, values: Floats, value_range: tuple[float, float]) -> Outcomes:
        """By ridge regression on the features, for each action; NaN is a value that is missing."""
        fits = [self._ridge(counts, values) for counts in self.fits]
        return Outcomes(self._linear(np.stack(fits)), value_range)

    def _linear(self, coefficients: Floats) -> Linear:
        return Linear(self.design, self.actions, coefficients, self.hashed)

    def _logistic(self, counts: Floats) -> Floats:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        found = np.zeros((len(self.actions), self.features.shape[1] + 1))
        here = counts > 0.0
        classes = np.unique(self.codes[here])
        found[:, -1] = -60.0  # of actions that are not among them
        if classes.size < 2:
            found[classes, -1] = 0.0
            return found
        model = LogisticRegression(max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the held-out check judges it
            model.fit(self.features[here], self.codes[here], sample_weight=counts[here])
        if classes.size == 2:  # scikit-learn has one row of coefficients for two classes
            found[classes[0]], found[classes[1], :-1] = 0.0, model.coef_[0]
            found[classes[1], -1] = model.intercept_[0]
        else:
            found[classes, :-1], found[classes, -1] = model.coef_, model.intercept_
        return found

    def _ridge(self, counts: Floats, values: Floats) -> Floats:
        here = (counts > 0.0) & np.isfinite(values)
        mean = float(np.average(values[here], weights=counts[here])) if here.any() else 0.0
        found = np.zeros((len(self.actions), self.features.shape[1] + 1))
        found[:, -1] = mean
        for action in range(len(self.actions)):
            mine = here & (self.codes == action)
            if mine.any():
                x = np.column_stack([self.features[mine], np.ones(int(mine.sum()))])
                weighted = x * counts[mine, None]
                penalty = np.eye(x.shape[1])
                found[action] += np.linalg.solve(x.T @ weighted + penalty,
                                                 weighted.T @ (values[mine] - mean))  # fmt: skip
        return found


def folds_of(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The fold of each row, 0 or 1."""
    return (hashes & np.uint64(1)).astype(np.int64)


def _calibration(likely: Floats, weights: Floats, codes: Codes, shares: Floats) -> Calibration:
    """Of probabilities (folds, n, K) on the rows that count for checking, (folds, n)."""
    total = float(weights.sum())
    played = np.zeros(likely.shape[1:])
    played[np.arange(codes.size), codes] = 1.0
    bins = np.digitize(likely, BINS)
    gap = chance = 0.0
    for number in range(BINS.size + 1):
        mine = (bins == number) * weights[:, :, None]
        gap += abs(float((mine * (likely - played)).sum()))
        chance += float(np.sqrt(2.0 / np.pi * (mine * likely * (1.0 - likely)).sum()))
    own = likely[:, np.arange(codes.size), codes]
    here = weights > 0.0
    log_loss = -float((weights * np.log(own)).sum()) / total
    of_shares = -float((weights * np.log(shares[codes])).sum()) / total
    below = float((weights * (own < 0.01)).sum()) / total
    return Calibration(int(total), gap / total, chance / total, log_loss, of_shares,
                       float(own[here].min()), below)  # fmt: skip


@compiled
def _softmax(features: Floats, coefficients: Floats) -> Floats:
    n, n_actions = features.shape[0], coefficients.shape[0]
    found = np.empty((n, n_actions))
    for i in range(n):
        _scores(features[i], coefficients, found[i])
        most = found[i].max()
        total = 0.0
        for a in range(n_actions):
            found[i, a] = np.exp(found[i, a] - most)
            total += found[i, a]
        for a in range(n_actions):
            found[i, a] /= total
    return found


@compiled
def _softmax_of(
    features: Floats, folds: NDArray[np.int64], coefficients: Floats, codes: Codes
) -> Floats:
    n, n_actions = features.shape[0], coefficients.shape[1]
    found, scores = np.empty(n), np.empty(n_actions)
    for i in range(n):
        _scores(features[i], coefficients[folds[i]], scores)
        most = scores.max()
        total = 0.0
        for a in range(n_actions):
            scores[a] = np.exp(scores[a] - most)
            total += scores[a]
        found[i] = scores[codes[i]] / total
    return found


@compiled
def _scores(features: Floats, coefficients: Floats, out: Floats) -> None:
    """Row by row, so that the bits do not depend on the batch."""
    n_features = features.size
    for a in range(out.size):
        total = coefficients[a, n_features]
        for k in range(n_features):
            total += features[k] * coefficients[a, k]
        out[a] = total


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
