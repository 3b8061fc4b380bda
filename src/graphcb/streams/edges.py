"""A graph written in one cell: which action reveals which, by name."""

from functools import lru_cache

from graphcb.graphs import FeedbackGraph


@lru_cache(maxsize=1024)
def parse_edges(text: str, actions: tuple[str, ...]) -> FeedbackGraph:
    """A graph from edges such as "a>a a>b b>b:0.5": played, revealed, and how likely.

    Names are those of the actions (labels, or columns of losses). Rows that share a graph get
    the same object, so that what is known of it is worked out once.

    >>> parse_edges("no>no yes>no yes>yes:0.5", ("no", "yes")).matrix.tolist()
    [[1.0, 0.0], [1.0, 0.5]]
    """
    positions = {name: i for i, name in enumerate(actions)}
    edges = [_parse_edge(edge, positions) for edge in text.split()]
    graph = FeedbackGraph.from_edges(len(actions), edges)
    hidden = graph.unobservable_actions
    if hidden.size:
        raise ValueError(f"some action must reveal {actions[hidden[0]]!r}, got the edges {text!r}")
    return graph


def _parse_edge(edge: str, positions: dict[str, int]) -> tuple[int, int, float]:
    played, arrow, rest = edge.partition(">")
    revealed, _, chance = rest.partition(":")
    if not arrow or played not in positions or revealed not in positions:
        raise ValueError(
            "an edge must be written played>revealed or played>revealed:probability with the "
            f"names {', '.join(positions)}; got {edge!r}"
        )
    try:
        probability = float(chance) if chance else 1.0
    except ValueError:
        probability = float("nan")
    return positions[played], positions[revealed], probability
