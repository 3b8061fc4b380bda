"""What a feedback graph needs to know of the way its edges are arranged."""

from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


class Numbers(NamedTuple):
    """The graph numbers of the paper, where the structure gives them away."""

    independence: int
    weak_domination: int
    self_looped_independence: int


@runtime_checkable
class Structure(Protocol):
    """The edges of a graph over `n_actions` actions; row = played, column = revealed.

    A structure is a frozen value that trusts its input: `FeedbackGraph` has checked it.
    A family whose edges follow a rule answers each question in O(n_actions) and builds the
    square matrix only in `dense`.
    """

    family: ClassVar[str]

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        ...

    def arguments(self) -> dict[str, Any]:
        """JSON-ready keyword arguments from which the family can be built again."""
        ...

    def dense(self) -> Floats:
        """A new (n_actions, n_actions) array; entry [i, j]: playing i reveals j."""
        ...

    def row(self, action: int) -> Floats:
        """What playing `action` reveals: (n_actions,) probabilities."""
        ...

    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """`dense().T @ probabilities`: how likely each action's loss is seen."""
        ...

    def self_loops(self) -> Flags:
        """Which actions may reveal themselves."""
        ...

    def in_degrees(self) -> Indices:
        """How many actions may reveal each action, itself included."""
        ...

    def is_deterministic(self) -> bool:
        """Whether every entry is 0 or 1."""
        ...

    def is_symmetric(self) -> bool:
        """Whether every entry equals its mirror image."""
        ...

    def subgraph(self, actions: Indices) -> "Structure | None":
        """The structure among `actions`, in that order; None where only a matrix tells it."""
        ...

    def numbers(self) -> Numbers | None:
        """The graph numbers, or None where they have to be searched for."""
        ...
