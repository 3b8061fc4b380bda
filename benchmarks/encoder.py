"""What it costs to turn a dict of 20 features into a row, and to learn its scale.

Declared features are named with their kinds; without, they are noted as they come.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from graphcb import Encoder

N_FEATURES = 20
LIMIT = 20.0  # microseconds for `encode`
REPEATS = 25


def rows_of(kinds: dict[str, str], n_rows: int) -> list[dict[str, Any]]:
    """Dicts of floats, and of categories with 30 values each."""
    rng = np.random.default_rng(0)
    return [
        {
            name: float(rng.normal()) if kind == "number" else f"value {rng.integers(30)}"
            for name, kind in kinds.items()
        }
        for _ in range(n_rows)
    ]


def microseconds(work: Callable[[Any], object], rows: list[dict[str, Any]]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        for row in rows:
            work(row)
        times.append((time.process_time() - start) / len(rows))
    return 1e6 * statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows")
    n_rows = 10 if parser.parse_args().quick else 500
    print(f"Dicts of {N_FEATURES} features; processor time in microseconds, median of {REPEATS}.\n")
    print("| features | declared | `encode` | at most | `learn` |")
    print("|---|---|---:|---:|---:|")
    for title, n_numbers in (("numbers", N_FEATURES), ("half words", 10), ("words", 0)):
        names = [f"f{i}" for i in range(N_FEATURES)]
        kinds = {n: "number" if i < n_numbers else "category" for i, n in enumerate(names)}
        rows = rows_of(kinds, n_rows)
        for declared in (True, False):
            encoder = Encoder(kinds if declared else None)
            for row in rows:  # the first call may compile
                encoder.encode(row)
                encoder.learn(row)
            encode, learn = microseconds(encoder.encode, rows), microseconds(encoder.learn, rows)
            said = "yes" if declared else "no"
            print(f"| {title} | {said} | {encode:.1f} | {LIMIT:.0f} | {learn:.1f} |", flush=True)


if __name__ == "__main__":
    main()
