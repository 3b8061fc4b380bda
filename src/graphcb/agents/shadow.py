"""Shadow: an agent that learns while today's rule decides."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.baselines import (
    BesideBaseline,
    baseline_probabilities,
    check_limits,
)
from graphcb.graphs import FeedbackGraph
from graphcb.loaded import check_counts
from graphcb.rounds import Played, hook


class Shadow(BesideBaseline):
    """Plays a baseline, and lets an agent learn from what that reveals.

    `baseline` as in `Conservative`. `n_matches` of `n_rounds` are rounds in which the agent would
    most likely have played the same. What the agent would have played is not kept: it follows,
    bit for bit, from a replay of the log. `evaluation.shadow(log)` makes a target of it, and
    `graphcb evaluate LOG --policy shadow` says what it would have gained.

    >>> from graphcb import InformationDirected, graphs
    >>> agent = Shadow(InformationDirected(), "approve")
    >>> agent.act([1.0], graphs.full_information(2), names=["approve", "review"])
    array([1., 0.])
    """

    n_matches = 0  # of an agent in a file that is older than this count, too

    def check_loaded(self) -> None:
        super().check_loaded()
        check_counts(self, n_matches=0)

    @property
    def on_draw(self) -> Callable[[Played], None] | None:
        """The hook of the agent inside, if it has one."""
        return hook(self.agent, "on_draw")

    @property
    def on_feedback(self) -> Callable[[Played, Any, Any], None] | None:
        """The hook of the agent inside, if it has one."""
        return hook(self.agent, "on_feedback")

    def act(
        self, context: Any, graph: FeedbackGraph, actions: Any = None, **rules: Any
    ) -> NDArray[np.float64]:
        """The baseline's probabilities; the agent inside has its round too.

        `rules` are `names`, `costs` and `known`, as other agents take them.
        """
        names = rules.get("names")
        baseline = baseline_probabilities(self.baseline, context, graph, actions, names)
        check_limits(self.agent, baseline, graph, actions, names)
        own = self.agent.act(context, graph, actions, **rules)
        self.n_rounds += 1
        self.n_matches += int(np.argmax(own) == np.argmax(baseline))
        return baseline
