"""A picture of coverage: each estimator in each setting, and the line that none may be below."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from graphcb.figures.lines import OTHERS
from studies.coverage.counting import Line

COLOURS = {
    "logged": OTHERS[0],
    "another": OTHERS[1],
    "constant": OTHERS[1],
    "difference": OTHERS[2],
}
MEANINGS = {
    "the policy that logged": OTHERS[0],
    "another policy, or one action": OTHERS[1],
    "the difference of two": OTHERS[2],
}


def draw(title: str, found: Mapping[str, Sequence[Line]], least: float) -> Figure:
    """One row for each setting; hollow marks are of anytime-valid intervals."""
    figure = Figure(figsize=(8.0, 1.5 + 0.26 * len(found)), layout="constrained")
    axes = figure.add_subplot()
    for place, some in enumerate(found.values()):
        for line in some:
            if line.interval not in ("normal", "anytime") or math.isnan(line.held):
                continue
            colour = COLOURS[line.target]
            face = colour if line.interval == "normal" else "white"
            axes.plot(
                [line.held], [place], "o", color=colour, markerfacecolor=face, markersize=4.5,
                alpha=0.8,
            )  # fmt: skip
    axes.axvline(0.95, color="black", linestyle=":", linewidth=1.0, label="0.95")
    axes.axvline(least, color="black", linewidth=1.0, label=f"{least:g}, below which none may be")
    for meaning, colour in MEANINGS.items():
        axes.plot([], [], "o", color=colour, markersize=4.5, label=meaning)
    axes.plot(
        [], [], "o", color="black", markerfacecolor="white", markersize=4.5,
        label="hollow: however often one looks",
    )  # fmt: skip
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    axes.set_yticks(range(len(found)), list(found), size=8)
    axes.invert_yaxis()
    axes.set_xlabel("share of logs in which the interval holds the truth")
    axes.set_title(title, size=10)
    axes.grid(alpha=0.3)
    return figure
