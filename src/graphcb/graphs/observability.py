"""Whether what happens can be seen: an edge is a positive probability of being revealed."""

from typing import TYPE_CHECKING, Literal

import numpy as np

from graphcb.graphs.structure import Indices, Structure

if TYPE_CHECKING:
    from graphcb.graphs.facts import GraphFacts

Observability = Literal["strong", "weak", "unobservable"]


def unobservable(structure: Structure) -> Indices:
    """The actions that nothing reveals."""
    return _frozen((structure.in_degrees() == 0).nonzero()[0])


def weakly_observable(structure: Structure) -> Indices:
    """The actions that something reveals, but neither they themselves nor all the others."""
    degrees = structure.in_degrees()
    hidden = ~structure.self_loops()
    weak = np.flatnonzero(hidden & (degrees > 0) & (degrees < structure.n_actions - 1))
    return _frozen(weak)


def _frozen(actions: Indices) -> Indices:
    actions.setflags(write=False)
    return actions


def require_observable(graph: "GraphFacts", purpose: str) -> None:
    """Refuse a graph with actions that nothing reveals, and say which and what to do."""
    unseen = graph.unobservable_actions
    if unseen.size:
        first = unseen[0]
        raise ValueError(
            f"`graph` must be observable {purpose}, but no action reveals action {first} "
            f"({unseen.size} such of {graph.n_actions}); give column {first} of the matrix "
            "a positive entry, or leave such actions out with graph.subgraph(...)"
        )
