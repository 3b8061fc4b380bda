"""A table into a log, and a log into Parquet: rows per second of CPU time, medians of three.

The table has three numbers and a word beside action, probability and reward. An export of what is
new has 1 % of the decisions; late feedback is for one decision in each file of the folder, which
is then written anew.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from measure import part_arguments, print_table

import graphcb
from graphcb.decisions import export_folder
from graphcb.decisions.export import export_parquet
from graphcb.imports import DecisionColumns, import_log

NAMES = ["a", "b", "c", "d", "e"]
COLUMNS = DecisionColumns("item", "p", reward="click", time="t")


def write_table(path: Path, n_rows: int) -> None:
    """A CSV file; five files of a folder hold its decisions."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write("item,p,click,t,x,y,z,city\n")
        for row in range(n_rows):
            x, y, z = rng.random(3)
            name, seconds = NAMES[rng.integers(5)], 1.76e9 + 5 * 86_400.0 * row / n_rows
            click = "" if row * 5 % n_rows == 0 else int(rng.random() < 0.3)
            file.write(f"{name},0.2,{click},{seconds},{x:.6f},{y:.6f},{z:.6f},Rome\n")


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """The median of CPU times."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return median(found)


def main() -> None:
    """Print a table."""
    quick = part_arguments(__doc__).quick
    n, repeats = (500, 1) if quick else (50_000, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, log = folder / "table.csv", folder / "log.db"
        write_table(table, n)

        def imported() -> None:
            log.unlink(missing_ok=True)
            import_log(table, log, columns=COLUMNS, problem=problem)

        problem = graphcb.Problem(NAMES, feedback="rewards")
        rows = [("a CSV file into a log that is continued", n, seconds(imported, repeats))]

        def whole() -> None:
            with graphcb.DecisionLog(log) as opened:
                export_parquet(opened, folder / "log.parquet")

        rows.append(("a log into one file", n, seconds(whole, repeats)))
        out = folder / "out"

        def grown() -> None:
            with graphcb.DecisionLog(log) as opened:
                export_folder.export_folder(opened, out)

        rows.append(("a log into a new folder", n, seconds(grown, 1)))
        with graphcb.Policy(log, durability="process-kill") as policy:
            context = {"x": 0.5, "y": 0.5, "z": 0.5, "city": "Rome"}
            policy.decide_many([context] * (n // 100))
        rows.append(("what is new into the folder", n // 100, seconds(grown, 1)))
        with graphcb.DecisionLog(log) as opened:
            silent = [row for row in opened if row.feedback is None and row.version == 1]
        with graphcb.Policy(log, durability="process-kill") as policy:
            policy.feedback_many({row.decision_id: {row.action: 1.0} for row in silent})
        rows.append(("late feedback into all its files", n, seconds(grown, 1)))
    cells = ((what, f"{n:,}", f"{taken:.2f}", f"{n / taken:,.0f}") for what, n, taken in rows)
    print_table(("what", "rows", "seconds", "rows per second"), cells)


if __name__ == "__main__":
    main()
