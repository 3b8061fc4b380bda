"""The families that can be named in text and in JSON, and recognised in a plain matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from graphcb.graphs.structure import Indices, Structure

if TYPE_CHECKING:
    from graphcb.graphs.graph import FeedbackGraph

KEPT_UP_TO = 16  # actions: up to three, most matrices have runs and come up again


@dataclass(frozen=True)
class Family:
    """How a family is built; what is known of its graphs is in its structure.

    `build` checks its arguments; its name is the name of the family. `from_text` takes the texts
    between the commas of "name:text,text", and `usage` describes them. A family that is drawn at
    random has no structure, and its graphs are stored by their edges.
    """

    build: Callable[..., FeedbackGraph]
    usage: str
    from_text: Callable[..., FeedbackGraph]
    structure: type[Structure] | None = None

    @property
    def name(self) -> str:
        """The name in JSON, such as "apple_tasting"; in text it may have dashes."""
        return self.build.__name__


_families: dict[str, Family] = {}
FAMILIES: Mapping[str, Family] = MappingProxyType(_families)


def register(family: Family) -> None:
    """Make a family known by name, and to recognition: the last one registered is asked first.

    Register a family of your own right after its constructor, so that importing its file is
    enough. The same name again replaces the family.
    """
    _families.pop(family.name, None)
    _families[family.name] = family
    _find_small.cache_clear()


def recognise(graph: FeedbackGraph) -> Structure:
    """The structure of the family with exactly these entries, else the graph's own; remembered.

    Everything that depends on what is known of a graph asks here.

    >>> from graphcb import FeedbackGraph
    >>> recognise(FeedbackGraph([[1, 0, 0], [1, 1, 0], [1, 1, 1]]))
    Inventory(n_actions=3)
    """
    if graph.family != "edges":
        return graph.structure
    return graph.remember("recognised", _recognise)


def _recognise(graph: FeedbackGraph) -> Structure:
    runs = graph.structure.runs()
    return (None if runs is None else find(runs)) or graph.structure


def find(runs: Indices) -> Structure | None:
    """The structure of the family whose rows are these runs, or None."""
    return _find(runs) if runs.shape[1] > KEPT_UP_TO else _find_small(runs.tobytes())


@lru_cache(4096)
def _find_small(runs: bytes) -> Structure | None:
    return _find(np.frombuffer(runs, dtype=np.intp).reshape(2, -1))


def _find(runs: Indices) -> Structure | None:
    for family in reversed(_families.values()):
        found = None if family.structure is None else family.structure.candidate(runs)
        own = None if found is None else found.runs()
        if own is not None and np.array_equal(own, runs):
            return found
    return None
