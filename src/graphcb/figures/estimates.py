"""Estimates of several policies side by side, with the interval that holds for each."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from graphcb.estimates.estimate import Estimate
from graphcb.figures.lines import starts_at_zero

COLOUR, PALE = "#08519c", "#9ecae1"


def draw_estimates(
    estimates: Sequence[tuple[str, Estimate]],
    *,
    title: str,
    unit: str,
    truths: Sequence[float | None] | None = None,
) -> Figure:
    """One line for each policy: its mean, its interval, and pale the anytime-valid one.

    `truths`, where they are known, are crosses.
    """
    figure = Figure(figsize=(7.0, 1.2 + 0.5 * len(estimates)), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(estimates), 0, -1)
    for place, (_, one) in zip(places, estimates, strict=True):
        if one.anytime is not None:
            axes.plot(one.anytime, (place, place), color=PALE, linewidth=2, solid_capstyle="butt")
        if one.interval is not None and one.interval is not one.anytime:
            axes.plot(one.interval, (place, place), color=COLOUR, linewidth=4, alpha=0.6,
                      solid_capstyle="butt")  # fmt: skip
        is_sure = one.interval is not None
        axes.plot([one.value], [place], "o", color=COLOUR, fillstyle="full" if is_sure else "none")
    for place, truth in zip(places, truths or [], strict=False):
        if truth is not None:
            axes.plot([truth], [place], "x", color="#a50f15")
    axes.set_yticks(list(places), [name for name, _ in estimates])
    axes.set_ylim(0.4, len(estimates) + 0.6)
    meaning = "intervals: thick for one look at this log, thin for any number of looks"
    axes.set_xlabel(f"mean {unit}\n{meaning}")
    drawn = axes.dataLim
    if starts_at_zero(drawn.x0, drawn.x1):
        axes.set_xlim(left=0.0)
    axes.grid(axis="x", alpha=0.3)
    axes.set_title(title, size=10)
    return figure
