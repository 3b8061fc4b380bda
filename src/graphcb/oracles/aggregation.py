"""A mixture of several oracles that is nearly as good as the best of them."""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphcb.checks import as_numbers, as_range, check_in_range
from graphcb.describing import describe
from graphcb.loaded import Array, Instance, Learned
from graphcb.oracles.protocol import Oracle, as_oracle
from graphcb.oracles.rows import Floats

Function = Callable[[Any, Any], Any]  # (context, actions) -> losses


class VovkAggregation:
    """Vovk's aggregating algorithm over a finite list of functions or oracles.

    For losses in `loss_range`. Each member's weight falls exponentially with its squared error;
    the prediction is the one that loses least in the worse of the two ends of the range. With one
    loss per round the sum of squared errors is at most that of the best member plus
    range^2 / 2 * log(number of members). A round that reveals m losses counts their mean, so
    the bound holds for the mean squared errors of the rounds, whatever is revealed.

    >>> oracle = VovkAggregation([lambda x, a: [0.0], lambda x, a: [1.0]])
    >>> oracle.predict(None, [0])
    array([0.5])
    >>> for _ in range(20):
    ...     oracle.update(None, [0], [1.0])
    >>> oracle.predict(None, [0])
    array([1.])
    """

    learned = Learned(members=Instance(list), log_weights=Array("members", most=0.0))

    def __init__(
        self,
        members: Sequence[Oracle | Function],
        *,
        loss_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        if not members:
            raise ValueError("`members` must hold at least one function or oracle, got none")
        for i, member in enumerate(members):
            if isinstance(member, type) or not callable(member):
                as_oracle(member, name=f"members[{i}]")
        self.members = list(members)
        self.loss_range = as_range("loss_range", loss_range)
        self.log_weights = np.full(len(self.members), -math.log(len(self.members)))

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """The aggregated prediction of each action."""
        return self._aggregate(self._predictions(context, actions))

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """Weigh the members by how well they predicted, then let the oracles among them learn."""
        losses = as_numbers("losses", losses)
        errors = self._squared_errors(context, actions, losses)
        if errors is None:
            return
        # A member of another kind may refuse after it has changed, so a copy of it learns.
        members = [self._as_learner(member, context, actions, losses) for member in self.members]
        for member, kept in zip(members, self.members, strict=True):
            if member is not kept:
                member.update(context, actions, losses)
        for member, kept in zip(members, self.members, strict=True):
            if member is kept and not callable(member):
                member.update(context, actions, losses)
        self.members = members
        self._weigh(errors)

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        losses = as_numbers("losses", losses)
        if self._squared_errors(context, actions, losses) is not None:
            for member in self.members:
                learner = self._as_learner(member, context, actions, losses)
                if learner is not member:
                    learner.update(context, actions, losses)

    __repr__ = describe

    def _as_learner(self, member: Any, context: Any, actions: Any, losses: Any) -> Any:
        """The member if it will accept the update, or a copy if it cannot tell."""
        if callable(member):
            return member
        if not hasattr(member, "check_update"):
            return copy.deepcopy(member)
        member.check_update(context, actions, losses)
        return member

    def _squared_errors(self, context: Any, actions: Any, seen: Floats) -> Floats | None:
        """The mean squared error of each member, checked; None if nothing was revealed."""
        check_in_range("losses", seen, "loss_range", self.loss_range)
        if seen.size == 0:
            return None
        predictions = self._predictions(context, actions)
        if predictions.shape[1:] != seen.shape:
            raise ValueError(
                f"`losses` must have shape {predictions.shape[1:]}, one per revealed action, "
                f"got {seen.shape}"
            )
        errors: Floats = ((predictions - seen) ** 2).mean(axis=1)
        return errors

    def _predictions(self, context: Any, actions: Any) -> Floats:
        """Each member's predictions, clipped to the range: (n_members, n_actions)."""
        answers = [
            member(context, actions) if callable(member) else member.predict(context, actions)
            for member in self.members
        ]
        predictions = np.array(answers, dtype=np.float64)
        wrong = np.flatnonzero(np.isnan(predictions).reshape(len(self.members), -1).any(axis=1))
        if wrong.size:
            raise ValueError(f"`members[{wrong[0]}]` must predict numbers, got NaN")
        return np.clip(predictions, *self.loss_range)

    def _weigh(self, squared_errors: Floats) -> None:
        low, high = self.loss_range
        self.log_weights -= 2.0 / (high - low) ** 2 * squared_errors
        self.log_weights -= self.log_weights.max()

    def _aggregate(self, predictions: Floats) -> Floats:
        """Half-way between what the two ends of the range would cost, in units of the range.

        With generalised losses g(y) = -1/2 log(sum_i w_i exp(-2 (f_i - y)^2)) on [0, 1] the
        prediction (1 + g(0) - g(1)) / 2 loses at most g(y) against both ends.
        """
        low, high = self.loss_range
        share = (predictions - low) / (high - low)
        weights = np.exp(self.log_weights - np.logaddexp.reduce(self.log_weights))
        at_low = -0.5 * np.log(weights @ np.exp(-2.0 * share**2))
        at_high = -0.5 * np.log(weights @ np.exp(-2.0 * (1.0 - share) ** 2))
        mixed: Floats = low + (high - low) * np.clip(0.5 * (1.0 + at_low - at_high), 0.0, 1.0)
        return mixed
