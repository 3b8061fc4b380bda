"""The regret certificate beside the true regret on linear streams, and what it costs per round.

The bound has the true regression regret, which only a stream that knows its expected losses can
tell; regret is the expected one, given the draws so far.
"""

import argparse
import time
from statistics import median

import numpy as np

from graphcb import FeedbackGraph, SquareCBG, SquareRoot, draw, graphs
from graphcb.environments import LinearLosses
from graphcb.experiments.loop import streams
from graphcb.exploration import Schedule
from graphcb.oracles import LinearOGD, OnlineRidge

K = 6
GRAPHS = {
    "bandit": graphs.bandit(K),
    "cops-and-robbers": graphs.cops_and_robbers(K),
    "inventory": graphs.inventory(K),
    "one reveals all": graphs.apple_tasting(K),
    "random edges": FeedbackGraph(np.random.default_rng(1).random((K, K))),
}


def measure(
    graph: FeedbackGraph, gamma: float | Schedule, n_rounds: int
) -> tuple[float, float, float]:
    """Regret, the sum of the DECs, and the whole bound."""
    environment = LinearLosses(graph, n_rounds=n_rounds)
    world, draws = streams(0)
    agent = SquareCBG(OnlineRidge(K, environment.n_features), gamma=gamma, certify=True)
    regret = error = 0.0
    for round in environment.rounds(world):
        means = round.hidden[0]
        p = agent.act(round.context, graph)
        predicted = OnlineRidge.predict(agent.oracle, round.context)  # type: ignore[arg-type]
        regret += p @ means - means.min()
        error += graph.structure.reveal_probabilities(p) @ (predicted - means) ** 2
        seen = environment.reveal(round, draw(p, draws), draws)
        agent.learn(round.context, seen.actions, seen.losses)
    certificate = agent.certificate
    if certificate is None:
        raise RuntimeError("the agent was made with certify=True")
    return regret, certificate.exploration, certificate.regret(error)


def microseconds(graph: FeedbackGraph, *, certify: bool, n_rounds: int) -> float:
    """Median time of `act` in twenty batches."""
    agent = SquareCBG(LinearOGD(graph.n_actions, 20), gamma=50.0, certify=certify)
    context, batches = np.random.default_rng(0).random(20), []
    agent.act(context, graph)
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(n_rounds):
            agent.act(context, graph)
        batches.append((time.perf_counter() - start) / n_rounds)
    return 1e6 * median(batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 rounds")
    n_rounds = 200 if parser.parse_args().quick else 2000
    print(f"| {n_rounds} rounds | gamma | regret | sum of DEC | whole bound |")
    print("|---|---|---|---|---|")
    for name, graph in GRAPHS.items():
        gammas: dict[str, float | Schedule] = {"10": 10.0, "100": 100.0}
        gammas["8 sqrt(2 t)"] = SquareRoot(8.0, 2.0)
        for text, gamma in gammas.items():
            found = " | ".join(f"{value:.1f}" for value in measure(graph, gamma, n_rounds))
            print(f"| {name} | {text} | {found} |", flush=True)
    print()
    print("| act, us, K = 10, 20 features | plain | certify |")
    print("|---|---|---|")
    rng = np.random.default_rng(0)
    timed = [graphs.bandit(10), graphs.cops_and_robbers(10), graphs.random_self_aware(10, 0.3, rng)]
    for graph in timed:
        plain, certified = (
            microseconds(graph, certify=certify, n_rounds=n_rounds // 20)
            for certify in (False, True)
        )
        print(f"| {graph!r} | {plain:.1f} | {certified:.1f} |", flush=True)


if __name__ == "__main__":
    main()
