"""FeedbackGraph: which losses each action reveals."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from graphcb.checks import as_action, as_actions, as_probabilities
from graphcb.graphs import measures, reading
from graphcb.graphs.matrices import DenseMatrix, SparseMatrix, build_dense, possible_columns
from graphcb.graphs.numbers import Bounds
from graphcb.graphs.observability import (
    Observability,
    require_observable,
    unobservable,
    weakly_observable,
)
from graphcb.graphs.structure import Floats, Indices, Structure

Fact = TypeVar("Fact")

# Up to so many actions, what each may reveal is kept (0.5 MB at most) and not worked out again.
REMEMBERED_UP_TO = 256


class FeedbackGraph:
    """Which actions' losses each action reveals: row = played, column = revealed.

    `matrix[i, j]` is the probability that playing i reveals j's loss: a square numpy array or
    scipy.sparse array with entries in [0, 1]. The graph is immutable, hashable, picklable, and
    equal to any graph with the same entries. `graphcb.graphs` has the named families, which
    keep their structure instead of a matrix.

    >>> graph = FeedbackGraph([[1, 1], [0, 0]])  # action 0 reveals both, action 1 nothing
    >>> graph.observability
    'strong'
    >>> graph.reveal_probabilities([0.25, 0.75])
    array([0.25, 0.25])
    """

    __slots__ = ("_memory", "_structure")
    _structure: Structure
    _memory: dict[str | int, Any]  # what has been computed once

    def __init__(self, matrix: Any) -> None:
        object.__setattr__(self, "_structure", reading.read_matrix(matrix))
        object.__setattr__(self, "_memory", {})

    # How to build one ---------------------------------------------------------------------

    @classmethod
    def from_structure(cls, structure: Structure) -> "FeedbackGraph":
        """A graph that follows a rule of your own; see `graphs.structure.Structure`."""
        graph = cls.__new__(cls)
        object.__setattr__(graph, "_structure", structure)
        object.__setattr__(graph, "_memory", {})
        return graph

    @classmethod
    def from_edges(cls, n_actions: int, edges: Iterable[Any]) -> "FeedbackGraph":
        """Edges (played, revealed) or (played, revealed, probability); all others are 0.

        Self-loops are edges like any other: an action that sees its own loss needs (i, i).

        >>> FeedbackGraph.from_edges(2, [(0, 0), (0, 1, 0.5)]).matrix
        array([[1. , 0.5],
               [0. , 0. ]])
        """
        return cls.from_structure(reading.read_edges(n_actions, edges))

    @classmethod
    def from_networkx(cls, graph: Any) -> "FeedbackGraph":
        """A networkx graph whose edges point from the played to the revealed action.

        Nodes that are the numbers 0 to K - 1 keep their numbers; any others are numbered in the
        order of `graph.nodes`. The edge attribute "probability" is read where there is one; an
        undirected edge counts both ways.
        """
        return cls.from_structure(reading.read_networkx(graph))

    @classmethod
    def from_json(cls, text: str) -> "FeedbackGraph":
        """What `to_json` wrote: a family with its arguments, or `n_actions` and `edges`.

        >>> FeedbackGraph.from_json('{"n_actions": 2, "edges": [[0, 0], [0, 1, 0.5]]}')
        FeedbackGraph(2 actions, 2 edges)
        """
        from graphcb.graphs.families import CONSTRUCTORS  # they are built on this class

        arguments = reading.read_object(text)
        family = arguments.pop("family", "edges")
        if family != "edges" and family not in CONSTRUCTORS:
            known = ", ".join(["edges", *sorted(CONSTRUCTORS)])
            raise ValueError(f'"family" must be one of {known}, got {family!r}')
        build = cls.from_edges if family == "edges" else CONSTRUCTORS[family]
        try:
            return build(**arguments)
        except TypeError as reason:
            raise ValueError(f"the arguments of {family!r} do not fit: {reason}") from None

    def to_json(self) -> str:
        """A JSON object that `from_json` reads; probabilities keep every bit.

        >>> FeedbackGraph([[1, 0], [1, 0.5]]).to_json()
        '{"family": "edges", "n_actions": 2, "edges": [[0, 0], [1, 0], [1, 1, 0.5]]}'
        """
        return json.dumps({"family": self._structure.family, **self._structure.arguments()})

    # What it is ---------------------------------------------------------------------------

    @property
    def structure(self) -> Structure:
        """The rule behind the edges, or the matrix that lists them."""
        return self._structure

    @property
    def family(self) -> str:
        """Name of the family, or "edges" for a graph without a rule."""
        return self._structure.family

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return self._structure.n_actions

    @property
    def matrix(self) -> Floats:
        """Dense (n_actions, n_actions) array, read-only; [i, j]: playing i reveals j."""
        if isinstance(self._structure, DenseMatrix):
            return self._structure.matrix
        if "matrix" not in self._memory:
            dense = build_dense(self._structure)
            dense.setflags(write=False)
            self._memory["matrix"] = dense
        matrix: Floats = self._memory["matrix"]
        return matrix

    @property
    def is_deterministic(self) -> bool:
        """Whether every edge is certain (all entries are 0 or 1)."""
        return self._structure.is_deterministic()

    @property
    def is_self_aware(self) -> bool:
        """Whether every action may reveal itself."""
        return bool(self._structure.self_loops().all())

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
        return self.remember("unobservable", lambda graph: unobservable(graph.structure))

    @property
    def weakly_observable_actions(self) -> Indices:
        """The actions seen neither by themselves nor by all others: why a graph is "weak"."""
        return self.remember("weakly observable", lambda graph: weakly_observable(graph.structure))

    def remember(self, what: str, compute: Callable[["FeedbackGraph"], Fact]) -> Fact:
        """A fact about this graph, worked out by `compute` the first time it is asked for.

        For other rooms that derive something of a graph in every round.
        """
        if what not in self._memory:
            self._memory[what] = compute(self)
        fact: Fact = self._memory[what]
        return fact

    # What it does in a round --------------------------------------------------------------

    def row(self, action: int) -> Floats:
        """What playing `action` reveals: (n_actions,) probabilities."""
        return self._structure.row(as_action(action, self.n_actions))

    def reveal_probabilities(self, probabilities: ArrayLike) -> Floats:
        """How likely each action's loss is seen under `probabilities`: `matrix.T @ p`.

        Named families answer in O(n_actions) without the matrix.

        >>> from graphcb import graphs
        >>> graphs.inventory(3).reveal_probabilities([0.5, 0.25, 0.25])
        array([1.  , 0.5 , 0.25])
        """
        p = as_probabilities(probabilities, self.n_actions)
        return self._structure.reveal_probabilities(p)

    def draw_revealed(self, action: int, rng: np.random.Generator) -> Indices:
        """The actions that are really seen when `action` is played: read-only, increasing.

        Certain edges use no randomness; the others toss one coin each, independently.
        """
        revealed, chances = self._possible(as_action(action, self.n_actions))
        if chances is None:
            return revealed
        return revealed[rng.random(revealed.size) < chances]

    def _possible(self, action: int) -> tuple[Indices, Floats | None]:
        """What `action` may reveal and how likely, None for certain; kept for small graphs."""
        known: tuple[Indices, Floats | None] | None = self._memory.get(action)
        if known is None:
            row = self._structure.row(action)
            revealed, certain = possible_columns(row)
            revealed.setflags(write=False)
            known = revealed, None if certain else row[revealed]
            if self.n_actions <= REMEMBERED_UP_TO:
                self._memory[action] = known
        return known

    def subgraph(self, actions: ArrayLike) -> "FeedbackGraph":
        """The graph among some distinct actions, renumbered in the order given.

        >>> from graphcb import graphs
        >>> graphs.inventory(1_000_000).subgraph([2, 30, 400])
        inventory(n_actions=3)
        """
        chosen = as_actions(actions, self.n_actions)
        smaller = self._structure.subgraph(chosen)
        if smaller is None:
            smaller = DenseMatrix(np.stack([self._structure.row(a)[chosen] for a in chosen]))
        return FeedbackGraph.from_structure(smaller)

    # Graph numbers ------------------------------------------------------------------------

    @overload
    def independence_number(self, *, time_limit: None = None) -> int: ...
    @overload
    def independence_number(self, *, time_limit: float) -> int | Bounds: ...
    def independence_number(self, *, time_limit: float | None = None) -> int | Bounds:
        """Size of the largest set of actions with no edge between two of them (paper: alpha).

        Named families know it. Other graphs solve an integer program, which is NP-hard: with
        `time_limit` in seconds the proven `Bounds(lower, upper)` come back when time runs out.

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
        return measures.greedy(self._structure, "independence")

    def self_looped_independence_bounds(self) -> Bounds:
        """Greedy bounds on `self_looped_independence_number`."""
        return measures.greedy(self._structure, "self_looped_independence")

    def weak_domination_bounds(self) -> Bounds:
        """Greedy bounds on `weak_domination_number`: a count below, a cover above."""
        require_observable(self, "to have a weak domination number")
        return measures.greedy(self._structure, "weak_domination")

    def _number(self, measure: measures.Measure, time_limit: float | None) -> int | Bounds:
        """The exact number, remembered once found, or what was proven in time."""
        if measure not in self._memory:
            bounds = measures.solve(self._structure, measure, time_limit)
            if bounds.lower < bounds.upper:
                return bounds
            self._memory[measure] = bounds.lower
        found: int = self._memory[measure]
        return found

    # Value semantics ----------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeedbackGraph):
            return NotImplemented
        mine, theirs = self._structure, other._structure
        if mine is theirs:
            return True
        if isinstance(mine, DenseMatrix) and isinstance(theirs, DenseMatrix):
            return np.array_equal(mine.matrix, theirs.matrix)
        written_out = (DenseMatrix, SparseMatrix)
        if type(mine) is type(theirs) and not isinstance(mine, written_out):
            return mine == theirs
        if hash(self) != hash(other):
            return False
        return all(
            np.array_equal(mine.row(action), theirs.row(action)) for action in range(self.n_actions)
        )

    def __hash__(self) -> int:
        # The same for every way of storing the same entries, in O(n_actions).
        if "hash" not in self._memory:
            first, last = self._structure.row(0), self._structure.row(self.n_actions - 1)
            degrees = self._structure.in_degrees()
            self._memory["hash"] = hash((first.tobytes(), last.tobytes(), degrees.tobytes()))
        value: int = self._memory["hash"]
        return value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a FeedbackGraph is immutable: `{name}` cannot be set; build another")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a FeedbackGraph is immutable: `{name}` cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return FeedbackGraph.from_structure, (self._structure,)

    def __repr__(self) -> str:
        if isinstance(self._structure, DenseMatrix | SparseMatrix):
            return f"FeedbackGraph({self.n_actions} actions, {self.n_edges} edges)"
        arguments = ", ".join(f"{k}={v!r}" for k, v in self._structure.arguments().items())
        return f"{self.family}({arguments})"
