"""Rows a second of `graphcb run` on a dense file of 20 features and 10 classes, and where they go.

The whole command is timed, with its first look at the labels; reading alone stands beside it. The
other formats hold the same examples.
"""

import contextlib
import io
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from graphcb.cli import main as graphcb
from graphcb.streams import Problems, Source, Wishes, first_look

N_ROWS, N_FEATURES, N_CLASSES = 50_000, 20, 10
LIMIT = 20_000
REPEATS = 3


def write(folder: Path) -> dict[str, list[str]]:
    """One file a format, and the options that each needs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_ROWS, N_FEATURES))
    noise = rng.normal(size=(N_ROWS, N_CLASSES))
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
    files = {"d.csv": ["--label", "topic"], "d.svm": [], "d.vw": []}
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
    label = "topic" if path.suffix in (".csv", ".parquet") else None
    reading = first_look(source, Wishes(label=label))
    for _ in reading.read(source, Problems(source.name)):
        pass


def run(arguments: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        code = graphcb(["run", *arguments])
    if code != 0:
        raise RuntimeError(f"graphcb run {' '.join(arguments)} failed")


def rows_a_second(work: Callable[[], None]) -> float:
    work()  # the first call may compile
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return N_ROWS / statistics.median(times)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{N_ROWS:,} rows, {N_FEATURES} features, {N_CLASSES} classes; median of {REPEATS}")
        for file, options in write(folder).items():
            path = folder / file
            reading = rows_a_second(lambda path=path: read(path))  # type: ignore[misc]
            whole = rows_a_second(lambda a=[str(path), *options]: run(a))  # type: ignore[misc]
            line = f"{path.suffix[1:]:8} run {whole:9,.0f} rows/s, reading alone {reading:9,.0f}"
            if file == "d.csv":
                line += f"   limit {LIMIT:,}: {'met' if whole >= LIMIT else 'MISSED'}"
            print(line)
        fixed = rows_a_second(
            lambda: run([str(folder / "d.csv"), "--label", "topic", "--gamma", "500"])
        )
        print(f"csv      run {fixed:9,.0f} rows/s with --gamma 500")


if __name__ == "__main__":
    main()
