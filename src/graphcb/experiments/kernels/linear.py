"""Runs over linear losses, or nearly linear ones, with the ridge oracle.

`_play` mirrors `experiments.loop.play` with `CostlyLooks` or `OffLinear`, an `OnlineRidge` and
SquareCB, SquareCB.G in a closed form, or a greedy agent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled, nanoseconds
from graphcb.environments import CostlyLooks, OffLinear
from graphcb.experiments.kernels.ledger import (
    EXPLORATION,
    ORACLE,
    REST,
    Ledger,
    write_down,
)
from graphcb.experiments.kernels.rules import (
    Compiled,
    explore,
    note_rounds,
    numbers_for,
    rule_for,
)
from graphcb.graphs.structure import Floats
from graphcb.oracles import OnlineRidge
from graphcb.oracles.ridge import learn_linear, predict_linear
from graphcb.rounds.round import invert


class LinearRounds(NamedTuple):
    """Contexts (n, d), expected losses and losses (n, K), and what each action reveals (K, K)."""

    contexts: Floats
    means: Floats
    losses: Floats
    reveals: NDArray[np.bool_]


class Ridge(NamedTuple):
    """The sums of the oracle, by action."""

    inverses: Floats
    moments: Floats
    residuals: Floats


def play(
    agent: Compiled,
    environment: CostlyLooks | OffLinear,
    world: np.random.Generator,
    uniforms: Floats,
    ledger: Ledger,
) -> int:
    """Play until a round needs the public objects; return how many rounds were played."""
    oracle, graph = agent.oracle, environment.graph
    if type(oracle) is not OnlineRidge or not graph.is_deterministic:
        return 0
    if (graph.n_actions, environment.n_features) != (oracle.n_actions, oracle.n_features):
        return 0
    rule = None if graph.observability == "unobservable" else rule_for(agent, graph)
    if rule is None:
        return 0
    rounds = LinearRounds(*environment.draw(world), graph.matrix > 0.0)
    numbers = numbers_for(agent, np.full(environment.n_rounds, graph.n_actions))
    model = Ridge(oracle.inverses, oracle.moments, oracle.residuals)
    n_played = _play(rounds, numbers, uniforms, rule, model, float(oracle.penalty), ledger)
    note_rounds(agent, numbers, n_played)
    return n_played


@compiled
def _play(
    rounds: LinearRounds,
    numbers: Floats,
    uniforms: Floats,
    rule: int,
    oracle: Ridge,
    penalty: float,
    ledger: Ledger,
) -> int:
    room = np.zeros(2, dtype=np.int64)
    every_action = np.arange(rounds.means.shape[1])
    for t in range(uniforms.size):
        start = nanoseconds(room)
        x = rounds.contexts[t]
        f, _, finite = predict_linear(oracle.inverses, oracle.moments, x, every_action)
        if not finite:
            return t
        predicted = nanoseconds(room)
        p = explore(rule, f, numbers[t])
        explored = nanoseconds(room)
        action = invert(p, uniforms[t])
        if action < 0:
            return t
        seen = np.flatnonzero(rounds.reveals[action])
        losses = rounds.losses[t][seen]
        revealed = nanoseconds(room)
        if not learn_linear(
            oracle.inverses, oracle.moments, oracle.residuals, x, seen, losses, penalty
        ):
            return t
        learnt = nanoseconds(room)
        means = rounds.means[t]
        write_down(ledger, t, action, p[action], means[action] - means.min(), seen.size)
        ledger.spent[ORACLE] += predicted - start + learnt - revealed
        ledger.spent[EXPLORATION] += explored - predicted
        ledger.spent[REST] += revealed - explored + nanoseconds(room) - learnt
    return uniforms.size
