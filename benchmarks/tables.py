"""Rows per second and memory of `evaluate_table` on Parquet, beside pandas, obp and DuckDB.

    python benchmarks/tables.py [--rows 5000000] [--many 50000000]

A table of 12 columns in row groups of a million rows: four actions with their probabilities, a
reward of 0 or 1, the action and the probabilities of another policy, features. All rates are of
one core; rivals read the columns that they need from the same file, in the same run, and are left
out where they are not installed (pip install pandas duckdb obp). obp was measured with an empty
module in place of PyTorch, which it imports and these estimators do not use. Memory is the peak of
a process of its own, on Linux.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import part_arguments

from graphcb import evaluate_table

ROWS_OF_A_GROUP = 1_000_000
NAMES = ("coffee", "tea", "juice", "water")
ASKED: dict[str, Any] = {"action": "item", "probability": "propensity", "reward": "click"}
TARGETS = {
    "constant": "constant:tea",
    "column": "new_item",
    "tabular (four columns of probabilities)": "q_*",
    "uniform": "uniform",
}
# The peak since the process began; `getrusage` also counts that of the process that started it.
PEAK = """
import json, re, sys
from pathlib import Path
from graphcb import evaluate_table
found = evaluate_table(sys.argv[1], **json.loads(sys.argv[2]))
status = Path("/proc/self/status").read_text()
print(int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) / 1024, found.n_rows)
"""


def main() -> int:
    given = part_arguments(
        __doc__,
        ("--rows", {"type": int, "default": 5_000_000}),
        ("--many", {"type": int, "default": 50_000_000}),
    )
    n_rows, n_many = (200_000, 400_000) if given.quick else (given.rows, given.many)
    repeats = 2 if given.quick else 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write_table(path, n_rows)
        rates = {}
        print(
            f"A table of 12 columns and {n_rows:,} rows, medians of {repeats}, by processor time; "
            f"beside {', '.join(versions()) or 'no rivals'}:\n"
        )
        print("| what | million rows per second of one core |\n|---|---:|")
        for name, work in (*ours(path), *rivals(path)):
            say(name)
            rates[name] = n_rows / middle(work, repeats) / 1e6
            print(f"| {name} | {rates[name]:.2f} |")
        path.unlink()
        print(f"\nMemory, with {n_many:,} rows in row groups of {ROWS_OF_A_GROUP:,}:\n")
        print("| what | peak MB | seconds |\n|---|---:|---:|")
        many = Path(folder) / "many.parquet"
        say(f"{n_many:,} rows")
        write_table(many, n_many)
        for name, more in memory_cases().items():
            say(name)
            peak, seconds = peak_of(many, more)
            print(f"| {name} | {peak:.0f} | {seconds:.1f} |")
    return 0


def write_table(path: Path, n_rows: int) -> None:
    """Row groups of the same draws, with identifiers of their own: quick to write."""
    group = one_group(min(n_rows, ROWS_OF_A_GROUP))
    with pq.ParquetWriter(path, group.schema) as writer:
        for first in range(0, n_rows, ROWS_OF_A_GROUP):
            part = group.slice(0, n_rows - first)
            places = pa.array(np.arange(first, first + part.num_rows))
            writer.write_table(part.set_column(0, "row_id", places))


def one_group(n: int) -> Any:
    draws = np.random.default_rng(0)
    names = np.array(NAMES)
    logged = np.array([0.4, 0.3, 0.2, 0.1])
    played = draws.choice(4, n, p=logged)
    other = draws.dirichlet(np.ones(4), n)
    other[:, 3] = 1.0 - other[:, :3].sum(axis=1)
    return pa.table(
        {
            "row_id": np.arange(n),
            "item": names[played],
            "propensity": logged[played],
            "click": (draws.random(n) < 0.05 * (1 + played)).astype(np.int8),
            "new_item": names[draws.integers(0, 4, n)],
            "slot": draws.integers(1, 4, n).astype(np.int8),
            **{f"q_{name}": np.abs(other[:, k]) for k, name in enumerate(NAMES)},
            "age": draws.normal(40.0, 10.0, n),
            "country": np.array(["DE", "FR", "IT"])[draws.integers(0, 3, n)],
        }
    )


def ours(path: Path) -> list[tuple[str, Callable[[], object]]]:
    def judge(policy: Any) -> Callable[[], object]:
        asked = {**ASKED, "actions": NAMES} if policy == "uniform" else ASKED
        return lambda: evaluate_table(path, policy=policy, **asked)

    found = [(f"graphcb, {name}", judge(policy)) for name, policy in TARGETS.items()]
    three = list(TARGETS.values())[:3]
    return [*found, ("graphcb, the first three at once, compared", judge(three))]


def rivals(path: Path) -> list[tuple[str, Callable[[], object]]]:
    found: list[tuple[str, Callable[[], object]]] = []
    if (pandas := _installed("pandas")) is not None:
        found += [
            ("pandas, column: two means, one standard error", lambda: by_pandas(pandas, path, 0)),
            ("pandas, column: the same, with 100 bootstraps as obp has",
             lambda: by_pandas(pandas, path, 100)),
        ]  # fmt: skip
    if (ope := _installed("obp.ope")) is not None:
        found += [
            ("obp, column: ips and self-normalised", lambda: by_obp(ope, path, interval=False)),
            ("obp, column: the same, with its intervals", lambda: by_obp(ope, path, interval=True)),
        ]
    found.append(("reading three columns alone: pyarrow", lambda: read_by_pyarrow(path)))
    if (duckdb := _installed("duckdb")) is not None:
        found += [
            ("reading three columns alone: DuckDB, as batches", lambda: by_duckdb(duckdb, path)),
            ("DuckDB, constant: one sum in SQL, rounded as it comes",
             lambda: sum_by_duckdb(duckdb, path)),
        ]  # fmt: skip
    return found


def by_pandas(pandas: Any, path: Path, bootstraps: int) -> object:
    columns = ["item", "propensity", "click", "new_item"]
    frame = pandas.read_parquet(path, columns=columns)
    weights = (frame["item"] == frame["new_item"]) / frame["propensity"]
    terms = weights * frame["click"]
    found = terms.mean(), terms.sum() / weights.sum(), terms.std() / len(terms) ** 0.5
    draws = np.random.default_rng(0)
    means = [
        terms.to_numpy()[draws.integers(0, len(terms), len(terms))].mean()
        for _ in range(bootstraps)
    ]
    return found, np.quantile(means, [0.025, 0.975]) if means else None


def by_obp(ope: Any, path: Path, *, interval: bool) -> object:
    columns = pq.read_table(path, columns=["item", "propensity", "click", "new_item"])
    codes = {name: code for code, name in enumerate(NAMES)}
    item, new = (np.array([codes[name] for name in NAMES])[_codes(columns[name])]
                 for name in ("item", "new_item"))  # fmt: skip
    action_dist = np.zeros((item.size, len(NAMES), 1))
    action_dist[np.arange(item.size), new, 0] = 1.0
    known = {
        "reward": columns["click"].to_numpy(),
        "action": item,
        "pscore": columns["propensity"].to_numpy(),
        "position": np.zeros(item.size, dtype=int),
        "action_dist": action_dist,
    }
    found = []
    for estimator in (
        ope.InverseProbabilityWeighting(),
        ope.SelfNormalizedInverseProbabilityWeighting(),
    ):
        found.append(estimator.estimate_policy_value(**known))
        if interval:
            found.append(estimator.estimate_interval(**known, n_bootstrap_samples=100))
    return found


def _codes(column: Any) -> Any:
    """Codes in the order of NAMES."""
    import pyarrow.compute as pc

    return pc.index_in(column, value_set=pa.array(NAMES)).to_numpy()


def read_by_pyarrow(path: Path) -> int:
    columns = ["item", "propensity", "click"]
    with pq.ParquetFile(path, read_dictionary=["item"], pre_buffer=False) as file:
        batches = file.iter_batches(131_072, columns=columns, use_threads=False)
        return sum(batch.num_rows for batch in batches)


def by_duckdb(duckdb: Any, path: Path) -> int:
    with duckdb.connect() as database:
        database.execute("set threads = 1")
        asked = database.sql(f"select item, propensity, click from '{path}'")
        return sum(batch.num_rows for batch in asked.to_arrow_reader(131_072))


def sum_by_duckdb(duckdb: Any, path: Path) -> float:
    with duckdb.connect() as database:
        database.execute("set threads = 1")
        asked = f"select sum(if(item = 'tea', click / propensity, 0)) / count(*) from '{path}'"
        return float(database.execute(asked).fetchone()[0])


def memory_cases() -> dict[str, dict[str, Any]]:
    return {
        "constant": {"policy": TARGETS["constant"]},
        "column, slots": {"policy": TARGETS["column"], "slot": "slot"},
        "column, no identifier twice": {"policy": TARGETS["column"], "identifier": "row_id"},
        "column, probabilities estimated, doubly robust": {
            "policy": TARGETS["column"], "features": ["age", "country"], "probability": None,
        },
    }  # fmt: skip


def peak_of(path: Path, more: dict[str, Any]) -> tuple[float, float]:
    """Of a process of its own: megabytes, and seconds without its start."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path), json.dumps({**ASKED, **more})],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[0]), time.perf_counter() - start


def middle(work: Callable[[], object], repeats: int) -> float:
    """The median of the seconds of processor time, after one call that compiles."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    work()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def _installed(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        return None


def versions() -> list[str]:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in ("pandas", "obp", "duckdb"):
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return found


def say(text: str) -> None:
    print(f"tables: {text} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
