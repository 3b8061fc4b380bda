"""Pictures of limits on real streams: loss against budget, and the ratio to a baseline."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcb.figures.lines import COLOURS, OTHERS
from studies.limits.claims import LimitRuns, measured
from studies.limits.study import (
    ALONE,
    BASELINE,
    BUDGETED,
    CLIPPED,
    CONSERVATIVE,
    EPSILON_GREEDY,
    FREE,
    GREEDY,
    MIX,
    OURS,
)
from studies.limits.tables import called

STYLES = {
    OURS: (COLOURS["information-directed"], "o"),
    CLIPPED: (OTHERS[1], "s"),
    EPSILON_GREEDY: (COLOURS["epsilon-greedy"], "^"),
    GREEDY: (COLOURS["greedy"], "v"),
    MIX: (COLOURS["best constant action"], ""),
}
ALONE_COLOUR = COLOURS["information-directed"]
EPSILON_COLOURS = (
    "#08306B",
    "#2171B5",
    "#6BAED6",
    "#9ECAE1",
)  # one agent, lighter as it dares more
CHOSEN = "* a stream on which the rules were chosen"


def draw_budgets(runs: LimitRuns) -> Figure:
    """One part for each stream; a hollow mark where a run spent more than the band allows."""
    streams = list(runs.study.budgets.streams)
    figure, parts = _parts(len(streams), n_columns=3)
    bands = f"{runs.study.budgets.seeds} seeds, band: from the least to the largest"
    figure.suptitle(f"{runs.study.title}: mean loss against budget; {bands}", size=10)
    for axes, stream in zip(parts, streams, strict=True):
        _draw_budgets(axes, runs, stream)
        axes.set_title(_title(runs, stream, FREE), size=10)
    handles = [
        Line2D([], [], color=colour, marker=mark, label=agent, markersize=5)
        for agent, (colour, mark) in STYLES.items()
    ]
    handles.append(Line2D([], [], color="black", linestyle=":", label=FREE))
    hollow = Line2D([], [], color=STYLES[CLIPPED][0], marker="s", linestyle="", markersize=5)
    hollow.set_markerfacecolor("white")
    hollow.set_label("hollow: beyond the band at some time")
    handles.append(hollow)
    if any(stream in runs.study.chosen_on for stream in streams):
        handles.append(Line2D([], [], linestyle="", label=CHOSEN))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4 if len(streams) > 2 else 3, fontsize=8
    )
    return figure


def _draw_budgets(axes: Axes, runs: LimitRuns, stream: str) -> None:
    values = runs.study.budgets.values
    for agent in reversed(BUDGETED):  # ours on top
        colour, mark = STYLES[agent]
        finals = [[one.mean_loss[-1] for one in runs.of(agent, stream, v)] for v in values]
        means = [float(np.mean(some)) for some in finals]
        axes.plot(values, means, color=colour, linewidth=1.4)
        if not mark:
            continue
        low, high = ([f(some) for some in finals] for f in (min, max))
        axes.fill_between(values, low, high, color=colour, alpha=0.12, linewidth=0)
        for value, mean in zip(values, means, strict=True):
            beyond = max(measured(one, "beyond_band") for one in runs.of(agent, stream, value))
            face = "white" if beyond > 0.0 else colour
            axes.plot(
                [value], [mean], color=colour, marker=mark, markersize=5, markerfacecolor=face
            )
    axes.axhline(runs.loss(FREE, stream, 0.0), color="black", linestyle=":", linewidth=1.0)
    axes.set_xscale("log")
    axes.set_xticks(values, [f"{100.0 * value:g} %" for value in values])
    axes.minorticks_off()
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("budget")
    axes.set_ylabel("mean loss")
    axes.grid(alpha=0.3)


def draw_ratios(runs: LimitRuns) -> Figure:
    """One part for each stream: every seed of every epsilon, and the lines at 1 + epsilon."""
    study = runs.study
    streams = list(study.baselines.streams)
    figure, parts = _parts(len(streams), n_columns=3)
    figure.suptitle(
        f"{study.title}: loss so far / baseline's loss so far; {study.baselines.seeds} seeds",
        size=10,
    )
    for axes, stream in zip(parts, streams, strict=True):
        _draw_ratios(axes, runs, stream)
        axes.set_title(_title(runs, stream, BASELINE), size=10)
    handles = [
        Line2D([], [], color=colour, label=f"Conservative, epsilon = {epsilon:g}")
        for epsilon, colour in zip(study.baselines.values, EPSILON_COLOURS, strict=False)
    ]
    handles.append(Line2D([], [], color=ALONE_COLOUR, label=ALONE))
    handles.append(Line2D([], [], color="black", linestyle="--", label="1 + epsilon"))
    if any(stream in study.chosen_on for stream in streams):
        handles.append(Line2D([], [], linestyle="", label=CHOSEN))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _draw_ratios(axes: Axes, runs: LimitRuns, stream: str) -> None:
    theirs = {one.setting.seed: one.mean_loss for one in runs.of(BASELINE, stream)}
    epsilons = runs.study.baselines.values
    lines: list[tuple[str, float, str]] = [(ALONE, 0.0, ALONE_COLOUR)]
    colours = dict(zip(epsilons, EPSILON_COLOURS, strict=False))
    lines += [(CONSERVATIVE, epsilon, colour) for epsilon, colour in colours.items()]
    for agent, value, colour in lines:
        for one in runs.of(agent, stream, value):
            base = theirs[one.setting.seed]
            known = base > 0.0
            ratio = one.mean_loss[known] / base[known]
            axes.plot(one.rounds[known], ratio, color=colour, linewidth=0.9, alpha=0.8)
        if value > 0.0:
            axes.axhline(1.0 + value, color=colour, linestyle="--", linewidth=1.0)
    axes.set_xscale("log")
    axes.set_ylim(0.0, 1.1 + max(epsilons))
    axes.set_xlabel("round")
    axes.set_ylabel("ratio")
    axes.grid(alpha=0.3)


def _title(runs: LimitRuns, stream: str, agent: str) -> str:
    n_rounds = int(runs.of(agent, stream)[0].rounds[-1])
    return f"{called(runs.study, stream)}, T = {n_rounds:,}"


def _parts(number: int, *, n_columns: int) -> tuple[Figure, Sequence[Axes]]:
    n_columns = min(n_columns, number)
    n_rows = -(-number // n_columns)
    figure = Figure(figsize=(max(7.5, 3.9 * n_columns), 3.0 * n_rows + 1.1), layout="constrained")
    return figure, [figure.add_subplot(n_rows, n_columns, i + 1) for i in range(number)]
