"""Which features matter: how much worse predictions get if one of them says nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from graphcb.problems.attribution import NORMAL, attribute
from graphcb.problems.learner import Learner

LEAST = 10  # decisions for an interval


class Importance(NamedTuple):
    """By how much the mean squared error grows without a feature, and its 95 % interval.

    `share` is that in parts of the mean squared error without any feature: what the feature
    explains of all that features could.
    """

    feature: str
    increase: float
    interval: tuple[float, float] | None
    share: float


@dataclass(frozen=True)
class Importances:
    """The features that matter, the most important first; errors in squared units.

    `n` decisions with `error` on average, which would have been `typical_error` if no feature had
    said anything. `by_action` has the same for what each action brought. An increase below 0 says
    that predictions were better without the feature, by chance or because it misleads.
    """

    unit: str
    n: int
    error: float
    typical_error: float
    overall: tuple[Importance, ...]
    by_action: dict[str, tuple[Importance, ...]]

    def __str__(self) -> str:
        lines = [
            f"squared error of the predicted {self.unit} {self.error:.4g}, "
            f"{self.typical_error:.4g} without features, {self.n:,} decisions"
        ]
        for one in self.overall:
            ends = "" if one.interval is None else " ({:+.3g} to {:+.3g})".format(*one.interval)
            lines.append(f"  without {one.feature}: {one.increase:+.3g}{ends}")
        return "\n".join(lines)

    def plot(self) -> Any:
        """A matplotlib figure: one bar per feature, overall and for each action."""
        return import_module("graphcb.figures.importances").draw_importances(self)


class _Errors(NamedTuple):
    """Squared errors of a prediction: how they grow without each feature, with all, with none."""

    grown: dict[str, float]
    error: float
    typical: float


class ImportanceTally:
    """What was predicted, and what would have been, beside what came."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._decisions: list[_Errors] = []
        self._by_action: dict[str, list[_Errors]] = {}

    def add(
        self, learner: Learner, context: Any, actions: Any, values: Mapping[int, float]
    ) -> None:
        """A decision whose actions brought these losses or rewards, by index."""
        if not values:
            return
        found = attribute(learner, context, actions, by_word=False)
        names, rows = learner.problem.names_of(actions), []
        for index, value in values.items():
            off = value - float(found.predicted[index])
            changes = {one.feature: one.change for one in found.contributions[index]}
            grown = {name: (off + change) ** 2 - off**2 for name, change in changes.items()}
            rows.append(_Errors(grown, off**2, (value - float(found.typical[index])) ** 2))
            self._by_action.setdefault(names[index], []).append(rows[-1])
        features = dict.fromkeys(name for row in rows for name in row.grown)
        means = {name: _mean(row.grown.get(name, 0.0) for row in rows) for name in features}
        errors = _mean(row.error for row in rows), _mean(row.typical for row in rows)
        self._decisions.append(_Errors(means, *errors))

    def result(self) -> Importances:
        """The features in the order of their importance."""
        if not any(row.grown for row in self._decisions):
            raise ValueError(
                "importances must have decisions with feedback and features with names, got none"
            )
        return Importances(
            self._unit,
            len(self._decisions),
            _mean(row.error for row in self._decisions),
            _mean(row.typical for row in self._decisions),
            _ranked(self._decisions),
            {name: _ranked(rows) for name, rows in self._by_action.items()},
        )


def importances_of(learner: Learner, rounds: Iterable[Any]) -> Importances:
    """The importances by a learner as it is; see `Learner.importances`."""
    tally = ImportanceTally(learner.problem.unit)
    for context, values, *actions in rounds:
        offered = actions[0] if actions else None
        names = learner.problem.names_of(offered)
        tally.add(learner, context, offered, {names.index(a): float(v) for a, v in values.items()})
    return tally.result()


def _ranked(rows: list[_Errors]) -> tuple[Importance, ...]:
    typical = _mean(row.typical for row in rows)
    found = []
    for name in dict.fromkeys(name for row in rows for name in row.grown):
        grown = np.array([row.grown.get(name, 0.0) for row in rows])
        mean, ends = float(grown.mean()), None
        if grown.size >= LEAST:
            off = NORMAL * float(grown.std(ddof=1)) / grown.size**0.5
            ends = mean - off, mean + off
        found.append(Importance(name, mean, ends, mean / typical if typical else 0.0))
    return tuple(sorted(found, key=lambda one: -one.increase))


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
