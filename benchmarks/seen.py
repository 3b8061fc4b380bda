"""What the README claims of the default: its losses on streams seen and unseen, with intervals.

    python benchmarks/seen.py

Reads the tables of streams in RESULTS.md, which `make bench-bakeoff`, `bench-unseen` and
`bench-drift` write, and the yardstick of each stream in the settings. Intervals are by drawing the
tables anew, with replacement: streams of one table are no independent evidence.
"""

import re
from collections.abc import Sequence

import numpy as np
from measure import part_arguments, print_table
from report import RESULTS
from studies.bakeoff.study import chosen_on, read
from studies.bakeoff.tables import MARK

N_RESAMPLES = 2000
GROUPS = {
    "real streams": ("bakeoff", "unseen"),
    "unseen when 0.4.0 was set": ("unseen",),
    "streams that drift": ("drift",),
}


def losses(report: str, part: str) -> dict[str, float]:
    """Our loss on each stream of a part of the report."""
    (section,) = re.findall(rf"<!-- begin {part} -->(.*?)<!-- end {part} -->", report, re.DOTALL)
    table = section.partition("| stream | constant |")[2].splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("|")] for line in table if line.startswith("|")]
    return {row[1].removesuffix(f" {MARK}"): float(row[4]) for row in cells}


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
    """One row for each group of streams, and for those of it that settings were chosen on."""
    found: list[tuple[object, ...]] = []
    for name, parts in GROUPS.items():
        found_on = [  # two parts have streams of the same name, of different tables
            (stream, loss, read(part).streams[stream])
            for part in parts
            for stream, loss in losses(report, part).items()
        ]
        for which, wanted in ((f"chosen on {MARK}", True), ("the others", False)):
            chosen = [one for one in found_on if chosen_on(one[2]) == wanted]
            ratios = [loss / spec["yardstick"] for _, loss, spec in chosen]
            logs = [float(np.log(ratio)) for ratio in ratios]
            tables = [str(spec["file"]) for *_, spec in chosen]
            low, high = interval(logs, tables)
            worst = int(np.argmax(ratios))
            found.append(
                (
                    f"{name}, {which}", len(chosen), len(set(tables)),
                    f"{np.exp(np.mean(logs)):.3f} ({low:.2f} to {high:.2f})",
                    f"{ratios[worst]:.2f} ({chosen[worst][0]})",
                )
            )  # fmt: skip
    return found


def main() -> None:
    part_arguments(__doc__)
    print("Loss over the yardstick of each stream: the best of 60 linear settings of 0.1.0, or of")
    print(
        "three remedies where it drifts, known in hindsight. Geometric means, 95 % over tables.\n"
    )
    head = ("streams", "number", "tables", "mean", "worst")
    print_table(head, rows(RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
