"""What products of context features add to the scores of actions.

The pairs of `oracles/pairs.py` are linear in the context. Here each feature of an action, the
constant among them, is paired with each product of two features of the context. The weights of
these pairs have a variance each. They explain what the pairs leave over: a score is that of the
pairs and what is added here.
"""

import numpy as np

from graphcb.checks import as_count
from graphcb.compilation import compiled
from graphcb.loaded import Array, Learned
from graphcb.oracles.action_rows import Rows
from graphcb.oracles.pair_priors import PRIOR_VARIANCE
from graphcb.oracles.posterior import step_and_shrink
from graphcb.oracles.rows import Columns, Floats

MOST_WEIGHTS = 2**20  # features of actions that come later have no products


class ProductPosterior:
    """An independent Gaussian over the weight of each action feature and product, by place."""

    learned = Learned(
        weights=Array(None, "n_products"),
        variances=Array(lambda self: self.weights.shape, least=0.0, most=PRIOR_VARIANCE),
    )

    def __init__(self, n_products: int) -> None:
        self.n_products = as_count("n_products", n_products)
        self.weights = np.zeros((0, n_products))
        self.variances = np.zeros((0, n_products))

    def scores(self, products: Floats, rows: Rows) -> tuple[Floats, Floats]:
        """Mean and variance of what is added to the score of each action."""
        return _added(
            products, rows.starts, rows.indices, rows.values, self.weights, self.variances
        )

    def learn(
        self,
        products: Floats,
        rows: Rows,
        n_features: int,
        shares: Floats,
        scores: Floats,
        leverages: Floats,
    ) -> tuple[Floats, Floats]:
        """One step for each action beside scores that are given; what was added before it."""
        self._make_room(n_features)
        return _learn_added(
            products, rows.starts, rows.indices, rows.values, shares, scores, leverages,
            self.weights, self.variances,
        )  # fmt: skip

    def _make_room(self, n_features: int) -> None:
        """Room for the features of actions, which grows in doubles up to a limit."""
        size, most = len(self.weights), MOST_WEIGHTS // self.n_products
        if n_features > size and size < most:
            more = min(max(n_features, 2 * size), most) - size, self.n_products
            self.weights = np.concatenate([self.weights, np.zeros(more)])
            self.variances = np.concatenate([self.variances, np.full(more, PRIOR_VARIANCE)])


@compiled
def _added(
    products: Floats,
    starts: Columns,
    features: Columns,
    values: Floats,
    weights: Floats,
    variances: Floats,
) -> tuple[Floats, Floats]:
    n, known = starts.size - 1, weights.shape[0]
    scores, leverages, whole = np.zeros(n), np.zeros(n), 0.0
    for j in range(products.size):
        whole += PRIOR_VARIANCE * products[j] * products[j]
    means, spreads = np.zeros(known), np.full(known, -1.0)  # of each feature that is met
    for r in range(n):
        for k in range(starts[r], starts[r + 1]):
            i, value = features[k], values[k]
            if not 0 <= i < known:
                leverages[r] += value * value * whole
                continue
            if spreads[i] < 0.0:
                means[i], spreads[i] = _contracted(products, weights[i], variances[i])
            scores[r] += value * means[i]
            leverages[r] += value * value * spreads[i]
    return scores, leverages


@compiled
def _contracted(products: Floats, weights: Floats, variances: Floats) -> tuple[float, float]:
    """Mean and variance of what one feature of an action adds."""
    mean = spread = 0.0
    for j in range(products.size):
        mean += weights[j] * products[j]
        spread += variances[j] * products[j] * products[j]
    return mean, spread


@compiled
def _learn_added(
    products: Floats,
    starts: Columns,
    features: Columns,
    values: Floats,
    shares: Floats,
    scores: Floats,
    leverages: Floats,
    weights: Floats,
    variances: Floats,
) -> tuple[Floats, Floats]:
    n, known = starts.size - 1, weights.shape[0]
    added, spreads = np.zeros(n), np.zeros(n)
    for r in range(n):
        for k in range(starts[r], starts[r + 1]):
            i, value = features[k], values[k]
            if i < known:
                mean, spread = _contracted(products, weights[i], variances[i])
                added[r] += value * mean
                spreads[r] += value * value * spread
        score, leverage = scores[r] + added[r], leverages[r] + spreads[r]
        step, shrink = step_and_shrink(score, leverage, shares[r], 1.0, 1.0)
        for k in range(starts[r], starts[r + 1]):
            i, value = features[k], values[k]
            for j in range(products.size if i < known else 0):
                along = variances[i, j] * value * products[j]
                weights[i, j] += step * along
                # Rounding may take off more than there is.
                variances[i, j] = max(variances[i, j] - shrink * along * along, 0.0)
    return added, spreads
