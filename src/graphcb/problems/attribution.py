"""What a learner predicts for a context, how sure it is, and which features moved that."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from graphcb.contexts.encoded import EncodedRow
from graphcb.contexts.neutral import rows_without, typical_row
from graphcb.problems.guarded import explorer_of
from graphcb.problems.learner import Learner
from graphcb.problems.units import Floats

NORMAL = 1.959963984540054  # 95 %, both sides


class Contribution(NamedTuple):
    """How far a feature moved a prediction: with its value, minus without it.

    Without it means that it says nothing: a number is typical, a word or category is not there.
    All other features stay as they are. `value` is in the context's units.
    """

    feature: str
    value: Any
    change: float


class Attribution(NamedTuple):
    """Predictions (K,) in the problem's units, and what moved them.

    `low` and `high` are 95 % intervals of the expected values, and `n_seen` how often each action's
    outcome was seen; they are None if the oracle does not say. `typical` are the predictions if no
    feature said anything. Features that act together are not the sum of what each does alone:
    `left_over` is predicted - typical - the sum of all contributions.
    """

    predicted: Floats
    low: Floats | None
    high: Floats | None
    n_seen: Floats | None
    typical: Floats
    contributions: tuple[tuple[Contribution, ...], ...]
    left_over: Floats


def attribute(
    learner: Learner, context: Any, actions: Any = None, *, by_word: bool = True
) -> Attribution:
    """What a learner predicts of a round's actions, and which features moved each prediction.

    Each feature is left out on its own and the oracle is asked again, so that the answer is exact
    for whatever it has learned, bends and products included. `by_word` as in `rows_without`.

    >>> from graphcb import Problem
    >>> learner = Learner(Problem(["a", "b"], range=(0, 1)))
    >>> for k in range(40):
    ...     learner.learn({"x": float(k % 4), "y": 1.0}, ["a"], [0.25 * (k % 4)])
    >>> found = attribute(learner, {"x": 3.0, "y": 1.0})
    >>> [(one.feature, round(one.change, 1)) for one in found.contributions[0]]
    [('x', 0.5), ('y', 0.0)]
    """
    names = learner.problem.names_of(actions)
    described = learner.described(context, actions, names)
    inner, row = learner.inner(actions, names, described), learner.encoder.encode(context)
    ask = _asking(learner, context, names)
    predicted, low, high, n_seen = ask(row, inner)
    changes: list[list[Contribution]] = [[] for _ in names]
    for name, value, other in rows_without(learner.encoder, context, by_word=by_word):
        without = ask(other, inner)[0]
        for one, change in zip(changes, (predicted - without).tolist(), strict=True):
            one.append(Contribution(name, value, change))
    for index, name, value, change in _of_actions(learner, described, row, predicted, ask):
        changes[index].append(Contribution(name, value, change))
    bare = typical_row(row) if isinstance(row, EncodedRow) else row
    plain = inner if learner.action_encoder is None else [typical_row(one) for one in inner]
    typical = ask(bare, plain)[0]
    sums = np.array([sum(one.change for one in each) for each in changes])
    ordered = tuple(tuple(sorted(each, key=lambda one: -abs(one.change))) for each in changes)
    return Attribution(predicted, low, high, n_seen, typical, ordered, predicted - typical - sums)


Answer = tuple[Floats, Floats | None, Floats | None, Floats | None]


def _asking(learner: Learner, context: Any, names: tuple[str, ...]) -> Callable[..., Answer]:
    """A function of a row and actions: predictions, their intervals, and times seen.

    If the actions are not those of the round, `places` says which of them each stands for.
    """
    problem, oracle = learner.problem, learner.inner_oracle()
    known = None if problem.known is None else problem.known_in(context, names)
    bounds = problem.range or ((0.0, 1.0) if learner.needs_range is not None else None)

    def ask(row: Any, inner: Any, places: Any = slice(None)) -> Answer:
        exact = None if known is None else known[places]

        def values_of(losses: Floats) -> Floats:
            if bounds is not None:
                losses = np.clip(losses, 0.0, 1.0)
            values = problem.as_values(losses)
            return values if exact is None else np.where(np.isnan(exact), values, exact)

        if not hasattr(oracle, "forecast"):
            return values_of(np.asarray(oracle.predict(row, inner))), None, None, None
        forecast = oracle.forecast(row, inner)
        losses, off = forecast.losses, NORMAL * forecast.deviations
        ends = values_of(losses - off), values_of(losses + off)
        counts = np.asarray(forecast.counts, dtype=np.float64)
        return values_of(losses), np.minimum(*ends), np.maximum(*ends), counts

    return ask


def _of_actions(
    learner: Learner, described: list[Any], row: Any, predicted: Floats, ask: Callable[..., Answer]
) -> Iterator[tuple[int, str, Any, float]]:
    """How far each feature of an action moved its prediction; all are asked for at once."""
    if learner.action_encoder is None:
        return
    found = [
        (index, one)
        for index, action in enumerate(described)
        for one in rows_without(learner.action_encoder, action)
    ]
    places = np.array([index for index, _ in found], dtype=np.int64)
    without = ask(row, [one.row for _, one in found], places)[0]
    for (index, one), change in zip(found, (predicted[places] - without).tolist(), strict=True):
        shown = "its name" if one.name == "action" else one.name.removeprefix("features.")
        yield index, shown, one.value, change


def has_oracle(agent: Any) -> bool:
    """Whether there is anything that predicts."""
    inside = explorer_of(agent.agent if isinstance(agent, Learner) else agent)
    return getattr(inside, "oracle", None) is not None
