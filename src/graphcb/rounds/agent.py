"""The role of an agent."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph


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
    arguments. Whoever plays rounds calls `play_round` and `learn_revealed`, which know both kinds.

    Four methods, the hooks, are optional too. They must be deterministic, so that a log can be
    replayed.

    - `at_time(seconds)`, before `act`: when the decision is made, in seconds since 1970. Only a
      policy with a log has a time to tell, as rounds of the run loop have none.
    - `on_draw(played)`, once after the draw: what was played. Like `act`, it changes only the
      agent's own attributes.
    - `on_context(context)`, once after the draw: the context as it came, for the agent that was
      asked and not for one inside it.
    - `on_no_feedback(context)`, once after the draw, of a policy with a log: what was played
      reveals nothing, so that there will be nothing to learn.
    - `on_feedback(played, indices, losses)`, just before each `learn`: the round that the feedback
      is for, and the losses it reveals, by index. Where feedback comes in parts, each part is one
      call with what is new in it.

    One of many copies of an agent may learn for all of them. For each round that another copy has
    decided, it either acts as if it had decided itself, or has a method `passed(played)` that does
    less and returns True; False if it has changed nothing and must act.

    An agent that puts rounds into the terms of another one inside it, as a `Learner` does, may have
    a method `enter(context, graph, actions)` that returns an `Entered`: the agent inside then
    plays, and the round is put into its terms once. Its method `completed(played, revealed,
    losses)`, if it has one, adds to what was revealed what it knows anyway, before `learn`.
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
