"""The questions a feedback graph asks about the way its edges are arranged."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs.formulas import ClosedForm, ExactSolution

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


class Numbers(NamedTuple):
    """The graph numbers of the paper, for structures that know them."""

    independence: int
    weak_domination: int
    self_looped_independence: int


class Structure(ABC):
    """The edges of a graph over `n_actions` actions; row = played, column = revealed.

    Derive from this class. A structure is a frozen value that trusts its input: its constructor
    function has checked it. A family whose edges follow a rule answers each question in
    O(n_actions) and builds the square matrix only in `dense`. The questions with an answer here
    are optional; if the rows are runs of ones, `graphs.runs.RunStructure` answers most others too.
    """

    family: ClassVar[str]
    n_actions: int

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """JSON-ready keyword arguments from which the family can be built again."""

    @abstractmethod
    def dense(self) -> Floats:
        """A new (n_actions, n_actions) array; entry [i, j]: playing i reveals j."""

    @abstractmethod
    def row(self, action: int) -> Floats:
        """What playing `action` reveals: (n_actions,) probabilities."""

    @abstractmethod
    def reveal_probabilities(self, probabilities: Floats) -> Floats:
        """`dense().T @ probabilities`: how likely each action's loss is seen."""

    def sums_revealed(self, values: Floats) -> Floats:
        """`dense() @ values`: for each action the sum over what it reveals."""
        return self.dense() @ values

    @abstractmethod
    def self_loops(self) -> Flags:
        """Which actions may reveal themselves."""

    @abstractmethod
    def in_degrees(self) -> Indices:
        """How many actions may reveal each action, itself included."""

    @abstractmethod
    def is_deterministic(self) -> bool:
        """Whether every entry is 0 or 1."""

    @abstractmethod
    def is_symmetric(self) -> bool:
        """Whether every entry equals its mirror image."""

    def subgraph(self, actions: Indices) -> "Structure | None":
        """The structure among `actions`, in that order; None if it takes a matrix to say."""
        return None

    def numbers(self) -> Numbers | None:
        """The graph numbers, or None if they have to be searched for."""
        return None

    def runs(self) -> Indices | None:
        """The rows as runs of ones, (2, n_actions): row i has ones from low[i] to high[i] - 1.

        A run with high < low continues from the last column to the first, so the complement of a
        run is a run as well. An empty row is (0, 0), a full row is (0, n_actions), and a run that
        ends at the last column has high = n_actions: equal matrices have equal runs. None if the
        rows are no runs, or if that is not known.
        """
        return None

    def column_runs(self) -> Indices | None:
        """The columns in the same form; None if they are to be read off the rows."""
        return None

    @classmethod
    def candidate(cls, runs: Indices) -> Self | None:
        """The one member of this family that could have these rows, or None.

        This is how a plain matrix is recognised. A guess is enough: the candidate's own
        `runs()` are compared.
        """
        return None

    def closed_form(self) -> ClosedForm | None:
        """A formula for the probabilities to play, or None."""
        return None

    def exact_solution(self) -> ExactSolution | None:
        """The optimum of the convex program with its proof, or None."""
        return None
