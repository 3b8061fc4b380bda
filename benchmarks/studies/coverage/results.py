"""What the study of coverage found: a table for each setting, and what is below the line."""

import math
from collections.abc import Sequence

from graphcb.experiments.curves import Curve
from studies.coverage.counting import Counts, Line, lines
from studies.coverage.figure import draw
from studies.coverage.study import CoverageStudy
from studies.results import Results, Rows, markdown_table

FIGURES = ("",)
LEAST = 0.93

HEAD = ("setting", "of", "estimator", "interval", "given", "held", "width", "at a look",
        "at all looks")  # fmt: skip


def results(study: CoverageStudy, curves: Sequence[Curve]) -> Results:
    """All intervals in a file; on the screen those that are shown, and what does not hold."""
    found = by_setting(curves)
    whole = [(name, *line) for name, some in found.items() for line in some]
    body = [_cells(name, line) for name, some in found.items() for line in some]
    short = [cells for cells in body if cells[3] == "shown" or cells[2] in ("log summary", "page")]
    missed = below(found)
    said = [
        f"holds in {one.held:.3f} of the logs, less than {LEAST}: {name}, {one.target}, "
        f"{one.estimator}, {one.interval}"
        for name, one in missed
    ] or [f"every interval holds in at least {LEAST} of the logs in which it is given"]
    report = [
        f"{study.logs} logs of each of {len(found)} settings, of programs as many as the settings "
        "say. *given*: share of logs in which there is an interval. *held*: share of these in "
        "which it holds the truth. *at a look*: the same "
        f"at {study.looks} looks on the way, each by itself; *at all looks*: of logs, all looks "
        "together, as anytime-valid intervals promise.",
        markdown_table(HEAD, body),
        "\n".join(f"- {line}" for line in said),
    ]
    return Results(
        "\n\n".join(report) + "\n",
        Rows("intervals", HEAD, whole),
        {"": draw(study.title, found, LEAST)},
        [Rows("coverage: intervals as they are shown", HEAD, short)],
        said,
    )


def by_setting(curves: Sequence[Curve]) -> dict[str, list[Line]]:
    """The lines of each setting, over all of its runs."""
    counts: dict[str, Counts] = {}
    for curve in curves:
        counts.setdefault(curve.setting.line, Counts()).merge(curve.measured or {})
    return {name: lines(one.counts) for name, one in counts.items()}


def below(found: dict[str, list[Line]]) -> list[tuple[str, Line]]:
    """Intervals that are given and hold less often than they must."""
    return [(name, line) for name, some in found.items() for line in some if line.held < LEAST]


def _cells(name: str, line: Line) -> tuple[str, ...]:
    shares = (line.given, line.held, line.width, line.held_at_looks, line.held_at_all_looks)
    return (name, *line[:3], *("" if math.isnan(one) else f"{one:.3f}" for one in shares))
