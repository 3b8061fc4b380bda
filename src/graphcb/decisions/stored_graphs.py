"""The graphs of a log: each is stored once, and decisions refer to it by number."""

import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import GraphRow, insert, select
from graphcb.files import FileError
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.matrices import DenseMatrix
from graphcb.graphs.registry import FAMILIES

BYTES_IN_MEMORY = 128_000_000
# A graph and what it remembers about itself take a few numbers per pair of actions; one with a
# rule and more actions than this remembers nothing of that size.
PAIRS_UP_TO = 512


class Kept(NamedTuple):
    """A graph as it is read back, the graph that was given for it, and about how large both are."""

    read: FeedbackGraph
    given: FeedbackGraph
    n_bytes: int


class StoredGraphs:
    """Graphs by number, in the form in which they are read back; recent ones stay in memory.

    `alone` is called before one is added, to keep others from adding until the commit.
    """

    def __init__(self, storage: Storage, alone: Callable[[], None] = lambda: None) -> None:
        self._storage, self._alone = storage, alone
        self._kept: OrderedDict[int, Kept] = OrderedDict()
        self._number_of: dict[FeedbackGraph, int] = {}
        self.n_bytes = 0
        # The number of a version and the frame of its problem's own rounds; see `Together`.
        self.whole: tuple[int, Any] | None = None

    def read(self, number: int) -> FeedbackGraph:
        """The graph with this number."""
        kept = self._kept.get(number)
        if kept is not None:
            self._kept.move_to_end(number)
            return kept.read
        rows = select(self._storage, GraphRow, "WHERE graph = ?", number)
        if not rows:
            raise FileError(f"{self._storage.location}: damaged: graph {number} is missing")
        graph = parse(rows[0], self._storage.location)
        self._keep(number, graph, graph, rows[0].description)
        return graph

    def write(self, graph: FeedbackGraph) -> tuple[int, FeedbackGraph]:
        """The number of a graph, and the graph as it is read back: a sparse one may become dense.

        It is stored if it is new; call this inside a transaction.
        """
        number = self._number_of.get(graph)
        if number is None:
            text = _describe(graph)
            read = FeedbackGraph.from_json(text)
            number = self._find(text)
            if number is None:
                self._alone()
                number = self._find(text) or self._add(text)
            self._keep(number, graph, read, text)
            return number, read
        return number, self.read(number)

    def forget(self) -> None:
        """Drop what is in memory: a graph that was written may have been rolled back."""
        self._kept.clear()
        self._number_of.clear()
        self.n_bytes, self.whole = 0, None
        self._storage.contents.forget()

    def _find(self, description: str) -> int | None:
        digest = zlib.crc32(description.encode())
        rows = select(self._storage, GraphRow, "WHERE digest = ?", digest)
        return next((row.graph for row in rows if row.description == description), None)

    def _add(self, description: str) -> int:
        newest = "SELECT coalesce(max(graph), 0) FROM graphcb_graphs"
        number = int(self._storage.execute(newest)[0][0]) + 1
        insert(self._storage, [GraphRow(number, zlib.crc32(description.encode()), description)])
        return number

    def _keep(self, number: int, given: FeedbackGraph, read: FeedbackGraph, text: str) -> None:
        known = self._kept.pop(number, None)
        if known is not None:
            self._drop(known)
        few = read.n_actions <= PAIRS_UP_TO or isinstance(read.structure, DenseMatrix)
        n_bytes = 2 * len(text) + (24 * read.n_actions**2 if few else 0)
        self._kept[number] = kept = Kept(read, given, n_bytes)
        self._number_of[given] = number
        self.n_bytes += kept.n_bytes
        while self.n_bytes > BYTES_IN_MEMORY and len(self._kept) > 1:
            self._drop(self._kept.popitem(last=False)[1])

    def _drop(self, kept: Kept) -> None:
        self._number_of.pop(kept.given, None)
        self.n_bytes -= kept.n_bytes


def parse(row: GraphRow, location: str) -> FeedbackGraph:
    """The graph of a row."""
    try:
        return FeedbackGraph.from_json(row.description)
    except (ValueError, TypeError, KeyError) as problem:
        raise FileError(f"{location}: damaged: graph {row.graph}: {problem}") from None


def _describe(graph: FeedbackGraph) -> str:
    """A graph in JSON; one with a structure unknown to graphcb is described by its edges."""
    if graph.family != "edges" and graph.family not in FAMILIES:
        return FeedbackGraph(graph.matrix).to_json()
    return graph.to_json()
