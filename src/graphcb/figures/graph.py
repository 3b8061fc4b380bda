"""A picture of a feedback graph: dots and arrows while they can be told apart, and the matrix."""

from collections.abc import Sequence
from typing import Any

import networkx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcb.graphs import FeedbackGraph

ARROWS_UP_TO = 30
LONGEST_NAME = 24
PIXELS = 1000  # no more rows than a screen has
SHADES = LinearSegmentedColormap.from_list("revealed", ["#e9eff7", "#08519c"])

KINDS = {
    "strong": "strongly observable",
    "weak": "weakly observable",
    "unobservable": "unobservable",
}
COLOURS = {"strong": "#3182bd", "weak": "#fd8d3c", "unobservable": "#de2d26"}


def draw_graph(graph: FeedbackGraph, title: str, names: Sequence[str] | None = None) -> Figure:
    """Arrows from the played to the revealed action beside the matrix; above 30, the matrix.

    `names` are what the actions are called, their numbers if left out.
    """
    labels = None if names is None else [_shortened(name) for name in names]
    if graph.n_actions > ARROWS_UP_TO:
        figure = Figure(figsize=(6.4, 6.0), layout="constrained")
        _draw_matrix(figure.add_subplot(), graph, labels)
    else:
        figure = Figure(figsize=(12.0, 6.2), layout="constrained")
        arrows, matrix = figure.subplots(1, 2)
        _draw_arrows(arrows, graph, labels)
        _draw_matrix(matrix, graph, labels)
    figure.suptitle(title)
    return figure


def _draw_arrows(axes: Axes, graph: FeedbackGraph, names: Sequence[str] | None) -> None:
    """On a circle; an edge both ways is one line without heads; a likely edge is darker."""
    network = networkx.DiGraph()
    network.add_nodes_from(range(graph.n_actions))
    places = networkx.circular_layout(network)
    matrix = graph.matrix
    fade = 1.0 if graph.n_actions <= 8 else 0.5 if graph.n_actions <= 15 else 0.3
    for i, j in zip(*np.nonzero(matrix), strict=True):
        both_ways = matrix[i, j] == matrix[j, i]
        if i == j or (both_ways and i > j):
            continue
        networkx.draw_networkx_edges(
            network,
            places,
            edgelist=[(i, j)],
            ax=axes,
            arrowstyle="-" if both_ways else "-|>",
            connectionstyle="arc3" if both_ways or not matrix[j, i] else "arc3,rad=0.15",
            alpha=fade * float(0.25 + 0.75 * matrix[i, j]),
            style="-" if matrix[i, j] == 1.0 else "--",
            node_size=360,
        )
    _draw_actions(axes, graph, network, places)
    _draw_names(axes, graph, places, names)
    axes.set_title("playing an action reveals those its arrows reach")
    axes.margins(0.1 if names is None else 0.25)
    axes.set_axis_off()


def _draw_actions(axes: Axes, graph: FeedbackGraph, network: Any, places: Any) -> None:
    """Filled: reveals itself; hollow: does not; colour: how well it can be seen."""
    loops = graph.structure.self_loops()
    kinds = np.full(graph.n_actions, "strong", dtype="<U12")
    kinds[graph.weakly_observable_actions] = "weak"
    kinds[graph.unobservable_actions] = "unobservable"
    colours = [COLOURS[kind] for kind in kinds]
    networkx.draw_networkx_nodes(
        network,
        places,
        ax=axes,
        node_size=360,
        node_color=[c if loop else "white" for c, loop in zip(colours, loops, strict=True)],
        edgecolors=colours,
        linewidths=2.0,
    )
    axes.legend(
        handles=[
            *(_dot(COLOURS[kind], label) for kind, label in KINDS.items() if kind in kinds),
            _dot("grey", "filled: reveals itself"),
            _dot("grey", "hollow: does not", filled=False),
            Line2D([], [], color="grey", label="no arrow head: both ways"),
            Line2D([], [], color="grey", linestyle="--", label="dashed: by chance"),
        ],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.02),
        ncols=2,
        fontsize=8,
        frameon=False,
    )


def _draw_names(axes: Axes, graph: FeedbackGraph, places: Any, names: Sequence[str] | None) -> None:
    """Numbers inside the dots, or names outside the circle."""
    loops = graph.structure.self_loops()
    for action, (x, y) in places.items():
        if names is None:
            ink = "white" if loops[action] else "black"
            axes.text(x, y, str(action), ha="center", va="center", color=ink, fontsize=8)
            continue
        out = (x, y) if graph.n_actions > 1 else (0.0, 1.0)
        axes.annotate(
            names[action],
            (x, y),
            (14.0 * out[0], 14.0 * out[1]),
            textcoords="offset points",
            ha="center" if abs(out[0]) < 0.3 else "left" if out[0] > 0.0 else "right",
            va="center" if abs(out[1]) < 0.3 else "bottom" if out[1] > 0.0 else "top",
            fontsize=10,
            parse_math=False,
        )


def _shortened(name: str) -> str:
    """One line that leaves room for the rest of the picture."""
    line = " ".join(name.split())
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 3]}..."


def _dot(colour: str, label: str, *, filled: bool = True) -> Line2D:
    return Line2D(
        [],
        [],
        marker="o",
        linestyle="",
        color=colour,
        markerfacecolor=colour if filled else "white",
        label=label,
    )


def _draw_matrix(axes: Axes, graph: FeedbackGraph, names: Sequence[str] | None) -> None:
    """Dark = revealed; a graph larger than a screen is shown by equally spaced actions."""
    size = graph.n_actions
    shown = np.unique(np.linspace(0, size - 1, min(size, PIXELS)).round().astype(np.intp))
    matrix = graph.matrix if shown.size == size else graph.subgraph(shown).matrix
    extent = (-0.5, size - 0.5, size - 0.5, -0.5)
    image = axes.imshow(matrix, cmap=SHADES, vmin=0, vmax=1, extent=extent, interpolation="nearest")
    axes.set_xlabel("revealed action")
    axes.set_ylabel("played action")
    axes.set_title("probability that playing the row reveals the column")
    if size <= ARROWS_UP_TO:
        axes.set_xticks(range(size))
        axes.set_yticks(range(size))
        if names is not None:
            axes.set_xticklabels(names, rotation=45, ha="right", parse_math=False)
            axes.set_yticklabels(names, parse_math=False)
        axes.tick_params(labelsize=8 if size <= 15 else 6)
        lines = np.arange(size - 1) + 0.5
        axes.hlines(lines, -0.5, size - 0.5, color="white", linewidth=1.0)
        axes.vlines(lines, -0.5, size - 0.5, color="white", linewidth=1.0)
    axes.figure.colorbar(image, ax=axes, shrink=0.7)
