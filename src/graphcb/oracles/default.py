"""The default oracle: no settings, dense or sparse contexts of any scale."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from graphcb.checks import DivergenceError, as_count, as_range, check_in_range, first_not_finite
from graphcb.contexts.foreseen import Foreseen
from graphcb.describing import COMMENT, describe
from graphcb.loaded import Instance, Learned
from graphcb.oracles.blends import Blend, form_of
from graphcb.oracles.loss_scale import LossScale, Range
from graphcb.oracles.members import explain_members, name_members
from graphcb.oracles.protocol import Forecast
from graphcb.oracles.rows import Columns, Floats, as_columns, as_seen, every_index
from graphcb.oracles.watched_losses import WatchedLosses

FORESEEN = 64_000  # contexts times actions, 10 MB while they are worked out


class DefaultOracle:
    """Predicts losses from any context without a setting; agents without an oracle make one.

    Contexts are dense, sparse or encoded, and of any scale: numbers are brought to one scale as
    they come, by ranks where tails are heavy, and sparse rows to norm 1. The first context that
    is learned from says which, and how many numbers a dense one has. Losses lie in `loss_range`,
    which is a bound and not a scale: those that fill a small part of it are learned as fast
    (`loss_scale`). None stands for losses of any size.

    Its members are `BayesianLogistic` oracles (`blends`). Straight ones see features, with a full
    covariance for up to 256 of them; paired ones also the products of up to 64 numbers, with a
    diagonal covariance, which is all that many features such as words have; waved ones also random
    waves of the features, and bend. Of each kind one keeps all that it learned, and two forget
    with every loss of an action. They are weighed by the squared errors of the last rounds.

    A round costs about d^2 for each action with d dense features and waves, and the words times
    the actions with text.

    >>> oracle = DefaultOracle(2)
    >>> for income in (900.0, 4100.0, 1200.0, 3900.0):
    ...     oracle.update([income, 1.0], [0, 1], [float(income < 2000), float(income > 2000)])
    >>> oracle.predict([1000.0, 1.0]) > 0.5
    array([ True, False])
    >>> oracle
    DefaultOracle(2)  # 37 % waved (keeps all), 29 % paired (keeps all), 29 % straight (keeps all)
    """

    learned = Learned(
        blend=Instance(Blend, None), scale=Instance(LossScale), watched=Instance(WatchedLosses)
    )

    def __init__(self, n_actions: int, *, loss_range: Range | None = (0.0, 1.0)) -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.loss_range = None if loss_range is None else as_range("loss_range", loss_range)
        self.scale = LossScale(self.n_actions, self.loss_range)
        self.blend: Blend | None = None
        self.watched = WatchedLosses(self.n_actions)
        self._foreseen = Foreseen()

    def __repr__(self) -> str:
        """The call that makes one, and who predicts now."""
        who = "" if self.blend is None else f"{COMMENT}{name_members(self.blend, least=0.05)}"
        return f"{describe(self)}{who}"

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """Predicted losses of these actions (numbers), of all for None."""
        predicted = self.forecast(context, actions).losses
        if first_not_finite(predicted) >= 0:
            raise _divergence()
        return predicted

    def forecast(self, context: Any, actions: Any = None) -> Forecast:
        """Predicted losses, and how sure they are."""
        columns = as_columns(actions, self.n_actions)
        foreseen = self._foreseen.get(id(context))
        if foreseen is not None and columns is every_index(self.n_actions):
            shares, deviations, gains, counts = foreseen[1]
        else:
            blend = self.blend
            if blend is None:
                blend = _unlearned(self.n_actions, *form_of(context))
            shares, deviations, gains, counts = blend.forecast(blend.read(context), columns)
        low, span = self.scale.low, self.scale.high - self.scale.low
        if (low, span) != (0.0, 1.0):
            shares, deviations = low + span * shares, span * deviations
        least, most = self.loss_range or (0.0, 0.0)
        return Forecast(shares, deviations, gains, counts, span, low, most - least)

    def foresee(self, contexts: Sequence[Any]) -> None:
        """Work out the forecasts of all actions in these contexts, which are about to be asked for.

        Together they cost less. They are the same, and are forgotten with the next update. Of many
        contexts and actions, only the first contexts have room.
        """
        blend, contexts = self.blend, contexts[: FORESEEN // self.n_actions]
        if blend is not None and len(contexts) > 1:
            rows = [blend.read(context) for context in contexts]
            self._foreseen.keep(contexts, blend.forecast_each(rows, every_index(self.n_actions)))

    def update(
        self, context: Any, actions: Any, losses: Any, *, decision: int | None = None
    ) -> None:
        """Learn the losses revealed, and the scale of the context.

        `decision` is the number of the last decision, for `watched`; without it, updates are
        counted.
        """
        columns, seen = self._seen(actions, losses)
        self._foreseen.clear()
        blend, scale = self.blend, self.scale
        if blend is None:
            blend = Blend(self.n_actions, *form_of(context))
            _unlearned.cache_clear()  # it may be large
        x = blend.read(context)
        larger = scale.around(seen)
        if larger is not None:
            self.predict(context, columns)  # while nothing has changed
            blend.carry(scale.move(larger))
        if not blend.learn(x, columns, scale.shares(seen), self.watched.watch(decision)):
            raise _divergence()
        self.watched.n_rounds += 1
        if scale.count(columns, seen):  # they have doubled
            smaller = scale.fitted()
            if smaller is None:
                blend.relearn_priors()
            else:
                blend.carry(scale.move(smaller))
        self.blend = blend

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        columns, _ = self._seen(actions, losses)
        self.predict(context, columns)

    def check_loaded(self) -> None:
        """Refuse a blend or a scale of other actions or ranges."""
        if (self.scale.n_actions, self.scale.bounds) != (self.n_actions, self.loss_range):
            raise ValueError(f"`scale` must have {self.n_actions} actions and the loss range")
        if self.watched.n_actions != self.n_actions:
            raise ValueError(
                f"`watched` must have {self.n_actions} actions, got {self.watched.n_actions}"
            )
        if self.blend is not None and self.blend.surprises.size != self.n_actions:
            raise ValueError(
                f"`blend` must have {self.n_actions} actions, got {self.blend.surprises.size}"
            )

    def explain(self) -> str:
        """Which members carry the weight now, and which were left out and why.

        >>> import numpy as np
        >>> oracle = DefaultOracle(2)
        >>> oracle.explain()
        'nothing was learned yet'
        >>> oracle.update((np.arange(300), np.ones(300)), [0], [1.0])
        >>> print(oracle.explain().replace("; ", "\\n").replace("), ", "),\\n"))
        predicted by 95 % paired (keeps all),
        5 % paired (keeps 0.998 per loss),
        1 % paired (keeps 0.98 per loss)
        left out: straight (more than 256 features or 1,000,000 covariances of all actions),
        products (no numbers, or more than 64),
        waves (more than 150,000 covariances of all actions)
        """
        return "nothing was learned yet" if self.blend is None else explain_members(self.blend)

    def grow(self, n_actions: int) -> None:
        """Make room for more actions; what was learned stays."""
        if n_actions > self.n_actions:
            self._foreseen.clear()
            self.n_actions = n_actions
            self.scale.grow(n_actions)
            self.watched.grow(n_actions)
            if self.blend is not None:
                self.blend.grow(n_actions)

    def take(self, actions: Any) -> None:
        """Keep what was learned of these actions, which are then 0, 1, ...; forget the others.

        >>> oracle = DefaultOracle(3)
        >>> oracle.update([1.0], [0, 1, 2], [0.0, 0.5, 1.0])
        >>> before = oracle.predict([1.0])
        >>> oracle.take([2, 0])
        >>> bool((oracle.predict([1.0]) == before[[2, 0]]).all())
        True
        """
        columns = as_columns(actions, self.n_actions)
        self._foreseen.clear()
        self.n_actions = as_count("n_actions", columns.size)
        self.scale.take(columns)
        self.watched.take(columns)
        if self.blend is not None:
            self.blend.take(columns)

    def _seen(self, actions: Any, losses: Any) -> tuple[Columns, Floats]:
        """Actions and losses, checked."""
        columns, seen = as_seen(actions, losses, self.n_actions)
        if self.loss_range is not None:
            check_in_range("losses", seen, "loss_range", self.loss_range)
        return columns, seen


@lru_cache(maxsize=1)
def _unlearned(n_actions: int, width: int | None, constant: float) -> Blend:
    """A blend before it learns, kept for decisions that come before the first feedback."""
    return Blend(n_actions, width, constant)


def _divergence() -> DivergenceError:
    return DivergenceError(
        "the predictions or the covariances are no longer finite; start again from a new oracle"
    )
