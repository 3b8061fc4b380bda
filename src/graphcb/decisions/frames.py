"""The graph and the actions of a round, as they are logged."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphcb.decisions.encoding import encode, plain_actions, read_identifiers
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.problems import Problem
from graphcb.rounds.identifiers import Identifiers, as_list


class Frame(NamedTuple):
    """The graph and the actions of a round, as they are logged and as they are read back."""

    number: int
    graph: FeedbackGraph
    actions: bytes
    identifiers: Identifiers


def new_frame(
    graphs: StoredGraphs, problem: Problem | None, graph: FeedbackGraph | None, actions: Any
) -> Frame:
    """The frame of a round with these arguments of `decide`; call it inside a transaction."""
    graph, actions = _round(problem, graph, actions)
    encoded = encode(actions, "actions")
    identifiers = read_identifiers(encoded, graph.n_actions)
    number, known = graphs.write(graph)
    return Frame(number, known, encoded, identifiers)


def _round(
    problem: Problem | None, graph: FeedbackGraph | None, actions: Any
) -> tuple[FeedbackGraph, Any]:
    """The graph of a round and its actions, as they are logged."""
    if problem is None:
        if graph is None:
            raise TypeError(
                "`graph` must be given, as this log was created without a problem that says "
                "what actions reveal"
            )
        return as_graph(graph), as_list(actions)
    names = problem.names_of(actions)
    listed = plain_actions(actions) if isinstance(actions, Mapping) else list(names)
    return problem.graph_for(names, graph), listed
