"""What the parts of the report share: arguments, times with their spread, tables, plots."""

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Times(NamedTuple):
    """Seconds: the median and the quartiles around it."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{in_words(self.median)} ({in_words(self.low)} to {in_words(self.high)})"


def part_arguments(description: str | None, *more: tuple[str, dict[str, Any]]) -> Any:
    """The arguments every part takes: `--quick` for tiny sizes, `--plots` for a folder."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--plots", type=Path, help="folder for plots; none are drawn without")
    for name, options in more:
        parser.add_argument(name, **options)
    return parser.parse_args()


def spread(seconds: Iterable[float]) -> Times:
    """Median and quartiles of many."""
    low, median, high = np.percentile(list(seconds), [25, 50, 75])
    return Times(float(median), float(low), float(high))


def timed(work: Callable[[], object], repeats: int, *, at_most: float = np.inf) -> list[float]:
    """Seconds of repeated calls; no further call starts after `at_most` seconds."""
    times: list[float] = []
    while len(times) < repeats and sum(times) <= at_most:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


def in_words(seconds: float) -> str:
    """Three digits and a unit.

    >>> in_words(0.00123), in_words(12.0)
    ('1.23 ms', '12.0 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{three_digits(seconds / size)} {unit}"
    return f"{three_digits(seconds / 1e-9)} ns"


def three_digits(number: float) -> str:
    """Three digits, with commas from a thousand on, never an exponent."""
    if number >= 999.5:
        return f"{float(f'{number:.3g}'):,.0f}"
    return f"{number:#.3g}".rstrip(".")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A Markdown table; the first column is text, the others are numbers.

    A row is printed as soon as it is there, so that a long run shows where it is.
    """
    print(f"| {' | '.join(headers)} |")
    print("|".join(["", "---", *["---:"] * (len(headers) - 1), ""]), flush=True)
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |", flush=True)
    print(flush=True)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The b of values = a * sizes^b, by least squares on logarithms."""
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)


def new_axes(x_label: str, y_label: str, title: str) -> tuple[Any, Any]:
    """A figure with one pair of logarithmic axes; `title` says of what or how many runs it is."""
    from matplotlib.figure import Figure

    from graphcb.figures.lines import OTHERS

    figure = Figure(figsize=(8.0, 4.4), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    axes.set_prop_cycle(color=OTHERS)
    axes.set_title(title, size=10)
    axes.grid(alpha=0.3)
    return figure, axes


def name_lines(axes: Any) -> None:
    """The names of all lines beside their ends, in place of a legend.

    A line that ends before the others is led on by dots.
    """
    from graphcb.figures.lines import End, name_ends

    lines = axes.get_lines()
    every = [float(x) for line in lines for x in line.get_xdata()]
    last = max(every)
    axes.set_xlim(min(every), last)
    for line in lines:
        x, y = float(line.get_xdata()[-1]), float(line.get_ydata()[-1])
        if x < last:
            axes.hlines(y, x, last, colors=line.get_color(), linestyles=":", linewidth=0.8)
    name_ends(
        axes,
        [End(one.get_label(), one.get_color(), np.asarray(one.get_ydata())) for one in lines],
    )


def save_plot(figure: Any, folder: Path, name: str, caption: str) -> None:
    """Write the plot and print the line that shows it in the report."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=130, metadata={"Software": None})
    print(f"![{caption}](plots/{name}.png)\n", flush=True)
