"""What a round says about a hidden price: on which side of it the played level lies.

S is the chance that the hidden price is above a level: that a bid loses, that a stock sells out,
that a customer buys. It falls as the level rises, and every edge of the three kinds follows:

    kind      lower levels (left)    higher levels (right)
    bids      S                      1
    stock     1                      1 - S
    prices    S                      1 - S
"""

from typing import Any, Literal

import numpy as np

from graphcb.checks import as_one_of
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families.threshold import Threshold
from graphcb.oracles.rows import Columns, Floats

Kind = Literal["bids", "prices", "stock"]

STORIES = {
    "bids": "a lost auction shows every bid, a won one only the higher ones",
    "prices": "a sale shows all lower prices, no sale all higher ones",
    "stock": "stock left over shows every level, a sold-out shelf only the lower ones",
}


def as_kind(kind: Any) -> Kind:
    """One of the three kinds."""
    return as_one_of("kind", kind, tuple(STORIES))  # type: ignore[return-value]


def graph_of(kind: Kind, above: Floats) -> FeedbackGraph:
    """The threshold graph of levels in rising order, from S."""
    certain = np.ones(above.size)
    left = certain if kind == "stock" else above.copy()
    right = certain.copy() if kind == "bids" else 1.0 - above
    return FeedbackGraph.from_structure(Threshold(left, right))


def certain_graph(kind: Kind, n_levels: int) -> FeedbackGraph:
    """What levels in rising order reveal wherever the hidden price is."""
    always, never = np.ones(n_levels), np.zeros(n_levels)
    left, right = (always if kind == "stock" else never), (always if kind == "bids" else never)
    return FeedbackGraph.from_structure(Threshold(left.copy(), right.copy()))


def certain_edges(graph: FeedbackGraph) -> FeedbackGraph:
    """The edges with probability 1 alone."""
    structure = graph.structure
    if isinstance(structure, Threshold):
        sides = ((side == 1.0).astype(np.float64) for side in (structure.left, structure.right))
        return FeedbackGraph.from_structure(Threshold(*sides))
    return FeedbackGraph((graph.matrix == 1.0).astype(np.float64))


def side_of_row(kind: Kind, columns: Columns, index: int, row: Floats) -> float | None:
    """1 if the hidden price was above the played level, 0 if not; None if nobody can tell.

    `columns` are the levels of the round by number, in any order, and `row` has a 1 for each that
    was revealed.
    """
    level = columns[index]
    if row[index] == 0.0:
        raise ValueError(
            f"`revealed` must hold the played action, index {index}: with kind={kind!r} it is "
            "always revealed"
        )
    lower, higher = _side(columns < level, row), _side(columns > level, row)
    if kind == "bids" and higher not in ("none there", "all"):
        raise _ruled_out(kind, "every higher level", columns > level, row)
    if kind == "stock" and lower not in ("none there", "all"):
        raise _ruled_out(kind, "every lower level", columns < level, row)
    if kind != "stock" and lower == "some":
        raise _ruled_out(kind, "all lower levels or none", columns < level, row)
    if kind != "bids" and higher == "some":
        raise _ruled_out(kind, "all higher levels or none", columns > level, row)
    if kind == "prices":
        return _side_of_price(lower, higher)
    deciding = lower if kind == "bids" else higher
    if deciding == "none there":
        return None
    return float((deciding == "all") == (kind == "bids"))


def _side_of_price(lower: str, higher: str) -> float | None:
    if lower == higher == "none there":
        return None
    bought = lower in ("none there", "all") and higher in ("none there", "none")
    refused = lower in ("none there", "none") and higher in ("none there", "all")
    if bought == refused:
        raise ValueError(
            "`revealed` must hold the lower levels or the higher ones, and not both "
            f"(kind='prices': {STORIES['prices']}), got {lower} of the lower and {higher} of the "
            "higher ones"
        )
    return float(bought)


def _side(there: Any, row: Floats) -> str:
    """How many of the actions of one side are revealed."""
    n_there, n_seen = int(np.count_nonzero(there)), int(row[there].sum())
    if n_there == 0:
        return "none there"
    return "all" if n_seen == n_there else "some" if n_seen else "none"


def _ruled_out(kind: Kind, must: str, there: Any, row: Floats) -> ValueError:
    missing = np.flatnonzero(there & (row == 0.0))[0]
    seen = np.flatnonzero(there & (row > 0.0))
    got = f"index {seen[0]} but not {missing}" if seen.size else f"none, not even index {missing}"
    return ValueError(f"`revealed` must hold {must} (kind={kind!r}: {STORIES[kind]}), got {got}")


def sides_of_graph(kind: Kind, graph: FeedbackGraph) -> Floats:
    """S at each level from a graph over rising levels; NaN where no edge says it."""
    left, right = _left_and_right(graph)
    if (left[1:] != 1.0).any() and kind == "stock":
        raise _no_member(kind, 1 + int(np.flatnonzero(left[1:] != 1.0)[0]))
    if (right[:-1] != 1.0).any() and kind == "bids":
        raise _no_member(kind, int(np.flatnonzero(right[:-1] != 1.0)[0]))
    above = 1.0 - right if kind == "stock" else left.copy()
    if kind == "prices":
        differ = np.flatnonzero(np.abs(left + right - 1.0)[1:-1] > 1e-9)
        if differ.size:
            raise _no_member(kind, 1 + int(differ[0]))
        above[0] = 1.0 - right[0]
    known = above[1:] if kind == "bids" else above[:-1] if kind == "stock" else above
    rises = np.flatnonzero(np.diff(known) > 0.0)
    if rises.size:
        raise _no_member(kind, int(rises[0]) + 1 + (kind == "bids"))
    if kind == "bids" or above.size == 1:
        above[0] = np.nan
    if kind == "stock":
        above[-1] = np.nan
    return above


def _left_and_right(graph: FeedbackGraph) -> tuple[Floats, Floats]:
    structure = graph.structure
    if isinstance(structure, Threshold):
        return structure.left, structure.right
    n = graph.n_actions
    left, right = np.ones(n), np.ones(n)
    for action in range(n):
        row = structure.row(action)
        left[action] = row[0] if action > 0 else 1.0
        right[action] = row[-1] if action < n - 1 else 1.0
        if not np.array_equal(Threshold(left.copy(), right.copy()).row(action), row):
            raise ValueError(
                "`graph` must be a threshold graph, where an action reveals all lower levels "
                f"alike and all higher ones alike, got another row for action {action}"
            )
    return left, right


def _no_member(kind: Kind, action: int) -> ValueError:
    return ValueError(
        f"`graph` must follow kind={kind!r} ({STORIES[kind]}), which action {action} does not"
    )
