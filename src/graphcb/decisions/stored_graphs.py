"""The graphs of a log: each is stored once, and decisions refer to it by number."""

import zlib

from graphcb.decisions.storage import Storage
from graphcb.decisions.tables import GraphRow, insert, select
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.registry import FAMILIES

KEPT_IN_MEMORY = 1024


class StoredGraphs:
    """Graphs by number, in the form in which they are read back; recent ones stay in memory."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._by_number: dict[int, FeedbackGraph] = {}
        self._number_of: dict[FeedbackGraph, int] = {}

    def read(self, number: int) -> FeedbackGraph:
        """The graph with this number."""
        if number not in self._by_number:
            rows = select(self._storage, GraphRow, "WHERE graph = ?", number)
            if not rows:
                raise ValueError(f"{self._storage.location}: damaged: graph {number} is missing")
            graph = FeedbackGraph.from_json(rows[0].description)
            self._keep(number, graph, graph)
        return self._by_number[number]

    def as_read(self, graph: FeedbackGraph) -> FeedbackGraph:
        """The graph as it will be when read back: a sparse matrix may come back dense."""
        number = self._number_of.get(graph)
        if number is not None:
            return self._by_number[number]
        return FeedbackGraph.from_json(_describe(graph))

    def write(self, graph: FeedbackGraph) -> int:
        """The number of a graph, which is stored if it is new; call it inside a transaction."""
        if graph not in self._number_of:
            text = _describe(graph)
            self._keep(self._find(text) or self._add(text), graph, FeedbackGraph.from_json(text))
        return self._number_of[graph]

    def forget(self) -> None:
        """Drop what is in memory: a graph that was written may have been rolled back."""
        self._by_number.clear()
        self._number_of.clear()

    def _find(self, description: str) -> int | None:
        digest = zlib.crc32(description.encode())
        rows = select(self._storage, GraphRow, "WHERE digest = ?", digest)
        return next((row.graph for row in rows if row.description == description), None)

    def _add(self, description: str) -> int:
        newest = "SELECT coalesce(max(graph), 0) FROM graphcb_graphs"
        number = int(self._storage.execute(newest)[0][0]) + 1
        insert(self._storage, [GraphRow(number, zlib.crc32(description.encode()), description)])
        return number

    def _keep(self, number: int, given: FeedbackGraph, read: FeedbackGraph) -> None:
        if len(self._by_number) >= KEPT_IN_MEMORY:
            self.forget()
        self._by_number[number] = read
        self._number_of[given] = number


def _describe(graph: FeedbackGraph) -> str:
    """A graph in JSON; one with a structure unknown to graphcb is described by its edges."""
    if graph.family != "edges" and graph.family not in FAMILIES:
        return FeedbackGraph(graph.matrix).to_json()
    return graph.to_json()
