"""Small worlds with a known answer: arms, topics, late feedback, odd numbers, misleading rounds."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb import FeedbackGraph, graphs
from graphcb.contexts import Encoder

Floats = NDArray[np.float64]

MISLED = 1000  # rounds
# What worlds are compared with.
BETA, GAMMA, THOMPSON, WORST = "Thompson, Beta", "SquareCB.G, 32", "Thompson", "worst"


class Drawn(NamedTuple):
    """All rounds of a run: what is seen of the contexts, expected losses and losses (n, K)."""

    contexts: Any  # one per round
    means: Floats
    losses: Floats


class World(NamedTuple):
    """How a run is drawn, and what is asked of the default in it.

    Feedback comes `delay` rounds late, or once `batch` rounds are full. The regret should be at
    most `most` times that of `reference`: other exploration in this world, the default in another
    world, or the `WORST` case. With `of_gain` it is the gain over uniform choice that should be at
    least `most` times that of the reference. The first `misled` rounds are of another world. With
    `by_play` the n-th play of an action brings its n-th loss, in whichever round: where rounds are
    alike, two contenders then differ by what they play, and not by luck.
    """

    graph: FeedbackGraph
    n_rounds: int
    drawn: Callable[[np.random.Generator, int], Drawn]
    reference: str = ""
    most: float = 1.0
    delay: int = 0
    batch: int = 1
    misled: int = 0
    n_seeds: int = 8
    of_gain: bool = False
    by_play: bool = False


def coins(rng: np.random.Generator, means: Floats, contexts: Any) -> Drawn:
    return Drawn(contexts, means, (rng.random(means.shape) < means).astype(np.float64))


def arms(
    n_actions: int, gap: float, rng: np.random.Generator, n: int, *, usual: float = 0.5
) -> Drawn:
    """No context: all are alike but one, which is better."""
    means = np.full((n, n_actions), usual)
    means[:, rng.integers(n_actions)] -= gap
    return coins(rng, means, np.ones((n, 1)))


def topics(
    n_topics: int, usual: float, means: tuple[float, float], rng: np.random.Generator, n: int
) -> Drawn:
    """A category is all that is seen. One action has the same loss everywhere, that of the other
    one has the first mean for half of the topics and the second for the others, and topics share
    nothing. Losses are coins, or certain where they are 0 and 1.
    """
    cells = np.full((n_topics, 2), usual)
    cells[:, 1] = np.where(rng.permutation(n_topics) < n_topics / 2, *means)
    encoder, names = Encoder(), [{"topic": f"t{topic}"} for topic in range(n_topics)]
    for name in names:
        encoder.learn(name)
    rows, those = [encoder.encode(name) for name in names], rng.integers(n_topics, size=n)
    expected, contexts = cells[those], [rows[topic] for topic in those]
    return (
        Drawn(contexts, expected, expected)
        if set(means) == {0.0, 1.0}
        else coins(rng, expected, contexts)
    )


def linear(
    n_actions: int,
    n_features: int,
    rng: np.random.Generator,
    n: int,
    *,
    matter: int = 5,
    see: Callable[[Floats], Floats] = lambda x: x,
) -> Drawn:
    """Scores are linear in the features that matter; `see` is what the agent gets of them."""
    weights, x = rng.normal(size=(n_actions, matter)), rng.normal(size=(n, n_features))
    means = 1.0 / (1.0 + np.exp(-2.0 * x[:, :matter] @ weights.T))
    return coins(rng, means, see(x))


def as_amounts(x: Floats) -> Floats:
    return np.exp(2.0 * x)


def then_in_kilograms(x: Floats) -> Floats:
    """Weights in grams, and from half way in kilograms."""
    unit = np.where(np.arange(len(x)) < len(x) // 2, 1.0, 1e-3)
    return (500.0 + 200.0 * x) * unit[:, None]


def with_sentinel(x: Floats) -> Floats:
    """One row in 500 has 999999 in one of its features."""
    rows = np.arange(7, len(x), 500)
    seen = x.copy()
    seen[rows, rows // 500 % x.shape[1]] = 999999.0
    return seen


def rewards(top: float, rng: np.random.Generator, n: int) -> Drawn:
    """Rewards are lognormal and typically 4, declared as 0 to `top`; losses are shares of it."""
    weights, x = 0.5 * rng.normal(size=(4, 5)), rng.normal(size=(n, 5))
    expected = np.exp(x @ weights.T + 1.125)
    found = np.exp(x @ weights.T + 1.0 + 0.5 * rng.normal(size=expected.shape))
    return Drawn(x, -expected, 1.0 - np.minimum(found, top) / top)


def misleading(before: list[float], after: list[float], rng: np.random.Generator, n: int) -> Drawn:
    """Three features that say nothing; the means change after the first rounds."""
    means = np.where(np.arange(n)[:, None] < MISLED, before, after)
    return coins(rng, means, rng.normal(size=(n, 3)))


def bandit(n_actions: int, n_rounds: int, drawn: Any, *asked: Any, **more: Any) -> World:
    return World(graphs.bandit(n_actions), n_rounds, drawn, *asked, **more)


def paired_arms(
    n_actions: int, n_rounds: int, gap: float, *, usual: float = 0.5, n_seeds: int = 60
) -> World:
    drawn = partial(arms, n_actions, gap, usual=usual)
    return bandit(n_actions, n_rounds, drawn, BETA, n_seeds=n_seeds, by_play=True)


def misled(graph: Any, before: list[float], after: list[float], most: float) -> World:
    drawn = partial(misleading, before, after)
    return World(FeedbackGraph(graph), 6000, drawn, WORST, most, misled=MISLED)


TEN, THREE = partial(linear, 10, 5), partial(linear, 3, 5)
EXPONENTIAL, SENTINEL = partial(THREE, see=as_amounts), partial(THREE, see=with_sentinel)
KILOGRAMS = partial(THREE, see=then_in_kilograms)
CYCLE = np.roll(np.eye(4), 1, axis=1)
TWENTY = "rewards of 4, range to 20"
WORLDS: Mapping[str, World] = {
    "two arms, 0.02 apart": paired_arms(2, 20_000, 0.02, n_seeds=100),
    "two arms, 0.90 and 0.92": paired_arms(2, 20_000, 0.02, usual=0.92),
    "two arms, 0.10 and 0.12": paired_arms(2, 20_000, 0.02, usual=0.12),
    "five arms, 0.1 apart": paired_arms(5, 10_000, 0.1),
    "fifty arms, 0.1 apart": paired_arms(50, 10_000, 0.1),
    "ten topics, 0.1 apart": bandit(
        2, 10_000, partial(topics, 10, 0.5, (0.4, 0.6)), THOMPSON, 1.25, n_seeds=20
    ),
    "twenty topics, 0.3 apart": bandit(
        2, 5000, partial(topics, 20, 0.5, (0.2, 0.8)), THOMPSON, 1.25, n_seeds=20
    ),
    "twenty topics, certain": bandit(
        2, 3000, partial(topics, 20, 0.3, (0.0, 1.0)), WORST, 0.1, n_seeds=20
    ),
    "five arms, one outcome in ten": World(
        FeedbackGraph(0.1 * np.eye(5)), 20_000, partial(arms, 5, 0.2), THOMPSON, 1.25
    ),
    "late by 1,000": bandit(10, 12_000, TEN, GAMMA, 1.15, delay=1000),
    "batches of 1,000": bandit(10, 12_000, TEN, GAMMA, 1.15, batch=1000),
    "200 actions": bandit(200, 8000, partial(linear, 200, 5), GAMMA, 1.1),
    "review, misleading": misled(
        [[0, 0, 0], [0, 0, 0], [1, 1, 1]], [0.9, 0.1, 0.3], [0.1, 0.4, 0.3], 400 / 1500
    ),
    "cycle, misleading": misled(CYCLE, [0.9, 0.1, 0.4, 0.4], [0.1, 0.4, 0.4, 0.4], 0.5),
    "apple tasting, misleading": misled([[1, 1], [0, 0]], [0.9, 0.4], [0.1, 0.4], 0.5),
    "plain": bandit(3, 6000, THREE),
    "features as exp(2x)": bandit(3, 6000, EXPONENTIAL, "plain", 2.0),
    "one row in 500 has 999999": bandit(3, 6000, SENTINEL, "plain", 3.0),
    "grams, then kilograms": bandit(3, 6000, KILOGRAMS, "plain", 3.0),
    "5 of 200 features matter": bandit(3, 6000, partial(linear, 3, 200), "plain", 5.0),
    TWENTY: bandit(4, 4000, partial(rewards, 20.0)),
    "rewards of 4, range to 10,000": bandit(
        4, 4000, partial(rewards, 10_000.0), TWENTY, 0.9, of_gain=True
    ),
}
