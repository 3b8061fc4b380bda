"""Estimates on the screen, as JSON, as CSV and as a picture: for logs and for tables."""

import argparse
import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphcb.commands.outputs import FORCE, asked, check_outputs
from graphcb.commands.tables import print_table
from graphcb.estimates.intervals import interval_text
from graphcb.evaluation import Estimate, Interval
from graphcb.files import atomic_write

COLUMNS = ("policy", "estimate", "best", "mean", "standard_error", "bias", "normal_lower",
           "normal_upper", "bernstein_lower", "bernstein_upper", "anytime_lower",
           "anytime_upper")  # fmt: skip
OUTPUT = {
    "--all": "show every estimate in one table",
    "--estimator NAME": "show one estimate: its name as --all lists it, or best, the one to prefer "
    "by how the weight is spread and what the oracle explains",
    "--json": "print JSON instead of tables",
    "--csv FILE": "write the estimates to a table",
    "--plot FILE": "draw the policies side by side, with intervals: .png, .svg or .pdf",
    **FORCE,
}
CONFIDENCE = {
    "--confidence SHARE=0.95": "the confidence level of the intervals (default: %(default)g)",
}
KINDS = {"normal": "normal", "bernstein": "Bernstein", "anytime": "anytime-valid"}


class ShownEstimate(NamedTuple):
    """One estimate of one policy."""

    policy: str
    estimate: str
    value: Estimate
    is_best: bool = False


def check_options(options: argparse.Namespace, inputs: Mapping[str, str | Path | None]) -> None:
    """Refuse outputs that cannot be written, before any work."""
    kinds = {"csv": "table of estimates", "plot": "picture"}
    check_outputs(asked(options, kinds), inputs, force=options.force)
    if options.all and options.estimator is not None:
        raise ValueError("`--estimator` must not be given with --all, which shows them all")


def chosen(
    lines: Sequence[ShownEstimate], options: argparse.Namespace, usual: Sequence[str]
) -> list[ShownEstimate]:
    """The estimates that are asked for; the `usual` ones if nothing is said."""
    if options.all:
        return list(lines)
    if options.estimator is None:
        return [line for line in lines if line.estimate in usual]
    if options.estimator == "best":
        return [line for line in lines if line.is_best]
    found = [line for line in lines if line.estimate == options.estimator]
    if not found and lines:
        names = ", ".join(dict.fromkeys(line.estimate for line in lines))
        raise ValueError(f"`--estimator` must be best, {names}; got {options.estimator!r}")
    return found


def show_table(title: str, lines: Sequence[ShownEstimate], options: argparse.Namespace) -> None:
    """Print estimates; intervals that no estimate has are left out."""
    if not lines:
        print(f"{title}: not known")
        return
    sure = f"{100 * options.confidence:g} %"
    kinds = [kind for kind in KINDS if any(getattr(line.value, kind) for line in lines)]
    several = len({line.policy for line in lines}) > 1
    alike = several and len({line.estimate for line in lines}) == 1
    if alike:
        title = f"{title}, {lines[0].estimate}"
    biased = any(line.value.bias > 0.0 for line in lines)
    head = ["policy"] if several else []
    head += [
        *([] if alike else ["estimate"]),
        "mean",
        "std. error",
        *(["bias at most"] if biased else []),
    ]
    rows = [
        [
            *([line.policy] if several else []),
            *(
                []
                if alike
                else [line.estimate + (" (best)" if line.is_best and options.all else "")]
            ),
            f"{line.value.value:.4f}",
            _number(line.value.standard_error),
            *([f"{line.value.bias:.4f}"] if biased else []),
            *(interval_text(getattr(line.value, kind)) for kind in kinds),
        ]
        for line in lines
    ]
    print_table(title, rows, [*head, *(f"{KINDS[kind]} {sure}" for kind in kinds)])


def write_outputs(
    lines: Sequence[ShownEstimate], options: argparse.Namespace, *, unit: str, title: str
) -> None:
    """Write the table and the picture that are asked for."""
    if options.csv is not None:
        with atomic_write(options.csv, text=True) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(_cells(line) for line in lines)
    if options.plot is not None:
        from graphcb.figures.curves import save
        from graphcb.figures.estimates import draw_estimates

        several = len({line.estimate for line in lines}) > 1
        named = [
            (f"{line.policy}\n{line.estimate}" if several else line.policy, line.value)
            for line in lines
        ]
        save(draw_estimates(named, title=title, unit=unit), options.plot)


def gain_text(
    policy: str, other: str, difference: Estimate, options: argparse.Namespace, *, unit: str
) -> str:
    """What a policy would have gained on another one, per decision; `policy` may be empty."""
    sign = 1.0 if unit == "reward" else -1.0
    sure = f"{100 * options.confidence:g} %"
    intervals = [
        f"{text} {sure}: {interval_text(_turned(interval, sign))}"
        for kind, text in KINDS.items()
        if (interval := getattr(difference, kind)) is not None
    ]
    within = f" ({'; '.join(intervals)})" if intervals else ""
    start = f"gain of {policy} on" if policy else "gain on"
    return f"{start} {other}: {sign * difference.value:.4f} per decision{within}"


def _turned(interval: Interval, sign: float) -> Interval:
    lower, upper = sorted(sign * end for end in interval)
    return interval._replace(lower=lower, upper=upper)


def as_json(lines: Sequence[ShownEstimate]) -> list[dict[str, Any]]:
    """The estimates for JSON; what is not there is null."""
    return [dict(zip(COLUMNS, _cells(line), strict=True)) for line in lines]


def print_json(content: Mapping[str, Any]) -> None:
    """Print it in one line; infinite and undefined numbers, which JSON does not have, are null."""
    print(json.dumps(_finite(content)))


def _cells(line: ShownEstimate) -> list[Any]:
    one = line.value
    cells: list[Any] = [line.policy, line.estimate, line.is_best]
    cells += [one.value, one.standard_error, one.bias]
    for kind in KINDS:
        interval = getattr(one, kind)
        cells += [None, None] if interval is None else list(interval)
    return cells


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {key: _finite(part) for key, part in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(part) for part in content]
    return None if isinstance(content, float) and not abs(content) < float("inf") else content


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < float("inf") else "-"
