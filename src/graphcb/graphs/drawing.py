"""A small drawing of a graph as SVG, for notebooks: no package is needed."""

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphcb.graphs.graph import FeedbackGraph

MOST = 16  # actions that are drawn
SIZE, RADIUS, NODE = 300.0, 105.0, 11.0
DARK, PALE = "#08519c", "#ffffff"


def as_svg(graph: "FeedbackGraph", names: Sequence[Any] | None = None) -> str:
    """Actions on a circle, an arrow to each other action that playing one reveals.

    A filled action reveals its own loss. An edge that is not certain is paler. A graph of many
    actions is described in words.

    >>> from graphcb.graphs import apple_tasting
    >>> drawn = as_svg(apple_tasting(), ["refuse", "accept"])
    >>> drawn.count("<circle"), drawn.count("<path"), "accept" in drawn
    (2, 1, True)
    """
    k = graph.n_actions
    if k > MOST:
        return f"<p>{escape(repr(graph))}: {k:,} actions, {graph.n_edges:,} edges</p>"
    called = list(range(k)) if names is None else list(names)
    angles = [2.0 * math.pi * index / k - math.pi / 2 for index in range(k)]
    places = [(SIZE / 2 + RADIUS * math.cos(a), SIZE / 2 + RADIUS * math.sin(a)) for a in angles]
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE:g} {SIZE:g}" width="{SIZE:g}" '
        f'height="{SIZE:g}" role="img" aria-label="{escape(repr(graph), quote=True)}">'
    ]
    for i in range(k):
        row = graph.row(i)
        pieces += [_arrow(places[i], places[j], float(row[j])) for j in range(k)
                   if j != i and row[j] > 0.0]  # fmt: skip
    for i, (x, y) in enumerate(places):
        own = float(graph.row(i)[i])
        pieces.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{NODE:g}" stroke="{DARK}" stroke-width="1.5" '
            f'fill="{DARK if own > 0.0 else PALE}" fill-opacity="{own if own > 0.0 else 1.0:.2g}"/>'
        )
    for i, (x, y) in enumerate(places):
        # outside of the circle
        far = 1.0 + 26.0 / RADIUS
        at = SIZE / 2 + far * (x - SIZE / 2), SIZE / 2 + far * (y - SIZE / 2)
        pieces.append(
            f'<text x="{at[0]:.1f}" y="{at[1] + 4.0:.1f}" text-anchor="middle" font-size="12" '
            f'fill="currentColor">{escape(str(called[i]))}</text>'
        )
    return "".join([*pieces, "</svg>"])


def _arrow(start: tuple[float, float], end: tuple[float, float], probability: float) -> str:
    """A line to the edge of the other circle, slightly bent, so that both directions are seen."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    ux, uy = dx / length, dy / length
    middle = (start[0] + end[0]) / 2 - 0.12 * dy, (start[1] + end[1]) / 2 + 0.12 * dx
    tip = end[0] - NODE * ux, end[1] - NODE * uy
    left = tip[0] - 8 * ux - 4 * uy, tip[1] - 8 * uy + 4 * ux
    right = tip[0] - 8 * ux + 4 * uy, tip[1] - 8 * uy - 4 * ux
    return (
        f'<path d="M{start[0]:.1f} {start[1]:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {tip[0]:.1f} '
        f"{tip[1]:.1f}M{left[0]:.1f} {left[1]:.1f}L{tip[0]:.1f} {tip[1]:.1f}L{right[0]:.1f} "
        f'{right[1]:.1f}" fill="none" stroke="#969696" stroke-opacity="{probability:.2g}"/>'
    )
