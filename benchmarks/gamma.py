"""How far the automatic gamma is from the best tuned one, on the streams of the experiments.

Each stream runs SquareCB.G with gamma = c sqrt(alpha t) for a grid of c, and with Automatic(c) for
the same grid; the oracle's learning rate is the same for all. RCV1 needs GRAPHCB_DATA.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from graphcb import Automatic, SquareCBG, SquareRoot, graphs
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
from graphcb.oracles import LogisticOGD, NewsvendorOGD, OnlineRidge, Oracle

CS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
SEEDS = range(3)


class Stream(NamedTuple):
    name: str
    environment: Environment
    oracle: Callable[[], Oracle]
    alpha: float


def made_streams() -> list[Stream]:
    messages = generate_messages(5000, np.random.default_rng(0))
    costs = np.where(messages.is_spam[:, None], [0.15, 1.0], [0.15, 0.0])
    spam = KnownLosses(hash_words(messages.texts, 4096), costs, graphs.apple_tasting())

    def newsvendor() -> Oracle:
        return NewsvendorOGD(100, learning_rate=0.05)

    return [
        Stream("inventory, K = 101", SyntheticInventory(levels=101), newsvendor, 1.0),
        Stream("inventory, sqrt(t)", SyntheticInventory(levels=GrowingGrid(0.5)), newsvendor, 1.0),
        Stream("spam review", spam, lambda: LogisticOGD(2, 4096, learning_rate=4.0), 1.0),
        Stream(
            "linear, bandit, K = 10",
            LinearLosses(graphs.bandit(10), n_rounds=5000),
            lambda: OnlineRidge(10, 5),
            10.0,
        ),
        Stream(
            "linear, one reveals all, K = 5",
            LinearLosses(graphs.apple_tasting(5), n_rounds=5000),
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


def mean_loss(stream: Stream, schedule: Callable[[], Schedule]) -> float:
    finals = []
    for seed in SEEDS:
        agent = SquareCBG(stream.oracle(), gamma=schedule())
        *_, last = run(agent, stream.environment, seed=seed)
        finals.append(last.mean_loss)
    return float(np.mean(finals))


def main() -> None:
    streams = made_streams()
    try:
        streams += rcv1_streams()
    except DataNotFoundError as missing:
        print(f"without RCV1: {missing}")
    default = Automatic().c
    print(f"| stream | best tuned (c) | Automatic(c = {default:g}), above it | Automatic by c |")
    print("|---|---|---|---|")
    for stream in streams:
        tuned = {c: mean_loss(stream, partial(SquareRoot, c, stream.alpha)) for c in CS}
        automatic = {c: mean_loss(stream, partial(Automatic, c)) for c in CS}
        best = min(tuned, key=lambda c: tuned[c])
        above = automatic[default] / tuned[best] - 1.0
        by_c = " ".join(f"{value:.4f}" for value in automatic.values())
        print(
            f"| {stream.name} | {tuned[best]:.4f} ({best:g}) | {automatic[default]:.4f}, "
            f"{above:+.1%} | {by_c} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
