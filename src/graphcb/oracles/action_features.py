"""The oracle for actions that come with features."""

import math
from typing import Any

import numpy as np

from graphcb.checks import as_numbers, as_range, check_in_range
from graphcb.compilation import compiled
from graphcb.contexts.encoded import EncodedRow
from graphcb.describing import describe
from graphcb.loaded import Array, Count, Instance, Learned, Number
from graphcb.oracles.action_rows import (
    CONSTANT,
    ActionRows,
    fill_numbers,
    fill_products,
    mean_counts,
    n_few_products,
    n_rows,
    width_of,
)
from graphcb.oracles.blend_rows import PRODUCTS_UP_TO
from graphcb.oracles.blend_weights import RATE
from graphcb.oracles.context_products import ProductPosterior
from graphcb.oracles.features import DenseFeatures, SparseFeatures
from graphcb.oracles.pairs import PairPosterior
from graphcb.oracles.posterior import PRIOR_COUNT, certainty, mean_share
from graphcb.oracles.priors import LEAST_DISPERSION, LEAST_LOSSES
from graphcb.oracles.protocol import Forecast
from graphcb.oracles.rows import Floats, SparseRow, dense_width, every_index

MOST_ODDS = 500.0  # in size: beyond, a member's weight is 0 or 1 in rounding


class ActionFeatureOracle:
    """Predicts the loss of an action from its features and the context; needs no settings.

    `actions` is a list with one row of features per action, dense or sparse, or an array
    (n_actions, n_features). Actions may be different ones in every round: what is learned from
    one carries over to all with similar features. To tell actions apart that may share all their
    features, add one that marks the action itself. Contexts are dense or sparse. Neither needs to
    be scaled. Losses lie in `loss_range`.

    One Bayesian logistic regression serves all actions, on their features, those of the context,
    and the products of both. The first 256 such pairs have a full covariance, with dense contexts
    more (`oracles/pairs.py`). Products of numbers of the action, and of the context, are there too
    if they are few (of up to 10 numbers, or squares of up to 55): numbers are dense features, and
    those that an encoder finds in the first row that is learned. A second member pairs the
    products of numbers of the context (up to 64) with the features of actions, and the two are
    weighed by their squared errors. A round costs about the features of the context times those of
    all actions.

    >>> oracle = ActionFeatureOracle()
    >>> for price in (3.0, 9.0, 4.0, 8.0):
    ...     oracle.update([1.0, 0.0], [[price]], [price / 10])
    >>> oracle.predict([1.0, 0.0], [[5.0], [7.0]]) > 0.6
    array([False,  True])
    """

    learned = Learned(
        contexts=Instance(DenseFeatures, SparseFeatures, None),
        actions=Instance(ActionRows, None),
        posterior=Instance(PairPosterior, None),
        products=Instance(ProductPosterior, None),
        n_numbers=Count(),
        log_odds=Number(-MOST_ODDS, MOST_ODDS),
        seen=Array(None, least=0.0),
        squares=Number(0.0),
        count=Count(),
    )

    def __init__(self, *, loss_range: tuple[float, float] = (0.0, 1.0)) -> None:
        self.loss_range = as_range("loss_range", loss_range)
        self.contexts: DenseFeatures | SparseFeatures | None = None
        self.actions: ActionRows | None = None
        self.posterior: PairPosterior | None = None
        self.products: ProductPosterior | None = None  # of context features, where they have any
        self.n_numbers = 0  # of contexts: those that have products
        self.log_odds = 0.0  # of the member with these products, against the one without
        self.seen = np.zeros(1)  # losses learned of actions that have each feature
        self.squares = PRIOR_COUNT  # of the residuals, relative to a coin's variance
        self.count = 0

    __repr__ = describe

    def predict(self, context: Any, actions: Any) -> Floats:
        """Predicted losses of these actions (rows of features)."""
        return self.forecast(context, actions).losses

    def forecast(self, context: Any, actions: Any) -> Forecast:
        """Predicted losses, and how sure they are."""
        low, high = self.loss_range
        if n_rows(actions) == 0:
            nothing = np.zeros(0)
            return Forecast(nothing, nothing, nothing, nothing, high - low, low)
        contexts, kinds = self._contexts_for(context), self._actions_for(actions)
        size = self._n_numbers_for(context)
        row, own, products, novelty = _scaled(contexts, contexts.read(context), context, size)
        rows = kinds.scale(kinds.read(actions))
        posterior, added = self._posterior_for(contexts, kinds, size), self._products_for(size)
        scores, leverages = posterior.scores(row, novelty, own, rows, kinds.n_places)
        more, spreads = (scores, leverages) if added is None else added.scores(products, rows)
        weight = 0.0 if added is None else self._weight()
        dispersion = self.squares / (PRIOR_COUNT + self.count)
        shares, deviations, gains = _blended(scores, leverages, more, spreads, weight, dispersion)
        counts = mean_counts(rows.starts, rows.indices, rows.values, self.seen)
        return Forecast(
            low + (high - low) * shares,
            (high - low) * deviations,
            gains,
            counts,
            high - low,
            low,
        )

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """Learn the losses revealed of these actions (rows of features)."""
        contexts, x, seen = self._checked(context, actions, losses)
        n = seen.size
        if n == 0:
            return
        kinds = self._actions_for(actions)
        size = self._n_numbers_for(context)
        posterior, added = self._posterior_for(contexts, kinds, size), self._products_for(size)
        raw = kinds.read(actions)
        contexts.learn(x)
        kinds.learn(raw)
        self.contexts, self.actions, self.posterior, self.products = (
            contexts, kinds, posterior, added,
        )  # fmt: skip
        self.n_numbers = size
        row, own, products, _ = _scaled(contexts, x, context, size)
        rows = kinds.scale(raw)
        low, high = self.loss_range
        shares = (seen - low) / (high - low)
        scores, leverages = posterior.learn(row, own, rows, shares)
        more, spreads, weight = scores, leverages, 0.0
        if added is not None:
            weight = self._weight()
            more, spreads = added.learn(products, rows, kinds.n_places, shares, scores, leverages)
        squares, better = _errors(scores, leverages, more, spreads, weight, shares)
        self.squares += squares
        if added is not None:
            self.log_odds = min(MOST_ODDS, max(-MOST_ODDS, self.log_odds + RATE * better))
        self.count += n
        if self.seen.size < kinds.n_places:
            self.seen = np.append(self.seen, np.zeros(2 * kinds.n_places - self.seen.size))
        np.add.at(self.seen, rows.indices[rows.values != 0.0], 1.0)
        if self.count >= LEAST_LOSSES and self.count.bit_length() > (self.count - n).bit_length():
            noise = max(LEAST_DISPERSION, min(1.0, self.squares / (PRIOR_COUNT + self.count)))
            posterior.relearn(noise, self.seen[: kinds.n_places], contexts.n_places)

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        _, _, seen = self._checked(context, actions, losses)
        if seen.size:
            self._actions_for(actions).read(actions)

    def check_loaded(self) -> None:
        """Refuse parts that do not fit together."""
        if self.contexts is None or self.actions is None or self.posterior is None:
            if any(part is not None for part in (self.contexts, self.actions, self.posterior)):
                raise ValueError("contexts, actions and posterior must be there together")
            return
        if self.seen.size < self.actions.n_places:
            raise ValueError(f"`seen` must have {self.actions.n_places} entries or more")
        dense = self.contexts if isinstance(self.contexts, DenseFeatures) else None
        if dense is not None and self.n_numbers != dense.n_features:
            raise ValueError(f"n_numbers must be {dense.n_features}, like those of contexts")
        expected = _new_posterior(self.contexts, self.actions, self.n_numbers)
        forms = [
            (one.together, one.n_products, one.priors.n_dense) for one in (self.posterior, expected)
        ]
        if forms[0] != forms[1]:
            raise ValueError("the posterior must be one for such contexts and actions")
        found = 0 if self.products is None else self.products.n_products
        if found != _n_products(self.n_numbers):
            raise ValueError(f"products must be those of contexts, {_n_products(self.n_numbers)}")

    def _checked(
        self, context: Any, actions: Any, losses: Any
    ) -> tuple[DenseFeatures | SparseFeatures, Any, Floats]:
        """How contexts are read, this one as it was read, and the losses."""
        n, seen = n_rows(actions), as_numbers("losses", losses)
        if seen.shape != (n,):
            raise ValueError(
                f"`losses` must have shape ({n},), one per revealed action, got {seen.shape}"
            )
        check_in_range("losses", seen, "loss_range", self.loss_range)
        contexts = self._contexts_for(context)
        return contexts, contexts.read(context), seen

    def _contexts_for(self, context: Any) -> DenseFeatures | SparseFeatures:
        """How contexts are read so far; decided by this one where there is none."""
        if self.contexts is not None:
            return self.contexts
        width = dense_width(context)
        return SparseFeatures() if width is None else DenseFeatures(width)

    def _n_numbers_for(self, context: Any) -> int:
        """How many numbers of contexts have products; decided by the first one learned."""
        if self.contexts is not None:
            return self.n_numbers
        return context.n_numbers if isinstance(context, EncodedRow) else dense_width(context) or 0

    def _posterior_for(
        self, contexts: DenseFeatures | SparseFeatures, kinds: ActionRows, n_numbers: int
    ) -> PairPosterior:
        return self.posterior or _new_posterior(contexts, kinds, n_numbers)

    def _products_for(self, n_numbers: int) -> ProductPosterior | None:
        """What the products of contexts add; None where they have none."""
        if self.posterior is not None or _n_products(n_numbers) == 0:
            return self.products
        return ProductPosterior(_n_products(n_numbers))

    def _weight(self) -> float:
        """Of the member with products of context features."""
        return 1.0 / (1.0 + math.exp(-self.log_odds))

    def _actions_for(self, actions: Any) -> ActionRows:
        """How rows of actions are read so far; decided by these where there are none."""
        if self.actions is not None:
            return self.actions
        first = actions[0]
        return ActionRows(
            width_of(actions), first.n_numbers if isinstance(first, EncodedRow) else 0
        )


def _new_posterior(
    contexts: DenseFeatures | SparseFeatures, kinds: ActionRows, n_numbers: int
) -> PairPosterior:
    together = contexts.n_places if isinstance(contexts, DenseFeatures) else 0
    return PairPosterior(together, n_few_products(n_numbers) + kinds.n_products)


def _n_products(n_numbers: int) -> int:
    """How many products of numbers a context has."""
    return n_numbers * (n_numbers + 1) // 2 if n_numbers <= PRODUCTS_UP_TO else 0


def _scaled(
    features: DenseFeatures | SparseFeatures, x: Any, context: Any, n_numbers: int
) -> tuple[SparseRow, Floats, Floats, float]:
    """The context by place, few products, all of them, and |x|^2 of features never seen."""
    few, products = np.zeros(n_few_products(n_numbers)), np.zeros(_n_products(n_numbers))
    if isinstance(features, DenseFeatures):
        values, novelty = features.scale(x), 0.0
        row = every_index(features.n_places), values
        numbers = values[:n_numbers] * math.sqrt(features.n_places)
    else:
        row, novelty = features.scale(x)
        if products.size == 0 or not isinstance(context, EncodedRow):
            return row, few, products, novelty
        numbers = np.zeros(n_numbers)
        fill_numbers(context, numbers)
    fill_products(numbers, CONSTANT, few)
    fill_products(numbers, 1.0, products)
    return row, few, products, novelty


@compiled
def _blended(
    scores: Floats,
    leverages: Floats,
    more: Floats,
    spreads: Floats,
    weight: float,
    dispersion: float,
) -> tuple[Floats, Floats, Floats]:
    """The mean of both members' shares, how sure it is, and the information of a loss.

    The second member, which has this weight, adds `more` to the scores and `spreads` to their
    variances.
    """
    n = scores.size
    shares, apart, both = np.empty(n), np.empty(n), np.empty(n)
    for r in range(n):
        shares[r], apart[r] = _both(scores[r], leverages[r], more[r], spreads[r], weight)
        both[r] = leverages[r] + weight * spreads[r]
    deviations, gains = certainty(shares, both, np.full(n, dispersion))
    for r in range(n):
        between = weight * (1.0 - weight) * apart[r] * apart[r]
        deviations[r] = math.sqrt(deviations[r] * deviations[r] + between)
    return shares, deviations, gains


@compiled
def _errors(
    scores: Floats,
    leverages: Floats,
    more: Floats,
    spreads: Floats,
    weight: float,
    seen: Floats,
) -> tuple[float, float]:
    """Squared residuals relative to a coin's variance, and by how much the second errs less."""
    squares = better = 0.0
    for r in range(seen.size):
        share, apart = _both(scores[r], leverages[r], more[r], spreads[r], weight)
        squares += (seen[r] - share) ** 2 / max(share * (1.0 - share), 1e-3)
        first = share - weight * apart
        better += (first - seen[r]) ** 2 - (first + apart - seen[r]) ** 2
    return squares, better


@compiled
def _both(
    score: float, leverage: float, more: float, spread: float, weight: float
) -> tuple[float, float]:
    """The members' mean share, and how far the second is above the first."""
    first = mean_share(score, leverage)
    if weight == 0.0:
        return first, 0.0
    apart = mean_share(score + more, leverage + spread) - first
    return first + weight * apart, apart
