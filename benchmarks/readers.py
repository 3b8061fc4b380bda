"""Splitting a dense CSV file and turning its cells into numbers: ways to do it, CPU time per row.

For the table in docs/decisions/0016. pyarrow and polars are timed where they are installed.
"""

import csv
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np

N_ROWS, N_FEATURES, PIECE = 40_000, 20, 4096


def write(path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(N_ROWS, N_FEATURES))
    lines = [",".join(f"{x:.4f}" for x in row) + f",c{i % 10}" for i, row in enumerate(rows)]
    names = [f"x{i}" for i in range(N_FEATURES)]
    path.write_text("\n".join((",".join((*names, "topic")), *lines)))


def by_csv(path: Path) -> None:
    with path.open(newline="") as file:
        reader = csv.reader(file)
        next(reader)
        while rows := list(islice(reader, PIECE)):
            for cells in list(zip(*rows, strict=True))[:N_FEATURES]:
                np.fromiter(map(float, cells), np.float64, len(cells))


def by_loadtxt(path: Path) -> None:
    def pieces() -> Iterator[list[str]]:
        with path.open(newline="") as file:
            next(file)
            while lines := list(islice(file, PIECE)):
                yield lines

    for lines in pieces():
        np.loadtxt(lines, delimiter=",", usecols=range(N_FEATURES), comments=None, ndmin=2)
        np.loadtxt(lines, dtype=object, delimiter=",", usecols=[N_FEATURES], comments=None, ndmin=2)


def by_pyarrow(path: Path) -> None:
    import pyarrow
    from pyarrow import csv as reader

    pyarrow.set_cpu_count(1)
    for batch in reader.open_csv(path, read_options=reader.ReadOptions(use_threads=False)):
        np.column_stack([batch.column(i).to_numpy() for i in range(N_FEATURES)])


def by_polars(path: Path) -> None:
    import polars

    for frame in polars.scan_csv(path).collect_batches(chunk_size=PIECE):
        frame.select(polars.exclude("topic")).to_numpy()


def microseconds(read: Callable[[Path], None], path: Path) -> float:
    times = []
    for _ in range(7):
        start = time.process_time()
        read(path)
        times.append(time.process_time() - start)
    return 1e6 * statistics.median(times) / N_ROWS


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.csv"
        write(path)
        ways = {"csv and float": by_csv, "loadtxt": by_loadtxt}
        if find_spec("pyarrow") is not None:
            ways["pyarrow"] = by_pyarrow
        if find_spec("polars") is not None:
            ways["polars"] = by_polars
        for name, read in ways.items():
            print(f"{name:14} {microseconds(read, path):5.2f} us per row")


if __name__ == "__main__":
    main()
