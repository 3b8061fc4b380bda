"""An agent that keeps what a problem promises: limits, budgets and a baseline in its own terms.

Inside a learner, fixed actions are columns and losses lie between 0 and 1. So limits and costs
by name become limits and costs by column, and what the baseline earns becomes a loss. Actions
that come with each round keep their names.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphcb.agents import Agent, Rules
# SHIM
try:
    from graphcb.agents import Budget
except ImportError:
    Budget = None
try:
    from graphcb.agents import Conservative, Shadow
except ImportError:
    class Conservative: pass
    class Shadow: pass
# END
from graphcb.contexts.values import as_number, flat, passes
from graphcb.exploration import Limits
from graphcb.problems.guardrails import with_names
from graphcb.problems.problem import Problem

EACH_ROUND = "each round"


def guarded(agent: Any, problem: Problem) -> Any:
    """The agent with the limits, budgets and baseline of the problem; itself if it has them."""
    inner = _with_rules(innermost(agent), problem)
    whole = around(agent, inner)
    if problem.baseline is None:
        return whole
    expected = _with_baseline(inner, problem)
    if whole is inner:
        return expected
    if type(whole) is not type(expected) or _settings(whole) != _settings(expected):
        raise ValueError(
            f"`agent` must have no baseline but that of the problem, {problem.baseline}; "
            "write it there"
        )
    return whole


def innermost(agent: Any) -> Any:
    """The agent that learns, without the baseline around it."""
    return agent.agent if isinstance(agent, Conservative | Shadow) else agent


def around(outer: Any, inner: Any) -> Any:
    """The agent `inner` in the place of the one that learns inside `outer`."""
    if innermost(outer) is inner:
        return outer
    if innermost(outer) is outer:
        return inner
    outer = copy.copy(outer)
    outer.agent = inner
    return outer


def called(problem: Problem, names: Sequence[str]) -> tuple[Any, ...]:
    """What the agent inside calls these actions."""
    if isinstance(problem.actions, tuple):
        return tuple(problem.index(name) for name in names)
    return tuple(names)


def costs_in(
    problem: Problem, context: Any, names: Sequence[str]
) -> dict[str, list[float]] | None:
    """The costs of a round that stand in its context, by budget; None if there are none.

    A cost that is missing, negative or no number raises an error.
    """
    budgets = {name: b["costs"] for name, b in (problem.budgets or {}).items() if _varies(b)}
    if not budgets:
        return None
    if passes(context):
        raise ValueError(
            "`context` must be a dict or a row of a data frame, as it holds the costs of the "
            f"budget {next(iter(budgets))!r}; got {type(context).__name__}"
        )
    row = flat(context)
    return {
        budget: [_cost(row, costs.get(name, 0.0), name, budget) for name in names]
        for budget, costs in budgets.items()
    }


def _cost(row: Mapping[str, Any], cost: float | str, action: str, budget: str) -> float:
    if not isinstance(cost, str):
        return cost
    number = as_number(cost, row.get(cost))
    if not 0.0 <= number < np.inf:
        got = "none" if number != number else f"{number:g}"
        raise ValueError(
            f"`context[{cost!r}]` must be what {action!r} costs in this round (budget "
            f"{budget!r}), a finite number that is not negative; got {got}"
        )
    return number


def _with_rules(agent: Any, problem: Problem) -> Any:
    rules = Rules.of(_limits(problem)) # SHIM
    if rules is None:
        return agent
    if not hasattr(agent, "rules"):
        raise TypeError(
            "`agent` must take limits and budgets, as the problem has them, got "
            f"{type(agent).__name__}; use SquareCBG, SquareCB, Greedy or EpsilonGreedy"
        )
    if agent.rules is not None:
        if agent.rules.limits == rules.limits: # SHIM
            return agent
        raise ValueError(
            "`agent` must have no limits or budgets of its own: the problem has them; write them "
            "there"
        )
    if getattr(agent, "method", "auto") == "closed-form":
        raise ValueError(
            '`agent` must have method="auto" or "solver", as the problem has limits or budgets, '
            'got "closed-form": closed forms know none'
        )
    agent = copy.copy(agent)
    agent.rules = rules
    return agent


def _limits(problem: Problem) -> Limits | None:
    if problem.limits is None or not isinstance(problem.actions, tuple):
        return problem.limits
    return with_names(problem.limits, {name: i for i, name in enumerate(problem.actions)})


def _budgets(problem: Problem) -> tuple[Budget, ...]:
    made = []
    for name, table in (problem.budgets or {}).items():
        costs: Any = EACH_ROUND
        if not _varies(table):
            costs = {called(problem, [action])[0]: cost for action, cost in table["costs"].items()}
        made.append(Budget(name, costs, table["at_most"], per=table["per"], hard=table["hard"]))
    return tuple(made)


def _varies(budget: Mapping[str, Any]) -> bool:
    return any(isinstance(cost, str) for cost in budget["costs"].values())


def _with_baseline(agent: Agent, problem: Problem) -> Conservative | Shadow:
    table = dict(problem.baseline or {})
    (action,) = called(problem, [table["action"]])
    if table["mode"] == "shadow":
        return Shadow(agent, action)
    known = table.get(problem.unit)
    loss = None if known is None else float(problem.as_losses(np.array([known]))[0])
    chances = {"epsilon": table["epsilon"], "confidence": table["confidence"]}
    return Conservative(agent, action, loss=loss, **chances)


def _settings(outer: Any) -> tuple[Any, ...]:
    names = ("baseline", "epsilon", "loss", "confidence")
    return tuple(getattr(outer, name, None) for name in names)
