"""The baseline of a round: today's rule, as probabilities."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from graphcb.agents.budgets import Budget
from graphcb.agents.names import names_of
from graphcb.checks import as_probabilities, listed
from graphcb.describing import describe
from graphcb.exploration import BoxAndRows
from graphcb.exploration.clashing import SLACK
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.graphs.structure import Floats
from graphcb.loaded import check_counts
from graphcb.rounds import Agent, act_on, gamma_of, hook

FIRST = "first of each round"  # a baseline: the first of the actions that a round offers


def as_inner(agent: Any) -> Any:
    """An agent to put inside another one."""
    for role in ("act", "learn"):
        if isinstance(agent, type) or not callable(getattr(agent, role, None)):
            what = f"the class {agent.__name__}" if isinstance(agent, type) else _kind(agent)
            raise TypeError(f"`agent` must have the methods act and learn, got {what}")
    if not getattr(agent, "informed", True):
        raise TypeError(
            f"`agent` must be given the graph by `act`, got {_kind(agent)}: nothing can be proven "
            "beside a baseline without true reveal probabilities"
        )
    return agent


def as_baseline(baseline: Any) -> Any:
    """An action, or a copy of an object with `act`; anything else is refused."""
    if isinstance(baseline, np.generic):
        baseline = baseline.item()
    if isinstance(baseline, int | float | str) and not isinstance(baseline, bool):
        return baseline
    if isinstance(baseline, type) or not callable(getattr(baseline, "act", None)):
        what = f"the class {baseline.__name__}" if isinstance(baseline, type) else _kind(baseline)
        raise TypeError(
            "`baseline` must be an action, by its name or index, or an object with a method act, "
            f"got {what}"
        )
    return copy.deepcopy(baseline)


def baseline_probabilities(
    baseline: Any, context: Any, graph: FeedbackGraph, actions: Any, names: Any = None
) -> Floats:
    """What the baseline plays in this round; it neither learns nor counts rounds.

    So it answers the same whenever it is asked about a round, as late feedback requires.
    """
    n_actions = as_graph(graph).n_actions
    if hasattr(baseline, "act"):
        rules = {} if names is None or not hasattr(baseline, "rules") else {"names": names}
        twin = copy.copy(baseline)
        return as_probabilities(act_on(twin, context, graph, actions, **rules), n_actions)
    if baseline == FIRST:
        return np.asarray(np.eye(1, n_actions)[0])
    called = names_of(n_actions, actions, names)
    if baseline not in called:
        raise ValueError(
            f"`baseline` must be an action of the round, one of {listed(map(repr, called))}; "
            f"got {baseline!r}"
        )
    probabilities = np.zeros(n_actions)
    probabilities[called.index(baseline)] = 1.0
    return probabilities


class BesideBaseline:
    """What `Conservative` and `Shadow` have in common: an agent inside, and a baseline."""

    def __init__(self, agent: Agent, baseline: Any) -> None:
        self.agent, self.baseline = as_inner(agent), as_baseline(baseline)
        check_budgets(getattr(agent, "budgets", ()), self.baseline)
        self.n_rounds = 0

    @property
    def oracle(self) -> Any:
        """The oracle of the agent inside, if it has one."""
        return self.agent.oracle

    @property
    def gamma(self) -> float | None:
        """The gamma of the agent inside in the last round, if there is one."""
        return gamma_of(self.agent)

    @property
    def at_time(self) -> Callable[[float], None] | None:
        """The hook of the agent inside, if it has one."""
        return hook(self.agent, "at_time")

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """The agent inside learns, whoever decided."""
        self.agent.learn(context, actions, losses)

    def check_loaded(self) -> None:
        as_inner(self.agent)
        as_baseline(self.baseline)
        check_counts(self, n_rounds=0)

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), agent=copy.copy(self.agent))
        return twin

    __repr__ = describe


def check_budgets(budgets: Sequence[Budget], baseline: Any, name: str = "baseline") -> None:
    """Refuse a baseline that budgets could not pay for in every round."""
    start = f"`{name}` must be one that can always be played, got {baseline!r}, but"
    for budget in budgets:
        if hasattr(baseline, "act") or baseline == FIRST:
            if budget.hard:
                raise ValueError(
                    f"{start} the budget {budget.name!r} is hard, and what a rule will play is not "
                    "known beforehand; leave out hard=True"
                )
            continue
        costs = budget.costs if isinstance(budget.costs, Mapping) else {}
        cost = costs.get(baseline, 0.0)
        if budget.hard and cost != 0.0:
            raise ValueError(f"{start} it costs something, and the budget {budget.name!r} is hard")
        if not isinstance(cost, str) and cost > budget.per_round * (1.0 + SLACK):
            raise ValueError(
                f"{start} it costs {cost:g}, and the budget {budget.name!r} allows "
                f"{budget.per_round:g} per round"
            )


def check_limits(
    agent: Any, baseline: Floats, graph: FeedbackGraph, actions: Any, names: Any
) -> BoxAndRows | None:
    """The limits of the agent in this round, if any; a baseline that breaks them is refused."""
    rules = getattr(agent, "rules", None)
    box: BoxAndRows | None = None
    if rules is not None:
        box = rules.box(graph.n_actions, actions, names)
    if box is None:
        return None
    called = names_of(graph.n_actions, actions, names)
    for index in np.flatnonzero((baseline < box.lower) | (baseline > box.upper)).tolist():
        below = baseline[index] < box.lower[index]
        bound = f"floor is {box.lower[index]:g}" if below else f"cap is {box.upper[index]:g}"
        raise ValueError(
            "`baseline` must obey the limits of the agent, got probability "
            f"{baseline[index]:g} for {called[index]!r}, whose {bound}; change one of them"
        )
    over = box.rows @ baseline - box.most
    if (over > SLACK).any():
        raise ValueError(
            "`baseline` must obey the limits of the agent, got probabilities that exceed a linear "
            f"limit by {over.max():g}; change one of them"
        )
    return box


def _kind(thing: Any) -> str:
    return type(thing).__name__
