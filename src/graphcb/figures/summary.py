"""A log over time: the loss or reward with its interval, the actions, and the feedback."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcb.evaluation.summary import LogSummary

NAMED = 7  # actions that have a colour of their own
COLOURS = ("#08519c", "#e6550d", "#31a354", "#756bb1", "#a50f15", "#6baed6", "#fdae6b", "#969696")


def draw_summary(summary: LogSummary, title: str) -> Figure:
    """Three panels, one above the other, by number of the decision."""
    figure = Figure(figsize=(7.0, 8.4), layout="constrained")
    value, actions, feedback = figure.subplots(3, 1, sharex=True)
    _draw_value(value, summary)
    _draw_actions(actions, summary)
    share = [window.feedback_share for window in summary.windows]
    feedback.stairs(share, _edges(summary), fill=True, color=COLOURS[0], alpha=0.4)
    feedback.set_ylim(0.0, 1.05)
    feedback.set_ylabel("share with feedback")
    feedback.set_xlabel("decision")
    for axes in (value, feedback):
        axes.grid(alpha=0.3)
    figure.suptitle(title, size=10)
    return figure


def _edges(summary: LogSummary) -> list[int]:
    return [0, *(window.last for window in summary.windows)]


def _draw_value(axes: Axes, summary: LogSummary) -> None:
    """Means with their intervals; a hollow mark is a mean whose interval was withheld."""
    middles, means, below, above, hollow = [], [], [], [], []
    for window in summary.windows:
        if window.mean is None:
            continue
        middles.append(0.5 * (window.first + window.last))
        means.append(window.mean)
        low, high = window.interval or (window.mean, window.mean)
        below.append(window.mean - low)
        above.append(high - window.mean)
        hollow.append("white" if window.interval is None else COLOURS[0])
    axes.errorbar(
        middles, means, yerr=np.array([below, above]), fmt="-", color=COLOURS[0], capsize=3
    )
    axes.scatter(middles, means, c=hollow, edgecolors=COLOURS[0], zorder=3)
    axes.set_ylabel(f"mean {summary.unit}")


def _draw_actions(axes: Axes, summary: LogSummary) -> None:
    names = list(summary.shares)[:NAMED]
    edges = _edges(summary)
    bottom = np.zeros(len(summary.windows))
    layers = [(name, [w.shares.get(name, 0.0) for w in summary.windows]) for name in names]
    if len(summary.shares) > NAMED:
        rest = [1.0 - sum(w.shares.get(name, 0.0) for name in names) for w in summary.windows]
        layers.append((f"{len(summary.shares) - NAMED} others", rest))
    for (name, shares), colour in zip(layers, COLOURS, strict=False):
        top = bottom + np.array(shares)
        axes.stairs(top, edges, baseline=bottom, fill=True, color=colour, label=name, alpha=0.8)
        bottom = top
    axes.set_ylim(0.0, 1.0)
    axes.set_ylabel("share of each action")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
