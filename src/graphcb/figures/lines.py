"""What pictures of curves share: colours, bands, and names beside the ends of the lines."""

import ast
import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

# Of Okabe and Ito: these can be told apart by people who see few colours.
COLOURS = {
    "SquareCB.G": "#0072B2",
    "SquareCB.G, told": "#0072B2",
    "SquareCB.G, TwoThirds": "#0072B2",
    "SquareCB.G, SquareRoot": "#56B4E9",
    "SquareCB.G, Automatic": "#56B4E9",
    "SquareCB": "#D55E00",
    "information-directed": "#009E73",
    "information-directed, log loss": "#009E73",
    "greedy": "#CC79A7",
    "epsilon-greedy": "#E69F00",
    "ignores the graph": "#D55E00",
    "best constant action": "#666666",
    "always": "#666666",
    "uniform": "#999999",
    "SquareCB.UG, log loss": "#000000",
    "SquareCB.UG, squared loss": "#7A5195",
    "SquareCB.UG, a guess": "#8C6D31",
}
OTHERS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")
FROM_ZERO = 0.7  # of the largest value: an axis starts at 0 if the smallest is below
BAND = 0.15  # opacity
GAP = 0.075  # between two names, as a share of the height
SAME = 0.004  # curves that are closer than this share of the height are drawn as one

Floats = NDArray[np.float64]


class End(NamedTuple):
    """The last value of a line, its name, and its colour; `curve` is all that is drawn of it."""

    name: str
    colour: str
    curve: Floats


def colours_of(names: Sequence[str]) -> list[str]:
    """The colour of each agent that has one, as `greedy` or `epsilon-greedy, 5 %`; others get those
    that are left.
    """
    known = [COLOURS.get(name) or COLOURS.get(re.split(r"[, ]", name)[0]) for name in names]
    left = cycle([colour for colour in OTHERS if colour not in known] or OTHERS)
    return [colour or next(left) for colour in known]


def draw_band(axes: Axes, x: ArrayLike, middle: Floats, deviation: Floats, colour: str) -> None:
    """One standard deviation to both sides; nothing for a single run."""
    if deviation.any():
        low, high = middle - deviation, middle + deviation
        axes.fill_between(x, low, high, color=colour, alpha=BAND, linewidth=0)


def name_ends(axes: Axes, ends: Sequence[End], size: float = 8.0) -> None:
    """Write each name to the right of the end of its line, none above another.

    Lines that coincide are named together. A line that ends above the picture has its name at the
    edge, with a mark.
    """
    groups = _coinciding(axes, ends)
    at = np.array([_height(axes, group[0].curve[-1:])[0] for group in groups])
    order = np.argsort(at, kind="stable")
    heights = GAP * np.array([len(group) for group in groups], dtype=np.float64)[order]
    places = spread(np.clip(at[order], 0.0, 1.0), heights)
    for place, index in zip(places, order, strict=True):
        group = groups[index]
        text = "\n= ".join(end.name for end in group)
        axes.annotate(
            text + (" (above)" if at[index] > 1.0 else ""),
            xy=(1.0, float(np.clip(at[index], 0.0, 1.0))),
            xytext=(1.05, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=group[0].colour,
            fontsize=size,
            va="center",
            arrowprops={
                "arrowstyle": "-",
                "color": group[0].colour,
                "linewidth": 0.6,
                "relpos": (0.0, 0.5),
                "shrinkA": 0.0,
                "shrinkB": 0.0,
            },
        )


def spread(places: Floats, heights: Floats) -> Floats:
    """Increasing places, moved as little as needed so that what is there does not overlap.

    The least squares answer: neighbours that touch move together, and all stay between 0 and 1 if
    there is room.
    """
    # With the heights taken off, the places must not decrease: isotonic regression.
    shift = np.cumsum(heights) - 0.5 * heights
    room = 1.0 - float(heights.sum())
    low, high = (0.0, room) if room > 0.0 else (0.5 * room, 0.5 * room)
    blocks: list[tuple[float, int]] = []
    for value in places - shift:
        mean, count = float(value), 1
        while blocks and blocks[-1][0] > mean:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    found = np.repeat([mean for mean, _ in blocks], [count for _, count in blocks])
    inside: Floats = np.clip(found, low, high) + shift
    return inside


def _coinciding(axes: Axes, ends: Sequence[End]) -> list[list[End]]:
    groups: list[list[End]] = []
    for end in ends:
        for group in groups:
            first = group[0].curve
            if first.size == end.curve.size:
                apart = np.abs(_height(axes, first) - _height(axes, end.curve))
                if float(apart.max()) < SAME:
                    group.append(end)
                    break
        else:
            groups.append([end])
    return groups


def _height(axes: Axes, values: Floats) -> Floats:
    """Values as shares of the height of the picture, also on a logarithmic axis."""
    scale = axes.yaxis.get_transform().transform
    low, high = scale(np.array(axes.get_ylim()))
    heights: Floats = (scale(np.asarray(values, dtype=np.float64)) - low) / (high - low)
    return heights


def starts_at_zero(lowest: float, highest: float) -> bool:
    """Whether values between these two can be told apart on an axis that starts at 0."""
    return 0.0 <= lowest < FROM_ZERO * highest


def source_digest(scripts: Iterable[Path] = ()) -> str:
    """A name for the code that draws: it changes if a picture would have to be drawn again.

    Of the files of this room that draw curves and intervals, and of `scripts`: Python without
    comments and docstrings, other files as they are.
    """
    room = Path(__file__).parent
    hashed = hashlib.sha256()
    drawing = ("curves", "estimates", "lines", "regret")
    for path in [*(room / f"{name}.py" for name in drawing), *scripts]:
        if path.suffix != ".py":
            hashed.update(path.read_bytes())
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
                body[:1] = [] if isinstance(body[0].value, ast.Constant) else body[:1]
        hashed.update(ast.dump(tree).encode())
    return hashed.hexdigest()[:16]
