"""Learning curves: the panels of the paper, and progress on the user's own data."""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcb.experiments.curves import Summary
from graphcb.experiments.lines import CONSTANT
from graphcb.figures.lines import (
    COLOURS,
    OTHERS,
    STYLES,
    End,
    Floats,
    colours_of,
    draw_band,
    name_ends,
    source_digest,
    starts_at_zero,
)
from graphcb.files import atomic_write

DPI = 160
N_COLOURS, PASSES = 256, 3  # of a png; without passes, lines of like colours become one


def draw_panels(panels: Sequence[tuple[str, Sequence[Summary]]]) -> Figure:
    """One panel for each title with its summaries, two panels side by side."""
    n_columns = min(2, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure = Figure(figsize=(6.2 * n_columns, 4.0 * n_rows), layout="constrained")
    for number, (title, summaries) in enumerate(panels, start=1):
        _draw(figure.add_subplot(n_rows, n_columns, number), title, summaries)
    return figure


def _draw(axes: Axes, title: str, summaries: Sequence[Summary]) -> None:
    """Mean progressive validation loss by round, with a band of one standard deviation.

    An agent has one colour, a line of the panel one style. Where an axis from 0 would flatten all,
    losses stand beside those of the best constant action, with the same seeds.
    """
    constants = [s for s in summaries if s.agent == CONSTANT]
    # A constant far above those who learn would flatten them; its name has its number.
    learners = [s for s in summaries if s.agent != CONSTANT] or summaries
    late = summaries[0].rounds >= summaries[0].rounds[-1] // 20
    settled = [s.mean_curve[late] for s in learners]
    is_beside = len(constants) == 1 and not _from_zero(settled)
    lines = list(dict.fromkeys(s.line for s in summaries))
    ends = []
    for summary in summaries:
        mean, deviation = summary.mean_curve, summary.deviation_curve
        if is_beside:
            apart = summary.runs - constants[0].runs
            mean = apart.mean(axis=0)
            deviation = apart.std(axis=0, ddof=1) if len(apart) > 1 else np.zeros_like(mean)
        colour = COLOURS.get(summary.agent, OTHERS[-1])
        draw_band(axes, summary.rounds, mean, deviation, colour)
        name = f"{summary.agent}, {summary.line}: {summary.mean:.4f}"
        style = STYLES[lines.index(summary.line) % len(STYLES)]
        axes.plot(summary.rounds, mean, color=colour, linestyle=style, label=name)
        ends.append(End(name, colour, mean))
    if is_beside:
        settled = [end.curve[late] for end in ends]
    axes.set_xlabel("round")
    beside = "loss less that of the best constant action"
    axes.set_ylabel(beside if is_beside else "progressive validation loss")
    last, seeds = int(summaries[0].rounds[-1]), summaries[0].n_seeds
    bands = f"{seeds} seeds, band: one standard deviation"
    _finish(axes, f"{title}\nfinal loss after {last:,} rounds; {bands}", settled, last)
    name_ends(axes, ends)


def draw_progress(
    rounds: Sequence[int],
    curves: Mapping[str, Floats],
    title: str,
    *,
    what: str = "loss",
) -> Figure:
    """Mean loss (or `what` it is) so far by number of examples, one line for each learner.

    A curve is one run, or several as rows: then their mean is drawn, with a band of one standard
    deviation.
    """
    figure = Figure(figsize=(8.0, 4.4), layout="constrained")
    axes = figure.add_subplot()
    ends, settled, most = [], [], 1
    drawn = zip(curves.items(), colours_of(list(curves)), strict=True)
    for place, ((name, given), colour) in enumerate(drawn):
        runs = np.atleast_2d(given)
        most = max(most, len(runs))
        mean = runs.mean(axis=0)
        style = STYLES[place // len(OTHERS) % len(STYLES)]
        draw_band(axes, rounds, mean, runs.std(axis=0), colour)
        label = f"{name}: {mean[-1]:.4f}"
        axes.plot(rounds, mean, color=colour, linestyle=style, label=label)
        ends.append(End(label, colour, mean))
        settled.append(mean[len(mean) // 50 :])
    axes.set_xlabel("example")
    axes.set_ylabel(f"mean {what} so far")
    bands = f"; {most} runs, band: one standard deviation" if most > 1 else ""
    _finish(axes, f"{title}\nfinal mean {what}{bands}", settled, rounds[-1])
    name_ends(axes, ends, size=9.0)
    return figure


def _finish(axes: Axes, title: str, settled: Sequence[Floats], last: int) -> None:
    """Limits and title; `settled` are the curves without their first rounds.

    The first rounds are far from everything that follows and would flatten it. The axis starts
    at 0 where this hides nothing, and has it where a curve is not above it.
    """
    lowest = min(float(curve.min()) for curve in settled)
    highest = max(float(curve.max()) for curve in settled)
    margin = 0.1 * (highest - lowest) or 0.1
    is_whole = starts_at_zero(lowest, highest)
    axes.set_ylim(0.0 if is_whole else lowest - margin, highest + margin)
    if not is_whole and lowest > 0.0:
        axes.set_ylabel(f"{axes.get_ylabel()} (not from 0)")
    axes.set_xlim(0, last)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(title, size=10, loc="left")  # above the names, too
    axes.grid(alpha=0.3)


def _from_zero(settled: Sequence[Floats]) -> bool:
    """Whether these curves can be told apart on an axis that starts at 0."""
    return starts_at_zero(
        min(float(curve.min()) for curve in settled), max(float(curve.max()) for curve in settled)
    )


def save(figure: Figure, path: Path, *, scripts: Iterable[Path] = ()) -> None:
    """Write the figure in the format of the file's suffix, with graphcb's name and no date in it.

    The file appears complete or not at all. By the name a later command knows that it may be
    overwritten. A png has 256 colours, which makes it a third as large, and the digest of the code
    that drew it: this room and, if named, the `scripts` that called it.
    """
    kind = path.suffix[1:].lower()
    metadata = {
        "svg": {"Creator": "graphcb", "Date": None},
        "pdf": {"Creator": "graphcb", "CreationDate": None},
    }
    with atomic_write(path) as file:
        if kind == "png":
            _save_png(figure, file, source_digest(scripts))
        else:
            figure.savefig(file, dpi=DPI, format=kind, metadata=metadata.get(kind))


def _save_png(figure: Figure, file: Any, digest: str) -> None:
    from PIL import Image, PngImagePlugin  # matplotlib needs it, too

    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DPI, format="png")
    whole, plain = Image.open(drawn).convert("RGB"), Image.Dither.NONE
    few = whole.quantize(N_COLOURS, kmeans=PASSES, dither=plain)
    about = PngImagePlugin.PngInfo()
    about.add_text("Software", "graphcb")
    about.add_text("Source", digest)
    few.save(file, format="png", pnginfo=about, optimize=True, dpi=(DPI, DPI))
