"""Worlds in which the truth is known, and the policies that write logs of them.

A context is one of four kinds, equally likely, and a loss is 0 or 1 with a mean that depends on
the kind and the action.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb import EpsilonGreedy, FeedbackGraph, InformationDirected, Limits, SquareCBG, graphs
from graphcb.oracles import DefaultOracle, OnlineRidge

Floats = NDArray[np.float64]

N_KINDS = 4
CONTEXTS: Floats = np.eye(N_KINDS)
RARE = 0.002  # the probability of an action that is rarely seen


def cycle(n_actions: int) -> FeedbackGraph:
    """Each action reveals the next one alone."""
    return FeedbackGraph(np.roll(np.eye(n_actions), 1, axis=1))


def review(n_actions: int) -> FeedbackGraph:
    """The last action reveals everything, the others nothing: apple tasting with more apples."""
    matrix = np.zeros((n_actions, n_actions))
    matrix[-1] = 1.0
    return FeedbackGraph(matrix)


GRAPHS = {
    "bandit": graphs.bandit,
    "cops-and-robbers": graphs.cops_and_robbers,
    "inventory": graphs.inventory,
    "cycle": cycle,
    "review": review,
}


class World(NamedTuple):
    """What is true, and which fixed policies there are: (N_KINDS, n_actions) each.

    `target` is judged, beside `close`, which plays nearly the same.
    """

    graph: FeedbackGraph
    means: Floats
    logging: Floats
    target: Floats
    close: Floats

    def mean_loss(self, policy: Floats) -> float:
        """Of a fixed policy, over all contexts that could come."""
        return float((policy * self.means).sum(axis=1).mean())


def new_world(settings: Mapping[str, Any], rng: np.random.Generator) -> World:
    """A world of one setting; `least` is what the fixed logging policy gives every action."""
    n_actions = int(settings.get("actions", 5))
    graph = GRAPHS[settings["graph"]](n_actions)
    means = rng.uniform(0.1, 0.9, (N_KINDS, n_actions))
    logging = _mostly(n_actions, rng, float(settings.get("least", 0.05)))
    target = _mostly(n_actions, rng, 0.02)
    if settings.get("rare"):  # the target plays what is hardly ever seen, and loses
        logging = _mostly(n_actions, rng, 0.1)
        means[:, 0] = 0.9
        free = logging[:, 0] - RARE
        logging[:, 0] = RARE
        logging[:, 1] += free
        target = np.zeros((N_KINDS, n_actions))
        target[:, 0] = 1.0
    close = 0.9 * target + 0.1 * np.roll(target, 1, axis=1)
    return World(graph, means, logging, target, close)


def _mostly(n_actions: int, rng: np.random.Generator, least: float) -> Floats:
    probabilities = np.full((N_KINDS, n_actions), least)
    favourites = rng.integers(n_actions, size=N_KINDS)
    probabilities[np.arange(N_KINDS), favourites] = 1.0 - least * (n_actions - 1)
    return probabilities


def new_agent(name: str, n_actions: int) -> Any:
    """A policy that learns while it writes the log."""
    if name == "EpsilonGreedy":
        return EpsilonGreedy(OnlineRidge(n_actions, N_KINDS), epsilon=0.1)
    if name == "SquareCBG":
        return SquareCBG(OnlineRidge(n_actions, N_KINDS))
    if name == "floors":
        limits = Limits(floors=dict.fromkeys(range(n_actions), 0.02))
        return InformationDirected(DefaultOracle(n_actions), limits=limits)
    return InformationDirected(DefaultOracle(n_actions), explore=0.01)
