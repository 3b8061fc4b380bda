"""Regret: how it grows with the rounds, and with what the oracle cannot represent."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcb.experiments.curves import Summary

COLOURS = {
    "SquareCB.G": "#08519c",
    "SquareCB.G, TwoThirds": "#08519c",
    "SquareCB.G, SquareRoot": "#6baed6",
    "information-directed": "#31a354",
    "SquareCB": "#e6550d",
    "greedy": "#756bb1",
    "epsilon-greedy": "#9e9ac8",
    "best constant action": "#636363",
}
OTHERS = "#000000"
GUIDES = {"1/2": 1.0 / 2.0, "2/3": 2.0 / 3.0}
MARKS = ("o", "s", "^", "v", "D")


def draw_growth(title: str, summaries: Sequence[Summary]) -> Figure:
    """Regret by round on logarithmic axes: one part for each line, one curve for each agent.

    The legend has the fitted slopes; dotted lines have the slopes 1/2 and 2/3.
    """
    parts = list(dict.fromkeys(s.line for s in summaries))
    n_columns = min(3, len(parts))
    n_rows = -(-len(parts) // n_columns)
    figure = Figure(figsize=(5.2 * n_columns, 4.4 * n_rows), layout="constrained")
    figure.suptitle(title)
    for number, part in enumerate(parts, start=1):
        axes = figure.add_subplot(n_rows, n_columns, number)
        _draw_growth(axes, part, [s for s in summaries if s.line == part])
    return figure


def _draw_growth(axes: Axes, title: str, summaries: Sequence[Summary]) -> None:
    for summary in summaries:
        shown = summary.rounds >= summary.rounds[-1] / 32.0
        axes.plot(
            summary.rounds[shown],
            summary.regret_curve[shown],
            color=COLOURS.get(summary.agent, OTHERS),
            label=f"{summary.agent}: {summary.slope:.2f}",
        )
    first = summaries[0]
    rounds = first.rounds[first.rounds >= first.rounds[-1] / 32.0]
    start = 0.7 * min(float(s.regret_curve[s.rounds >= rounds[0]][0]) for s in summaries)
    for name, power in GUIDES.items():
        curve = start * (rounds / rounds[0]) ** power
        style = ":" if power == 0.5 else "--"
        axes.plot(rounds, curve, color="black", linewidth=0.8, linestyle=style, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    last = int(rounds[-1])
    # The labels that matplotlib chooses overlap.
    marked = sorted({max(1, last // 16), max(1, last // 4), last})
    axes.set_xticks(marked, [f"{mark:,}" for mark in marked])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("round")
    axes.set_ylabel("regret")
    axes.set_title(title, size=10)
    axes.grid(alpha=0.3, which="both")
    axes.legend(title="slope", fontsize=7, title_fontsize=7)


def draw_misspecification(
    title: str, summaries: Sequence[Summary], scales: Mapping[str, tuple[str, float]]
) -> Figure:
    """Regret at the end against epsilon * T * sqrt(alpha), beside the line on which they are equal.

    `scales` has, for each line, the name of its graph and that number.
    """
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for summary in summaries:
        if summary.agent == "best constant action":
            continue
        graph, x = scales[summary.line]
        point = x, float(summary.regret_curve[-1])
        curves.setdefault((summary.agent, graph), []).append(point)
    graphs = list(dict.fromkeys(graph for _, graph in curves))
    for (agent, graph), points in curves.items():
        mark = MARKS[graphs.index(graph) % len(MARKS)]
        colour = COLOURS.get(agent, OTHERS)
        label = f"{agent}, {graph}"
        axes.plot(*np.array(points).T, color=colour, marker=mark, label=label, linewidth=1.0)
    furthest = max(x for points in curves.values() for x, _ in points)
    axes.plot([0.0, furthest], [0.0, furthest], color="black", linestyle="--", linewidth=0.8)
    axes.set_xlabel("epsilon T sqrt(alpha)")
    axes.set_ylabel("regret after T rounds")
    axes.set_title(title, size=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    return figure
