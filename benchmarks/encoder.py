"""What it costs to turn a dict of 20 features into a row, to learn its scale, and to decide on it.

Declared features are named with their kinds; without, they are noted as they come. The second
table is of an agent, of a learner around it, and of a policy around that.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from graphcb import Encoder, InformationDirected, Learner, Policy, Problem
from graphcb.oracles import DefaultOracle

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
    decide(n_rows)


def decide(n_rows: int) -> None:
    """A decision on a dict, layer by layer; the log is not synced to the disk."""
    kinds = {f"f{i}": "number" if i < 18 else "category" for i in range(N_FEATURES)}
    rows = rows_of(kinds, n_rows)
    problem = Problem(["a", "b", "c", "d"], features=kinds)
    learner, rng = Learner(problem), np.random.default_rng(1)
    for row in rows:
        learner.learn(row, problem.actions, rng.random(4))
    encoded = [learner.encoder.encode(row) for row in rows]
    graph = problem.graph
    print(f"\n{N_FEATURES} features, 2 of them words, and 4 actions.\n")
    print("| a decision | us |")
    print("|---|---:|")
    agent = microseconds(lambda x: learner.agent.act(x, graph), encoded)
    print(f"| `InformationDirected.act` on a row | {agent:.0f} |", flush=True)
    print(f"| `Learner.act` on a dict | {microseconds(learner.act, rows):.0f} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for title, log, given in (("row", "row.db", encoded), ("dict", "dict.db", rows)):
            chosen = InformationDirected(DefaultOracle(4)) if title == "row" else Learner(problem)
            with Policy(f"{folder}/{log}", chosen, seed=0, durability="process-kill") as policy:
                took = microseconds(lambda x, p=policy: p.decide(x, graph), given)  # type: ignore[misc]
            print(f"| `Policy.decide` on a {title}, nothing learned | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
