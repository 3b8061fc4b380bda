"""How far the automatic gamma is from the best tuned one, on the streams of the experiments.

Each stream runs SquareCB.G with gamma = c sqrt(alpha t) for a grid of c, and with Automatic(c) for
the same grid; the oracle's learning rate is the same for all. Beside them: Doubling, the paper's
adaptive gamma, at the best of three regression regrets; FromGraphs at the default constant; and
nothing set at all, where actions are columns. RCV1 needs GRAPHCB_DATA.
"""

import argparse
import copy
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from graphcb import (
    Automatic,
    Doubling,
    FromGraphs,
    InformationDirected,
    SquareCBG,
    SquareRoot,
    graphs,
)
from graphcb.agents import Agent
from graphcb.datasets import DataNotFoundError, generate_messages, hash_words, load_rcv1
from graphcb.environments import (
    Environment,
    GrowingGrid,
    KnownLosses,
    LinearLosses,
    SyntheticInventory,
)
from graphcb.experiments import run
from graphcb.exploration import Schedule
from graphcb.oracles import DefaultOracle, LogisticOGD, NewsvendorOGD, OnlineRidge, Oracle

CS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
REGRESSION_REGRETS = (1.0, 4.0, 16.0)
SEEDS = range(3)


class Stream(NamedTuple):
    name: str
    environment: Environment
    oracle: Callable[[], Oracle]
    alpha: float


def made_streams(n_rounds: int = 10_000) -> list[Stream]:
    """Streams of at most so many rounds."""
    few = min(n_rounds, 5000)
    messages = generate_messages(few, np.random.default_rng(0))
    costs = np.where(messages.is_spam[:, None], [0.15, 1.0], [0.15, 0.0])
    spam = KnownLosses(hash_words(messages.texts, 4096), costs, graphs.apple_tasting())

    def newsvendor() -> Oracle:
        return NewsvendorOGD(100, learning_rate=0.05)

    return [
        Stream("inventory, K = 101", SyntheticInventory(n_rounds, levels=101), newsvendor, 1.0),
        Stream(
            "inventory, sqrt(t)",
            SyntheticInventory(n_rounds, levels=GrowingGrid(0.5)),
            newsvendor,
            1.0,
        ),
        Stream("spam review", spam, lambda: LogisticOGD(2, 4096, learning_rate=4.0), 1.0),
        Stream(
            "linear, bandit, K = 10",
            LinearLosses(graphs.bandit(10), n_rounds=few),
            lambda: OnlineRidge(10, 5),
            10.0,
        ),
        Stream(
            "linear, one reveals all, K = 5",
            LinearLosses(graphs.apple_tasting(5), n_rounds=few),
            lambda: OnlineRidge(5, 5),
            1.0,
        ),
    ]


def rcv1_streams() -> list[Stream]:
    large, small = load_rcv1(50), load_rcv1(10)

    def oracle(n_topics: int) -> Callable[[], Oracle]:
        return lambda: LogisticOGD(n_topics, large.contexts.shape[1], learning_rate=8.0)

    streams = [
        Stream(
            f"RCV1, {graph.family}, K = 50",
            KnownLosses(large.contexts, large.losses, graph, n_rounds=10_000),
            oracle(50),
            graph.independence_number(),
        )
        for graph in (
            graphs.bandit(50),
            graphs.cops_and_robbers(50),
            graphs.full_information(50),
        )
    ]
    fresh = KnownLosses(
        small.contexts,
        small.losses,
        lambda rng: graphs.random_self_aware(10, 0.75, rng),
        n_rounds=10_000,
    )
    return [*streams, Stream("RCV1, random graphs, K = 10", fresh, oracle(10), 1.0)]


def mean_loss(stream: Stream, schedule: Callable[[], Schedule], n_seeds: int) -> float:
    return mean_of(stream, lambda: SquareCBG(stream.oracle(), gamma=schedule()), n_seeds)


def mean_of(stream: Stream, agent: Callable[[], Agent], n_seeds: int) -> float:
    finals = []
    for seed in SEEDS[:n_seeds]:
        *_, last = run(agent(), stream.environment, seed=seed)
        finals.append(last.mean_loss)
    return float(np.mean(finals))


def nothing_set(stream: Stream, n_seeds: int) -> str:
    if isinstance(stream.environment, SyntheticInventory):
        return "-"  # its actions are stock levels, which need an oracle for them
    oracle = None
    if isinstance(stream.environment, LinearLosses):  # noise takes losses out of 0 to 1
        oracle = DefaultOracle(stream.environment.graph.n_actions, loss_range=(-1.0, 2.0))
    return f"{mean_of(stream, lambda: InformationDirected(copy.deepcopy(oracle)), n_seeds):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="--short with 200 rounds per stream")
    parser.add_argument("--short", action="store_true", help="one seed, a short grid, no RCV1")
    options = parser.parse_args()
    is_short = options.short or options.quick
    n_seeds, grid = (1, (8.0, 32.0, 128.0)) if is_short else (len(SEEDS), CS)
    streams = made_streams(200) if options.quick else made_streams()
    try:
        streams += [] if is_short else rcv1_streams()
    except DataNotFoundError as missing:
        print(f"without RCV1: {missing}")
    default = Automatic().c
    print(
        f"| stream | best tuned (c) | Automatic(c = {default:g}), above it | Doubling (its "
        f"regression regret) | FromGraphs(c = {default:g}) | nothing set | Automatic by c |"
    )
    print("|---|---|---|---|---|---|---|")
    for stream in streams:
        measure = partial(mean_loss, stream, n_seeds=n_seeds)
        tuned = {c: measure(partial(SquareRoot, c, stream.alpha)) for c in grid}
        automatic = {c: measure(partial(Automatic, c)) for c in grid}
        rounds = stream.environment.n_rounds
        doubling = {r: measure(partial(Doubling, rounds, r)) for r in REGRESSION_REGRETS}
        best = min(tuned, key=lambda c: tuned[c])
        error = min(doubling, key=lambda r: doubling[r])
        above = automatic[default] / tuned[best] - 1.0
        by_c = " ".join(f"{value:.4f}" for value in automatic.values())
        print(
            f"| {stream.name} | {tuned[best]:.4f} ({best:g}) | {automatic[default]:.4f}, "
            f"{above:+.1%} | {doubling[error]:.4f} ({error:g}) | "
            f"{measure(partial(FromGraphs, default)):.4f} | {nothing_set(stream, n_seeds)} | "
            f"{by_c} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
