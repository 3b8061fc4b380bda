"""Progressive validation on the user's data: the learner beside what could be reached."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

STYLES = (
    ("#08519c", "-"),
    ("#636363", "--"),
    ("#31a354", "-."),
    ("#e6550d", "-"),
    ("#756bb1", ":"),
    ("#a50f15", "--"),
    ("#000000", ":"),
)


def draw_progress(
    rounds: Sequence[int], curves: Mapping[str, NDArray[np.float64]], title: str
) -> Figure:
    """Mean loss so far against the number of examples, one line a learner."""
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for (name, curve), (colour, style) in zip(curves.items(), cycle(STYLES), strict=False):
        label = f"{name}: {curve[-1]:.4f}"
        axes.plot(rounds, curve, color=colour, linestyle=style, label=label)
    # The first rounds are far from everything that follows and would flatten it.
    settled = [curve[len(curve) // 50 :] for curve in curves.values()]
    lowest, highest = (float(f([f(curve) for curve in settled])) for f in (np.min, np.max))
    margin = 0.1 * (highest - lowest) or 0.1
    axes.set_ylim(lowest - margin, highest + margin)
    axes.set_xlim(0, None)
    axes.set_xlabel("example")
    axes.set_ylabel("mean loss so far")
    axes.set_title(title, size=10)
    axes.grid(alpha=0.3)
    axes.legend(title="at the end", fontsize=8, title_fontsize=8)
    return figure
