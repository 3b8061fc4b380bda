"""What `solve_dec` costs, with the rivals beside it, in one process and with one thread.

    python benchmarks/solver.py

Times are medians over programs of medians over repeats; ratios compare the same programs.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from programs import three_edges_a_row
from rich.console import Console
from rich.table import Table
from rival import CvxpyProgram, clarabel_seconds

import graphcb
from graphcb import FeedbackGraph, graphs

GAMMAS = (1e2, 1e4, 1e6)


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Median time of a call; the first is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def against_clarabel(n: int, n_programs: int) -> tuple[float, float, int]:
    """Median seconds of ours and of Clarabel, and how many of ours are certified."""
    ours, theirs, certified = [], [], 0
    for number in range(n_programs):
        rng = np.random.default_rng([n, number])
        graph, losses = graphs.random_self_aware(n, 0.75, rng), rng.random(n)
        gamma = GAMMAS[number % 3]
        ours.append(seconds(lambda: graphcb.solve_dec(losses, graph, gamma), 20))  # noqa: B023
        certified += graphcb.solve_dec(losses, graph, gamma).is_certified
        theirs.append(clarabel_seconds(losses, graph.matrix, gamma)[1])
    return float(np.median(ours)), float(np.median(theirs)), certified


def fresh_process(cache: str) -> tuple[float, float]:
    """Seconds of the first and of the second call in a new interpreter."""
    code = (
        "import time, graphcb; graph = graphcb.FeedbackGraph([[1, 1, 0], [0, 1, 1], [1, 0, 1]])\n"
        "for _ in range(2):\n"
        "    start = time.perf_counter(); graphcb.solve_dec([0.1, 0.3, 0.7], graph, 100.0)\n"
        "    print(time.perf_counter() - start)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    first, second = (float(line) for line in done.stdout.split())
    return first, second


def main() -> None:
    table = Table("work", "ours", "rival", "ratio", "asked for", title="solve_dec")
    for n, count, asked in ((10, 60, 15), (50, 15, 60), (100, 6, 400)):
        ours, theirs, certified = against_clarabel(n, count)
        table.add_row(
            f"random self-aware 3/4, K = {n}, gamma 1e2 to 1e6, against Clarabel; "
            f"{certified} of {count} certified",
            f"{1e6 * ours:.0f} us", f"{1e3 * theirs:.2f} ms", f"{theirs / ours:.0f}", f">= {asked}",
        )  # fmt: skip
    times, certified = [], 0
    for number in range(20):
        rng = np.random.default_rng([1000, number])
        graph, losses = graphs.random_self_aware(1000, 0.75, rng), rng.random(1000)
        gamma = (1e2, 1e3, 1e4)[number % 3]
        certified += graphcb.solve_dec(losses, graph, gamma).is_certified
        times.append(seconds(lambda: graphcb.solve_dec(losses, graph, gamma), 5))  # noqa: B023
    table.add_row(
        f"the same at K = 1000, gamma 1e2 to 1e4; {certified} of 20 certified",
        f"{1e3 * np.median(times):.2f} ms (worst {1e3 * max(times):.2f})", "", "", "<= 15 ms",
    )  # fmt: skip
    ratios, program = [], CvxpyProgram(10)
    for number in range(9):
        rng = np.random.default_rng([10, number])
        graph, losses = graphs.random_self_aware(10, 0.75, rng), rng.random(10)
        gamma = GAMMAS[number % 3]
        theirs = program.seconds(losses, graph.matrix, gamma)
        ours = seconds(lambda: graphcb.solve_dec(losses, graph, gamma), 20)  # noqa: B023
        if number > 0:  # the first call compiles the program
            ratios.append((theirs / ours, ours, theirs))
    middle = sorted(ratios)[len(ratios) // 2]
    table.add_row(
        "K = 10 against cvxpy, compiled once", f"{1e6 * middle[1]:.0f} us",
        f"{1e3 * middle[2]:.0f} ms", f"{middle[0]:.0f}", ">= 500",
    )  # fmt: skip
    for n, limit in ((200, "< 12 ms"), (500, "< 250 ms")):
        times = []
        for number in range(6):
            rng = np.random.default_rng([n, number])
            graph, losses = three_edges_a_row(n, rng), rng.random(n)
            gamma = GAMMAS[number % 3]
            times.append(seconds(lambda: graphcb.solve_dec(losses, graph, gamma), 5))  # noqa: B023
        table.add_row(
            f"three edges a row, K = {n}",
            f"{1e3 * np.median(times):.1f} ms (worst {1e3 * max(times):.1f})", "", "", limit,
        )  # fmt: skip
    rng = np.random.default_rng(0)
    matrix = graphs.random_self_aware(10, 0.75, rng).matrix.copy()
    build = seconds(lambda: FeedbackGraph(matrix), 1000)
    table.add_row("FeedbackGraph from a 10-by-10 array", f"{1e6 * build:.1f} us", "", "", "< 10 us")
    times = []
    for number in range(30):
        rng = np.random.default_rng([5, number])
        graph, losses = graphs.random_self_aware(5, 0.75, rng), rng.random(5)
        gamma = GAMMAS[number % 3]
        times.append(seconds(lambda: graphcb.solve_dec(losses, graph, gamma), 100))  # noqa: B023
    table.add_row("a call at K = 5", f"{1e6 * np.median(times):.0f} us", "", "", "< 40 us")
    many = rng.random((10_000, 10))
    graph = graphs.random_self_aware(10, 0.75, rng)
    alone, both = (
        seconds(lambda: graphcb.solve_dec_batch(many, graph, 1e3, n_threads=threads), 3)  # noqa: B023
        for threads in (1, 2)
    )
    table.add_row(
        "batch of 10,000 at K = 10, two cores against one", f"{1e3 * both:.0f} ms",
        f"{1e3 * alone:.0f} ms", f"{alone / both:.2f}", ">= 1.8",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as cache:
        compiling, _ = fresh_process(cache)
        loading, _ = fresh_process(cache)
    table.add_row("first call of a fresh installation", f"{compiling:.1f} s", "", "", "<= 15 s")
    table.add_row("first call from the disk cache", f"{loading:.2f} s", "", "", "<= 0.3 s")
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
