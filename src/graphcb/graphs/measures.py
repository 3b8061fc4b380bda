"""Which search answers which graph number, and for which part of the graph."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from graphcb.graphs.matrices import build_dense
from graphcb.graphs.numbers import (
    Bounds,
    greedy_independence,
    greedy_weak_domination,
    solve_independence,
    solve_weak_domination,
)
from graphcb.graphs.structure import Flags, Structure

Measure = Literal["independence", "weak_domination", "self_looped_independence"]


def greedy(structure: Structure, measure: Measure) -> Bounds:
    """Cheap proven bounds; exact where the structure knows the number."""
    search = greedy_weak_domination if measure == "weak_domination" else greedy_independence
    return _bounds(structure, measure, search)


def solve(structure: Structure, measure: Measure, time_limit: float | None) -> Bounds:
    """The exact number as equal bounds, or what was proven when time ran out."""
    search = solve_weak_domination if measure == "weak_domination" else solve_independence
    return _bounds(structure, measure, partial(search, time_limit=time_limit))


def _bounds(structure: Structure, measure: Measure, search: Callable[[Flags], Bounds]) -> Bounds:
    known = structure.numbers()
    if known is not None:
        return Bounds(getattr(known, measure), getattr(known, measure))
    edges = build_dense(structure) > 0.0
    if measure == "self_looped_independence":
        looped = np.flatnonzero(structure.self_loops())
        edges = edges[np.ix_(looped, looped)]
    return search(edges) if edges.size else Bounds(0, 0)
