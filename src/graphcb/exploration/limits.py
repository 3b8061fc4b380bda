"""Limits on probabilities in every round: floors, caps and a few linear limits."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphcb.checks import refuse_action
from graphcb.exploration.clashing import InfeasibleLimits, Limit, check_bounds, check_rows
from graphcb.exploration.limit_arguments import (
    LinearLimit,
    PerAction,
    as_linear,
    as_per_action,
    plain,
)
from graphcb.graphs.structure import Floats

__all__ = ["BoxAndRows", "InfeasibleLimits", "Limits"]

Names = Sequence[Hashable]

MOST_KEPT = 1000  # sets of names whose arrays are kept


class BoxAndRows(NamedTuple):
    """The limits of one round as arrays: lower <= p <= upper and rows @ p <= most."""

    lower: Floats  # (K,)
    upper: Floats  # (K,)
    rows: Floats  # (r, K)
    most: Floats  # (r,)


class Limits:
    """Floors, caps and linear limits that the probabilities of every round obey.

    `floors` and `caps` are one number for every action, a sequence with one per action, or a
    mapping from actions to numbers; an action is called what the round calls it, by a name or an
    index. `linear` is a sequence of mappings with `actions` (a group) or `weights` (a mapping or
    a sequence), `at_most` or `at_least` or both, and perhaps a `name`. A name that a round does
    not offer is ignored in that round.

    >>> limits = Limits(
    ...     floors={"approve": 0.02},
    ...     linear=[{"actions": ["call", "review"], "at_most": 0.05, "name": "team"}],
    ... )
    >>> limits.on(("approve", "call", "review")).lower
    array([0.02, 0.  , 0.  ])
    """

    floors: PerAction
    caps: PerAction
    linear: tuple[LinearLimit, ...]
    _key: tuple[Any, ...]
    _kept: dict[Any, BoxAndRows | None]

    def __init__(self, *, floors: Any = None, caps: Any = None, linear: Any = ()) -> None:
        low = as_per_action("floors", 0.0 if floors is None else floors)
        high = as_per_action("caps", 1.0 if caps is None else caps)
        rows = as_linear(linear)
        _check_lengths(low, high, rows)
        _check_certain_clashes(low, high)
        weights = tuple((_hashable(one.weights), *one[1:]) for one in rows)
        key = (_hashable(low), _hashable(high), weights)
        vars(self).update(floors=low, caps=high, linear=rows, _key=key, _kept={})

    def on(self, names: Names) -> BoxAndRows | None:
        """The limits of a round whose actions have these names; None if it has none.

        Limits that clash raise `InfeasibleLimits`. The arrays are kept, and are read-only.
        """
        key = names if type(names) is tuple or type(names) is range else tuple(names)
        try:
            return self._kept[key]
        except KeyError:
            pass
        made = _make(self, key)
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = made
        return made

    @cached_property
    def named(self) -> list[Hashable]:
        """The actions that are named."""
        parts = [self.floors, self.caps, *(one.weights for one in self.linear)]
        every = [name for part in parts if isinstance(part, Mapping) for name in part]
        return list(dict.fromkeys(every))

    def check_names(self, known: Collection[Hashable]) -> None:
        """Refuse limits on actions that are not among `known`, and lists of another length."""
        places: list[tuple[str, Any]] = [("floors", self.floors), ("caps", self.caps)]
        places += [(f"linear[{i}]", one.weights) for i, one in enumerate(self.linear)]
        for place, values in places:
            if isinstance(values, Mapping):
                for name in values:
                    if name not in known:
                        refuse_action(f"`limits.{place}`", name, known)
            elif isinstance(values, tuple):
                _check_length(place, values, len(known))

    def as_table(self) -> dict[str, Any]:
        """The arguments that are not the default, as numbers, texts, lists and dicts."""
        table: dict[str, Any] = {}
        if self.floors != 0.0:
            table["floors"] = plain(self.floors)
        if self.caps != 1.0:
            table["caps"] = plain(self.caps)
        if self.linear:
            table["linear"] = [one.as_table() for one in self.linear]
        return table

    def __getstate__(self) -> dict[str, Any]:
        return self.as_table()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"`Limits` cannot change; make another one to set `{name}`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Limits) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Limits({', '.join(f'{k}={v!r}' for k, v in self.as_table().items())})"


def _make(limits: Limits, names: Names) -> BoxAndRows | None:
    lower = _as_row("floors", limits.floors, names, missing=0.0)
    upper = _as_row("caps", limits.caps, names, missing=1.0)
    check_bounds(names, lower, upper)
    every = [one for place in range(len(limits.linear)) for one in _rows(limits, place, names)]
    check_rows(names, lower, upper, every)
    kept = []
    for one in every:
        (where,) = one.coefficients.nonzero()
        if where.size == 1:  # a bound on one action
            i, size = where[0], one.coefficients[where[0]]
            if size > 0.0:
                upper[i] = max(lower[i], min(upper[i], one.bound / size))
            else:
                lower[i] = min(upper[i], max(lower[i], one.bound / size))
        elif _leaves_none(one, lower):  # as "at most 0 of these", or "at least 1 of those"
            upper = np.where(one.coefficients > one.coefficients.min(), lower, upper)
        elif one.coefficients.max() > one.bound:  # else it holds anyway
            kept.append(one)
    if not kept and not lower.any() and (upper == 1.0).all():
        return None
    rows = np.array([one.coefficients for one in kept]).reshape(-1, lower.size)
    made = BoxAndRows(lower, upper, rows, np.array([one.bound for one in kept], dtype=float))
    for array in made:
        array.setflags(write=False)
    return made


def _leaves_none(one: Limit, lower: Floats) -> bool:
    """Whether every action but those with the smallest coefficient must stay at its floor."""
    above = one.coefficients - one.coefficients.min()
    return bool(above @ lower >= one.bound - one.coefficients.min() - 1e-13)


def _rows(limits: Limits, place: int, names: Names) -> list[Limit]:
    """A linear limit as one or two of the form `coefficients @ p <= bound`; none if not offered."""
    one = limits.linear[place]
    weights = _as_row(f"linear[{place}]", one.weights, names, missing=0.0)
    size = float(np.abs(weights).max(initial=0.0))
    if size == 0.0 and isinstance(one.weights, Mapping):
        return []
    called = f"the limit {one.name!r}" if one.name else f"the limit linear[{place}]"
    scale = size or 1.0
    made = []
    if one.at_most is not None:
        text = f"{called} (at most {one.at_most:g})"
        made.append(Limit(text, weights / scale, one.at_most / scale))
    if one.at_least is not None:
        text = f"{called} (at least {one.at_least:g})"
        made.append(Limit(text, -weights / scale, -one.at_least / scale))
    return made


def _as_row(place: str, values: PerAction, names: Names, *, missing: float) -> Floats:
    """One number per action of the round."""
    if isinstance(values, tuple):
        _check_length(place, values, len(names))
        return np.array(values)
    if isinstance(values, Mapping):
        return np.array([values.get(name, missing) for name in names], dtype=np.float64)
    return np.full(len(names), values)


def _check_lengths(low: PerAction, high: PerAction, rows: tuple[LinearLimit, ...]) -> None:
    named = [("floors", low), ("caps", high)]
    named += [(f"linear[{i}].weights", one.weights) for i, one in enumerate(rows)]
    lists = [(name, values) for name, values in named if isinstance(values, tuple)]
    for name, values in lists[1:]:
        if len(values) != len(lists[0][1]):
            raise ValueError(
                f"`{name}` must have as many numbers as `{lists[0][0]}`, one per action; "
                f"got {len(values)} and {len(lists[0][1])}"
            )


def _check_certain_clashes(floors: PerAction, caps: PerAction) -> None:
    """Refuse floors and caps that clash in every round that has the actions they name."""
    if isinstance(floors, tuple) or isinstance(caps, tuple):
        size = len(floors) if isinstance(floors, tuple) else len(caps)  # type: ignore[arg-type]
        names: Names = range(size)
    else:
        names = list(dict.fromkeys([*_names(floors), *_names(caps)])) or ["any action"]
    lower = _as_row("floors", floors, names, missing=0.0)
    upper = _as_row("caps", caps, names, missing=1.0)
    if isinstance(floors, tuple) or isinstance(caps, tuple):
        check_bounds(names, lower, upper)
        return
    for i in np.flatnonzero(lower > upper).tolist():  # sums are not known without the round
        check_bounds([names[i]], lower[i : i + 1], upper[i : i + 1])


def _names(values: PerAction) -> list[Hashable]:
    return list(values) if isinstance(values, Mapping) else []


def _check_length(place: str, values: tuple[float, ...], n_actions: int) -> None:
    if len(values) != n_actions:
        raise ValueError(
            f"`{place}` must have one number for each of the {n_actions} actions, "
            f"got {len(values)}; name the actions if they change from round to round"
        )


def _hashable(values: Any) -> Any:
    return frozenset(values.items()) if isinstance(values, Mapping) else values
