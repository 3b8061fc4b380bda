"""The default learner, with nothing set: RCV1 with 50 topics, and what a round costs from Python.

RCV1 needs GRAPHCB_DATA. A round is act, draw and learn, on 20 dense features with ten actions.
"""

import argparse
import os
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from graphcb import FeedbackGraph, InformationDirected, SquareCBG, draw, graphs
from graphcb.agents import Agent
from graphcb.datasets import load_rcv1
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.oracles import OnlineRidge

SEEDS = range(3)
GRIDS = {  # the best of the paper's grid and of the wide one in hindsight: graphcb reproduce
    "bandit": (graphs.bandit, 0.245, 0.236),
    "cops-and-robbers": (graphs.cops_and_robbers, 0.179, 0.155),
    "full information": (graphs.full_information, 0.148, 0.137),
}


def topics(n_rounds: int | None) -> list[str]:
    """A row per graph."""
    if "GRAPHCB_DATA" not in os.environ:
        return ["RCV1 is left out: GRAPHCB_DATA is not set.", ""]
    rcv1 = load_rcv1(50)
    lines = [
        "| RCV1, 50 topics | nothing set (std) | best of the paper's grid | of the wide grid |",
        "|---|---|---|---|",
    ]
    for name, (family, narrow, wide) in GRIDS.items():
        environment = KnownLosses(
            rcv1.contexts, rcv1.losses, family(50), n_rounds=n_rounds or len(rcv1.losses)
        )
        means = []
        for seed in SEEDS:
            *_, last = run(InformationDirected(), environment, seed=seed)
            means.append(last.mean_loss)
        found = f"{np.mean(means):.4f} ({np.std(means):.4f})"
        lines.append(f"| {name} | {found} | {narrow} | {wide} |")
    return [*lines, ""]


def rounds(n_rounds: int) -> list[str]:
    """What a round costs, beside ridge with the convex program."""
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(n_rounds, 20))
    chances = 0.3 + 0.2 * np.tanh(contexts @ rng.normal(size=(20, 10)))
    losses = (rng.random((n_rounds, 10)) < chances).astype(float)
    learners: dict[str, Callable[[], Agent]] = {
        "nothing set": InformationDirected,
        "ridge, gamma = 100": lambda: SquareCBG(OnlineRidge(10, 20), gamma=100.0),
    }
    lines = ["| K = 10, 20 features, us per round | bandit | random graph |", "|---|---|---|"]
    for name, make in learners.items():
        cells = []
        for graph in (graphs.bandit(10), graphs.random_self_aware(10, 0.75, rng)):
            cells.append(f"{median(timed(make(), graph, contexts, losses) for _ in range(5)):.0f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def timed(agent: Agent, graph: FeedbackGraph, contexts: object, losses: object) -> float:
    """Microseconds of one round, the mean over a run."""
    rng, x, y = np.random.default_rng(0), np.asarray(contexts), np.asarray(losses)
    revealed = [np.flatnonzero(row) for row in graph.matrix]
    start = time.perf_counter()
    for t in range(len(x)):
        seen = revealed[draw(agent.act(x[t], graph), rng)]
        agent.learn(x[t], seen, y[t, seen])
    return (time.perf_counter() - start) / len(x) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few rounds")
    quick = parser.parse_args().quick
    print("\n".join([*topics(300 if quick else None), *rounds(50 if quick else 4000)]))


if __name__ == "__main__":
    main()
