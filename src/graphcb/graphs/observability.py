"""Whether what happens can be seen: an edge is a positive probability of being revealed."""

from typing import Literal

import numpy as np

from graphcb.graphs.structure import Indices, Structure

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
