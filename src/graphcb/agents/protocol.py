"""The role of an agent."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph

Hook = Literal["at_time", "settle", "judge"]


class Played(NamedTuple):
    """A round after its draw; `action` is the index that was drawn.

    `context`, `graph` and `actions` are what `act` was given, `probabilities` what it returned.
    `names` is what rules call the actions, where that is not `actions`. Where feedback comes in
    parts, `known` has the losses that earlier parts revealed, by index; None before the first.
    """

    context: Any
    graph: FeedbackGraph
    actions: Any
    probabilities: NDArray[np.float64]
    action: int
    names: Any = None
    known: Mapping[int, float] | None = None


class Agent(Protocol):
    """Chooses a distribution over the actions of a round and learns from what is revealed.

    An agent never draws: the caller samples from the distribution, so that sampling and seeding
    live in one place.

    Three conventions are optional. An agent that explores with a gamma keeps the gamma of its last
    round in an attribute `gamma`, None before the first round; `gamma_of` reads it. And
    `copy.copy(agent)` can play a round without changing the original: an agent whose `act`
    changes more than its own attributes defines `__copy__`. An agent that takes `limits` has a
    keyword `names` in `act`: what the limits call the actions of the round, in the graph's order.

    An agent that does not know the graph when it decides is an `UninformedAgent`, with other
    arguments. Whoever draws calls `act_on` and `learn_from`, which know both kinds.

    Three methods, the hooks, are optional too; whoever draws asks `hook` for them and calls them.
    They must be deterministic, so that a log can be replayed.

    - `at_time(seconds)`, before `act`: when the decision is made, in seconds since 1970. Only a
      policy with a log calls it, as rounds of the run loop have no time.
    - `settle(played)`, once after the draw: what was played. Like `act`, it changes only the
      agent's own attributes.
    - `judge(played, indices, losses)`, just before each `learn`: the round that the feedback is
      for, and the losses it reveals, by index. Where feedback comes in parts, each part is one
      call with what is new in it.
    """

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> NDArray[np.float64]:
        """Probabilities (n_actions,) for this round; each call begins a new round.

        `actions` are today's identifiers in the oracle's terms, in the graph's order; None
        stands for all actions of the oracle.
        """
        ...

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Learn the losses revealed for these identifiers; there may be none."""
        ...


class UninformedAgent(Protocol):
    """An agent that does not know the graph when it decides, such as `SquareCBUG`.

    One that has a method `learn_round(played, revealed, losses, *, shown)`, with the arguments of
    `learn_from`, is taught by it instead of `learn`.
    """

    informed: bool = False

    def act(self, context: Any, actions: Any = None) -> NDArray[np.float64]:
        """Probabilities (n_actions,) for this round."""
        ...

    def learn(
        self,
        context: Any,
        played: Any,
        revealed: Any,
        losses: Any,
        *,
        actions: Any = None,
        graph: FeedbackGraph | None = None,
    ) -> None:
        """Learn what `played` revealed, and the graph of the round if it was shown in full."""
        ...


def act_on(
    agent: Any, context: Any, graph: FeedbackGraph, actions: Any, **given: Any
) -> NDArray[np.float64]:
    """Probabilities of a round; an agent that is not informed does not get to see the graph.

    `given` are `names` and `costs`, for agents with limits and budgets.
    """
    if getattr(agent, "informed", True):
        probabilities: NDArray[np.float64] = agent.act(context, graph, actions, **given)
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
        agent.learn(played.context, revealed, losses)
        return
    if hasattr(agent, "learn_round"):
        agent.learn_round(played, revealed, losses, shown=shown)
        return
    actions, action = played.actions, played.action
    if actions is not None:
        action = (list(actions) if isinstance(actions, dict) else actions)[action]
    agent.learn(played.context, action, revealed, losses, actions=actions, graph=shown)


def gamma_of(agent: Agent) -> float | None:
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
    >>> print(hook(Uniform(), "settle"))
    None
    """
    found: Callable[..., None] | None = getattr(agent, name, None)
    return found
