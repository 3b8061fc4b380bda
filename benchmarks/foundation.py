"""What the foundation costs: import, graphs, numbers, one round. Medians of repeats.

Every line is measured in this process or in fresh ones started by it.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from measure import part_arguments

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


def import_seconds(module: str, repeats: int) -> float:
    code = (
        "import time; start = time.perf_counter(); "
        f"import {module}; print(time.perf_counter() - start)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(repeats)
    ]
    return statistics.median(float(done.stdout) for done in runs)


def round_seconds(agent: Callable[[NewsvendorOGD], Agent], levels: int, n_rounds: int) -> float:
    environment = SyntheticInventory(n_rounds=n_rounds, levels=levels)

    def play() -> None:
        learner = agent(NewsvendorOGD(environment.n_features, learning_rate=0.05))
        for _ in run(learner, environment, seed=0):
            pass

    return median_seconds(play, number=1, repeats=3) / environment.n_rounds


def report(what: str, value: str) -> None:
    print(f"| {what} | {value} |", flush=True)


def main() -> None:
    quick: bool = part_arguments(__doc__).quick
    print("Medians of repeated calls.\n")
    print("| what | cost |\n|---|---:|")
    repeats = 1 if quick else 7
    report("import numba", f"{import_seconds('numba', repeats):.3f} s")
    report("import graphcb", f"{import_seconds('graphcb', repeats):.3f} s")

    array = np.maximum(np.random.default_rng(0).random((10, 10)) < 0.75, np.eye(10)).astype(float)
    seconds = median_seconds(lambda: FeedbackGraph(array), number=100 if quick else 10_000)
    report("FeedbackGraph from a 10-by-10 array, checks included", f"{1e6 * seconds:.2f} us")

    size = 1000 if quick else MILLION
    p = np.full(size, 1.0 / size)
    for graph in (graphs.inventory(size), graphs.bandit(size)):
        seconds = median_seconds(partial(graph.reveal_probabilities, p), number=5)
        report(f"reveal_probabilities, {graph.family}({size:,})", f"{1e3 * seconds:.2f} ms")

    size = 10 if quick else 100
    for density in (0.03, 0.1, 0.3, 0.75):
        times = []
        for seed in range(3):
            graph = graphs.random_self_aware(size, density, np.random.default_rng(seed))
            start = time.perf_counter()
            graph.independence_number()
            times.append(time.perf_counter() - start)
        report(
            f"independence number, K = {size}, density {density:g} (worst of 3 graphs)",
            f"{max(times):.2f} s",
        )

    n_rounds = 100 if quick else 10_000
    for levels in (101, 501):
        graph_aware = round_seconds(
            lambda o: SquareCBG(o, gamma=SquareRoot(4.0, 1.0)), levels, n_rounds
        )
        blind = round_seconds(
            lambda o: SquareCB(o, gamma=SquareRoot(4.0, "n_actions")), levels, n_rounds
        )
        report(f"a whole round, inventory, K = {levels}, SquareCB.G", f"{1e6 * graph_aware:.1f} us")
        report(f"a whole round, inventory, K = {levels}, SquareCB", f"{1e6 * blind:.1f} us")


if __name__ == "__main__":
    main()
