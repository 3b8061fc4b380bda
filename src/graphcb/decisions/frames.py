"""The graph and the actions of a round, as they are logged."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphcb.decisions.encoding import (
    Encoded,
    encode,
    plain_actions,
    read_identifiers,
    read_once,
)
from graphcb.decisions.stored_graphs import StoredGraphs
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.problems import Problem
from graphcb.rounds.identifiers import Identifiers, as_list


class Frame(NamedTuple):
    """The graph and the actions of a round, as they are logged and as they are read back.

    `given` are the actions as an agent gets them, which does not write to them.
    """

    number: int
    graph: FeedbackGraph
    actions: bytes
    identifiers: Identifiers
    given: Any


def new_frame(
    graphs: StoredGraphs, problem: Problem | None, graph: FeedbackGraph | None, actions: Any
) -> Frame:
    """The frame of a round with these arguments of `decide`; call it inside a transaction."""
    if isinstance(actions, Encoded):
        encoded, given = actions
        graph, _ = _round(problem, graph, given)
        identifiers = Identifiers(given, graph.n_actions)
    else:
        graph, plain = _round(problem, graph, actions)
        encoded = encode(plain, "actions")
        given, identifiers = read_once(encoded), read_identifiers(encoded, graph.n_actions)
    number, known = graphs.write(graph)
    if problem is not None and problem.has_fixed_actions and given == problem.listed:
        given = problem.listed
    return Frame(number, known, encoded, identifiers, given)


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
