"""FeedbackGraph: which losses each action reveals."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphcb.checks import as_action, as_actions, as_probabilities
from graphcb.graphs import reading
from graphcb.graphs.facts import GraphFacts
from graphcb.graphs.matrices import DenseMatrix, SparseMatrix, possible_columns
from graphcb.graphs.registry import FAMILIES, recognise
from graphcb.graphs.structure import Floats, Indices, Structure

# Up to this many actions, what each may reveal is kept (0.5 MB at most).
REMEMBERED_UP_TO = 256


class FeedbackGraph(GraphFacts):
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

    __slots__ = ()

    def __init__(self, matrix: Any) -> None:
        self._keep(reading.read_matrix(matrix))

    # How to build one ---------------------------------------------------------------------

    @classmethod
    def from_structure(cls, structure: Structure) -> "FeedbackGraph":
        """A graph that follows a rule of your own; see `graphs.Structure`."""
        if not isinstance(structure, Structure):
            raise TypeError(
                "`structure` must derive from graphcb.graphs.Structure, "
                f"got {type(structure).__name__}; to read a matrix use FeedbackGraph(matrix)"
            )
        graph = cls.__new__(cls)
        graph._keep(structure)
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
    def from_json(cls, text: str, *, max_actions: int = reading.MOST_ACTIONS) -> "FeedbackGraph":
        """What `to_json` wrote: a family with its arguments, or `n_actions` and `edges`.

        A text of a few bytes may describe a graph that fills the memory: one with more than
        `max_actions` (16,777,216) is refused.

        >>> FeedbackGraph.from_json('{"n_actions": 2, "edges": [[0, 0], [0, 1, 0.5]]}')
        FeedbackGraph(2 actions, 2 edges)
        """
        arguments = reading.read_object(text)
        family = arguments.pop("family", "edges")
        known = {name: one.build for name, one in FAMILIES.items() if one.structure is not None}
        if family != "edges" and family not in known:
            names = ", ".join(["edges", *sorted(known)])
            raise ValueError(f'"family" must be one of {names}, got {family!r}')
        build = cls.from_edges if family == "edges" else known[family]
        reading.check_few_actions(arguments.get("n_actions"), max_actions)
        try:
            graph = build(**arguments)
        except TypeError as reason:
            raise ValueError(f"the arguments of {family!r} do not fit: {reason}") from None
        reading.check_few_actions(graph.n_actions, max_actions)
        return graph

    def to_json(self) -> str:
        """A JSON object that `from_json` reads; probabilities keep every bit.

        >>> FeedbackGraph([[1, 0], [1, 0.5]]).to_json()
        '{"family": "edges", "n_actions": 2, "edges": [[0, 0], [1, 0], [1, 1, 0.5]]}'
        """
        return json.dumps({"family": self._structure.family, **self._structure.arguments()})

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

    def with_revealed(self, actions: ArrayLike) -> "FeedbackGraph":
        """The same graph, except that every action reveals these for certain; remembered.

        >>> from graphcb import graphs
        >>> graphs.bandit(3).with_revealed([0]).matrix
        array([[1., 0., 0.],
               [1., 1., 0.],
               [1., 0., 1.]])
        """
        chosen = as_actions(actions, self.n_actions)
        return self.remember(f"with {chosen.tolist()}", lambda graph: _revealing(graph, chosen))

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
        return self.remember("hash", _hash)

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

    def _repr_html_(self) -> str:
        from graphcb.graphs.drawing import as_svg  # in notebooks only

        return as_svg(self)


def _revealing(graph: FeedbackGraph, actions: Indices) -> FeedbackGraph:
    matrix = np.array(graph.matrix)
    matrix[:, actions] = 1.0
    return FeedbackGraph.from_structure(recognise(FeedbackGraph(matrix)))


def _hash(graph: FeedbackGraph) -> int:
    """The same for every way of storing the same entries, in O(n_actions)."""
    first, last = graph.structure.row(0), graph.structure.row(graph.n_actions - 1)
    return hash((first.tobytes(), last.tobytes(), graph.structure.in_degrees().tobytes()))
