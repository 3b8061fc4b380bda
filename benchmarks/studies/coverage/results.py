"""What the study of coverage found: tables for the report, a picture, and what is too low."""

import math
from collections.abc import Callable, Mapping, Sequence

from graphcb.experiments.curves import Curve
from studies.coverage.counting import Counts, Line, lines
from studies.coverage.figure import draw
from studies.coverage.study import CoverageStudy
from studies.results import Results, Rows, markdown_table

FIGURES = ("",)
LEAST = 0.93
SHORT = {
    "with the graph": "graph",
    "self-normalised": "graph",  # what a table's rows show: their own value alone
    "plain": "plain",
    "inverse propensity": "ips",
    "ips": "ips",
    "clipped": "clipped",
    "doubly robust": "robust",
    "switch": "switch",
    "log smoothing": "smoothed",
    "best": "best",
    "log summary": "summary",
    "page": "page",
    "bounds": "bounds",
}
NORMAL = ("graph", "plain", "ips", "clipped", "robust", "switch", "best", "summary")
ANYTIME = ("graph", "plain", "robust", "smoothed", "page", "bounds")

Found = Mapping[str, Sequence[Line]]


def results(study: CoverageStudy, curves: Sequence[Curve]) -> Results:
    """All intervals in a file; on the screen the shares that hold, and what is too low."""
    found = by_setting(curves)
    whole = [(name, *line) for name, some in found.items() for line in some]
    head = ("setting", *Line._fields)
    shown = [
        Rows("coverage: normal intervals", *normal_table(found)),
        Rows("coverage: anytime-valid intervals", *anytime_table(found)),
    ]
    said = what_is_low(found)
    return Results(
        markdown(study, found), Rows("intervals", head, whole),
        {"": draw(study.title, found, LEAST)}, shown, said,
    )  # fmt: skip


def markdown(study: CoverageStudy, found: Found) -> str:
    """The report."""
    return "\n\n".join(
        [
            f"{study.looks} looks at one log of {study.together}. A cell is the share of 95 % "
            "intervals that hold the truth, and in brackets the share of logs in which there is "
            "one, where that is not all. *logged* is the policy of the log, *another* and "
            "*constant* are others, and *difference* is that of two. Normal intervals, "
            "at the end, and below *a look* at all looks, each by itself:",
            markdown_table(*normal_table(found)),
            "Anytime-valid intervals at the end, and in the last two columns the estimate *graph* "
            "at all looks together, and its mean width beside that of the normal one:",
            markdown_table(*anytime_table(found)),
            "\n".join(f"- {line}" for line in what_is_low(found)),
        ]
    ) + "\n"  # fmt: skip


def normal_table(found: Found) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Head and body: a row for each setting and target, a column for each estimator."""

    def more(by: Mapping[tuple[str, str], Line]) -> list[str]:
        return [_share(by.get(("graph", "normal")), lambda line: line.held_at_looks)]

    return ("setting", "logs", "of", *NORMAL, "a look"), _body(found, "normal", NORMAL, more)


def anytime_table(found: Found) -> tuple[Sequence[str], list[Sequence[str]]]:
    """The same for anytime-valid intervals."""

    def more(by: Mapping[tuple[str, str], Line]) -> list[str]:
        anytime, normal = by.get(("graph", "anytime")), by.get(("graph", "normal"))
        widths = [_share(one, lambda line: line.width) or "-" for one in (anytime, normal)]
        return [
            _share(anytime, lambda line: line.held_at_all_looks),
            "" if widths == ["-", "-"] else " / ".join(widths),
        ]

    head = ("setting", "logs", "of", *ANYTIME, "all looks", "width, normal")
    return head, _body(found, "anytime", ANYTIME, more)


def _body(
    found: Found,
    interval: str,
    columns: Sequence[str],
    more: Callable[[Mapping[tuple[str, str], Line]], list[str]],
) -> list[Sequence[str]]:
    body: list[Sequence[str]] = []
    for name, some in found.items():
        logs = f"{max(line.logs for line in some):.0f}"
        for target in dict.fromkeys(line.target for line in some):
            by = {
                (SHORT[line.estimator], line.interval): line
                for line in some
                if line.target == target
            }
            cells = [_cell(by.get((column, interval))) for column in columns]
            if any(cells):
                body.append((name, logs, target, *cells, *more(by)))
    return body


def _cell(line: Line | None) -> str:
    if line is None or line.given == 0.0 or math.isnan(line.held):
        return ""
    given = "" if line.given > 0.995 else f" ({line.given:.2f})"
    return f"{line.held:.3f}{given}"


def _share(line: Line | None, of: Callable[[Line], float]) -> str:
    return "" if line is None or math.isnan(of(line)) else f"{of(line):.3f}"


def by_setting(curves: Sequence[Curve]) -> dict[str, list[Line]]:
    """The lines of each setting, over all of its runs."""
    counts: dict[str, Counts] = {}
    for curve in curves:
        counts.setdefault(curve.setting.line, Counts()).merge(curve.measured or {})
    return {name: lines(one.counts) for name, one in counts.items()}


def below(found: Found) -> list[tuple[str, Line]]:
    """Intervals that are given and hold less often than they must."""
    return [
        (name, line)
        for name, some in found.items()
        for line in some
        if line.held < LEAST and line.interval != "shown"
    ]


def what_is_low(found: Found) -> list[str]:
    """A sentence for each interval that holds less often than it must, or one that none does.

    Of few logs with an interval the share says little: what is within two standard errors of
    0.95 is only counted.
    """
    low = below(found)
    sure = [(name, one) for name, one in low if one.held < 0.95 - 2.0 * _error(one)]
    said = [
        f"holds in {one.held:.3f} of {_number(one):.0f} logs with an interval, less than {LEAST}: "
        f"{name}, {one.target}, {one.estimator}, {one.interval}"
        for name, one in sure
    ]
    if len(low) > len(sure):
        said.append(
            f"{len(low) - len(sure)} more are below {LEAST}, within two standard errors of 0.95 "
            "for as few logs as have them"
        )
    return said or [f"every interval holds in at least {LEAST} of the logs in which it is given"]


def _number(line: Line) -> float:
    return line.given * line.logs


def _error(line: Line) -> float:
    return math.sqrt(0.95 * 0.05 / max(1.0, _number(line)))
