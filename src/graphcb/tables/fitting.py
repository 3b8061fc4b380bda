"""Models are fitted to a sample of a table, and checked on rows that they were not fitted to."""

import warnings
from collections.abc import Mapping

import numpy as np

from graphcb.estimates.terms import Floats
from graphcb.tables.columns import Codes, Vocabulary, codes_of
from graphcb.tables.design import Design
from graphcb.tables.models import (
    Calibration,
    Linear,
    Outcomes,
    Propensities,
    folds_of,
    scores,
    softmax,
)
from graphcb.tables.sampling import Sample

MOST_WORK = 5e7  # rows times features times actions of a fit, which takes some ten seconds
MOST_PAIRS = 3e6  # of rows and actions that are checked at once
BINS: Floats = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97])


class Fitting:
    """A sample, prepared for fitting."""

    def __init__(
        self,
        sample: Sample,
        design: Design,
        actions: tuple[str, ...],
        action: str,
        hashed: tuple[str, ...],
        words: tuple[str | None, ...],
    ) -> None:
        work = len(actions) * (len(design.parts) + 1)
        most = max(10_000, min(int(MOST_WORK / work), int(MOST_PAIRS / len(actions))))
        n = min(most, sample.hashes.size)
        table = sample.table.slice(0, n)
        self.design, self.actions, self.hashed, self.table = design, actions, hashed, table
        self.words = words
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
            every = softmax(self._scores(coefficients))
            likely.append((1.0 - mixed) * every + mixed * shares)
            weights.append(other)
        calibration = _calibration(np.stack(likely), np.stack(weights), self.codes, shares)
        return Propensities(found.linear, shares, mixed, calibration)

    def outcomes(self, values: Floats, value_range: tuple[float, float]) -> Outcomes:
        """By ridge regression on the features, for each action; NaN is a value that is missing."""
        fits = [self._ridge(counts, values) for counts in self.fits]
        checks = fits if self.checks is self.fits else [self._ridge(c, values) for c in self.checks]
        explained = self._explained(checks, values)
        return Outcomes(self._linear(np.stack(fits)), value_range, explained)

    def _explained(self, checks: list[Floats], values: Floats) -> float:
        """The share of the squared errors of each action's mean that the models take away."""
        squares = np.zeros(2)
        rows = np.arange(values.size)
        for coefficients, fitted, held_out in zip(
            checks, self.checks, self.checks[::-1], strict=True
        ):
            by_mean = self._ridge(fitted, values, constant=True)[self.codes, -1]
            model = self._scores(coefficients)[rows, self.codes]
            here = (held_out > 0.0) & np.isfinite(values)
            for place, predicted in enumerate((by_mean, model)):
                squares[place] += held_out[here] @ (values[here] - predicted[here]) ** 2
        return float(1.0 - squares[1] / squares[0]) if squares[0] > 0.0 else 0.0

    def _scores(self, coefficients: Floats) -> Floats:
        return scores(self.features, np.zeros(len(self.features), np.int64), coefficients[None])

    def _linear(self, coefficients: Floats) -> Linear:
        return Linear(self.design, self.actions, coefficients, self.hashed, self.words)

    def _logistic(self, counts: Floats) -> Floats:
        try:
            from sklearn.exceptions import ConvergenceWarning
            from sklearn.linear_model import LogisticRegression
        except ModuleNotFoundError:
            raise ValueError(
                "estimating probabilities needs scikit-learn: pip install 'graphcb[sklearn]'"
            ) from None

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

    def _ridge(self, counts: Floats, values: Floats, *, constant: bool = False) -> Floats:
        """Coefficients by action; only that of the constant if asked to."""
        here = (counts > 0.0) & np.isfinite(values)
        mean = float(np.average(values[here], weights=counts[here])) if here.any() else 0.0
        found = np.zeros((len(self.actions), self.features.shape[1] + 1))
        found[:, -1] = mean
        for action in range(len(self.actions)):
            mine = here & (self.codes == action)
            if mine.any():
                features = self.features[mine] * (not constant)
                x = np.column_stack([features, np.ones(int(mine.sum()))])
                weighted = x * counts[mine, None]
                penalty = np.eye(x.shape[1])
                found[action] += np.linalg.solve(x.T @ weighted + penalty,
                                                 weighted.T @ (values[mine] - mean))  # fmt: skip
        return found


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
    below = float((weights * (likely.min(axis=2) < 0.01)).sum()) / total
    return Calibration(int(total), gap / total, chance / total, log_loss, of_shares,
                       float(own[here].min()), below)  # fmt: skip
