"""What every format becomes: contexts, a loss for every action, and where it stood."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph


class Examples(NamedTuple):
    """Some rows of a file.

    `contexts` is a dense array (n, d) or a list of pairs (indices, values); `losses` is (n, K) in
    the file's units; `lines` is where each row stands; `graphs` is one a row, or None where all
    rounds have the same.
    """

    contexts: Any
    losses: NDArray[np.float64]
    lines: Sequence[int]
    graphs: list[FeedbackGraph] | None = None
