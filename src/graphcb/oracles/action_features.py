"""The oracle for actions that come with features."""

from typing import Any

import numpy as np

from graphcb.checks import as_numbers, as_range, check_in_range
from graphcb.describing import describe
from graphcb.loaded import Array, Count, Instance, Learned, Number
from graphcb.oracles.action_rows import ActionRows, mean_counts, n_rows, width_of
from graphcb.oracles.bayesian import PRIOR_COUNT
from graphcb.oracles.features import DenseFeatures, SparseFeatures
from graphcb.oracles.pairs import PairPosterior
from graphcb.oracles.posterior import certainty, mean_shares
from graphcb.oracles.protocol import Forecast
from graphcb.oracles.rows import Floats, SparseRow, dense_width, every_index


class ActionFeatureOracle:
    """Predicts the loss of an action from its features and the context; needs no settings.

    `actions` is a list with one row of features per action, dense or sparse, or an array
    (n_actions, n_features). Actions may be different ones in every round: what is learned from
    one carries over to all with similar features. To tell actions apart that may share all their
    features, add one that marks the action itself. Contexts are dense or sparse. Neither needs to
    be scaled. Losses lie in `loss_range`.

    One Bayesian logistic regression serves all actions, on their features, those of the context,
    and the products of both. The first 256 such pairs have a full covariance, with dense contexts
    more (`oracles/pairs.py`). A round costs about the features of the context times those of all
    actions.

    >>> oracle = ActionFeatureOracle()
    >>> for price in (3.0, 9.0, 4.0, 8.0):
    ...     oracle.update([1.0, 0.0], [[price]], [price / 10])
    >>> oracle.predict([1.0, 0.0], [[5.0], [7.0]]).round(1)
    array([0.4, 0.6])
    """

    learned = Learned(
        contexts=Instance(DenseFeatures, SparseFeatures, None),
        actions=Instance(ActionRows, None),
        posterior=Instance(PairPosterior, None),
        seen=Array(None, least=0.0),
        squares=Number(0.0),
        count=Count(),
    )

    def __init__(self, *, loss_range: tuple[float, float] = (0.0, 1.0)) -> None:
        self.loss_range = as_range("loss_range", loss_range)
        self.contexts: DenseFeatures | SparseFeatures | None = None
        self.actions: ActionRows | None = None
        self.posterior: PairPosterior | None = None
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
            return Forecast(nothing, nothing, nothing, nothing, high - low)
        contexts, kinds = self._contexts_for(context), self._actions_for(actions)
        row, novelty = _scaled(contexts, contexts.read(context))
        rows = kinds.scale(kinds.read(actions))
        posterior = self._posterior_for(contexts)
        scores, leverages = posterior.scores(row, novelty, rows, kinds.n_places)
        shares = mean_shares(scores, leverages)
        dispersion = self.squares / (PRIOR_COUNT + self.count)
        deviations, gains = certainty(shares, leverages, np.full(shares.size, dispersion))
        counts = mean_counts(rows.starts, rows.indices, rows.values, self.seen)
        return Forecast(
            low + (high - low) * shares, (high - low) * deviations, gains, counts, high - low
        )

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """Learn the losses revealed of these actions (rows of features)."""
        contexts, x, seen = self._checked(context, actions, losses)
        n = seen.size
        if n == 0:
            return
        kinds, posterior = self._actions_for(actions), self._posterior_for(contexts)
        raw = kinds.read(actions)
        contexts.learn(x)
        kinds.learn(raw)
        self.contexts, self.actions, self.posterior = contexts, kinds, posterior
        row, rows = _scaled(contexts, x)[0], kinds.scale(raw)
        low, high = self.loss_range
        shares = (seen - low) / (high - low)
        predicted = posterior.learn(row, rows, shares)
        coins = np.maximum(predicted * (1.0 - predicted), 1e-3)
        self.squares += float(np.sum((shares - predicted) ** 2 / coins))
        self.count += n
        if self.seen.size < kinds.n_places:
            more = 2 * kinds.n_places - self.seen.size
            self.seen = np.append(self.seen, np.zeros(more))
        np.add.at(self.seen, rows.indices[rows.values != 0.0], 1.0)

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
        if self.posterior.together != self._new_posterior(self.contexts).together:
            raise ValueError("the posterior must be one for such contexts")

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

    def _posterior_for(self, contexts: DenseFeatures | SparseFeatures) -> PairPosterior:
        return self.posterior or self._new_posterior(contexts)

    def _new_posterior(self, contexts: DenseFeatures | SparseFeatures) -> PairPosterior:
        return PairPosterior(contexts.n_places if isinstance(contexts, DenseFeatures) else 0)

    def _actions_for(self, actions: Any) -> ActionRows:
        """How rows of actions are read so far; decided by these where there are none."""
        return ActionRows(width_of(actions)) if self.actions is None else self.actions


def _scaled(features: DenseFeatures | SparseFeatures, x: Any) -> tuple[SparseRow, float]:
    """The context by place with a constant, and what it has of features never seen."""
    if isinstance(features, SparseFeatures):
        return features.scale(x)
    return (every_index(features.n_places), features.scale(x)), 0.0
