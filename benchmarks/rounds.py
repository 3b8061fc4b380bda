"""A whole round (predict, explore, draw, reveal, update) through the public objects.

Compiled (`trace`, which the experiments use) and one by one (`run`, which yields every round).
RCV1 with sparse contexts where GRAPHCB_DATA is set, else generated texts of the same kind. Vowpal
Wabbit's `--squarecb` runs beside it, through its Python interface, where it is installed.
"""

import statistics
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from graphcb import FeedbackGraph, SquareCBG, SquareRoot, graphs
from graphcb.datasets import DataNotFoundError, load_rcv1
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.experiments.loop import draw
from graphcb.experiments.trace import trace
from graphcb.oracles import LogisticOGD

N_ROUNDS = 8000
CHUNK = 500


def load(n_topics: int) -> tuple[Any, Any, str]:
    try:
        data = load_rcv1(n_topics)
        return data.contexts, data.losses, "RCV1"
    except DataNotFoundError:
        from scipy.sparse import random_array

        rng = np.random.default_rng(0)
        contexts = random_array((N_ROUNDS, 47_236), density=78 / 47_236, rng=rng, format="csr")
        losses = 1.0 - np.eye(n_topics)[rng.integers(0, n_topics, size=N_ROUNDS)]
        return contexts, losses, "generated"


def agent_for(graph: FeedbackGraph, n_features: int) -> SquareCBG:
    oracle = LogisticOGD(graph.n_actions, n_features, learning_rate=8.0)
    return SquareCBG(oracle, gamma=SquareRoot(32.0, graph.independence_number()))


def trace_microseconds(contexts: Any, losses: Any, graph: FeedbackGraph) -> list[float]:
    environment = KnownLosses(contexts, losses, graph, n_rounds=N_ROUNDS)
    times = []
    for _ in range(8):
        agent = agent_for(graph, contexts.shape[1])
        start = time.perf_counter()
        trace(agent, environment, seed=0)
        times.append(1e6 * (time.perf_counter() - start) / N_ROUNDS)
    return times[1:]  # the first may compile


def run_microseconds(contexts: Any, losses: Any, graph: FeedbackGraph) -> list[float]:
    environment = KnownLosses(contexts, losses, graph, n_rounds=N_ROUNDS)
    agent = agent_for(graph, contexts.shape[1])
    times = []
    start = time.perf_counter()
    for row in run(agent, environment, seed=0):
        if row.round % CHUNK == 0:
            now = time.perf_counter()
            times.append(1e6 * (now - start) / CHUNK)
            start = now
    return times[1:]  # the first chunk may compile


def vw_microseconds(contexts: Any, losses: Any) -> list[float]:
    from vowpalwabbit import Workspace

    n_actions = losses.shape[1]
    workspace = Workspace(f"--quiet --cb_explore {n_actions} --squarecb --bit_precision 22")
    rng = np.random.default_rng(0)
    rows = KnownLosses(contexts, losses, graphs.bandit(n_actions), n_rounds=2000)
    texts = [
        " ".join(f"{i}:{v}" for i, v in zip(*(part.tolist() for part in r.context), strict=True))
        for r in rows.rounds(np.random.default_rng(1))
    ]
    hidden = [r.hidden for r in rows.rounds(np.random.default_rng(1))]
    times = []
    start = time.perf_counter()
    for t, (text, truth) in enumerate(zip(texts, hidden, strict=True), start=1):
        p = np.array(workspace.predict(f"| {text}"))
        action = draw(p / p.sum(), n_actions, rng)
        workspace.learn(f"{action + 1}:{truth[action]}:{p[action]} | {text}")
        if t % CHUNK == 0:
            now = time.perf_counter()
            times.append(1e6 * (now - start) / CHUNK)
            start = now
    return times


def main() -> None:
    print("| stream | K | who | median us a round | fastest | limit |")
    print("|---|---|---|---|---|---|")
    for n_topics, limit in ((50, 25), (10, 15)):
        contexts, losses, source = load(n_topics)
        families = (graphs.bandit, graphs.cops_and_robbers, graphs.full_information)
        runs = {}
        for graph in (family(n_topics) for family in families):
            runs[f"trace, {graph.family}"] = trace_microseconds(contexts, losses, graph)
            runs[f"run, {graph.family}"] = run_microseconds(contexts, losses, graph)
        if find_spec("vowpalwabbit"):
            runs["Vowpal Wabbit --squarecb"] = vw_microseconds(contexts, losses)
        for who, times in runs.items():
            print(
                f"| {source} | {n_topics} | {who} | {statistics.median(times):.1f} | "
                f"{min(times):.1f} | {limit} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
