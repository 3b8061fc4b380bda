"""Is `solve_dec` as fast as before? Ratios to another copy of the package, with and without limits.

    python benchmarks/same_times.py OLD/src [--runs 3] [--quick]

Processes with the old and the new package take turns. The time of a case is the smallest processor
time of a call in any run; printed are the medians of the ratios new / old, and their range.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import graphcb
from graphcb import FeedbackGraph, Limits, graphs

NEW = Path(__file__).parents[1] / "src"
GAMMA = 100.0


def three_edges(n: int, rng: np.random.Generator) -> FeedbackGraph:
    """Each action reveals itself and up to three others."""
    matrix = np.eye(n)
    for row in matrix:
        row[rng.choice(n, size=3, replace=False)] = 1.0
    return FeedbackGraph(matrix)


def seconds_per_call(call: Callable[[int], Any]) -> float:
    """The smallest processor time of a call, over nine goes of about 10 ms each."""
    call(0)
    start = time.thread_time()
    call(1)
    repeats = max(1, int(0.01 / max(time.thread_time() - start, 1e-6)))
    found = []
    for _ in range(9):
        start = time.thread_time()
        for number in range(repeats):
            call(number % 8)
        found.append((time.thread_time() - start) / repeats)
    return min(found)


def measure(sizes: list[int]) -> dict[str, float]:
    """Seconds by "kind, graph, K"."""
    times = {}
    for n in sizes:
        rng = np.random.default_rng(n)
        kinds = {
            "random": graphs.random_self_aware(n, 0.25, rng),
            "three edges": three_edges(n, rng),
            "inventory": graphs.inventory(n),
            "cops": graphs.cops_and_robbers(n),
        }
        losses, many = rng.random((8, n)), rng.random((64, n))
        weights = [dict(enumerate(rng.random(n).tolist())) for _ in range(5)]
        limits = {
            "without limits": None,
            "floors and caps": Limits(floors=0.1 / n, caps=dict.fromkeys(range(0, n, 3), 0.2)),
            "five linear limits": Limits(linear=[{"weights": w, "at_most": 0.6} for w in weights]),
        }
        for name, graph in kinds.items():
            for kind, one in limits.items():
                box = None if one is None else one.on(range(n))

                def solve(k: int, rows: Any = losses, graph: Any = graph, box: Any = box) -> Any:
                    return graphcb.solve_dec(rows[k], graph, GAMMA, limits=box)

                times[f"{kind}, {name}, {n}"] = seconds_per_call(solve)

        def solve_batch(_: int, graph: Any = kinds["random"], many: Any = many) -> Any:
            return graphcb.solve_dec_batch(many, graph, GAMMA, n_threads=1)

        times[f"batch, random, {n}"] = seconds_per_call(solve_batch) / len(many)
    return times


def in_process(source: Path, sizes: list[int]) -> dict[str, float]:
    """The same with the package in this folder, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--measure", *map(str, sizes)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--measure", type=int, nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    if options.old is None:
        parser.error("`OLD/src` must be given: the folder with the other package")
    sizes = [10] if options.quick else [10, 50, 100, 200]
    runs = [
        (in_process(options.old.resolve(), sizes), in_process(NEW, sizes))
        for _ in range(options.runs)
    ]
    ratios: dict[str, list[float]] = {}
    for case in runs[0][0]:
        old, new = (min(run[which][case] for run in runs) for which in (0, 1))
        ratios.setdefault(case.partition(",")[0], []).append(new / old)
    print("| | cases | median of new / old | smallest | largest |\n|---|---:|---:|---:|---:|")
    for kind, found in ratios.items():
        numbers = np.median(found), min(found), max(found)
        print(f"| {kind} | {len(found)} | {' | '.join(f'{one:.3f}' for one in numbers)} |")


if __name__ == "__main__":
    main()
