"""What the README claims of the default: its losses on streams seen and unseen, with intervals.

    python benchmarks/seen.py

Reads the tables of streams in RESULTS.md, which `make bench-bakeoff`, `bench-unseen` and
`bench-drift` write, and the yardstick of each stream in the settings. Intervals are by drawing the
tables anew, with replacement: streams of one table are no independent evidence.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from measure import part_arguments, print_table
from report import RESULTS
from studies.bakeoff.study import chosen_on, read
from studies.bakeoff.tables import MARK

N_RESAMPLES = 2000


class Group(NamedTuple):
    """Streams of these parts of the report: only those that were `chosen` on since 0.4.0, or only
    the others, if that is given; beside the yardstick, or the best of all contenders.
    """

    parts: tuple[str, ...]
    chosen: bool | None = None
    by_best: bool = False


GROUPS = {
    f"real streams, chosen on since 0.4.0 {MARK}": Group(("bakeoff", "unseen"), True),
    f"real streams, chosen on for 0.4.0 alone {MARK}": Group(("bakeoff",), False),
    "real streams, never chosen on": Group(("unseen",), False),
    f"streams that drift, chosen on {MARK}": Group(("drift",), True),
    "streams that drift, the others": Group(("drift",), False),
    f"beside the best of all contenders {MARK}": Group(("bakeoff",), by_best=True),
}


class Losses(NamedTuple):
    """Of the best setting of all contenders on a stream, and ours."""

    best: float
    ours: float


def losses(report: str, part: str) -> dict[str, Losses]:
    """Those on each stream of a part of the report."""
    (section,) = re.findall(rf"<!-- begin {part} -->(.*?)<!-- end {part} -->", report, re.DOTALL)
    table = section.partition("| stream | constant |")[2].splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("|")] for line in table if line.startswith("|")]
    return {row[1].removesuffix(f" {MARK}"): Losses(float(row[3]), float(row[4])) for row in cells}


def interval(logs: Sequence[float], tables: Sequence[str]) -> tuple[float, float]:
    """95 % of the geometric mean, over tables."""
    names = sorted(set(tables))
    sums = np.array([sum(x for x, t in zip(logs, tables, strict=True) if t == n) for n in names])
    counts = np.array([tables.count(name) for name in names])
    picks = np.random.default_rng(0).integers(len(names), size=(N_RESAMPLES, len(names)))
    means = sums[picks].sum(axis=1) / counts[picks].sum(axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return float(low), float(high)


def rows(report: str) -> list[tuple[object, ...]]:
    """One row for each group of streams."""
    found: list[tuple[object, ...]] = []
    for name, group in GROUPS.items():
        chosen = [  # two parts have streams of the same name, of different tables
            (stream, both.ours / (both.best if group.by_best else spec["yardstick"]), spec["file"])
            for part in group.parts
            for stream, both in losses(report, part).items()
            if group.chosen in (None, chosen_on(spec := read(part).streams[stream]))
        ]
        streams, ratios, tables = zip(*chosen, strict=True)
        logs = np.log(ratios).tolist()
        low, high = interval(logs, tables)
        worst = int(np.argmax(ratios))
        found.append(
            (
                name, len(streams), len(set(tables)),
                f"{np.exp(np.mean(logs)):.3f} ({low:.2f} to {high:.2f})",
                f"{ratios[worst]:.2f} ({streams[worst]})",
            )
        )  # fmt: skip
    return found


def main() -> None:
    part_arguments(__doc__)
    print(
        "Loss over the yardstick of each stream: the best of 60 linear settings of 0.1.0, or of\n"
        "three remedies where it drifts, known in hindsight. Geometric means, 95 % over tables.\n"
        "Constants of 0.4.0 were chosen on all 43 streams of the bake-off. Those that drift and\n"
        "were not chosen on are all of tables that were, in another order or with other feedback.\n"
    )
    head = ("streams", "number", "tables", "mean", "worst")
    print_table(head, rows(RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
