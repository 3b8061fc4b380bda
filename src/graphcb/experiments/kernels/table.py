"""Runs over a table of known losses with the logistic oracle.

`_play` and `_play_solving` mirror `experiments.loop.play` with `KnownLosses`, a `LogisticOGD` and
SquareCB, SquareCB.G (in a closed form or by the convex program) or a greedy agent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import SquareCBG
from graphcb.compilation import compiled, nanoseconds
from graphcb.environments import KnownLosses, RandomSelfAware
from graphcb.environments.known_losses import SparseTable
from graphcb.experiments.kernels.ledger import (
    EXPLORATION,
    ORACLE,
    REST,
    Counts,
    Ledger,
    write_down,
)
from graphcb.experiments.kernels.rules import (
    BLIND,
    Compiled,
    explore,
    note_rounds,
    numbers_for,
    rule_for,
)
from graphcb.exploration.solver.edges import edges_of
from graphcb.exploration.solver.entry import exact_solutions, solve_general, work_room
from graphcb.exploration.solver.outcomes import N_NUMBERS, REPAIR
from graphcb.exploration.solver.solve import MAX_STEPS, TOLERANCE
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats
from graphcb.oracles import LogisticOGD
from graphcb.oracles.learning_rates import rates_from
from graphcb.oracles.logistic import learn_row, predict_row
from graphcb.rounds.round import invert

SOLVE = -1  # the convex program, in place of the number of a closed form
LARGEST = 256  # actions; a graph of more is not written out as a matrix


class TableRounds(NamedTuple):
    """`order` are the rows of the rounds; row i of the contexts is `starts[i]` to `starts[i + 1]`.

    `reveals` is (rounds or 1, K, K): what each action reveals.
    """

    order: Counts
    starts: Counts
    indices: Counts
    values: Floats
    losses: Floats
    reveals: NDArray[np.bool_]


class Logistic(NamedTuple):
    """The oracle: its weights, the range of losses, the step of each round, what it descends."""

    weights: Floats
    low: float
    high: float
    rates: Floats
    log_loss: bool


def play(
    agent: Compiled,
    environment: KnownLosses,
    world: np.random.Generator,
    uniforms: Floats,
    ledger: Ledger,
) -> int:
    """Play until a round needs the public objects; return how many rounds were played."""
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
    elif type(graph) is RandomSelfAware:
        reveals = graph.draw_many(order.size, world)
        if isinstance(agent, SquareCBG):
            rule = SOLVE if agent.method == "solver" else None
        else:
            rule = BLIND[type(agent)]
    else:
        return 0
    if rule is None:
        return 0
    table = TableRounds(order, *_sparse(contexts), environment.losses, reveals)
    gamma = numbers_for(agent, np.full(order.size, n_actions))
    rates = rates_from(oracle.learning_rate, oracle.decay, oracle.n_updates, order.size)
    model = Logistic(oracle.weights, *oracle.loss_range, rates, oracle.objective == "log_loss")
    if rule == SOLVE:
        n_played = _play_solving(table, gamma, uniforms, model, ledger)
    else:
        n_played = _play(table, gamma, uniforms, rule, model, ledger)
    oracle.n_updates += n_played
    note_rounds(agent, gamma, n_played)
    return n_played


def _sparse(contexts: Floats | SparseTable) -> tuple[Counts, Counts, Floats]:
    if isinstance(contexts, SparseTable):
        return contexts.starts, contexts.indices, contexts.values
    n, width = contexts.shape
    return np.arange(n + 1) * width, np.tile(np.arange(width), n), contexts.ravel()


@compiled
def _play(
    table: TableRounds,
    gammas: Floats,
    uniforms: Floats,
    rule: int,
    oracle: Logistic,
    ledger: Ledger,
) -> int:
    room = np.zeros(2, dtype=np.int64)
    for t in range(table.order.size):
        start = nanoseconds(room)
        f, fine = _predict(table, oracle, t)
        if not fine:
            return t
        predicted = nanoseconds(room)
        ledger.spent[ORACLE] += predicted - start
        p = explore(rule, f, gammas[t])
        ledger.spent[EXPLORATION] += nanoseconds(room) - predicted
        if not _finish(table, oracle, t, p, uniforms[t], ledger):
            return t
    return table.order.size


def _play_solving(
    table: TableRounds, gammas: Floats, uniforms: Floats, oracle: Logistic, ledger: Ledger
) -> int:
    """`_play` with the convex program in the middle.

    Its three parts are called one by one from Python: in one compiled loop the solver would be
    compiled a second time, which takes longer than all the calls of the paper's experiment.
    """
    n_rounds, n_actions = table.order.size, table.losses.shape[1]
    matrices = table.reveals.reshape(n_rounds, n_actions * n_actions).astype(np.float64)
    matrices.setflags(write=False)
    edges = edges_of(FeedbackGraph(np.eye(n_actions)))._replace(flat=matrices)
    # The run loop plays from the first round on whose graph `solve_dec` solves exactly.
    exact = exact_solutions(matrices, n_actions)
    n_rounds = next((t for t in range(n_rounds) if exact[t] is not None), n_rounds)
    block = work_room(n_actions)
    scaled, p = np.empty((n_rounds, n_actions)), np.empty((n_rounds, n_actions))
    outcomes = np.empty((n_rounds, N_NUMBERS))
    room, spent = np.zeros(2, dtype=np.int64), ledger.spent
    for t in range(n_rounds):
        start = nanoseconds(room)
        f, fine = _predict(table, oracle, t)
        if not fine:
            return t
        scaled[t] = f
        predicted = nanoseconds(room)
        solve_general(
            scaled, gammas, edges, None, TOLERANCE, MAX_STEPS, block, t, t + 1, p, outcomes
        )
        explored = nanoseconds(room)
        spent[ORACLE] += predicted - start
        spent[EXPLORATION] += explored - predicted
        if outcomes[t, REPAIR]:
            return t
        if not _finish(table, oracle, t, p[t], uniforms[t], ledger):
            return t
    return n_rounds


@compiled
def _predict(table: TableRounds, oracle: Logistic, t: int) -> tuple[Floats, bool]:
    """Predicted losses of round t, and whether they are valid."""
    first, stop = table.starts[table.order[t]], table.starts[table.order[t] + 1]
    indices, values = table.indices[first:stop], table.values[first:stop]
    every_action = np.arange(table.losses.shape[1])
    return predict_row(oracle.weights, indices, values, every_action, oracle.low, oracle.high)


@compiled
def _finish(
    table: TableRounds, oracle: Logistic, t: int, p: Floats, uniform: float, ledger: Ledger
) -> bool:
    """Draw, reveal and learn in round t; False, with nothing changed, if the input is not valid."""
    room = np.zeros(2, dtype=np.int64)
    start = nanoseconds(room)
    action = invert(p, uniform)
    if action < 0:
        return False
    row = table.order[t]
    first, stop = table.starts[row], table.starts[row + 1]
    indices, values = table.indices[first:stop], table.values[first:stop]
    seen = np.flatnonzero(table.reveals[t if len(table.reveals) > 1 else 0, action])
    truth = table.losses[row]
    revealed = nanoseconds(room)
    if not learn_row(
        oracle.weights, indices, values, seen, truth[seen],
        oracle.low, oracle.high, oracle.rates[t], oracle.log_loss,
    ):  # fmt: skip
        return False
    learnt = nanoseconds(room)
    write_down(ledger, t, action, p[action], truth[action], seen.size)
    ledger.spent[ORACLE] += learnt - revealed
    ledger.spent[REST] += revealed - start
    return True
