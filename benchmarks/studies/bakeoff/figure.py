"""The picture of a bake-off: one dot for each stream and contender."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcb.figures.lines import COLOURS, colours_of
from studies.bakeoff.ratios import Ranking, Standing

LEGEND_COLUMNS = 3
# Of a name with this in it; each kind of mark has all colours.
MARKERS = {
    "our oracle": "v", "Vowpal": "^", "coba": "s", "river": "D", "mabwiser": "P",
    "best constant": "|", "": "o",
}  # fmt: skip


def draw_bakeoff(ranking: Ranking, title: str) -> Figure:
    """Ratios to the best setting in hindsight: contenders at their defaults, then at their best."""
    ours = ranking.ours
    order = sorted(ours.ratios, key=lambda stream: ours.ratios[stream])
    names = list(dict.fromkeys(one.name for one in ranking.standings[1:]))
    colours: dict[str, str] = {}
    for marker in dict.fromkeys(MARKERS.values()):
        alike = [name for name in names if _marker(name) == marker]
        colours.update(zip(alike, colours_of(alike), strict=True))
    heights = 0.8 + 0.21 * len(order), 0.5 + 0.19 * (-(-len(names) // LEGEND_COLUMNS))
    figure = Figure(figsize=(15.0, sum(heights) + 0.5), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=heights)
    left = figure.add_subplot(grid[0, 0])
    right = figure.add_subplot(grid[0, 1], sharey=left, sharex=left)
    others = [one for one in ranking.standings if one is not ours]
    panels = (
        (left, "at their defaults", [one for one in others if one.is_default]),
        (right, "best of the grid on each stream", [one for one in others if not one.is_default]),
    )
    for column, (axes, choice, shown) in enumerate(panels):
        _dots(axes, ours, order, COLOURS["information-directed"], size=60)
        for one in shown:
            _dots(axes, one, order, colours[one.name], size=22)
        _finish(axes, f"{title}: {choice}", order)
        _add_legend(figure.add_subplot(grid[1, column]), axes)
    right.tick_params(labelleft=False)
    return figure


def _dots(axes: Axes, one: Standing, order: list[str], colour: str, *, size: int) -> None:
    streams = [stream for stream in order if stream in one.ratios]
    axes.scatter(
        [one.ratios[stream] for stream in streams],
        [order.index(stream) for stream in streams],
        s=size,
        color=colour,
        marker=_marker(one.name),
        alpha=0.85,
        label=f"{one.name}: {one.geometric_mean:.3f}",
    )


def _marker(name: str) -> str:
    return next(marker for part, marker in MARKERS.items() if part in name)


def _finish(axes: Axes, title: str, order: list[str]) -> None:
    axes.axvline(1.0, color="#bdbdbd", linewidth=1, zorder=0)
    axes.set_xscale("log")
    ticks = (1, 1.5, 2, 3, 5, 10, 20, 50)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(order)), order, size=8)
    axes.set_ylim(-0.8, len(order) - 0.2)
    axes.set_xlabel("mean loss / that of the best setting of all contenders in hindsight")
    axes.set_title(title, size=10)
    axes.grid(alpha=0.3)


def _add_legend(below: Axes, axes: Axes) -> None:
    below.axis("off")
    below.legend(
        *axes.get_legend_handles_labels(),
        title="geometric mean",
        fontsize=7,
        title_fontsize=8,
        loc="upper center",
        ncols=LEGEND_COLUMNS,
    )
