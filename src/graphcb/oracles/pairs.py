"""Bayesian logistic regression on pairs of a feature of the action and a feature of the context.

With a constant on both sides, the pairs of an action's row a and a context x are a constant, the
features of either, and all products: phi = a (x) x. The score is phi @ weights. Pairs get places
in the order in which they are first learned. Those of the first places have a full covariance
together, all others a variance of their own.

Scores of many actions are cheap, as x is contracted once for each feature that occurs in the
round: with V_i = C (e_i (x) x), the leverage of a is the sum over i of a_i x @ (V a)_i.
"""

import math

import numpy as np

from graphcb.compilation import compiled
from graphcb.oracles.action_rows import Rows
from graphcb.oracles.posterior import LEAST_CURVATURE, mean_share
from graphcb.oracles.rows import Columns, Floats, SparseRow

PRIOR_VARIANCE = 10.0
FULL_UP_TO = 256  # pairs that have a full covariance
MOST_PAIRS = 2**20  # with a place of their own; later ones share the places, by hash


class PairPosterior:
    """A Gaussian over the weights of pairs."""

    def __init__(self) -> None:
        self.keys = np.full(64, -1)
        self.key_places = np.zeros(64, dtype=np.int64)
        self.n_places = 0
        self.weights = np.zeros(32)
        self.variances = np.full(32, PRIOR_VARIANCE)
        self.covariance = np.eye(32) * PRIOR_VARIANCE

    def scores(
        self, row: SparseRow, novelty: float, rows: Rows, n_features: int
    ) -> tuple[Floats, Floats]:
        """Mean and variance of the score of each action; `novelty` is |x|^2 of unseen features."""
        return _scores(
            row[0], row[1], novelty, rows.starts, rows.indices, rows.values, n_features, self.keys, self.key_places,
            self.weights, self.variances, self.covariance,
        )  # fmt: skip

    def learn(self, row: SparseRow, rows: Rows, shares: Floats) -> Floats:
        """One step of the filter for each action; the shares predicted before each."""
        self._make_room(row[0].size * rows.indices.size)
        self.n_places, predicted = _learn(
            row[0], row[1], rows.starts, rows.indices, rows.values, shares, self.keys, self.key_places, self.n_places,
            self.weights, self.variances, self.covariance,
        )  # fmt: skip
        return predicted

    def _make_room(self, more: int) -> None:
        """Grow in doubles, so that this many new pairs find a place."""
        needed = min(self.n_places + more, MOST_PAIRS)
        if needed > self.weights.size:
            extra = (1 << (needed - 1).bit_length()) - self.weights.size
            self.weights = np.append(self.weights, np.zeros(extra))
            self.variances = np.append(self.variances, np.full(extra, PRIOR_VARIANCE))
        if 2 * needed > self.keys.size:
            capacity = 1 << (4 * needed - 1).bit_length()
            keys, key_places = np.full(capacity, -1), np.zeros(capacity, dtype=np.int64)
            _move(self.keys, self.key_places, keys, key_places)
            self.keys, self.key_places = keys, key_places
        size = self.covariance.shape[0]
        if needed > size and size < FULL_UP_TO:
            larger = min(FULL_UP_TO, 1 << (needed - 1).bit_length())
            covariance = np.eye(larger) * PRIOR_VARIANCE
            covariance[:size, :size] = self.covariance
            self.covariance = covariance


@compiled
def _pair_key(i: int, j: int) -> int:
    return (i << 32) | j


@compiled
def _find(keys: Columns, key: int) -> int:
    """Where the key is in an open hash table, or the free slot where it belongs."""
    mask = keys.size - 1
    mixed = (key ^ (key >> 29)) * -4658895280553007687
    at = (mixed ^ (mixed >> 32)) & mask
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def _move(keys: Columns, places: Columns, new_keys: Columns, new_places: Columns) -> None:
    for k in range(keys.size):
        if keys[k] >= 0:
            at = _find(new_keys, keys[k])
            new_keys[at], new_places[at] = keys[k], places[k]


@compiled
def _shared_place(key: int) -> int:
    """Where a pair belongs for which there is no place left."""
    mixed = (key ^ (key >> 29)) * -4658895280553007687
    return FULL_UP_TO + ((mixed ^ (mixed >> 31)) & 0x7FFFFFFFFFFF) % (MOST_PAIRS - FULL_UP_TO)


@compiled
def _scores(
    x_places: Columns,
    x_values: Floats,
    novelty: float,
    starts: Columns,
    features: Columns,
    values: Floats,
    n_features: int,
    keys: Columns,
    key_places: Columns,
    weights: Floats,
    variances: Floats,
    covariance: Floats,
) -> tuple[Floats, Floats]:
    n_full, s = covariance.shape[0], x_places.size
    slots, met, u = np.full(n_features, -1), np.empty(features.size, np.int64), 0
    for k in range(features.size):
        if features[k] >= 0 and slots[features[k]] < 0:
            slots[features[k]], met[u] = u, features[k]
            u += 1
    means, spreads = np.zeros(u), np.full(u, PRIOR_VARIANCE * novelty)
    places, along = np.empty((u, s), np.int64), np.zeros((u, n_full))
    for i in range(u):
        for j in range(s):
            key, x = _pair_key(met[i], x_places[j]), x_values[j]
            at = _find(keys, key)
            place = key_places[at] if keys[at] >= 0 else -1
            if place < 0:
                if keys.size >= 4 * MOST_PAIRS:
                    place = _shared_place(key)
                else:
                    places[i, j] = -1
                    spreads[i] += PRIOR_VARIANCE * x * x
                    continue
            places[i, j] = place
            means[i] += weights[place] * x
            if place < n_full:
                line, sums = covariance[place], along[i]
                for p in range(n_full):
                    sums[p] += x * line[p]
            else:
                spreads[i] += variances[place] * x * x
    whole = novelty
    for j in range(s):
        whole += x_values[j] * x_values[j]
    n = starts.size - 1
    scores, leverages, total = np.zeros(n), np.zeros(n), np.empty(n_full)
    for r in range(n):
        total[:] = 0.0
        for k in range(starts[r], starts[r + 1]):
            if features[k] < 0:
                leverages[r] += PRIOR_VARIANCE * whole * values[k] * values[k]
                continue
            i, a = slots[features[k]], values[k]
            scores[r] += a * means[i]
            leverages[r] += a * a * spreads[i]
            sums = along[i]
            for p in range(n_full):
                total[p] += a * sums[p]
        for k in range(starts[r], starts[r + 1]):
            if features[k] >= 0:
                i, inner = slots[features[k]], 0.0
                for j in range(s):
                    if 0 <= places[i, j] < n_full:
                        inner += x_values[j] * total[places[i, j]]
                leverages[r] += values[k] * inner
        leverages[r] = max(leverages[r], 0.0)
    return scores, leverages


@compiled
def _learn(
    x_places: Columns,
    x_values: Floats,
    starts: Columns,
    features: Columns,
    values: Floats,
    shares: Floats,
    keys: Columns,
    key_places: Columns,
    n_places: int,
    weights: Floats,
    variances: Floats,
    covariance: Floats,
) -> tuple[int, Floats]:
    n_full, s, predicted = covariance.shape[0], x_places.size, np.empty(shares.size)
    along = np.empty(n_full)
    for r in range(shares.size):
        size = (starts[r + 1] - starts[r]) * s
        places, phi, at = np.empty(size, np.int64), np.empty(size), 0
        for k in range(starts[r], starts[r + 1]):
            for j in range(s):
                key = _pair_key(features[k], x_places[j])
                slot = _find(keys, key)
                if keys[slot] >= 0:
                    places[at] = key_places[slot]
                elif n_places < MOST_PAIRS:
                    keys[slot], key_places[slot] = key, n_places
                    places[at] = n_places
                    n_places += 1
                else:
                    places[at] = _shared_place(key)
                phi[at] = values[k] * x_values[j]
                at += 1
        score = leverage = 0.0
        along[:] = 0.0
        for k in range(size):
            place, value = places[k], phi[k]
            score += weights[place] * value
            if place < n_full:
                line = covariance[place]
                for p in range(n_full):
                    along[p] += value * line[p]
            else:
                leverage += variances[place] * value * value
        for k in range(size):
            if places[k] < n_full:
                leverage += along[places[k]] * phi[k]
        leverage = max(leverage, 0.0)
        predicted[r] = mean_share(score, leverage)
        mu = 1.0 / (1.0 + math.exp(-score))
        curvature = max(mu * (1.0 - mu), LEAST_CURVATURE)
        step = (shares[r] - mu) / (1.0 + curvature * leverage)
        shrink = curvature / (1.0 + curvature * leverage)
        for k in range(size):
            if places[k] >= n_full:
                part = variances[places[k]] * phi[k]
                weights[places[k]] += step * part
                variances[places[k]] -= shrink * part * part
        for p in range(n_full):
            weights[p] += step * along[p]
            part = shrink * along[p]
            if part != 0.0:
                line = covariance[p]
                for q in range(n_full):
                    line[q] -= part * along[q]
    return n_places, predicted
