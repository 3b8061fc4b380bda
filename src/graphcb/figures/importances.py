"""Which features matter, as bars with their intervals."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcb.problems.importances import Importance, Importances

MOST = 12  # features, and panels


def draw_importances(found: Importances) -> Figure:
    """One panel for all actions together, and one for each."""
    panels = [("all actions", found.overall), *found.by_action.items()][:MOST]
    heights = [0.8 + 0.24 * min(len(each), MOST) for _, each in panels]
    figure = Figure(figsize=(6.4, sum(heights) + 0.4), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(panels), 1, height_ratios=heights))
    for one, (name, each) in zip(axes, panels, strict=True):
        _draw(one, name, each[:MOST])
    axes[-1].set_xlabel(f"squared error of the predicted {found.unit} without it, more than with")
    return figure


def _draw(axes: Axes, name: str, features: Sequence[Importance]) -> None:
    places = np.arange(len(features))[::-1]
    for place, one in zip(places, features, strict=True):
        axes.barh(place, one.increase, color="#08519c", alpha=0.5)
        if one.interval is not None:
            axes.plot(one.interval, (place, place), color="#08519c")
    axes.set_yticks(places, [one.feature for one in features])
    axes.axvline(0.0, color="black", linewidth=0.6)
    axes.set_title(name, size=9, loc="left")
    axes.grid(axis="x", alpha=0.3)
