"""What the foundation costs: import, graphs, numbers, one round. Medians of repeats.

Run by `make bench`; every line is measured in this process or in fresh ones started by it.
"""

import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from graphcb import FeedbackGraph, SquareCB, SquareCBG, SquareRoot, graphs
from graphcb.agents import Agent
from graphcb.environments import SyntheticInventory
from graphcb.experiments import run
from graphcb.oracles import NewsvendorOGD

MILLION = 1_000_000


def median_seconds(work: Callable[[], object], *, number: int, repeats: int = 7) -> float:
    work()  # the first call may compile
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(number):
            work()
        times.append((time.perf_counter() - start) / number)
    return statistics.median(times)


def import_seconds(module: str) -> float:
    code = (
        "import time; start = time.perf_counter(); "
        f"import {module}; print(time.perf_counter() - start)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(7)
    ]
    return statistics.median(float(done.stdout) for done in runs)


def round_seconds(agent: Callable[[NewsvendorOGD], Agent], levels: int) -> float:
    environment = SyntheticInventory(n_rounds=10_000, levels=levels)

    def play() -> None:
        learner = agent(NewsvendorOGD(environment.n_features, learning_rate=0.05))
        for _ in run(learner, environment, seed=0):
            pass

    return median_seconds(play, number=1, repeats=3) / environment.n_rounds


def report(what: str, value: str) -> None:
    print(f"| {what:<66} | {value:>12} |", flush=True)


def main() -> None:
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}")
    numba, ours = import_seconds("numba"), import_seconds("graphcb")
    report("import numba", f"{numba:.3f} s")
    report("import graphcb", f"{ours:.3f} s")

    array = np.maximum(np.random.default_rng(0).random((10, 10)) < 0.75, np.eye(10)).astype(float)
    seconds = median_seconds(lambda: FeedbackGraph(array), number=10_000)
    report("FeedbackGraph from a 10-by-10 array, checks included", f"{1e6 * seconds:.2f} us")

    p = np.full(MILLION, 1.0 / MILLION)
    for graph in (graphs.inventory(MILLION), graphs.bandit(MILLION)):
        seconds = median_seconds(partial(graph.reveal_probabilities, p), number=5)
        report(f"reveal_probabilities, {graph.family}({MILLION:,})", f"{1e3 * seconds:.2f} ms")

    for density in (0.03, 0.1, 0.3, 0.75):
        times = []
        for seed in range(3):
            graph = graphs.random_self_aware(100, density, np.random.default_rng(seed))
            start = time.perf_counter()
            graph.independence_number()
            times.append(time.perf_counter() - start)
        report(
            f"independence number, K = 100, density {density:g} (worst of 3 graphs)",
            f"{max(times):.2f} s",
        )

    for levels in (101, 501):
        graph_aware = round_seconds(lambda o: SquareCBG(o, gamma=SquareRoot(4.0, 1.0)), levels)
        blind = round_seconds(lambda o: SquareCB(o, gamma=SquareRoot(4.0, "n_actions")), levels)
        report(f"a whole round, inventory, K = {levels}, SquareCB.G", f"{1e6 * graph_aware:.1f} us")
        report(f"a whole round, inventory, K = {levels}, SquareCB", f"{1e6 * blind:.1f} us")


if __name__ == "__main__":
    main()
