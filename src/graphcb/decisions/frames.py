"""The graph and the actions of a round, as they are logged."""

from collections.abc import Mapping, Sequence
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
    given = actions.value if isinstance(actions, Encoded) else actions
    graph, names = _round(problem, graph, given)
    if isinstance(actions, Encoded):
        encoded, identifiers = actions.content, Identifiers(given, graph.n_actions)
    else:
        encoded = encode(_as_logged(given, names), "actions")
        given, identifiers = read_once(encoded), read_identifiers(encoded, graph.n_actions)
    number, known = graphs.write(graph)
    if problem is not None and problem.has_fixed_actions and given == problem.listed:
        given = problem.listed
    return Frame(number, known, encoded, identifiers, given)


def _round(
    problem: Problem | None, graph: FeedbackGraph | None, actions: Any
) -> tuple[FeedbackGraph, Sequence[str] | None]:
    """The graph of a round, and the names of its actions if there is a problem."""
    if problem is not None:
        names = problem.names_of(actions)
        return problem.graph_for(names, graph), names
    if graph is None:
        raise TypeError(
            "`graph` must be given, as this log was created without a problem that says "
            "what actions reveal"
        )
    return as_graph(graph), None


def _as_logged(actions: Any, names: Sequence[str] | None) -> Any:
    """The actions of a round as a log has them: names, or names with features."""
    if names is None:
        return as_list(actions)
    return plain_actions(actions) if isinstance(actions, Mapping) else list(names)
