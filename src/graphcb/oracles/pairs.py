"""Bayesian logistic regression on pairs of a feature of the action and a feature of the context.

With a constant on both sides, the pairs of an action's row a and a context x are a constant, the
features of either, and all products: phi = a (x) x. The score is phi @ weights. Pairs get places
in the order in which they are first learned. The first places form blocks of 256; the pairs of a
block have a full covariance together, all others a variance of their own. Products of features
of the context and of features of the action, which have no pairs, are one more block.

Scores of many actions are cheap, as x is contracted once for each feature that occurs in the
round: with V_i = C (e_i (x) x), the leverage of a is the sum over i of a_i x @ (V a)_i.
"""

import numpy as np

from graphcb.checks import as_count
from graphcb.compilation import compiled
from graphcb.loaded import Array, Count, Instance, Learned
from graphcb.oracles.action_rows import Rows
from graphcb.oracles.features import fits_table
from graphcb.oracles.pair_priors import PRIOR_VARIANCE, PairPriors, prior_of
from graphcb.oracles.posterior import step_and_shrink
from graphcb.oracles.priors import MOST, MOST_ALONE, STEPS
from graphcb.oracles.rows import Columns, Floats, SparseRow

BLOCK = 256  # pairs that have a full covariance together
MOST_BLOCKS = 15  # 8 MB
IN_BLOCKS = BLOCK * MOST_BLOCKS  # places; those beyond have a variance of their own
MOST_PAIRS = 2**20  # with a place of their own; later ones share the places, by hash


class PairPosterior:
    """A Gaussian over the weights of pairs, and of `n_products` products of features.

    `together` is the number of context features, from the first place on, whose pairs with one
    feature of an action should share a block: all features of dense contexts, the last of which is
    their constant. It is 0 for sparse ones. They fill one block, as a row would touch many, and
    have their constant first.
    """

    learned = Learned(
        n_in_blocks=Count(),
        n_alone=Count(most=MOST_PAIRS),
        keys=Array(None, dtype=np.int64, least=-1, most=2**62),
        key_places=Array("keys", dtype=np.int64, least=0, most=2**62),
        priors=Instance(PairPriors),
        variances=Array(None, least=0.0),
        weights=Array(lambda self: (IN_BLOCKS + self.variances.size,)),
        covariances=Array(lambda self: self._blocks()),
        product_weights=Array("n_products"),
        product_covariance=Array("n_products", "n_products"),
    )

    def __init__(self, together: int, n_products: int = 0) -> None:
        as_count("together", together, at_least=0)
        self.n_products = as_count("n_products", n_products, at_least=0)
        self.together = together if together <= BLOCK else 0
        self.priors = PairPriors(together)
        self.most_in_blocks = IN_BLOCKS if self.together else BLOCK
        self.keys = np.full(64, -1)
        self.key_places = np.zeros(64, dtype=np.int64)
        self.n_in_blocks = 0
        self.n_alone = 0
        self.variances = np.zeros(64)  # of places from IN_BLOCKS on
        self.weights = np.zeros(IN_BLOCKS + 64)
        self.covariances = np.zeros((1, 16, 16))  # (blocks, size, size)
        self.product_weights = np.zeros(n_products)
        self.product_covariance = np.eye(n_products) * PRIOR_VARIANCE

    def check_loaded(self) -> None:
        """Refuse pairs, places and covariances that do not fit together."""
        used = self.key_places[self.keys >= 0]
        alone, size = used >= IN_BLOCKS, self.covariances.shape[1]
        fits = (
            fits_table(self.keys, used.size + 1)
            and self.n_in_blocks <= (IN_BLOCKS if 0 < self.together <= BLOCK else BLOCK)
            and self.n_alone <= self.variances.size
            and (size == BLOCK or self.n_in_blocks <= size <= BLOCK)
            and bool((used[~alone] < self.n_in_blocks).all())
            and bool((used[alone] < IN_BLOCKS + self.n_alone).all())
            and bool((np.diagonal(self.covariances, axis1=1, axis2=2) >= 0.0).all())
            and bool((np.diagonal(self.product_covariance) >= 0.0).all())
        )
        if not fits:
            raise ValueError("the pairs, their places and their covariances must fit together")

    def _blocks(self) -> tuple[int, int, int]:
        """The shape that the covariances have: square blocks, as many as the pairs need."""
        size = np.shape(self.covariances)[-1]
        return max(1, -(-self.n_in_blocks // BLOCK)), size, size

    def scores(
        self, row: SparseRow, novelty: float, own: Floats, rows: Rows, n_features: int
    ) -> tuple[Floats, Floats]:
        """Mean and variance of the score of each action; `novelty` is |x|^2 of unseen features.

        `own` are the products of the context, those of actions are in their rows.
        """
        x_places, x_values = row
        return _scores(
            x_places, x_values, novelty, own, *rows, n_features,
            self.keys, self.key_places, self.n_alone, self.priors.actions, self.priors.contexts,
            self.weights, self.variances, self.covariances,
            self.product_weights, self.product_covariance,
        )  # fmt: skip

    def learn(
        self, row: SparseRow, own: Floats, rows: Rows, shares: Floats
    ) -> tuple[Floats, Floats]:
        """One step of the filter for each action; its score and leverage before that step."""
        x_places, x_values = row
        self._give_places(x_places, rows.indices)
        return _learn(
            x_places, x_values, own, *rows, shares,
            self.keys, self.key_places, self.n_alone,
            self.weights, self.variances, self.covariances,
            self.product_weights, self.product_covariance,
        )  # fmt: skip

    def relearn(self, noise: float, seen: Floats, n_contexts: int) -> None:
        """Estimate the prior variances of pairs again, and move the posterior there.

        `noise` is the dispersion of residuals, and `seen` says in how many losses each feature of
        actions was.
        """
        used = self.keys >= 0
        places, keys = self.key_places[used], self.keys[used]
        actions, contexts, alone = keys >> 32, keys & 0xFFFFFFFF, places >= IN_BLOCKS
        blocks, within = np.divmod(places[~alone], BLOCK)
        variances, precisions = np.empty(places.size), np.zeros(self.weights.size)
        for _ in range(STEPS):
            variances[alone] = self.variances[places[alone] - IN_BLOCKS]
            variances[~alone] = self.covariances[blocks, within, within]
            precisions[places] = self.priors.relearn(
                actions, contexts, self.weights[places] ** 2 / noise, variances, seen, n_contexts,
                MOST if self.together else MOST_ALONE,
            )  # fmt: skip
            _add_precisions(precisions, self.weights, self.variances, self.covariances)

    def _give_places(self, x_places: Columns, features: Columns) -> None:
        """Places for new pairs, and room for them, which grows in doubles."""
        more = x_places.size * features.size
        needed = min(self.n_in_blocks + self.n_alone + more, IN_BLOCKS + MOST_PAIRS)
        if 2 * needed > self.keys.size:
            capacity = 1 << (4 * needed - 1).bit_length()
            keys, key_places = np.full(capacity, -1), np.zeros(capacity, dtype=np.int64)
            _move(self.keys, self.key_places, keys, key_places)
            self.keys, self.key_places = keys, key_places
        before = self.n_in_blocks, self.n_alone
        self.n_in_blocks, self.n_alone = _assign(
            x_places, features, self.keys, self.key_places,
            self.n_in_blocks, self.n_alone, self.together, self.most_in_blocks,
        )  # fmt: skip
        if before == (self.n_in_blocks, self.n_alone):
            return
        extra = _doubled(self.n_alone, self.variances.size) - self.variances.size
        if extra:
            self.variances = np.append(self.variances, np.zeros(extra))
            self.weights = np.append(self.weights, np.zeros(extra))
        n_blocks, size = self.covariances.shape[:2]
        blocks = -(-self.n_in_blocks // BLOCK)
        wanted = BLOCK if blocks > 1 else _doubled(self.n_in_blocks, size)
        if blocks > n_blocks or wanted > size:
            covariances = np.zeros((blocks, wanted, wanted))
            covariances[:n_blocks, :size, :size] = self.covariances
            self.covariances = covariances
        _begin(
            x_places, features, self.keys, self.key_places, *before,
            self.priors.actions, self.priors.contexts, self.variances, self.covariances,
        )  # fmt: skip


def _doubled(needed: int, size: int) -> int:
    """The size, or the next power of two that is enough."""
    return size if needed <= size else 1 << (needed - 1).bit_length()


@compiled
def _hash(feature: int, place: int) -> tuple[int, int]:
    """The key of a pair, and a number that is spread evenly."""
    key = (feature << 32) | place
    mixed = (key ^ (key >> 29)) * -4658895280553007687
    return key, (mixed ^ (mixed >> 32)) & 0x7FFFFFFFFFFFFFFF


@compiled
def _find(keys: Columns, key: int, mixed: int) -> int:
    """Where the key is in an open hash table, or the free slot where it belongs."""
    mask = keys.size - 1
    at = mixed & mask
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def _place(keys: Columns, key_places: Columns, n_alone: int, feature: int, place: int) -> int:
    """The place of a pair; -1 if it has none yet."""
    key, mixed = _hash(feature, place)
    at = _find(keys, key, mixed)
    if keys[at] >= 0:
        return int(key_places[at])
    return IN_BLOCKS + mixed % MOST_PAIRS if n_alone >= MOST_PAIRS else -1


@compiled
def _move(keys: Columns, places: Columns, new_keys: Columns, new_places: Columns) -> None:
    for k in range(keys.size):
        if keys[k] >= 0:
            key, mixed = _hash(keys[k] >> 32, keys[k] & 0xFFFFFFFF)
            at = _find(new_keys, key, mixed)
            new_keys[at], new_places[at] = key, places[k]


@compiled
def _assign(
    x_places: Columns,
    features: Columns,
    keys: Columns,
    key_places: Columns,
    n_in_blocks: int,
    n_alone: int,
    together: int,
    most_in_blocks: int,
) -> tuple[int, int]:
    """Places for pairs that have none; how many there are afterwards, in blocks and alone."""
    for k in range(features.size):
        is_new = True
        for j in range(x_places.size):
            key, mixed = _hash(features[k], x_places[j])
            at = _find(keys, key, mixed)
            if keys[at] >= 0:
                continue
            may_join = together == 0 or x_places[j] < together
            if may_join and is_new and n_in_blocks % BLOCK + together > BLOCK:
                n_in_blocks += BLOCK - n_in_blocks % BLOCK
            is_new = False
            if may_join and n_in_blocks < most_in_blocks:
                keys[at], key_places[at] = key, n_in_blocks
                n_in_blocks += 1
            elif n_alone < MOST_PAIRS:
                keys[at], key_places[at] = key, IN_BLOCKS + n_alone
                n_alone += 1
    return min(n_in_blocks, most_in_blocks), n_alone


@compiled
def _begin(
    x_places: Columns,
    features: Columns,
    keys: Columns,
    key_places: Columns,
    n_in_blocks: int,
    n_alone: int,
    of_actions: Floats,
    of_contexts: Floats,
    variances: Floats,
    covariances: Floats,
) -> None:
    """Give pairs their prior variances that are new since there were so many."""
    for k in range(features.size):
        for j in range(x_places.size):
            place = _place(keys, key_places, 0, features[k], x_places[j])
            prior = prior_of(of_actions, features[k]) * prior_of(of_contexts, x_places[j])
            if place >= IN_BLOCKS + n_alone:
                variances[place - IN_BLOCKS] = prior
            elif n_in_blocks <= place < IN_BLOCKS:
                covariances[place // BLOCK, place % BLOCK, place % BLOCK] = prior


@compiled
def _add_precisions(
    precisions: Floats, weights: Floats, variances: Floats, covariances: Floats
) -> None:
    """Add to the prior precision of each pair; what the data said stays."""
    for k in range(variances.size):
        shrink = 1.0 / (1.0 + precisions[IN_BLOCKS + k] * variances[k])
        weights[IN_BLOCKS + k] *= shrink
        variances[k] *= shrink
    for block in range(covariances.shape[0]):
        covariance, first = covariances[block], block * BLOCK
        for p in range(covariance.shape[0]):
            precision = precisions[first + p]
            if precision != 0.0:
                along = covariance[p].copy()
                gain = precision / (1.0 + precision * along[p])
                _step(weights[first:], covariance, along, -gain * weights[first + p], gain)


@compiled
def _scores(
    x_places: Columns,
    x_values: Floats,
    novelty: float,
    own: Floats,
    starts: Columns,
    features: Columns,
    values: Floats,
    products: Floats,
    n_features: int,
    keys: Columns,
    key_places: Columns,
    n_alone: int,
    of_actions: Floats,
    of_contexts: Floats,
    weights: Floats,
    variances: Floats,
    covariances: Floats,
    product_weights: Floats,
    product_covariance: Floats,
) -> tuple[Floats, Floats]:
    slots, met, u = np.full(n_features, -1), np.empty(features.size, np.int64), 0
    for k in range(features.size):
        if features[k] >= 0 and slots[features[k]] < 0:
            slots[features[k]], met[u] = u, features[k]
            u += 1
    s, size = x_places.size, covariances.shape[1]
    means, spreads, new = np.zeros(u), np.empty(u), of_contexts[-1] * novelty
    places, along = np.empty((u, s), np.int64), np.zeros((u, covariances.shape[0] * size))
    for i in range(u):
        prior = prior_of(of_actions, met[i])
        spreads[i] = prior * new
        for j in range(s):
            x, place = x_values[j], _place(keys, key_places, n_alone, met[i], x_places[j])
            places[i, j] = place
            if place < 0:
                spreads[i] += prior * prior_of(of_contexts, x_places[j]) * x * x
                continue
            means[i] += weights[place] * x
            if place >= IN_BLOCKS:
                spreads[i] += variances[place - IN_BLOCKS] * x * x
                continue
            block = place // BLOCK
            line, sums = (
                covariances[block, place % BLOCK],
                along[i, block * size : (block + 1) * size],
            )
            for p in range(size):
                sums[p] += x * line[p]
    whole = new
    for j in range(s):
        whole += prior_of(of_contexts, x_places[j]) * x_values[j] * x_values[j]
    n = starts.size - 1
    scores, leverages, total = np.zeros(n), np.zeros(n), np.empty(along.shape[1])
    product_along, first = np.zeros(product_weights.size), own.size
    own_score = _add_along(product_weights, product_covariance, own, product_along)
    own_leverage, across = _dot(own, product_along[:first]), product_along[first:]
    some_along = np.empty(across.size)
    for r in range(n):
        total[:] = 0.0
        for k in range(starts[r], starts[r + 1]):
            if features[k] < 0:
                leverages[r] += of_actions[-1] * whole * values[k] * values[k]
                continue
            i, a = slots[features[k]], values[k]
            scores[r] += a * means[i]
            leverages[r] += a * a * spreads[i]
            sums = along[i]
            for p in range(total.size):
                total[p] += a * sums[p]
        for k in range(starts[r], starts[r + 1]):
            if features[k] >= 0:
                i, inner = slots[features[k]], 0.0
                for j in range(s):
                    if 0 <= places[i, j] < IN_BLOCKS:
                        inner += x_values[j] * total[places[i, j]]
                leverages[r] += values[k] * inner
        some_along[:] = 0.0
        scores[r] += own_score + _add_along(
            product_weights[first:], product_covariance[first:, first:], products[r], some_along
        )
        leverages[r] += own_leverage + _dot(products[r], some_along + 2.0 * across)
        leverages[r] = max(leverages[r], 0.0)
    return scores, leverages


@compiled
def _learn(
    x_places: Columns,
    x_values: Floats,
    own: Floats,
    starts: Columns,
    features: Columns,
    values: Floats,
    products: Floats,
    shares: Floats,
    keys: Columns,
    key_places: Columns,
    n_alone: int,
    weights: Floats,
    variances: Floats,
    covariances: Floats,
    product_weights: Floats,
    product_covariance: Floats,
) -> tuple[Floats, Floats]:
    n_blocks, size = covariances.shape[:2]
    along, touched = np.empty((n_blocks, size)), np.empty(n_blocks, np.bool_)
    scores, leverages = np.empty(shares.size), np.empty(shares.size)
    product_along, first = np.empty(product_weights.size), own.size
    for r in range(shares.size):
        n_pairs, at = (starts[r + 1] - starts[r]) * x_places.size, 0
        places, phi = np.empty(n_pairs, np.int64), np.empty(n_pairs)
        along[:] = 0.0
        touched[:] = False
        product_along[:] = 0.0
        score = _add_along(product_weights, product_covariance, own, product_along)
        score += _add_along(
            product_weights[first:], product_covariance[first:], products[r], product_along
        )
        leverage = _dot(own, product_along[:first]) + _dot(products[r], product_along[first:])
        for k in range(starts[r], starts[r + 1]):
            for j in range(x_places.size):
                place = _place(keys, key_places, n_alone, features[k], x_places[j])
                value = values[k] * x_values[j]
                places[at], phi[at] = place, value
                at += 1
                score += weights[place] * value
                if place >= IN_BLOCKS:
                    leverage += variances[place - IN_BLOCKS] * value * value
                    continue
                block = place // BLOCK
                touched[block] = True
                line, sums = covariances[block, place % BLOCK], along[block]
                for p in range(size):
                    sums[p] += value * line[p]
        for k in range(n_pairs):
            if places[k] < IN_BLOCKS:
                leverage += along[places[k] // BLOCK, places[k] % BLOCK] * phi[k]
        scores[r], leverages[r] = score, max(leverage, 0.0)
        step, shrink = step_and_shrink(score, leverages[r], shares[r], 1.0, 1.0)
        _step(product_weights, product_covariance, product_along, step, shrink)
        for k in range(n_pairs):
            if places[k] >= IN_BLOCKS:
                part = variances[places[k] - IN_BLOCKS] * phi[k]
                weights[places[k]] += step * part
                variances[places[k] - IN_BLOCKS] -= shrink * part * part
        for block in range(n_blocks):
            if touched[block]:
                _step(weights[block * BLOCK :], covariances[block], along[block], step, shrink)
    return scores, leverages


@compiled
def _add_along(weights: Floats, covariance: Floats, values: Floats, along: Floats) -> float:
    """Add covariance @ values to `along`; the score of the values."""
    score = 0.0
    for k in range(values.size):
        value, line = values[k], covariance[k]
        if value != 0.0:
            score += weights[k] * value
            for p in range(along.size):
                along[p] += value * line[p]
    return score


@compiled
def _dot(one: Floats, other: Floats) -> float:
    total = 0.0
    for k in range(one.size):
        total += one[k] * other[k]
    return total


@compiled
def _step(weights: Floats, covariance: Floats, along: Floats, step: float, shrink: float) -> None:
    """Move the weights of a block, and take off its covariance what was learned."""
    for p in range(along.size):
        weights[p] += step * along[p]
        part = shrink * along[p]
        if part != 0.0:
            line = covariance[p]
            for q in range(along.size):
                line[q] -= part * along[q]
