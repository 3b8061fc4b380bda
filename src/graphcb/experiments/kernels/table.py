"""Runs over a table of known losses with the logistic oracle."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import SquareCB, SquareCBG
from graphcb.compilation import compiled, nanoseconds
from graphcb.environments import KnownLosses, RandomSelfAware
from graphcb.environments.known_losses import SparseTable
from graphcb.experiments.kernels.ledger import (
    EXPLORATION,
    ORACLE,
    REST,
    Counts,
    Floats,
    Ledger,
    write_down,
)
from graphcb.experiments.kernels.rules import IGNORE_GRAPH, explore, rule_for
from graphcb.experiments.loop import invert
from graphcb.exploration.schedules import gammas
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import LogisticOGD
from graphcb.oracles.learning_rates import rate_at
from graphcb.oracles.logistic import learn_row, predict_row

LARGEST = 256  # actions; a graph of more is not written out as a matrix


class Contexts(NamedTuple):
    """Sparse rows: row i has its values at positions `starts[i]` to `starts[i + 1]`."""

    starts: Counts
    indices: Counts
    values: Floats


class Logistic(NamedTuple):
    """The oracle: its weights, the range of losses, and the step of each round."""

    weights: Floats
    low: float
    high: float
    rates: Floats


def play(
    agent: SquareCB | SquareCBG,
    environment: KnownLosses,
    world: np.random.Generator,
    uniforms: Floats,
    ledger: Ledger,
) -> int:
    """Play as many rounds as are plain, and return how many that were."""
    oracle = agent.oracle
    n_actions = environment.losses.shape[1]
    contexts = environment.contexts
    width = contexts.n_features if isinstance(contexts, SparseTable) else contexts.shape[1]
    if type(oracle) is not LogisticOGD or n_actions > LARGEST:
        return 0
    if (n_actions, width) != (oracle.n_actions, oracle.n_features):
        return 0
    order = environment.draw_order(world)
    graph = environment.graph
    if isinstance(graph, FeedbackGraph):
        if not graph.is_deterministic or graph.observability == "unobservable":
            return 0
        rule, reveals = rule_for(agent, graph), graph.matrix[np.newaxis] > 0.0
    elif isinstance(graph, RandomSelfAware) and type(agent) is SquareCB:
        rule, reveals = IGNORE_GRAPH, graph.draw_many(order.size, world)
    else:
        return 0
    if rule is None:
        return 0
    steps = [
        rate_at(oracle.learning_rate, oracle.decay, oracle.n_updates + t) for t in range(order.size)
    ]
    n_played = _play(
        order,
        _sparse(contexts),
        environment.losses,
        reveals,
        gammas(agent.schedule, agent.n_rounds, np.full(order.size, n_actions)),
        uniforms,
        rule,
        Logistic(oracle.weights, *oracle.loss_range, np.array(steps)),
        ledger,
    )
    oracle.n_updates += n_played
    agent.n_rounds += n_played
    return n_played


def _sparse(contexts: Floats | SparseTable) -> Contexts:
    if isinstance(contexts, SparseTable):
        return Contexts(contexts.starts, contexts.indices, contexts.values)
    n, width = contexts.shape
    return Contexts(np.arange(n + 1) * width, np.tile(np.arange(width), n), contexts.ravel())


@compiled
def _play(
    order: Counts,
    contexts: Contexts,
    losses: Floats,
    reveals: NDArray[np.bool_],
    gammas: Floats,
    uniforms: Floats,
    rule: int,
    oracle: Logistic,
    ledger: Ledger,
) -> int:
    """`reveals` is (rounds or 1, K, K): what each action shows."""
    room = np.zeros(2, dtype=np.int64)
    every_action = np.arange(losses.shape[1])
    weights, low, high = oracle.weights, oracle.low, oracle.high
    start = nanoseconds(room)
    for t in range(order.size):
        first, stop = contexts.starts[order[t]], contexts.starts[order[t] + 1]
        indices, values = contexts.indices[first:stop], contexts.values[first:stop]
        f, fine = predict_row(weights, indices, values, every_action, low, high)
        if not fine:
            return t
        predicted = nanoseconds(room)
        p = explore(rule, f, gammas[t])
        explored = nanoseconds(room)
        action = invert(p, uniforms[t])
        if action < 0:
            return t
        seen = np.flatnonzero(reveals[t if len(reveals) > 1 else 0, action])
        truth = losses[order[t]]
        revealed = nanoseconds(room)
        if not learn_row(weights, indices, values, seen, truth[seen], low, high, oracle.rates[t]):
            return t
        learnt = nanoseconds(room)
        write_down(ledger, t, action, p[action], truth[action], seen.size)
        ledger.spent[ORACLE] += predicted - start + learnt - revealed
        ledger.spent[EXPLORATION] += explored - predicted
        start = nanoseconds(room)
        ledger.spent[REST] += revealed - explored + start - learnt
    return order.size
