"""Exploration without settings: information at the best price, and never less than is safe.

An oracle's forecast says which action may be the best one, and what seeing a loss would tell of
it (`beliefs`).

**At the best price.** The action that looks best is mixed with one that would tell more, in the
proportion that makes (expected regret)^2 / expected information smallest, summed over the last
rounds (Russo and Van Roy, 2018; Hao, Lattimore and Qin, 2022). What a loss tells counts as far as
it depends on which action is best. Nothing depends on how observable the graph is: an action that
is worth its price in information gets played, wherever its information comes from. With limits the
ratio is minimised over all distributions that obey them.

**As far as can be seen.** Where losses are shown with a probability, what an action hides of one,
and by whom it is looked at, is relative to the action that shows it best: where one outcome in ten
comes, whatever is played, playing the best action hides nothing. What a look tells is not relative.

**As is safe.** Diverse contexts explore by themselves: what is learned of an action in one helps
in all others. Deviations are divided by sqrt(d), where d is the number of parameters that a look is
shared among: n u / (1 + u) for an action seen n times where another look adds the share u to what
is known, averaged over looks. Without contexts d = 1, and d is less for actions hardly ever seen
(`beliefs.sharing`), and where such help does not come, as with topics that share nothing
(`beliefs.count_on_fewer`). Where the best-looking action does not show its own loss, and no action
shows more than a share c of what it hides, d^(c / 2) takes its place. Beside these choices, some
looks are due (`due_looks`): with d = 1 as many as Thompson sampling takes. Where an action shows
its own loss alone, more are worth their price as far as they tell of other contexts, so the price
decides on 1 - 1 / d^4 of its share.

Ties are broken at random. Decision notes 0041 and 0064 have what was measured.
"""

from typing import Any, NamedTuple

import numpy as np

from graphcb.checks import as_numbers
from graphcb.compilation import compiled
from graphcb.exploration.beliefs import is_forecast
from graphcb.exploration.cheapest import obeys
from graphcb.exploration.due_looks import (
    Edges,
    ask,
    edges_of,
    look_at_each,
    look_at_once,
    seen_with,
    shown_by,
)
from graphcb.exploration.in_flight import NONE, InFlight, as_answered, counted
from graphcb.exploration.limited_choice import obeying, smallest_ratio
from graphcb.exploration.limits import BoxAndRows
from graphcb.exploration.mixed_choice import TIE, Memory, best_looking, choose, remember
from graphcb.graphs import FeedbackGraph, require_observable
from graphcb.graphs.matrices import SparseMatrix
from graphcb.graphs.structure import Floats, Structure

WRITTEN_OUT = 512  # actions up to which a graph's matrix is used, 2 MB
_PARTS = ("losses", "deviations", "gains", "counts")

START: Memory = (0.0, 0.0, 0.0, 1.0)
REFUSED: Memory = (np.nan, np.nan, np.nan, np.nan)


def information_directed(
    losses: Floats,
    deviations: Floats,
    gains: Floats,
    counts: Floats,
    span: float,
    low: float = 0.0,
    bound: float = 0.0,
    *,
    graph: FeedbackGraph,
    round_number: int,
    memory: Memory = START,
    looks: InFlight | None = None,
    box: BoxAndRows | None = None,
) -> tuple[Floats, Memory, Floats]:
    """Probabilities (n_actions,) from an oracle's forecast, and what to remember of the round.

    See `oracles.Forecast` for the first arguments. `round_number` counts from 1. `memory` is that
    of the round before. `looks` are those of earlier rounds; the third result are the wanted ones
    with those that Thompson sampling would take in this round. `box` are the limits of the round,
    if there are any.

    >>> from graphcb import graphs
    >>> sure = (np.array([0.2, 0.4]), np.zeros(2), np.zeros(2), np.full(2, 100.0), 1.0)
    >>> information_directed(*sure, graph=graphs.bandit(2), round_number=200)[0]
    array([1., 0.])
    >>> unsure = (np.full(2, 0.5), np.full(2, 0.3), np.full(2, 1.0), np.zeros(2), 1.0)
    >>> information_directed(*unsure, graph=graphs.bandit(2), round_number=1)[0]
    array([0.5, 0.5])
    """
    parts = losses, deviations, gains, counts
    f, deviations, gains, counts = map(as_numbers, _PARTS, parts)
    shape = (graph.n_actions,)
    if not f.shape == deviations.shape == gains.shape == counts.shape == shape:
        shapes = zip(_PARTS, map(np.shape, parts), strict=True)
        name, found = next(one for one in shapes if one[1] != shape)
        raise ValueError(f"`{name}` must have shape {shape} to match the graph, got {found}")
    written = graph.remember("written out", _written_out)
    if looks is None:
        looks = NONE, NONE, NONE, np.arange(graph.n_actions)
    decide: Any = _in_steps if written.edges is None else _in_one
    p, wanted, learned, after = decide(
        f, deviations, gains, counts, float(span), float(low), float(bound), round_number,
        looks, memory, *written,
    )  # fmt: skip
    if not after[0] >= 0.0:
        raise ValueError(
            "a forecast must be finite, and its deviations, gains, counts and span not negative; "
            f"got losses {f}, deviations {deviations}, gains {gains}, counts {counts}, span {span}"
        )
    if box is None:
        return p, after, wanted
    if written.edges is not None:
        round_ = round_number, memory, after, written.edges
        p, feasible, after = _limited(p, f, learned, *box, *round_)
        return obeying(p, feasible), after, wanted
    regrets, known, shared = learned
    p = obeying(*_within(p, f, regrets, known, *box))
    seen = graph.structure.reveal_probabilities(p)
    after = remember(p, regrets, known, seen, shared, round_number, *memory[2:])
    return p, after, wanted


def check_memory(memory: Any) -> None:
    """Refuse what a file says is remembered, unless it may be."""
    numbers = np.asarray(memory, dtype=float) if isinstance(memory, tuple) else np.zeros(0)
    fits = numbers.shape == (4,) and all(type(number) is float for number in memory)
    if not fits or not ((numbers >= 0.0) & (numbers < np.inf)).all():
        raise ValueError(f"`memory` must be four numbers that are not negative, got {memory!r}")
    if numbers[3] < 1.0:
        raise ValueError(f"`memory` must have 1 parameter or more, got {numbers[3]}")


class Written(NamedTuple):
    """What a round needs of a graph, and of `_relative` to it.

    `rate` is that of looks at hidden losses. `alone` is 1 where no action shows more than one loss,
    else 0. `edges` are None where there are many actions; then structures take the place of those.
    """

    rate: float
    alone: float
    edges: Edges | None
    relative: Any
    relative_edges: Any


def _written_out(graph: FeedbackGraph) -> Written:
    require_observable(graph, "to learn from it")
    rate = -1.0 / 3.0 if graph.observability == "weak" else -0.5
    relative = graph if graph.structure.is_deterministic() else _relative(graph)
    shown = relative.structure.sums_revealed(np.ones(graph.n_actions))
    alone = float(shown.max() <= 1.0)
    if graph.n_actions > WRITTEN_OUT:
        return Written(rate, alone, None, relative.structure, graph.structure)
    edges = edges_of(graph.matrix)
    relative_edges = edges if relative is graph else edges_of(relative.matrix)
    return Written(rate, alone, edges, relative.matrix, relative_edges)


def _relative(graph: FeedbackGraph) -> FeedbackGraph:
    """The graph as if each loss were certain to be shown by the action that shows it best."""
    if isinstance(graph.structure, SparseMatrix):
        edges = graph.structure.matrix.copy()
        most = edges.max(axis=0).toarray().ravel()
        edges.data = edges.data / most[edges.indices]
        return FeedbackGraph(edges)
    most = graph.matrix.max(axis=0)
    return FeedbackGraph(graph.matrix / np.where(most > 0.0, most, 1.0))


def _in_steps(
    f: Floats,
    deviations: Floats,
    gains: Floats,
    counts: Floats,
    span: float,
    low: float,
    bound: float,
    round_number: int,
    looks: InFlight,
    memory: Memory,
    rate: float,
    alone: float,
    _: None,
    relative: Structure,
    structure: Structure,
) -> tuple[Any, ...]:
    """`_in_one` for a graph that is not written out."""
    gains, counts, each, owed, best, fewest = _opened(f, deviations, gains, counts, span, looks)
    if best < 0:
        return f, f, None, REFUSED
    hidden, parameters = 1.0 - relative.row(best), memory[3]
    most_shown = 0.0
    if hidden[best] > 0.0 or fewest < parameters:
        most_shown = float(relative.sums_revealed(hidden).max())
    floor, tells, worth, thompson = _asked(
        f, deviations, gains, counts, each, span, low, bound, round_number, rate,
        best, hidden, most_shown, parameters, owed,
    )  # fmt: skip
    told, shown = structure.sums_revealed(tells), relative.sums_revealed(worth)
    p, regrets, known = _chosen_at_once(
        f, deviations, gains, span, floor, told, shown, worth, best, hidden[best], alone, memory
    )
    seen = structure.reveal_probabilities(p)
    after, wanted = _closed(p, regrets, known, seen, each, round_number, memory, looks, thompson)
    return p, wanted, (regrets, known, each), after


@compiled
def _opened(
    f: Floats, deviations: Floats, gains: Floats, counts: Floats, span: float, looks: InFlight
) -> tuple[Floats, Floats, Floats, Floats, int, float]:
    """What `as_answered` says, the best-looking action, -1 if it is no forecast, and the fewest
    looks at one."""
    gains_left, seen, each, owed = as_answered(gains, counts, looks)
    best = best_looking(f, gains_left, TIE * span)
    if not is_forecast(f, deviations, gains, counts, span):
        best = -1
    return gains_left, seen, each, owed, best, seen.min()


@compiled
def _asked(
    f: Floats,
    deviations: Floats,
    gains: Floats,
    counts: Floats,
    each: Floats,
    span: float,
    low: float,
    bound: float,
    round_number: int,
    rate: float,
    best: int,
    hidden: Floats,
    most_shown: float,
    parameters: float,
    owed: Floats,
) -> tuple[float, Floats, Floats, Floats]:
    """What `ask` says; what looks are worth, in place of how many are wanted."""
    floor, tells, wanted, thompson = ask(
        f, deviations, gains, counts, each, span, low, bound, round_number, rate,
        best, hidden, most_shown, parameters, owed,
    )  # fmt: skip
    return floor, tells, wanted * gains, thompson


@compiled
def _chosen_at_once(
    f: Floats,
    deviations: Floats,
    gains: Floats,
    span: float,
    floor: float,
    told: Floats,
    shown: Floats,
    worth: Floats,
    best: int,
    hidden: float,
    alone: float,
    memory: Memory,
) -> tuple[Floats, Floats, Floats]:
    """The choice with `look_at_once`; regrets and information."""
    regrets, known = memory[0] + f - floor, memory[1] + told
    least = look_at_once(f, shown, worth, best)
    priced = 1.0 - alone * (1.0 - hidden) / memory[3] ** 4
    doubts = deviations * (hidden < 1.0)
    p = choose(f, regrets, known, gains, least, best, TIE * span, doubts, priced)
    return p, regrets, known


@compiled
def _closed(
    p: Floats,
    regrets: Floats,
    known: Floats,
    seen: Floats,
    each: Floats,
    round_number: int,
    memory: Memory,
    looks: InFlight,
    thompson: Floats,
) -> tuple[Memory, Floats]:
    """The memory of a round, and looks wanted."""
    after = remember(p, regrets, known, seen, each, round_number, memory[2], memory[3])
    return after, counted(looks[1], looks[3], thompson)


@compiled
def _in_one(
    f: Floats,
    deviations: Floats,
    gains: Floats,
    counts: Floats,
    span: float,
    low: float,
    bound: float,
    round_number: int,
    looks: InFlight,
    memory: Memory,
    rate: float,
    alone: float,
    edges: Edges,
    relative: Floats,
    relative_edges: Edges,
) -> tuple[Floats, Floats, Floats, Memory]:
    """Probabilities, looks wanted; rows with regrets, information and the parameters of a look; the
    memory of the round."""
    if not is_forecast(f, deviations, gains, counts, span):
        return f, f, np.empty((3, 0)), REFUSED
    regret, information, n_looks, parameters = memory
    gains, counts, each, owed = as_answered(gains, counts, looks)
    best = best_looking(f, gains, TIE * span)
    hidden = 1.0 - relative[best]
    most_shown = 0.0
    if hidden[best] > 0.0 or counts.min() < parameters:
        most_shown = shown_by(relative_edges, hidden).max()
    asked = ask(
        f, deviations, gains, counts, each, span, low, bound, round_number, rate,
        best, hidden, most_shown, parameters, owed,
    )  # fmt: skip
    regrets = regret + f - asked.floor
    known = information + shown_by(edges, asked.tells)
    least = look_at_each(f, gains, relative_edges, asked.wanted, best)
    priced = 1.0 - alone * (1.0 - hidden[best]) / parameters**4
    doubts = deviations * (hidden[best] < 1.0)
    p = choose(f, regrets, known, gains, least, best, TIE * span, doubts, priced)
    after = remember(
        p, regrets, known, seen_with(edges, p), each, round_number, n_looks, parameters
    )
    parts = np.empty((3, f.size))
    parts[0], parts[1], parts[2] = regrets, known, each
    return p, counted(looks[1], looks[3], asked.thompson), parts, after


@compiled
def _within(
    p: Floats,
    f: Floats,
    regrets: Floats,
    information: Floats,
    lower: Floats,
    upper: Floats,
    rows: Floats,
    most: Floats,
) -> tuple[Floats, bool]:
    """The choice without limits if it obeys them, else the smallest ratio; False if no p obeys."""
    if obeys(p, lower, upper, rows, most):
        return p, True
    return smallest_ratio(f, regrets, information, lower, upper, rows, most)


@compiled
def _limited(
    p: Floats,
    f: Floats,
    parts: Floats,
    lower: Floats,
    upper: Floats,
    rows: Floats,
    most: Floats,
    round_number: int,
    memory: Memory,
    after: Memory,
    edges: Edges,
) -> tuple[Floats, bool, Memory]:
    """`_within` after `_in_one`, and the memory of the round."""
    if obeys(p, lower, upper, rows, most):
        return p, True, after
    regrets, known, shared = parts[0], parts[1], parts[2]
    p, feasible = _within(p, f, regrets, known, lower, upper, rows, most)
    seen = seen_with(edges, p)
    after = remember(p, regrets, known, seen, shared, round_number, memory[2], memory[3])
    return p, feasible, after
