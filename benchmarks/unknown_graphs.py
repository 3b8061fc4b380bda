"""Graphs that nobody knows beforehand: what a round costs, and what the graph oracles learn."""

import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from measure import in_words, part_arguments, print_table, spread
from numpy.typing import NDArray

from graphcb import FeedbackGraph, SquareCBG, SquareCBUG, SquareRoot
from graphcb.graph_oracles import EdgeCounts, GraphOracle, LogisticEdges, Thresholds
from graphcb.oracles import LinearOGD, OnlineRidge

Floats = NDArray[np.float64]
ACTIONS, FEATURES = 20, 50
WARM = 50  # rounds that are not counted
GAMMAS = (("no gamma", None), ("gamma = 20", 20.0), ("SquareRoot(4, 5)", SquareRoot(4.0, 5.0)))
SEEDS = (20, 21, 22)  # settings were chosen with others


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    quick = part_arguments(__doc__).quick
    rounds_side_by_side(100 if quick else 1000)
    many_levels((100,) if quick else (100, 1000, 10_000), 60 if quick else 200)
    learning(200 if quick else 4000, SEEDS[:1] if quick else SEEDS)


def rounds_side_by_side(n_rounds: int) -> None:
    """Both agents in turn, on the same contexts, losses and graphs."""
    rng = np.random.default_rng(0)
    contexts, losses = rng.normal(size=(n_rounds, FEATURES)), rng.random((n_rounds, ACTIONS))
    weights = 2.0 * rng.normal(size=(ACTIONS, FEATURES, ACTIONS)) / np.sqrt(FEATURES)
    rows = []
    for name, gamma in GAMMAS:
        say(f"rounds, {name}")

        def oracle() -> OnlineRidge:
            return OnlineRidge(ACTIONS, FEATURES)

        told = SquareCBG(oracle(), gamma=gamma)
        row = SquareCBUG(oracle(), LogisticEdges(ACTIONS, FEATURES), gamma=gamma)
        full = SquareCBUG(oracle(), LogisticEdges(ACTIONS, FEATURES), gamma=gamma)
        seconds: list[list[float]] = [[], [], []]
        for x, loss in zip(contexts, losses, strict=True):
            chances = 1.0 / (1.0 + np.exp(-np.einsum("f,ifj->ij", x, weights)))
            matrix = (rng.random(chances.shape) < chances) * 1.0
            np.fill_diagonal(matrix, 1.0)
            seconds[0].append(_told_round(told, x, loss, matrix))
            seconds[1].append(_uninformed_round(row, x, loss, matrix, shown=False))
            seconds[2].append(_uninformed_round(full, x, loss, matrix, shown=True))
        times = [spread(one[WARM:]) for one in seconds]
        ratios = [f"{one.median / times[0].median:.2f}" for one in times[1:]]
        rows.append([name, *(in_words(one.median) for one in times), *ratios])
    head = ["", "SquareCB.G, a new graph each", "SquareCB.UG, played row", "shown in full"]
    print_table([*head, "ratio, played row", "ratio, in full"], rows)


def _told_round(agent: SquareCBG, x: Floats, losses: Floats, matrix: Floats) -> float:
    start = time.perf_counter()
    action = int(agent.act(x, FeedbackGraph(matrix)).argmax())
    seen = np.flatnonzero(matrix[action])
    agent.learn(x, seen, losses[seen])
    return time.perf_counter() - start


def _uninformed_round(
    agent: SquareCBUG, x: Floats, losses: Floats, matrix: Floats, *, shown: bool
) -> float:
    start = time.perf_counter()
    action = int(agent.act(x).argmax())
    seen = np.flatnonzero(matrix[action])
    graph = FeedbackGraph(matrix) if shown else None
    agent.learn(x, action, seen, losses[seen], graph=graph)
    return time.perf_counter() - start


def many_levels(sizes: tuple[int, ...], n_rounds: int) -> None:
    """Bids on a fine grid; no matrix is built, which the largest allocation shows."""
    rows = []
    for size in sizes:
        say(f"{size} levels")
        levels = np.linspace(0.0, 1.0, size)
        oracle = Thresholds(levels, n_features=5)
        agent = SquareCBUG(LinearOGD(size, 5, learning_rate=0.05), oracle, gamma=50.0)
        rng = np.random.default_rng(0)
        acting, learning, peak = [], [], 0
        for t in range(n_rounds):
            if t == WARM:
                tracemalloc.start()
            x, price = rng.normal(size=5), rng.beta(2, 5)
            start = time.perf_counter()
            action = int(agent.act(x).argmax())
            acting.append(time.perf_counter() - start)
            seen = np.arange(0 if price > levels[action] else action, size)
            losses = np.clip(0.5 - (levels >= price) * (0.8 - levels) / 2.0, 0.0, 1.0)[seen]
            start = time.perf_counter()
            agent.learn(x, action, seen, losses)
            learning.append(time.perf_counter() - start)
            if t == WARM + 1:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
        act, learn = spread(acting[WARM + 2 :]), spread(learning[WARM + 2 :])
        memory = [f"{peak / 1e6:.2f} MB", f"{8e-6 * size**2:.2f} MB"]
        rows.append([f"{size:,}", str(act), str(learn), *memory])
    print_table(["levels", "act", "learn", "peak of a round", "a matrix would be"], rows)


def learning(n_rounds: int, seeds: tuple[int, ...]) -> None:
    """Log loss above that of the truth, per edge, over rows played at random."""
    oracles: dict[str, Callable[[int], GraphOracle]] = {
        "EdgeCounts": lambda _: EdgeCounts(5),
        "LogisticEdges": lambda width: LogisticEdges(5, width),
        'LogisticEdges, loss="squared"': lambda width: LogisticEdges(5, width, loss="squared"),
    }
    settings = {
        "5 features": (5, 2.0, 0.0),
        "20 features": (20, 2.0, 0.0),
        "20 features, rare edges": (20, 2.0, -4.0),
        "the context hardly matters": (5, 0.3, -2.0),
    }
    rows = []
    for name, (width, scale, bias) in settings.items():
        say(name)
        found = [
            np.mean([excess(build(width), width, scale, bias, n_rounds, s) for s in seeds])
            for build in oracles.values()
        ]
        rows.append([name, *(f"{one:.1f}" for one in found)])
    print_table(["log loss above the truth's, per edge", *oracles], rows)


def excess(
    oracle: GraphOracle, width: int, scale: float, bias: float, n_rounds: int, seed: int
) -> float:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(5, width, 5)) * scale / np.sqrt(width)
    total = 0.0
    for _ in range(n_rounds):
        x, played = rng.normal(size=width), int(rng.integers(5))
        p = 1.0 / (1.0 + np.exp(-(x @ weights[played] + bias)))
        q = oracle.predict(x).row(played)
        total += float((p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean())
        oracle.update(x, played, np.flatnonzero(rng.random(5) < p))
    return total / 5


if __name__ == "__main__":
    main()
