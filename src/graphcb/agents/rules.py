"""What an agent has to obey, whatever it would like to play: the same for every agent."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphcb.agents.names import names_of, speaks_of
from graphcb.agents.pacing import changed
from graphcb.agents.spending import Spending
from graphcb.checks import listed
from graphcb.exploration import BoxAndRows, Limits, solve_dec
from graphcb.exploration.limited_choice import spread_within
from graphcb.exploration.limits import MOST_KEPT
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats
from graphcb.loaded import Instance, Learned

NEVER = 1e-12  # reveal probabilities up to here are rounding


class Ruled(NamedTuple):
    """A round under rules: losses with the prices of budgets, bounds on p, the rules after it."""

    losses: Floats
    box: BoxAndRows | None
    rules: "Rules | None"


@dataclass(frozen=True)
class Rules:
    """The limits and budgets of an agent, and what they are in a round; it never changes.

    An agent without any has no rules: `Rules.of` returns None.

    >>> Rules.of(Limits(caps={"review": 0.05})).box(2, names=["approve", "review"]).upper
    array([1.  , 0.05])
    """

    limits: Limits | None = None
    spending: Spending | None = None
    learned = Learned(limits=Instance(Limits, None), spending=Instance(Spending, None))

    @classmethod
    def of(cls, limits: Limits | None, budgets: Any = ()) -> "Rules | None":
        """The rules that these arguments of an agent make, or None."""
        if limits is not None and not isinstance(limits, Limits):
            raise TypeError(
                f"`limits` must be a graphcb.Limits, got {type(limits).__name__}; "
                "write Limits(floors=..., caps=...)"
            )
        spending = Spending.of(budgets, limits)
        return None if limits is None and spending is None else cls(limits, spending)

    def ruled(self, predicted: Floats, context: Any, actions: Any, names: Any, costs: Any) -> Ruled:
        """What the rules make of a round with these predicted losses."""
        box = self.box(predicted.size, actions, names)
        if self.spending is None:
            return Ruled(predicted, box, self)
        called = names_of(predicted.size, actions, names)
        spending = self.spending.opened(predicted, called, costs, context, actions)
        priced, allowed = spending.priced(predicted), spending.within(box)
        return Ruled(priced, allowed, self.after(spending))

    def after(self, spending: Spending | None) -> "Rules":
        """The same limits, with budgets that have gone on."""
        return changed(self, spending=spending)

    def box(self, n_actions: int, actions: Any = None, names: Any = None) -> BoxAndRows | None:
        """The limits of a round as arrays; None if it has none.

        `names` is what the limits call the actions: `actions` if left out, else their indices.
        """
        if self.limits is None:
            return None
        called = names_of(n_actions, actions, names)
        if called in self._boxes:
            return self._boxes[called]
        named = self.limits.named
        if named and not speaks_of(named, called):
            raise ValueError(
                f"`names` must call the actions what `limits` calls them, as in "
                f"{listed(map(repr, named))}; got {listed(map(repr, called))}, "
                "so that no limit would hold"
            )
        made = self.limits.on(called)
        if len(self._boxes) >= MOST_KEPT:
            self._boxes.clear()
        self._boxes[called] = made
        return made

    @cached_property
    def _boxes(self) -> dict[Any, BoxAndRows | None]:
        """What `box` made of names, which goes on with `after`."""
        return {}

    def cost(self, graph: FeedbackGraph, names: Any = None) -> str:
        """What limits cost on a graph, in words: the DEC, and what cannot be learned; budgets."""
        if self.limits is None:
            return self.spending.describe() if self.spending is not None else ""
        about = self._cost_of_limits(graph, names)
        return about if self.spending is None else f"{about}; {self.spending.describe()}"

    def _cost_of_limits(self, graph: FeedbackGraph, names: Any) -> str:
        box = self.box(graph.n_actions, names=names)
        if box is None:
            return "limits: none of them is on this round"
        equal = np.zeros(graph.n_actions)
        unseen = unlearnable(graph, box)
        if unseen:
            called = names_of(graph.n_actions, None, names)
            hidden = listed(repr(called[a]) for a in unseen)
            return f"limits: no loss of {hidden} can be revealed within them, so none is learned"
        without = solve_dec(equal, graph, 1.0).value
        within = solve_dec(equal, graph, 1.0, limits=box).value
        return f"limits: gamma * DEC at equal predictions {within:.4g} instead of {without:.4g}"

    def check_loaded(self) -> None:
        """Refuse rules that are none."""
        if self.limits is None and self.spending is None:
            raise ValueError("`rules` must hold limits or budgets, got neither")


def unlearnable(graph: FeedbackGraph, box: BoxAndRows) -> list[int]:
    """The actions whose losses nothing within the limits reveals."""
    if graph.n_actions == 1:
        return []
    if box.most.size:
        played = spread_within(np.zeros(graph.n_actions), box) > NEVER
    else:
        played = (box.lower > 0.0) | ((box.upper > 0.0) & (box.lower.sum() < 1.0 - NEVER))
    reveal = graph.structure.reveal_probabilities(played / played.sum())
    return [int(a) for a in np.flatnonzero(reveal <= 0.0)]


def learnable_dec(p: Floats, predicted: Floats, graph: FeedbackGraph, gamma: float) -> float:
    """The DEC of p against the actions that it reveals now and then; the others are left out."""
    reveal = graph.structure.reveal_probabilities(p)
    seen = reveal > NEVER
    common = p[seen] @ (p[seen] / reveal[seen])
    worst = (common + (1.0 - 2.0 * p[seen]) / reveal[seen]) / gamma - predicted[seen]
    return max(0.0, float(p @ predicted + worst.max(initial=-np.inf)))
