"""A whole round (predict, explore, draw, reveal, update) through the public objects.

Compiled (`trace`, which the experiments use) and one by one (`run`, which yields every round).
RCV1 with sparse contexts where GRAPHCB_DATA is set, else generated texts of the same kind. Vowpal
Wabbit's `--squarecb` runs beside it, through its Python interface, where it is installed.
"""

import statistics
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from measure import part_arguments, print_table
from rival_learners import as_text

from graphcb import FeedbackGraph, SquareCBG, SquareRoot, draw, graphs
from graphcb.datasets import DataNotFoundError, load_rcv1
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.experiments.trace import trace
from graphcb.oracles import LogisticOGD

N_ROUNDS = 8000
CHUNK = 500


def load(n_topics: int) -> tuple[Any, Any, str]:
    try:
        data = load_rcv1(n_topics)
        return data.contexts, data.losses, "RCV1"
    except DataNotFoundError:
        return generate(n_topics, N_ROUNDS)


def generate(n_topics: int, n_rounds: int) -> tuple[Any, Any, str]:
    from scipy.sparse import random_array

    rng = np.random.default_rng(0)
    contexts = random_array((n_rounds, 47_236), density=78 / 47_236, rng=rng, format="csr")
    losses = 1.0 - np.eye(n_topics)[rng.integers(0, n_topics, size=n_rounds)]
    return contexts, losses, "generated"


def agent_for(graph: FeedbackGraph, n_features: int) -> SquareCBG:
    oracle = LogisticOGD(graph.n_actions, n_features, learning_rate=8.0)
    return SquareCBG(oracle, gamma=SquareRoot(32.0, graph.independence_number()))


def trace_microseconds(environment: KnownLosses, graph: FeedbackGraph, d: int) -> list[float]:
    times = []
    for _ in range(8):
        agent = agent_for(graph, d)
        start = time.perf_counter()
        trace(agent, environment, seed=0)
        times.append(1e6 * (time.perf_counter() - start) / environment.n_rounds)
    return times[1:]  # the first may compile


def run_microseconds(environment: KnownLosses, graph: FeedbackGraph, d: int) -> list[float]:
    agent = agent_for(graph, d)
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
    texts = [as_text(r.context) for r in rows.rounds(np.random.default_rng(1))]
    hidden = [r.hidden for r in rows.rounds(np.random.default_rng(1))]
    times = []
    start = time.perf_counter()
    for t, (text, truth) in enumerate(zip(texts, hidden, strict=True), start=1):
        p = np.array(workspace.predict(f"| {text}"))
        action = draw(p / p.sum(), rng)
        workspace.learn(f"{action + 1}:{truth[action]}:{p[action]} | {text}")
        if t % CHUNK == 0:
            now = time.perf_counter()
            times.append(1e6 * (now - start) / CHUNK)
            start = now
    return times


def main() -> None:
    quick: bool = part_arguments(__doc__).quick
    n_rounds = 2 * CHUNK if quick else N_ROUNDS
    print(
        f"Microseconds per round over {n_rounds:,} rounds. `trace` is the compiled loop of the "
        "experiments, `run` yields every round to Python; Vowpal Wabbit predicts and learns from "
        "texts that are there beforehand, with bandit feedback.\n"
    )
    print_table(
        ("stream", "K", "loop", "median us per round", "fastest", "limit"),
        measured(n_rounds, quick),
    )


def measured(n_rounds: int, quick: bool) -> Iterator[tuple[object, ...]]:
    for n_topics, limit in ((50, 25), (10, 15))[1 if quick else 0 :]:
        contexts, losses, source = generate(n_topics, n_rounds) if quick else load(n_topics)
        families = (graphs.bandit, graphs.cops_and_robbers, graphs.full_information)
        runs = {}
        for graph in (family(n_topics) for family in families):
            environment = KnownLosses(contexts, losses, graph, n_rounds=n_rounds)
            d = contexts.shape[1]
            runs[f"trace, {graph.family}"] = trace_microseconds(environment, graph, d)
            runs[f"run, {graph.family}"] = run_microseconds(environment, graph, d)
        if find_spec("vowpalwabbit") and not quick:
            runs["Vowpal Wabbit --squarecb"] = vw_microseconds(contexts, losses)
        for loop, times in runs.items():
            median = statistics.median(times)
            asked = limit if "Vowpal" not in loop else ""
            yield source, n_topics, loop, f"{median:.1f}", f"{min(times):.1f}", asked


if __name__ == "__main__":
    main()
