"""Regret: how it grows with the rounds, and with what the oracle cannot represent."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcb.experiments.curves import Summary
from graphcb.experiments.lines import CONSTANT
from graphcb.figures.lines import COLOURS, OTHERS, End, draw_band, name_ends

GUIDES = {"1/2": 1.0 / 2.0, "2/3": 2.0 / 3.0}
MARKS = ("o", "s", "^", "v", "D")


def draw_growth(title: str, summaries: Sequence[Summary]) -> Figure:
    """Regret by round on logarithmic axes: one part for each line, one curve for each agent.

    Names have the fitted slopes; bands are one standard deviation; dotted lines have the slopes
    1/2 and 2/3.
    """
    parts = list(dict.fromkeys(s.line for s in summaries))
    n_rounds, seeds = int(summaries[0].rounds[-1]), summaries[0].n_seeds
    heading = f"{title}\nslopes from round T / 32 to T = {n_rounds:,}"
    figure, places = _parts(f"{heading}; {seeds} seeds, band: one standard deviation", len(parts))
    for axes, part in zip(places, parts, strict=True):
        _draw_growth(axes, part, [s for s in summaries if s.line == part])
    return figure


def _draw_growth(axes: Axes, title: str, summaries: Sequence[Summary]) -> None:
    ends = []
    for summary in summaries:
        shown = summary.rounds >= summary.rounds[-1] / 32.0
        rounds, regret = summary.rounds[shown], summary.regret_curve[shown]
        colour = COLOURS.get(summary.agent, OTHERS[-1])
        deviation = rounds * summary.deviation_curve[shown]
        draw_band(axes, rounds, regret, np.minimum(deviation, 0.9 * regret), colour)
        name = f"{summary.agent}: {summary.slope:.2f}"
        axes.plot(rounds, regret, color=colour, label=name)
        ends.append(End(name, colour, regret))
    first = summaries[0]
    rounds = first.rounds[first.rounds >= first.rounds[-1] / 32.0]
    start = 0.7 * min(float(s.regret_curve[s.rounds >= rounds[0]][0]) for s in summaries)
    for name, power in GUIDES.items():
        curve = start * (rounds / rounds[0]) ** power
        style = ":" if power == 0.5 else "--"
        axes.plot(rounds, curve, color="black", linewidth=0.8, linestyle=style, label=name)
        ends.append(End(f"slope {name}", "black", curve))
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
    axes.set_xlim(rounds[0], rounds[-1])
    name_ends(axes, ends)


def draw_misspecification(
    title: str, summaries: Sequence[Summary], scales: Mapping[str, tuple[str, float]]
) -> Figure:
    """Regret at the end against epsilon * T * sqrt(alpha), beside the line on which they are equal.

    One part for each graph. `scales` has, for each line, the name of its graph and that number. A
    band is one standard deviation over the seeds.
    """
    points: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for summary in summaries:
        if summary.agent != CONSTANT:
            graph, x = scales[summary.line]
            total = int(summary.rounds[-1])
            point = x, float(summary.regret_curve[-1]), total * summary.deviation
            points.setdefault(graph, {}).setdefault(summary.agent, []).append(point)
    n_rounds, seeds = int(summaries[0].rounds[-1]), summaries[0].n_seeds
    heading = f"{title}\n{seeds} seeds, band: one standard deviation"
    figure, places = _parts(heading, len(points))
    for axes, (graph, agents) in zip(places, points.items(), strict=True):
        ends = []
        for (agent, found), mark in zip(agents.items(), cycle(MARKS), strict=False):
            colour = COLOURS.get(agent, OTHERS[-1])
            x, regret, deviation = np.array(found).T
            axes.plot(x, regret, color=colour, marker=mark, markersize=4, label=agent)
            draw_band(axes, x, regret, deviation, colour)
            ends.append(End(f"{agent}: {regret[-1]:.0f}", colour, regret))
        equal = np.array([0.0, max(x for found in agents.values() for x, _, _ in found)])
        axes.plot(equal, equal, color="black", linestyle="--", linewidth=0.8, label="equal")
        ends.append(End("epsilon T sqrt(alpha)", "black", equal))
        axes.set_xlim(equal)  # type: ignore[arg-type]  # a pair, as it may be
        axes.set_ylim(0.0, 1.05 * max(equal[1], *(end.curve.max() for end in ends)))
        axes.set_xlabel("epsilon T sqrt(alpha)")
        axes.set_ylabel(f"regret after T = {n_rounds:,} rounds")
        axes.set_title(graph.replace("_", " "), size=10)
        axes.grid(alpha=0.3)
        name_ends(axes, ends)
    return figure


def _parts(title: str, number: int) -> tuple[Figure, list[Axes]]:
    """A figure of so many parts, two side by side."""
    n_columns = min(2, number)
    n_rows = -(-number // n_columns)
    figure = Figure(figsize=(5.0 * n_columns, 0.4 + 3.8 * n_rows), layout="constrained")
    figure.suptitle(title, size=10)
    return figure, [figure.add_subplot(n_rows, n_columns, i + 1) for i in range(number)]
