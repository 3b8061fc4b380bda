"""The round: an agent acts, an action is drawn, and what is revealed is learned.

    enter         the round in the terms of the agent that plays
    act           f-hat, then p
    draw          an action from p, by a number in [0, 1)
    on_draw       the agent hears what was drawn, if it wants to
    on_context    a learner hears which context that was for, as it came
    reveal        the world shows losses, at once or days later
    on_feedback   the agent hears what they are for, if it wants to
    learn         the oracle is updated

`play_round` is the part before the world answers, `learn_revealed` the part after. Simulations,
policies, replays, evaluations and the command line all play rounds by these two. Compiled runs
mirror them, and the tests compare the two bit for bit.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.checks import SUM_TOLERANCE, as_numbers, as_probabilities
from graphcb.compilation import compiled
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats
from graphcb.rounds.identifiers import indices_of

Hook = Literal["at_time", "on_context", "on_draw", "on_feedback", "on_no_feedback"]


class Played(NamedTuple):
    """A round after its draw; `action` is the index that was drawn.

    `context`, `graph` and `actions` are what `act` was given, `probabilities` what it returned.
    `names` is what rules call the actions, where that is not `actions`. Where feedback comes in
    parts, `known` has the losses that earlier parts revealed, by index; None before the first. A
    `Learner` adds those that need no feedback, and gives them at the draw if no others can come.
    `by_default` says that the feedback at hand is a default after waiting, which later feedback may
    replace: it is learned, and proves nothing.
    """

    context: Any
    graph: FeedbackGraph
    actions: Any
    probabilities: Floats
    action: int
    names: Any = None
    known: Mapping[int, float] | None = None
    by_default: bool = False


class Entered(NamedTuple):
    """A round in the terms of the agent that plays it.

    `names` as in `Played`; `given` are further arguments of `act`: `names`, `costs` and `known`.
    """

    agent: Any
    context: Any
    graph: FeedbackGraph | None
    actions: Any
    names: Any = None
    given: Mapping[str, Any] = {}


def play_round(
    agent: Any,
    context: Any,
    graph: FeedbackGraph,
    actions: Any,
    uniform: float,
    *,
    seconds: float | None = None,
    logged: Played | None = None,
) -> Played:
    """Act, draw by a number in [0, 1), and say so; the agent goes on to its next round.

    `seconds` is when the decision is made, if that is known. `logged` is the same round as a log
    has it: the agent settles what was played, even where a replay comes out differently.
    """
    entered = _enter(agent, context, graph, actions)
    probabilities = _act(entered, seconds)
    action = _draw(probabilities, uniform, graph.n_actions)
    played = Played(context, graph, actions, probabilities, action)
    on_draw = hook(entered.agent, "on_draw")
    if on_draw is not None:
        _, row, whole, inner, names, given = entered
        _, of, _, p, index, _, earlier, by_default = logged or played
        drawn = Played(row, of, inner, p, index, names, earlier, by_default)
        known = given.get("known")
        on_draw(drawn if known is None else knowing_round(drawn, known, whole))
    on_context = hook(agent, "on_context")
    if on_context is not None:
        on_context(context)
    return played


def knowing_round(played: Played, known: Floats, graph: FeedbackGraph | None) -> Played:
    """The round with losses that need no feedback, which every action reveals in `graph`.

    They are NaN for all other actions. While feedback is yet to bring something else, `known` stays
    None.
    """
    is_known = ~np.isnan(known)
    losses, whole = played.known, played.graph if graph is None else graph
    if losses is not None or not (played.graph.row(played.action)[~is_known] > 0.0).any():
        by_index = {int(place): float(known[place]) for place in np.flatnonzero(is_known)}
        losses = {**(losses or {}), **by_index}
    return played._replace(graph=whole, known=losses)


def learn_revealed(
    agent: Any,
    played: Played,
    revealed: Any,
    losses: Any,
    *,
    indices: NDArray[np.int64] | None = None,
    shown: FeedbackGraph | None = None,
) -> None:
    """Judge a round by what it revealed, and learn that.

    `revealed` are identifiers; `indices` are where they stand in the round, found if left out.
    `shown` is the graph of the round, if it was shown in full afterwards.
    """
    on_feedback = hook(agent, "on_feedback")
    if on_feedback is not None:
        found = indices_of(revealed, played.actions) if indices is None else indices
        on_feedback(played, found, losses)
    learn_from(agent, played, revealed, losses, shown=shown)


def tell_if_nothing_comes(agent: Any, played: Played) -> None:
    """Tell an agent that wants to hear it that a round reveals nothing, once it is logged."""
    on_no_feedback = hook(agent, "on_no_feedback")
    if on_no_feedback is None:
        return
    revealed = played.graph.structure.row(played.action)
    if revealed[played.action] == 0.0 and not revealed.any():
        on_no_feedback(played.context)


def would_play(
    agent: Any,
    context: Any,
    graph: FeedbackGraph,
    actions: Any,
    *,
    seconds: float | None = None,
) -> Floats:
    """The probabilities of a round that is not played; the agent does not change.

    Without `seconds`, the round is as late as the agent's last one.
    """
    return _act(_enter(copy.copy(agent), context, graph, actions), seconds)


def _enter(agent: Any, context: Any, graph: FeedbackGraph, actions: Any) -> Entered:
    enter: Callable[..., Entered] | None = getattr(agent, "enter", None)
    if enter is None:
        return Entered(agent, context, graph, actions)
    return enter(context, graph if getattr(agent, "informed", True) else None, actions)


def _act(entered: Entered, seconds: float | None) -> Floats:
    agent, context, graph, actions, _, given = entered
    if seconds is not None:
        at_time = hook(agent, "at_time")
        if at_time is not None:
            at_time(seconds)
    return as_numbers("probabilities", act_on(agent, context, graph, actions, **given))


def act_on(
    agent: Any, context: Any, graph: FeedbackGraph | None, actions: Any, **given: Any
) -> Floats:
    """Probabilities of a round; an agent that is not informed does not get to see the graph.

    `given` are `names`, `costs` and `known`, for agents with limits, budgets and known losses.
    """
    if getattr(agent, "informed", True):
        probabilities: Floats = agent.act(context, graph, actions, **given)
    else:
        probabilities = agent.act(context, actions=actions, **given)
    return probabilities


def learn_from(
    agent: Any, played: Played, revealed: Any, losses: Any, *, shown: FeedbackGraph | None = None
) -> None:
    """Teach what a round revealed; `revealed` are identifiers.

    An agent that is not informed hears what was played too, and `shown`, the graph of the round
    if it was shown in full afterwards.
    """
    if getattr(agent, "informed", True):
        completed = getattr(agent, "completed", None)
        if completed is not None:
            revealed, losses = completed(played, revealed, losses)
        agent.learn(played.context, revealed, losses)
        return
    if hasattr(agent, "learn_round"):
        agent.learn_round(played, revealed, losses, shown=shown)
        return
    actions, action = played.actions, played.action
    if actions is not None:
        action = (list(actions) if isinstance(actions, dict) else actions)[action]
    agent.learn(played.context, action, revealed, losses, actions=actions, graph=shown)


def gamma_of(agent: Any) -> float | None:
    """The gamma of the agent's last round; None before the first, or if the agent has none.

    >>> from graphcb import SquareCBG, Uniform, graphs, oracles
    >>> agent = SquareCBG(oracles.LinearOGD(2, 1), gamma=10.0)
    >>> probabilities = agent.act([1.0], graphs.bandit(2))
    >>> gamma_of(agent), gamma_of(Uniform())
    (10.0, None)
    """
    gamma = getattr(agent, "gamma", None)
    return float(gamma) if isinstance(gamma, int | float) else None


def hook(agent: Any, name: Hook) -> Callable[..., None] | None:
    """An optional method of an agent; None if the agent does without, or its attribute is None.

    >>> from graphcb import Uniform
    >>> print(hook(Uniform(), "on_draw"))
    None
    """
    found: Callable[..., None] | None = getattr(agent, name, None)
    return found


def draw(probabilities: ArrayLike, rng: np.random.Generator) -> int:
    """Draw an action, an index, from a distribution such as `agent.act` returns.

    It takes one uniform number from `rng`. A distribution that is refused takes none.

    >>> draw([0.25, 0.0, 0.75], np.random.default_rng(0))
    2
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            "`rng` must be a numpy.random.Generator, such as numpy.random.default_rng(0), "
            f"got {type(rng).__name__}"
        )
    p = as_numbers("probabilities", probabilities)
    if p.ndim != 1 or p.size == 0:
        raise ValueError(f"`probabilities` must be one number for each action, got shape {p.shape}")
    return invert(as_probabilities(p, p.size), rng.random())


def action_at(uniform: float, probabilities: Floats, n_actions: int) -> int:
    """The action in whose share of [0, 1) the number `uniform` falls; checks the distribution.

    >>> action_at(0.3, np.array([0.25, 0.0, 0.75]), 3)
    2
    """
    return _draw(as_numbers("probabilities", probabilities), uniform, n_actions)


def _draw(p: Floats, uniform: float, n_actions: int) -> int:
    action = invert(p, uniform) if p.shape == (n_actions,) else -1
    if action < 0:
        as_probabilities(p, n_actions)  # raises the error that says what is wrong
    return action


@compiled
def invert(p: Floats, uniform: float) -> int:
    """The first action at which the cumulative probability passes `uniform`.

    -1 if `p` is not a distribution.
    """
    total = 0.0
    chosen = -1
    last = -1
    for i in range(p.size):
        if not p[i] >= 0.0:  # also true for NaN
            return -1
        if p[i] > 0.0:
            total += p[i]
            last = i
            if chosen < 0 and uniform < total:
                chosen = i
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        return -1
    return chosen if chosen >= 0 else last  # rounding may leave the sum a hair below 1
