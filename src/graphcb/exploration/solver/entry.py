"""From checked rows of predicted losses to outcomes: the one compiled entry of the solver."""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import compiled, inlined
from graphcb.exploration.solver.active_set import Outcome, solve_scaled
from graphcb.exploration.solver.apple import solve_apple
from graphcb.exploration.solver.edges import Edges, edges_of
from graphcb.exploration.solver.exact import solve_bandit, solve_full_information
from graphcb.exploration.solver.problem import dec
from graphcb.exploration.solver.solution import Status
from graphcb.exploration.solver.workspace import room_for
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families import AppleTasting, Bandit, FullInformation
from graphcb.graphs.matrices import DenseMatrix

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

COMMON_SIZE = 64  # chosen actions for which the work room is kept between calls
LARGEST = 1e100  # scaled gaps beyond this are cut: products of squares would overflow
VALUE, UPPER, LOWER, STEPS, RESTARTED, N_CHOSEN, CUT = range(7)  # CUT: some gap was LARGEST
N_NUMBERS = 7
BANDIT, FULL = -1, -2
_STATUSES = np.array([Status.CERTIFIED, Status.RESTARTED, Status.EXACT, Status.NOT_CERTIFIED])

_kept = threading.local()


def solve_rows(
    losses: Floats,
    gammas: Floats,
    graph: FeedbackGraph,
    edges: Edges | None,
    tolerance: float,
    max_steps: int,
    first: int,
    stop: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    """Solve `losses[first:stop]` (scaled in place) into `p` and `outcomes`.

    `edges` are those of the graph, or None for a graph with an exact solution.
    """
    if edges is None:
        _solve_exactly(losses, gammas, _kind(graph), first, stop, p, outcomes)
    else:
        room = work_room(losses.shape[1])
        solve_scaling(losses, gammas, edges, tolerance, max_steps, room, first, stop, p, outcomes)


def edges_to_solve(graph: FeedbackGraph) -> Edges | None:
    """What `solve_rows` wants to know of a graph, worked out once."""
    return graph.remember("edges to solve", _find_edges)


def _find_edges(graph: FeedbackGraph) -> Edges | None:
    if isinstance(graph.structure, Bandit | FullInformation | AppleTasting):
        return None
    return edges_of(graph)


def _kind(graph: FeedbackGraph) -> int:
    """Which exact solution: BANDIT, FULL, or the revealing action of apple tasting."""
    if isinstance(graph.structure, AppleTasting):
        return graph.structure.revealing_action
    return BANDIT if isinstance(graph.structure, Bandit) else FULL


def stack_edges(graphs: Sequence[FeedbackGraph]) -> Edges | None:
    """The edges of many graphs together, one a row, if all of them are dense."""
    matrices = [g.structure.matrix for g in graphs if isinstance(g.structure, DenseMatrix)]
    if len(matrices) < len(graphs):
        return None
    stack = np.stack(matrices).reshape(len(graphs), -1)
    stack.setflags(write=False)
    return edges_of(graphs[0])._replace(flat=stack)


def status_of(outcome: Sequence[float], tolerance: float, exact: bool) -> Status:
    """How far one outcome is proven."""
    value, upper, lower, _, restarted, _, _ = outcome
    if not upper - lower <= tolerance * (1.0 + value):
        return Status.NOT_CERTIFIED
    if exact:
        return Status.EXACT
    return Status.RESTARTED if restarted else Status.CERTIFIED


def statuses_of(outcomes: Floats, tolerance: float, exact: Flags) -> tuple[Status, ...]:
    """`status_of` of each row."""
    proven = outcomes[:, UPPER] - outcomes[:, LOWER] <= tolerance * (1.0 + outcomes[:, VALUE])
    number = np.where(exact, 2, outcomes[:, RESTARTED] != 0.0)
    return tuple(_STATUSES[np.where(proven, number, 3)].tolist())


def recheck_cut(
    losses: Floats, gamma: float, graph: FeedbackGraph, p: Floats, scaled: Floats, outcome: Floats
) -> None:
    """Make an outcome honest whose largest gaps were cut.

    An action with a gap cut from ft to LARGEST needs LARGEST / ft of the weight found, or none if
    the others see everything. The optimum is never negative, which is all that is left of the
    bound.
    """
    cut = scaled >= LARGEST
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        share = np.where(cut, LARGEST / (gamma * (losses - losses.min())), 1.0)
        candidates = [weights / weights.sum() for weights in (p * share, p * ~cut)]
        values = [dec(one, losses, graph, gamma) * gamma for one in candidates]
    best = int(np.argmin(values))
    p[:] = candidates[best]
    outcome[VALUE] = outcome[UPPER] = values[best]
    outcome[LOWER] = 0.0


def play_uniformly(
    losses: Floats, gamma: float, graph: FeedbackGraph, p: Floats, outcome: Floats
) -> None:
    """Where the actions that would have to be solved together are too many: a safe answer."""
    p[:] = 1.0 / p.size
    with np.errstate(over="ignore", invalid="ignore"):
        outcome[VALUE] = outcome[UPPER] = dec(p, losses, graph, gamma) * gamma
    outcome[LOWER] = 0.0


def work_room(n_actions: int) -> Floats:
    """A block of work room, one a thread, used again by every call."""
    size = min(n_actions, COMMON_SIZE)
    block: Floats | None = getattr(_kept, "block", None)
    if block is None or _kept.size < size:
        block = _kept.block = room_for(size)
        _kept.size = size
    return block


@compiled
def solve_scaling(
    losses: Floats,
    gammas: Floats,
    edges: Edges,
    tolerance: float,
    max_steps: int,
    block: Floats,
    first: int,
    stop: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    """The compiled part of `solve_rows`; `edges.flat` has one row, or one a row of `losses`."""
    for row in range(first, stop):
        matrix = edges.flat[row if len(edges.flat) > 1 else 0]
        one = Edges(edges.form, matrix, edges.start, edges.action, edges.chance)
        outcomes[row, CUT] = _scale(losses[row], gammas[row], LARGEST)
        if losses.shape[1] == 1:
            p[row, 0] = 1.0
            _record(Outcome(0.0, 0.0, 0.0, 0, False, 1), outcomes[row])
            continue
        outcome = solve_scaled(losses[row], one, tolerance, max_steps, block, p[row])
        _record(outcome, outcomes[row])


@compiled
def _solve_exactly(
    losses: Floats,
    gammas: Floats,
    kind: int,
    first: int,
    stop: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    for row in range(first, stop):
        largest = LARGEST if kind >= 0 else 1e300
        outcomes[row, CUT] = _scale(losses[row], gammas[row], largest) and kind >= 0
        if kind == BANDIT:
            outcome = solve_bandit(losses[row], p[row])
        elif kind == FULL:
            outcome = solve_full_information(losses[row], p[row])
        else:
            outcome = solve_apple(losses[row], kind, p[row])
        _record(outcome, outcomes[row])


@inlined
def _scale(losses: Floats, gamma: float, largest: float) -> bool:
    """Overwrite losses with ft = gamma * (f - min f); whether some were cut to `largest`."""
    best, cut = np.inf, False
    for a in range(losses.size):
        best = min(best, losses[a])
    for a in range(losses.size):
        # Halves, as the difference of two finite numbers may be too large for one.
        losses[a] = min(2.0 * (gamma * (0.5 * losses[a] - 0.5 * best)), largest)
        cut = cut or losses[a] >= largest
    return cut


@inlined
def _record(outcome: Outcome, numbers: Floats) -> None:
    numbers[VALUE], numbers[UPPER] = outcome.value, outcome.upper
    numbers[LOWER] = max(outcome.lower, 0.0)  # the optimum is never negative
    numbers[STEPS], numbers[RESTARTED] = outcome.steps, outcome.restarted
    numbers[N_CHOSEN] = outcome.n_chosen
