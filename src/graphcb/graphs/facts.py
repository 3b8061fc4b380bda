"""What is known of a graph: derived from its structure when asked for, and remembered."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, overload

import numpy as np

from graphcb.graphs.effective import effective_independence, effective_weak_domination
from graphcb.graphs.matrices import DenseMatrix, build_dense
from graphcb.graphs.numbers import (
    Bounds,
    greedy_independence,
    greedy_weak_domination,
    solve_independence,
    solve_weak_domination,
)
from graphcb.graphs.structure import Flags, Floats, Indices, Structure

if TYPE_CHECKING:
    from graphcb.graphs.graph import FeedbackGraph

Fact = TypeVar("Fact")
Observability = Literal["strong", "weak", "unobservable"]
Measure = Literal["independence", "weak_domination", "self_looped_independence"]


class GraphFacts:
    """The part of a `FeedbackGraph` that describes it; not built on its own."""

    __slots__ = ("_memory", "_structure", "n_actions")
    n_actions: int
    """Number of actions."""
    _structure: Structure
    _memory: dict[str | int, Any]  # what has been computed once

    def _keep(self, structure: Structure) -> None:
        object.__setattr__(self, "n_actions", structure.n_actions)  # read in every round
        object.__setattr__(self, "_structure", structure)
        object.__setattr__(self, "_memory", {})

    @property
    def structure(self) -> Structure:
        """The rule behind the edges, or the matrix that lists them."""
        return self._structure

    @property
    def family(self) -> str:
        """Name of the family, or "edges" for a graph without a rule."""
        return self._structure.family

    @property
    def matrix(self) -> Floats:
        """Dense (n_actions, n_actions) array, read-only; [i, j]: playing i reveals j."""
        if isinstance(self._structure, DenseMatrix):
            return self._structure.matrix
        return self.remember("matrix", lambda graph: build_dense(graph.structure))

    @property
    def is_deterministic(self) -> bool:
        """Whether every edge is certain (all entries are 0 or 1)."""
        return self._structure.is_deterministic()

    @property
    def is_self_aware(self) -> bool:
        """Whether every action may reveal itself."""
        return bool(self._structure.self_loops().all())

    @property
    def own_chances(self) -> Floats:
        """The probability that each action reveals its own loss: the diagonal of the matrix."""
        return self.remember("own chances", _own_chances)

    @property
    def is_undirected(self) -> bool:
        """Whether i reveals j exactly as likely as j reveals i."""
        return self.remember("undirected", lambda graph: graph.structure.is_symmetric())

    @property
    def n_edges(self) -> int:
        """Number of pairs with a positive probability, self-loops included."""
        return int(self._structure.in_degrees().sum())

    @property
    def observability(self) -> Observability:
        """How well the worst action can be seen; an edge is a positive probability.

        "strong": every action reveals itself, or all the others reveal it.
        "weak": every action is revealed by some action, but not every one as above.
        "unobservable": some action is never revealed, and nothing can be learnt about it.
        """
        if self.unobservable_actions.size:
            return "unobservable"
        return "weak" if self.weakly_observable_actions.size else "strong"

    @property
    def unobservable_actions(self) -> Indices:
        """The actions that nothing reveals: why a graph is "unobservable"."""
        return self.remember("unobservable", _unobservable)

    @property
    def weakly_observable_actions(self) -> Indices:
        """The actions seen neither by themselves nor by all others: why a graph is "weak"."""
        return self.remember("weakly observable", _weakly_observable)

    def remember(self, what: str, compute: Callable[[Self], Fact]) -> Fact:
        """A fact about this graph, worked out by `compute` the first time it is asked for.

        For other rooms that derive something of a graph in every round.
        """
        if what not in self._memory:
            self._memory[what] = compute(self)
        fact: Fact = self._memory[what]
        return fact

    # Graph numbers ------------------------------------------------------------------------

    @overload
    def independence_number(self, *, time_limit: None = None) -> int: ...
    @overload
    def independence_number(self, *, time_limit: float) -> int | Bounds: ...
    def independence_number(self, *, time_limit: float | None = None) -> int | Bounds:
        """Size of the largest set of actions with no edge between two of them (paper: alpha).

        Named families know it. Other graphs solve an integer program, which is NP-hard: with
        `time_limit` in seconds the proven `Bounds(lower, upper)` come back when time runs out.

        >>> from graphcb import FeedbackGraph
        >>> FeedbackGraph([[1, 1, 0], [0, 1, 0], [0, 0, 1]]).independence_number()
        2
        """
        return self._number("independence", time_limit)

    @overload
    def self_looped_independence_number(self, *, time_limit: None = None) -> int: ...
    @overload
    def self_looped_independence_number(self, *, time_limit: float) -> int | Bounds: ...
    def self_looped_independence_number(self, *, time_limit: float | None = None) -> int | Bounds:
        """Independence number among the actions that reveal themselves; 0 if none does.

        What the paper's bound for weakly observable graphs calls alpha tilde.
        """
        return self._number("self_looped_independence", time_limit)

    @overload
    def weak_domination_number(self, *, time_limit: None = None) -> int: ...
    @overload
    def weak_domination_number(self, *, time_limit: float) -> int | Bounds: ...
    def weak_domination_number(self, *, time_limit: float | None = None) -> int | Bounds:
        """Fewest actions that together reveal every action without a self-loop (paper: d).

        0 when every action reveals itself. `time_limit` as in `independence_number`.
        """
        require_observable(self, "to have a weak domination number")
        return self._number("weak_domination", time_limit)

    def independence_bounds(self) -> Bounds:
        """Greedy bounds on `independence_number`: a set found below, a cover by cliques above."""
        return self._bounds("independence", greedy_independence)

    def self_looped_independence_bounds(self) -> Bounds:
        """Greedy bounds on `self_looped_independence_number`."""
        return self._bounds("self_looped_independence", greedy_independence)

    def weak_domination_bounds(self) -> Bounds:
        """Greedy bounds on `weak_domination_number`: a count below, a cover above."""
        require_observable(self, "to have a weak domination number")
        return self._bounds("weak_domination", greedy_weak_domination)

    def effective_independence_bound(self) -> float:
        """What takes the place of alpha where edges are random: an upper bound on gamma * DEC.

        The independence number counts every edge as certain. This is the independence number of
        the edges with a probability of at least e, divided by e, for the best e; up to the
        paper's constant and logarithm. The graph must be strongly observable.

        >>> import numpy as np
        >>> from graphcb import FeedbackGraph
        >>> rare = FeedbackGraph(np.full((5, 5), 0.01))  # all reveal all, once in 100 times
        >>> rare.independence_number(), rare.effective_independence_bound()
        (1, 100.0)
        """
        if self.observability != "strong":
            raise ValueError(
                "`graph` must be strongly observable to have an effective independence number, "
                f"got one whose observability is {self.observability!r}; see "
                "effective_weak_domination_bound()"
            )
        if self.is_deterministic:
            return float(self.independence_bounds().upper)
        return self.remember("effective independence", lambda g: effective_independence(g.matrix))

    def effective_weak_domination_bound(self) -> float:
        """What takes the place of d where edges are random, in the DEC of sqrt(d / gamma).

        The weak domination number of the edges with a probability of at least e, divided by e,
        for the best e.
        """
        require_observable(self, "to have a weak domination number")
        if self.is_deterministic:
            return float(self.weak_domination_bounds().upper)
        return self.remember("effective domination", lambda g: effective_weak_domination(g.matrix))

    def _number(self, measure: Measure, time_limit: float | None) -> int | Bounds:
        """The exact number, remembered once found, or what was proven in time."""
        if measure not in self._memory:
            search = solve_weak_domination if measure == "weak_domination" else solve_independence
            bounds = self._bounds(measure, partial(search, time_limit=time_limit))
            if bounds.lower < bounds.upper:
                return bounds
            self._memory[measure] = bounds.lower
        found: int = self._memory[measure]
        return found

    def _bounds(self, measure: Measure, search: Callable[[Flags], Bounds]) -> Bounds:
        """What the structure knows, or what a search among the edges that count finds."""
        structure = self._structure
        known = structure.numbers()
        if known is not None:
            return Bounds(getattr(known, measure), getattr(known, measure))
        edges = build_dense(structure) > 0.0
        if measure == "self_looped_independence":
            looped = np.flatnonzero(structure.self_loops())
            edges = edges[np.ix_(looped, looped)]
        return search(edges) if edges.size else Bounds(0, 0)


def _own_chances(graph: GraphFacts) -> Floats:
    structure = graph.structure
    if structure.is_deterministic():
        return structure.self_loops().astype(np.float64)
    return np.array([structure.row(action)[action] for action in range(graph.n_actions)])


def _unobservable(graph: GraphFacts) -> Indices:
    return _frozen((graph.structure.in_degrees() == 0).nonzero()[0])


def _weakly_observable(graph: GraphFacts) -> Indices:
    degrees, hidden = graph.structure.in_degrees(), ~graph.structure.self_loops()
    return _frozen(np.flatnonzero(hidden & (degrees > 0) & (degrees < graph.n_actions - 1)))


def _frozen(actions: Indices) -> Indices:
    actions.setflags(write=False)
    return actions


def as_graph(graph: Any, *, name: str = "graph") -> "FeedbackGraph":
    """A graph, or an error that says how to make one."""
    if isinstance(graph, GraphFacts):
        return cast("FeedbackGraph", graph)
    what = type(graph).__name__
    if hasattr(graph, "shape"):
        what = f"an array of shape {graph.shape}; use graphcb.FeedbackGraph(array)"
    raise TypeError(f"`{name}` must be a FeedbackGraph, got {what}")


def require_observable(graph: GraphFacts, purpose: str) -> None:
    """Refuse a graph with actions that nothing reveals, and say which and what to do."""
    unseen = graph.unobservable_actions
    if unseen.size:
        first = unseen[0]
        raise ValueError(
            f"`graph` must be observable {purpose}, but no action reveals action {first} "
            f"({unseen.size} such of {graph.n_actions}); give column {first} of the matrix "
            "a positive entry, or leave such actions out with graph.subgraph(...)"
        )
