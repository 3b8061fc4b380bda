"""What a problem knows without feedback: a review costs 2, whatever it shows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_number, as_numbers, as_one_of
from graphcb.contexts.values import as_given, features_of
from graphcb.graphs import FeedbackGraph
from graphcb.problems.guardrails import Actions, check_feature, in_order
from graphcb.problems.names import as_name
from graphcb.problems.units import Flags, Floats, InUnits

Indices = NDArray[np.intp]

Known = dict[str, float | str]

AGREES = 1e-9  # of the range: how far a feedback may be from what is known


class Knows(InUnits):
    """The part of a `Problem` that knows outcomes without feedback; not built on its own."""

    known: Known | None

    def known_in(self, context: Any, names: Sequence[str]) -> Floats | None:
        """The known losses or rewards of a round, NaN for all others; None if there are none.

        A feature that says one must be in the context, a number within the range.
        """
        if self.known is None:
            return None
        entries = [self.known.get(name) for name in names]
        if all(entry is None for entry in entries):
            return None
        values = np.array([entry if isinstance(entry, float) else np.nan for entry in entries])
        for place, entry in enumerate(entries):
            if isinstance(entry, str):
                values[place] = self._read(entry, names[place], context)
        return values

    def with_known(self, graph: FeedbackGraph, names: Sequence[str]) -> FeedbackGraph:
        """The graph of a round in which every action reveals what is known."""
        known = self.known or {}
        places = [place for place, name in enumerate(names) if name in known]
        return graph.with_revealed(places) if places else graph

    def completed(
        self, context: Any, names: Sequence[str], places: Indices, values: Any
    ) -> tuple[Indices, Floats]:
        """What feedback brought, by places in a round, with all that is known of the round.

        What it says of known ones has to agree. There is nothing to learn if it says no more.
        """
        brought, known = as_numbers(self.feedback, values), self.known_in(context, names)
        if known is None:
            return places, brought
        if not self.check_agrees(brought, known[places], [names[i] for i in places]).any():
            return places[:0], brought[:0]
        known[places] = brought
        whole = np.flatnonzero(~np.isnan(known))
        return whole, known[whole]

    def check_agrees(self, values: Floats, known: Floats, names: Sequence[str]) -> Flags:
        """Which values feedback had to tell; those that are known have to agree with that."""
        low, high = self.scale
        is_new: Flags = np.isnan(known)
        wrong = np.flatnonzero(~is_new & ~(np.abs(values - known) <= AGREES * (high - low)))
        if wrong.size:
            place = wrong[0]
            raise ValueError(
                f"`{self.feedback}` must agree with what the problem knows: action "
                f"{names[place]!r} has {self.unit} {known[place]:g}, got {values[place]:.12g}"
            )
        return is_new

    def _read(self, feature: str, name: str, context: Any) -> float:
        says = f"the {self.unit} of {name!r}"
        value = as_given(features_of(context), feature, f"says {says}")
        plain = value.item() if isinstance(value, np.generic) else value
        number = as_number(f"context[{feature!r}]", plain)
        low, high = self.scale
        if not low <= number <= high:
            raise ValueError(
                f"`context[{feature!r}]` must lie in the problem's range, {low:g} to {high:g}, "
                f"as it is {says}, got {number:g}"
            )
        return number


def read_known(
    known: Any,
    actions: Actions,
    features: Mapping[str, str] | None,
    check: Callable[[Any, Any], Any],
) -> Known | None:
    """From a mapping as in the TOML table [known]: a number or a feature for each action.

    `check` refuses values that are outside the problem's range.
    """
    if known is None:
        return None
    if not isinstance(known, Mapping):
        raise TypeError(
            "`known` must be a mapping from actions to numbers or features, such as "
            f"{{'review': -2.0}}, got {type(known).__name__}"
        )
    read: Known = {}
    for action, value in known.items():
        name = as_name("known", action)
        if not isinstance(actions, str):
            as_one_of("known", name, actions)
        if isinstance(value, str):
            check_feature(f"known.{name}", as_name(f"known.{name}", value), features)
            read[name] = value
        else:
            read[name] = as_number(f"known.{name}", value) + 0.0  # -0.0 becomes 0.0
            check([read[name]], [name])
    return in_order(read, actions) or None
