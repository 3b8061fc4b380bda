"""How hard a feedback graph is: its independence number and its weak domination number.

Both numbers are NP-hard to compute, so each has two functions. The greedy one is cheap and returns
a proven bracket; the solving one closes the bracket with an integer program (scipy's HiGHS).

Each takes boolean ``edges`` of shape (K, K): ``edges[i, j]`` says that playing i reveals j.
"""

import math
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from graphcb.graphs.structure import Flags, Indices
from graphcb.integer_programs import solve_integer_program

# HiGHS reports its bound in floating point; a proven integer may sit this far on the wrong side.
_BOUND_TOLERANCE = 1e-6
# HiGHS ignores the clock during set-up, for up to about this many seconds per nonzero entry.
_SETUP_SECONDS = 4e-6


class Bounds(NamedTuple):
    """A proven bracket, ``lower <= number <= upper``; the number is known when both are equal."""

    lower: int
    upper: int


def greedy_independence(edges: Flags) -> Bounds:
    """Bracket the independence number at once: an independent set below, a clique cover above.

    Use it where a rough answer will do, or where the graph is too large to solve.

    >>> path = np.eye(4, k=1, dtype=bool)
    >>> greedy_independence(path)
    Bounds(lower=2, upper=2)
    """
    links = _links(edges)
    return Bounds(_count_independent_set(links), _count_clique_cover(links))


def greedy_weak_domination(edges: Flags) -> Bounds:
    """Bracket the weak domination number at once: a packing or a count below, a greedy cover above.

    Every action must be revealed by some action.

    >>> loopless_complete = ~np.eye(5, dtype=bool)
    >>> greedy_weak_domination(loopless_complete)
    Bounds(lower=2, upper=2)
    """
    return _greedy_cover(_coverage(edges))


def solve_independence(edges: Flags, *, time_limit: float | None = None) -> Bounds:
    """Size of the largest set of actions of which no two distinct ones are connected either way.

    The bounds are equal unless ``time_limit`` (seconds) ran out; then they are the best proven.

    >>> five_cycle = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    >>> solve_independence(five_cycle)
    Bounds(lower=2, upper=2)
    """
    deadline = _deadline(time_limit)
    links = _links(edges)
    parts = (links[np.ix_(part, part)] for part in _components(links))
    return _total([_solve_connected_independence(part, deadline) for part in parts])


def solve_weak_domination(edges: Flags, *, time_limit: float | None = None) -> Bounds:
    """Size of the smallest set of actions that reveals every action without a self-loop.

    It is 0 when every action has a self-loop. Every action must be revealed by some action.
    The bounds are equal unless ``time_limit`` (seconds) ran out; then they are the best proven.

    >>> star = np.zeros((4, 4), dtype=bool)
    >>> star[0, 1:] = star[1, 0] = True
    >>> solve_weak_domination(star)
    Bounds(lower=2, upper=2)
    """
    deadline = _deadline(time_limit)
    coverage = _coverage(edges)
    parts = (coverage[:, part] for part in _components(_overlaps(coverage)))
    return _total([_solve_connected_cover(part[part.any(axis=1)], deadline) for part in parts])


def _solve_connected_independence(links: Flags, deadline: float) -> Bounds:
    """Maximise the number chosen, with at most one action from each clique."""
    lower, upper = greedy_independence(links)
    if lower < upper:
        cliques = _edge_clique_cover(links, deadline)
        chosen, bound = _solve_program(cliques, "at most one", deadline)
        if not links[np.ix_(chosen, chosen)].any():
            lower = max(lower, len(chosen))
        upper = max(lower, min(upper, bound))
    return Bounds(lower, upper)


def _solve_connected_cover(coverage: Flags, deadline: float) -> Bounds:
    """Minimise the number chosen, with at least one action that reveals each target."""
    lower, upper = _greedy_cover(coverage)
    if lower < upper:
        chosen, bound = _solve_program(coverage.T, "at least one", deadline)
        if coverage[chosen].any(axis=0).all():
            upper = min(upper, len(chosen))
        lower = min(upper, max(lower, bound))
    return Bounds(lower, upper)


def _solve_program(
    rows: Flags, choose: Literal["at most one", "at least one"], deadline: float
) -> tuple[Indices, int]:
    """Choose the most columns with at most one in each row, or the fewest with at least one.

    Returns the best choice found, for the caller to verify, and the size that none can beat.
    """
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    n_columns = rows.shape[1]
    sign, row_bounds = (-1, (-np.inf, 1.0)) if choose == "at most one" else (1, (1.0, np.inf))
    chosen, bound = np.empty(0, dtype=np.intp), min(0, sign * n_columns)
    seconds = deadline - time.monotonic()
    if seconds > _SETUP_SECONDS * np.count_nonzero(rows):
        each_row = LinearConstraint(csr_array(rows, dtype=float), *row_bounds)
        ones, options = np.ones(n_columns), {"time_limit": seconds, "mip_rel_gap": 0.0}
        result = solve_integer_program(
            sign * ones, integrality=ones, bounds=(0, 1), constraints=each_row, options=options
        )
        if result.x is not None:
            chosen = np.flatnonzero(result.x > 0.5)
        if result.mip_dual_bound is not None:
            bound = math.ceil(max(bound, result.mip_dual_bound) - _BOUND_TOLERANCE)
    return chosen, sign * bound


def _links(edges: Flags) -> Flags:
    """Which distinct actions are connected in either direction: symmetric, empty diagonal."""
    links: Flags = edges | edges.T
    np.fill_diagonal(links, False)
    return links


def _coverage(edges: Flags) -> Flags:
    """The columns of the actions without a self-loop, which a weakly dominating set must reveal."""
    unrevealed = np.flatnonzero(~edges.any(axis=0))
    if unrevealed.size:
        raise ValueError(
            f"`edges` must reveal every action, got nothing that reveals action {unrevealed[0]}"
        )
    return edges[:, ~edges.diagonal()]


def _overlaps(coverage: Flags) -> Flags:
    """Which distinct targets one action can reveal together."""
    counts = coverage.astype(np.float32)
    return _links(counts.T @ counts > 0)


def _count_independent_set(links: Flags) -> int:
    """The size of a greedy independent set: take a vertex, drop its neighbours."""
    return _count_rounds(links, lambda vertex, others: [vertex, *np.flatnonzero(others)])


def _count_clique_cover(links: Flags) -> int:
    """How many cliques cover the vertices; an independent set has at most one vertex of each."""
    return _count_rounds(links, lambda vertex, others: _grow_clique(links, [vertex], others))


def _count_rounds(links: Flags, drop: Callable[[int, Flags], list[int]]) -> int:
    """Drop the vertex with the fewest neighbours left, and some of them, until none is left."""
    remaining = np.ones(len(links), dtype=bool)
    degrees = links.sum(axis=0)
    rounds = 0
    while remaining.any():
        vertex = int(np.where(remaining, degrees, len(links)).argmin())
        dropped = drop(vertex, remaining & links[vertex])
        remaining[dropped] = False
        degrees -= links[dropped].sum(axis=0)
        rounds += 1
    return rounds


def _edge_clique_cover(links: Flags, deadline: float) -> Flags:
    """Maximal cliques, one per row, that together hold every link.

    Fewer rows than one per link, and a tighter relaxation. Unfinished if time runs out.
    """
    covered = ~links
    rows = []
    for first, second in np.argwhere(np.triu(links)):
        if covered[first, second]:
            continue
        if time.monotonic() > deadline:
            break
        clique = _grow_clique(links, [first, second], links[first] & links[second])
        covered[np.ix_(clique, clique)] = True
        rows.append(np.isin(np.arange(len(links)), clique))
    return np.array(rows, dtype=bool).reshape(len(rows), len(links))


def _grow_clique(links: Flags, clique: list[int], candidates: Flags) -> list[int]:
    """Extend a clique by the candidate linked with most other candidates until none is left."""
    clique = list(clique)
    inside = links[candidates].sum(axis=0)
    while candidates.any():
        vertex = int(np.where(candidates, inside, -1).argmax())
        clique.append(vertex)
        inside -= links[candidates & ~links[vertex]].sum(axis=0)
        candidates = candidates & links[vertex]
    return clique


def _greedy_cover(coverage: Flags) -> Bounds:
    """Bracket the fewest rows of ``coverage`` (actions, targets) that cover every column."""
    # Targets that no action reveals together need one action each.
    packing = _count_independent_set(_overlaps(coverage))
    # Even if they never overlapped, the widest rows together would have to reach every column.
    reach = np.cumsum(np.sort(coverage.sum(axis=1))[::-1])
    counting = int(np.searchsorted(reach, coverage.shape[1])) + 1 if coverage.shape[1] else 0
    uncovered = np.ones(coverage.shape[1], dtype=bool)
    size = 0
    while uncovered.any():
        uncovered &= ~coverage[coverage[:, uncovered].sum(axis=1).argmax()]
        size += 1
    return Bounds(max(packing, counting), size)


def _components(links: Flags) -> list[Indices]:
    """The connected components, smallest first: a program for each is far quicker than one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(csr_array(links), directed=False)
    return sorted((np.flatnonzero(labels == label) for label in range(count)), key=len)


def _total(parts: list[Bounds]) -> Bounds:
    """Bounds of a sum of numbers."""
    return Bounds(sum(part.lower for part in parts), sum(part.upper for part in parts))


def _deadline(time_limit: float | None) -> float:
    """The moment on the monotonic clock when time runs out."""
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"`time_limit` must be positive seconds or None, got {time_limit}")
    return math.inf if time_limit is None else time.monotonic() + time_limit
