"""Rows per second of `graphcb run` on a dense file of 20 features and 10 classes, and their cost.

The whole command is timed, with its first look at the labels; so is reading alone. The
other formats hold the same examples.
"""

import argparse
import contextlib
import io
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from graphcb.cli import main as graphcb
from graphcb.streams import BadRows, ReadOptions, Source, first_look

N_FEATURES, N_CLASSES = 20, 10
LIMIT = 20_000
REPEATS = 3


def write(folder: Path, n_rows: int) -> dict[str, list[str]]:
    """One file a format, and the options that each needs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, N_FEATURES))
    noise = rng.normal(size=(n_rows, N_CLASSES))
    y = np.argmax(x @ rng.normal(size=(N_FEATURES, N_CLASSES)) + noise, axis=1)
    names = [f"x{i}" for i in range(N_FEATURES)]
    rows = [[f"{value:.4f}" for value in row] for row in x]
    table = [",".join((*row, f"c{k}")) for row, k in zip(rows, y, strict=True)]
    (folder / "d.csv").write_text("\n".join((",".join((*names, "topic")), *table)))
    sparse = [" ".join(f"{i + 1}:{v}" for i, v in enumerate(row)) for row in rows]
    labelled = [f"{k} {row}" for row, k in zip(sparse, y, strict=True)]
    (folder / "d.svm").write_text("\n".join(labelled))
    costs = [" ".join(f"{j}:{int(j != k)}" for j in range(N_CLASSES)) for k in y]
    (folder / "d.vw").write_text(
        "\n".join(f"{c} | {row}" for c, row in zip(costs, sparse, strict=True))
    )
    objects = [
        json.dumps({"topic": f"c{k}", **dict(zip(names, map(float, row), strict=True))})
        for row, k in zip(rows, y, strict=True)
    ]
    (folder / "d.jsonl").write_text("\n".join(objects))
    holes = [
        ",".join("" if (i + j) % 50 == 0 else cell for j, cell in enumerate(row))
        for i, row in enumerate(rows)
    ]
    table = [f"{cells},c{k}" for cells, k in zip(holes, y, strict=True)]
    (folder / "missing.csv").write_text("\n".join((",".join((*names, "topic")), *table)))
    label = ["--label", "topic"]
    files = {"d.csv": label, "missing.csv": label, "d.svm": [], "d.vw": [], "d.jsonl": label}
    if find_spec("pyarrow") is not None:
        import pyarrow
        from pyarrow import parquet

        columns = {name: x[:, i] for i, name in enumerate(names)}
        labels = [f"c{k}" for k in y]
        parquet.write_table(pyarrow.table({**columns, "topic": labels}), folder / "d.parquet")
        files["d.parquet"] = ["--label", "topic"]
    return files


def read(path: Path) -> None:
    source = Source(str(path))
    label = None if path.suffix in (".svm", ".vw") else "topic"
    reading = first_look(source, ReadOptions(label=label))
    for _ in reading.read(source, BadRows(source.name)):
        pass


def run(arguments: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        code = graphcb(["run", *arguments])
    if code != 0:
        raise RuntimeError(f"graphcb run {' '.join(arguments)} failed")


def rows_per_second(work: Callable[[], None], n_rows: int) -> float:
    work()  # the first call may compile
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return n_rows / statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows")
    n_rows = 500 if parser.parse_args().quick else 50_000
    print(f"{n_rows:,} rows, {N_FEATURES} features, {N_CLASSES} classes; median of {REPEATS}.\n")
    print("| format | `graphcb run`, rows per second | reading alone | at least |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, options in write(folder, n_rows).items():
            path = folder / file
            reading = rows_per_second(partial(read, path), n_rows)
            whole = rows_per_second(partial(run, [str(path), *options]), n_rows)
            limit = f"{LIMIT:,}" if file == "d.csv" else ""
            name = f"{path.suffix[1:]}{', 2 % missing' if file == 'missing.csv' else ''}"
            print(f"| {name} | {whole:,.0f} | {reading:,.0f} | {limit} |", flush=True)
        arguments = [str(folder / "d.csv"), "--label", "topic", "--gamma", "500"]
        fixed = rows_per_second(partial(run, arguments), n_rows)
        print(f"| csv with --gamma 500 | {fixed:,.0f} | | |")


if __name__ == "__main__":
    main()
