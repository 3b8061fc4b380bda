"""Learning curves: the panels of the paper, and progress on the user's own data."""

import io
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from graphcb.experiments.curves import Summary
from graphcb.files import atomic_write

COLOURS = {
    "SquareCB.G": ("#08519c", "#3182bd", "#6baed6"),
    "SquareCB": ("#a63603", "#e6550d", "#fd8d3c"),
    "information-directed": ("#01665e", "#35978f", "#80cdc1"),
    "greedy": ("#54278f", "#756bb1", "#9e9ac8"),
    "best constant action": ("#252525", "#636363", "#969696"),
}
DPI = 160
N_COLOURS, PASSES = 256, 3  # of a png; without passes, lines of like colours become one
OTHERS = ("#006d2c", "#31a354", "#74c476")
STYLES = ("-", "--", ":")
PROGRESS_STYLES = (
    ("#08519c", "-"),
    ("#636363", "--"),
    ("#31a354", "-."),
    ("#e6550d", "-"),
    ("#756bb1", ":"),
    ("#a50f15", "--"),
    ("#000000", ":"),
)


def draw_panels(panels: Sequence[tuple[str, Sequence[Summary]]]) -> Figure:
    """One panel for each title with its summaries, two panels side by side."""
    n_columns = min(2, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure = Figure(figsize=(6.5 * n_columns, 4.3 * n_rows), layout="constrained")
    for number, (title, summaries) in enumerate(panels, start=1):
        _draw(figure.add_subplot(n_rows, n_columns, number), title, summaries)
    return figure


def _draw(axes: Axes, title: str, summaries: Sequence[Summary]) -> None:
    """Mean progressive validation loss by round, with a band of one standard deviation."""
    drawn: dict[str, int] = {}
    for summary in summaries:
        position = drawn.setdefault(summary.agent, 0) % 3
        drawn[summary.agent] += 1
        colour = COLOURS.get(summary.agent, OTHERS)[position]
        low = summary.mean_curve - summary.deviation_curve
        high = summary.mean_curve + summary.deviation_curve
        axes.fill_between(summary.rounds, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(
            summary.rounds,
            summary.mean_curve,
            color=colour,
            linestyle=STYLES[position],
            label=f"{summary.agent}, {summary.line}: {summary.mean:.4f}",
        )
    axes.set_xlabel("round")
    axes.set_ylabel("progressive validation loss")
    seeds = summaries[0].n_seeds
    # A constant far above those who learn would flatten them; its number is in the legend.
    learners = [s for s in summaries if s.agent != "best constant action"] or summaries
    settled = [s.mean_curve[s.rounds >= s.rounds[-1] // 50] for s in learners]
    _finish(axes, title, f"final loss ({seeds} seeds, band: one std)", settled)


def draw_progress(
    rounds: Sequence[int],
    curves: Mapping[str, NDArray[np.float64]],
    title: str,
    *,
    what: str = "loss",
) -> Figure:
    """Mean loss (or `what` it is) so far by number of examples, one line for each learner."""
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for (name, curve), (colour, style) in zip(curves.items(), cycle(PROGRESS_STYLES), strict=False):
        label = f"{name}: {curve[-1]:.4f}"
        axes.plot(rounds, curve, color=colour, linestyle=style, label=label)
    axes.set_xlabel("example")
    axes.set_ylabel(f"mean {what} so far")
    _finish(
        axes, title, f"final mean {what}", [curve[len(curve) // 50 :] for curve in curves.values()]
    )
    return figure


def _finish(axes: Axes, title: str, legend: str, settled: Sequence[NDArray[np.float64]]) -> None:
    """Limits, title and legend; `settled` are the curves without their first rounds.

    The first rounds are far from everything that follows and would flatten it.
    """
    lowest = min(float(curve.min()) for curve in settled)
    highest = max(float(curve.max()) for curve in settled)
    margin = 0.1 * (highest - lowest) or 0.1
    axes.set_ylim(lowest - margin, highest + margin)
    axes.set_xlim(0, None)
    axes.set_title(title, size=10)
    axes.grid(alpha=0.3)
    axes.legend(title=legend, fontsize=8, title_fontsize=8)


def save(figure: Figure, path: Path) -> None:
    """Write the figure in the format of the file's suffix, with graphcb's name and no date in it.

    The file appears complete or not at all. By the name a later command knows that it may be
    overwritten. A png has 256 colours, which makes it a third as large.
    """
    kind = path.suffix[1:].lower()
    metadata = {
        "svg": {"Creator": "graphcb", "Date": None},
        "pdf": {"Creator": "graphcb", "CreationDate": None},
    }
    with atomic_write(path) as file:
        if kind == "png":
            _save_png(figure, file)
        else:
            figure.savefig(file, dpi=DPI, format=kind, metadata=metadata.get(kind))


def _save_png(figure: Figure, file: Any) -> None:
    from PIL import Image, PngImagePlugin  # matplotlib needs it, too

    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DPI, format="png")
    whole, plain = Image.open(drawn).convert("RGB"), Image.Dither.NONE
    few = whole.quantize(N_COLOURS, kmeans=PASSES, dither=plain)
    about = PngImagePlugin.PngInfo()
    about.add_text("Software", "graphcb")
    few.save(file, format="png", pnginfo=about, optimize=True, dpi=(DPI, DPI))
