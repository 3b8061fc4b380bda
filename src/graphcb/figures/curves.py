"""Learning curves with a band of one standard deviation, in the layout of the paper."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcb.experiments.curves import Summary

COLOURS = {
    "SquareCB.G": ("#08519c", "#3182bd", "#6baed6"),
    "SquareCB": ("#a63603", "#e6550d", "#fd8d3c"),
}
OTHERS = ("#006d2c", "#31a354", "#74c476")
STYLES = ("-", "--", ":")


def draw_panels(panels: Sequence[tuple[str, Sequence[Summary]]]) -> Figure:
    """One panel a title and its summaries, two side by side."""
    n_columns = min(2, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure = Figure(figsize=(6.5 * n_columns, 4.3 * n_rows), layout="constrained")
    for number, (title, summaries) in enumerate(panels, start=1):
        _draw(figure.add_subplot(n_rows, n_columns, number), title, summaries)
    return figure


def _draw(axes: Axes, title: str, summaries: Sequence[Summary]) -> None:
    """Mean progressive validation loss against the round, one line an agent and line."""
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
    # The first rounds are far above everything that follows and would flatten it.
    settled = [s.mean_curve[s.rounds >= s.rounds[-1] // 50] for s in summaries]
    lowest = min(float(curve.min()) for curve in settled)
    highest = max(float(curve.max()) for curve in settled)
    axes.set_ylim(lowest - 0.1 * (highest - lowest), highest + 0.1 * (highest - lowest))
    axes.set_xlim(0, None)
    axes.set_xlabel("round")
    axes.set_ylabel("progressive validation loss")
    axes.set_title(title, size=10)
    axes.grid(alpha=0.3)
    seeds = summaries[0].n_seeds
    axes.legend(title=f"final loss ({seeds} seeds, band: one std)", fontsize=8, title_fontsize=8)


def save(figure: Figure, path: Path) -> None:
    """Write the figure in the format that the name asks for, without a date in the file."""
    metadata = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    figure.savefig(path, dpi=160, metadata=metadata.get(path.suffix))
