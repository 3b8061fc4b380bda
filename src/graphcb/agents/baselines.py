"""The baseline of a round: today's rule, as probabilities."""

import copy
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.protocol import Agent
from graphcb.checks import as_probabilities, listed
from graphcb.graphs import FeedbackGraph, as_graph

Floats = NDArray[np.float64]

SLACK = 1e-9  # by which a linear limit may be missed


def check_baseline(baseline: Any) -> Any:
    """An action, or an object with `act`; anything else is refused."""
    if isinstance(baseline, np.generic):
        baseline = baseline.item()
    is_action = isinstance(baseline, int | float | str) and not isinstance(baseline, bool)
    if isinstance(baseline, type) or not (is_action or callable(getattr(baseline, "act", None))):
        what = baseline.__name__ if isinstance(baseline, type) else type(baseline).__name__
        raise TypeError(
            "`baseline` must be an action, by its name or index, or an object with a method act, "
            f"got {what}"
        )
    return baseline


def check_inner(agent: Any) -> Any:
    """An agent to put inside another one."""
    for role in ("act", "learn"):
        if isinstance(agent, type) or not callable(getattr(agent, role, None)):
            what = agent.__name__ if isinstance(agent, type) else type(agent).__name__
            raise TypeError(f"`agent` must have the methods act and learn, got {what}")
    return agent


def baseline_probabilities(
    baseline: Any, context: Any, graph: FeedbackGraph, actions: Any, names: Any = None
) -> Floats:
    """What the baseline plays in this round; it neither learns nor counts rounds."""
    n_actions = as_graph(graph).n_actions
    if hasattr(baseline, "act"):
        twin: Agent = copy.copy(baseline)
        return as_probabilities(twin.act(context, graph, actions), n_actions)
    probabilities = np.zeros(n_actions)
    probabilities[_index(baseline, names_of(n_actions, actions, names))] = 1.0
    return probabilities


def names_of(n_actions: int, actions: Any, names: Any) -> Sequence[Hashable]:
    """What this round calls its actions: `names`, else `actions`, else their indices."""
    called = actions if names is None else names
    if called is None:
        return range(n_actions)
    return called.tolist() if isinstance(called, np.ndarray) else list(called)


def _index(action: Any, names: Sequence[Hashable]) -> int:
    if action not in names:
        raise ValueError(
            "`baseline` must be an action of the round, one of "
            f"{listed(map(repr, names))}, got {action!r}"
        )
    return names.index(action)


def check_limits(agent: Any, baseline: Floats, names: Sequence[Hashable]) -> None:
    """Refuse a baseline that breaks the limits of the agent."""
    limits = getattr(getattr(agent, "rules", None), "limits", None)
    box = None if limits is None else limits.on(tuple(names))
    if box is None:
        return
    for index in np.flatnonzero((baseline < box.lower) | (baseline > box.upper)).tolist():
        floor, cap = box.lower[index], box.upper[index]
        kind, bound = ("floor", floor) if baseline[index] < floor else ("cap", cap)
        raise ValueError(
            f"`baseline` must obey the limits of the agent, got probability {baseline[index]:g} "
            f"for action {names[index]!r}, whose {kind} is {bound:g}; change the baseline or the "
            "limits"
        )
    for row, most in zip(box.rows, box.most, strict=True):
        if row @ baseline > most + SLACK:
            raise ValueError(
                "`baseline` must obey the limits of the agent, got probabilities that break a "
                f"linear limit by {row @ baseline - most:g}; change the baseline or the limits"
            )
