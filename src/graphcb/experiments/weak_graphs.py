"""Weakly observable graphs of settings files, and which of their actions are costly."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from graphcb.checks import as_count, as_one_of
from graphcb.graphs import FeedbackGraph, apple_tasting

BLOCK = 3  # actions


class WeakGraph(NamedTuple):
    """A graph, and the actions that have to be played to see the others."""

    graph: FeedbackGraph
    costly: tuple[int, ...]


def weak_graph(options: Mapping[str, Any]) -> WeakGraph:
    """The graph of a settings file, such as {"blocks": 8}.

    >>> weak_graph({"blocks": 2}).graph.weak_domination_number()
    2
    """
    (name,) = options
    build = KINDS[as_one_of("graph", name, KINDS)]
    return build(as_count("graph", options[name], at_least=2))


def _apple_tasting(n_actions: int) -> WeakGraph:
    """One action reveals everything, the others nothing."""
    return WeakGraph(apple_tasting(n_actions), (0,))


def _revealing_action(n_actions: int) -> WeakGraph:
    """One action reveals everything; half of the others reveal themselves, half nothing."""
    matrix = np.zeros((n_actions, n_actions))
    own = np.arange(1, (n_actions + 1) // 2)
    matrix[own, own] = 1.0
    matrix[0] = 1.0
    return WeakGraph(FeedbackGraph(matrix), (0,))


def _cycle(n_actions: int) -> WeakGraph:
    """Each action reveals the next one only; every other is costly."""
    matrix = np.roll(np.eye(n_actions), 1, axis=1)
    return WeakGraph(FeedbackGraph(matrix), tuple(range(0, n_actions, 2)))


def _blocks(n_blocks: int) -> WeakGraph:
    """Blocks of three actions, of which the first reveals its block and the others nothing."""
    first = np.zeros((BLOCK, BLOCK))
    first[0] = 1.0
    matrix = np.kron(np.eye(n_blocks), first)
    return WeakGraph(FeedbackGraph(matrix), tuple(range(0, BLOCK * n_blocks, BLOCK)))


KINDS: Mapping[str, Callable[[int], WeakGraph]] = MappingProxyType(
    {
        "apple_tasting": _apple_tasting,
        "revealing_action": _revealing_action,
        "cycle": _cycle,
        "blocks": _blocks,
    }
)
