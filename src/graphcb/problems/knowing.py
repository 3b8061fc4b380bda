"""The agent inside a learner, with what the problem knows, on rows that are encoded already."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphcb.graphs import FeedbackGraph
from graphcb.problems.problem import Problem
from graphcb.rounds import Entered, Played, hook, knowing_round


class Knowing:
    """Does for an agent what a `Learner` does with known losses; rounds have all actions.

    `problem` knows numbers, not features: rows have no features by name.
    """

    def __init__(self, agent: Any, problem: Problem) -> None:
        self.agent, self.problem = agent, problem
        self.names = tuple(problem.actions)
        known = problem.known_in(None, self.names)
        none = np.full(len(self.names), np.nan)
        self.losses = problem.as_losses(none if known is None else known)

    def enter(self, context: Any, graph: FeedbackGraph, actions: Any) -> Entered:
        """The round with the graph in which every action reveals what is known."""
        whole = self.problem.with_known(graph, self.names)
        return Entered(self.agent, context, whole, actions, None, {"known": self.losses})

    @property
    def on_feedback(self) -> Callable[[Played, Any, Any], None] | None:
        """The hook of the agent inside, if it has one, with what is known in every feedback."""
        inner = hook(self.agent, "on_feedback")
        return None if inner is None else partial(self._on_feedback, inner)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Learn what was revealed, with all that is known; these have to agree."""
        values = self.problem.as_values(np.asarray(losses))
        places, values = self.problem.completed(None, self.names, np.asarray(actions), values)
        self.agent.learn(context, places, self.problem.as_losses(values))

    def _on_feedback(
        self, inner: Callable[..., None], played: Played, indices: Any, losses: Any
    ) -> None:
        also = np.setdiff1d(np.flatnonzero(~np.isnan(self.losses)), indices)
        whole = self.problem.with_known(played.graph, self.names)
        revealed = np.append(indices, also), np.append(losses, self.losses[also])
        inner(knowing_round(played, self.losses, whole), *revealed)
