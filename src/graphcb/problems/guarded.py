"""An agent that keeps what a problem promises: limits, budgets and a baseline in its own terms.

Inside a learner, fixed actions are columns and losses lie between 0 and 1. So limits and costs
by name become limits and costs by column, and what the baseline earns becomes a loss. Actions
that come with each round keep their names.
"""

import copy
from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np

from graphcb.agents import (
    Agent,
    Budget,
    Conservative,
    EpsilonGreedy,
    Greedy,
    InformationDirected,
    OnPredictedGraph,
    Rules,
    Shadow,
    Uniform,
)
from graphcb.contexts.values import features_of
from graphcb.exploration import Limits
from graphcb.oracles import DefaultOracle
from graphcb.problems.baselines import Baseline
from graphcb.problems.guardrails import with_costs, with_names
from graphcb.problems.names import EACH_ROUND
from graphcb.problems.problem import OF_BASELINE, Problem
from graphcb.problems.units import UNTIL_FOUND, Floats

SCALE_FREE = (InformationDirected, Greedy, EpsilonGreedy)  # as long as their oracle is
_AROUND = (Conservative, Shadow)  # another agent


def guarded(agent: Any, problem: Problem) -> Any:
    """The agent with the limits, budgets and baseline of the problem; itself if it has them."""
    inner = _with_explore(_with_rules(innermost(agent), problem), problem)
    if problem.known is not None and not _takes_known(inner):
        raise _lacks(inner, "`known` in `act`", "the problem says what is known without feedback")
    whole = around(agent, inner)
    if problem.baseline is None:
        return whole
    if not problem.has_fixed_actions and not hasattr(inner, "rules"):
        why = "the baseline is one of the actions that come with each round"
        raise _lacks(inner, "names in `act`", why)
    expected = _with_baseline(inner, problem, problem.baseline)
    if whole is inner:
        return expected
    if type(whole) is not type(expected) or _settings(whole) != _settings(expected):
        raise ValueError(
            f"`agent` must have no baseline but that of the problem, {problem.baseline}; "
            "write it there"
        )
    return whole


def match_rate_of(agent: Any) -> float | None:
    """How often an agent in the shadow of a baseline would have played the same; None otherwise."""
    if not isinstance(agent, Shadow) or not agent.n_rounds:
        return None
    return agent.n_matches / agent.n_rounds


def innermost(agent: Any) -> Any:
    """The agent that learns, without the baseline around it."""
    return agent.agent if isinstance(agent, _AROUND) else agent


def explorer_of(agent: Any) -> Any:
    """The agent whose oracle predicts the losses; it may explore a graph that another predicts."""
    inner = innermost(agent)
    return inner.explorer if isinstance(inner, OnPredictedGraph) else inner


def needs_range(agent: Any) -> str | None:
    """Who takes losses between 0 and 1 and no others, such as "SquareCBG needs"; None if nobody.

    A gamma and a proven bound have a meaning only within a range. Nor can an oracle of its own do
    without one, unless its `loss_range` is None.
    """
    if isinstance(agent, Conservative):
        return OF_BASELINE
    inner = explorer_of(agent)
    if isinstance(inner, Uniform):
        return None
    if not isinstance(inner, SCALE_FREE):
        return f"{type(inner).__name__} needs"
    oracle = inner.oracle
    has_none = getattr(oracle, "loss_range", UNTIL_FOUND) is None
    return None if has_none else f"{type(oracle).__name__} needs"


def default_oracle(agent: Any, problem: Problem) -> DefaultOracle:
    """The oracle of an agent that was given none, for the actions of a problem."""
    is_open = problem.range is None and problem.needs_range is None
    is_open = is_open and isinstance(explorer_of(agent), SCALE_FREE)
    return DefaultOracle(len(problem.actions), loss_range=None if is_open else (0.0, 1.0))


def played_by(agent: Any) -> str:
    """Who plays in a problem, by the names of the classes.

    >>> from graphcb import InformationDirected
    >>> played_by(Conservative(InformationDirected(), "approve"))
    'Conservative(InformationDirected)'
    """
    inside = getattr(agent, "agent", None) or getattr(agent, "explorer", None)
    name = type(agent).__name__
    return name if inside is None else f"{name}({played_by(inside)})"


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


def costs_in(problem: Problem, context: Any, names: Sequence[str]) -> dict[str, Floats] | None:
    """The costs of a round that stand in its context, by budget; None if there are none.

    A cost that is missing, negative or no number raises an error.
    """
    varying = [budget for budget in problem.budgets if budget.features]
    if not varying:
        return None
    row = features_of(context)
    return {budget.name: budget.of_context(names, row) for budget in varying}


def _lacks(agent: Any, what: str, why: str) -> TypeError:
    return TypeError(
        f"`agent` must take {what}, as {why}, got {type(agent).__name__}; use "
        "InformationDirected, SquareCBG, SquareCB, Greedy or EpsilonGreedy"
    )


def _takes_known(agent: Any) -> bool:
    taken = signature(agent.act).parameters.values()
    return any(one.name == "known" or one.kind is Parameter.VAR_KEYWORD for one in taken)


def _with_rules(agent: Any, problem: Problem) -> Any:
    limits, budgets = _limits(problem), _budgets(problem)
    rules = Rules.of(limits, budgets)
    if rules is None:
        return agent
    if not hasattr(agent, "rules"):
        raise _lacks(agent, "limits and budgets", "the problem has them")
    if agent.rules is not None:
        if agent.limits == limits and agent.budgets == budgets:
            return agent
        raise ValueError(
            "`agent` must have no limits or budgets of its own: the problem has them; write them "
            "there"
        )
    if getattr(explorer_of(agent), "method", "auto") == "closed-form":
        raise ValueError(
            '`agent` must have method="auto" or "solver", as the problem has limits or budgets, '
            'got "closed-form": closed forms know none'
        )
    agent = copy.copy(agent)
    agent.rules = rules
    return agent


def _with_explore(agent: Any, problem: Problem) -> Any:
    if problem.explore in (0.0, getattr(agent, "explore", None)):
        return agent
    if not hasattr(agent, "explore"):
        raise _lacks(agent, "explore", f"the problem has explore = {problem.explore:g}")
    if agent.explore:
        raise ValueError(
            f"`agent` must have no explore of its own but that of the problem, "
            f"{problem.explore:g}, got {agent.explore:g}; write it there"
        )
    agent = copy.copy(agent)
    agent.explore = problem.explore
    return agent


def _limits(problem: Problem) -> Limits | None:
    if problem.limits is None or not isinstance(problem.actions, tuple):
        return problem.limits
    return with_names(problem.limits, {name: i for i, name in enumerate(problem.actions)})


def _budgets(problem: Problem) -> tuple[Budget, ...]:
    made = []
    for budget in problem.budgets:
        costs: Any = EACH_ROUND
        if not budget.features:
            costs = {called(problem, [action])[0]: cost for action, cost in budget.costs.items()}
        made.append(with_costs(budget, costs))
    return tuple(made)


def _with_baseline(agent: Agent, problem: Problem, rule: Baseline) -> Conservative | Shadow:
    action = rule.action if rule.is_first else called(problem, [rule.action])[0]
    if rule.is_shadow:
        return Shadow(agent, action)
    known = rule.value
    loss = None if known is None else float(problem.as_losses(np.array([known]))[0])
    return Conservative(agent, action, loss=loss, epsilon=rule.epsilon, confidence=rule.confidence)


def _settings(outer: Any) -> tuple[Any, ...]:
    names = ("baseline", "epsilon", "loss", "confidence")
    return tuple(getattr(outer, name, None) for name in names)


def proven_gain(problem: Problem, agent: Any) -> float | None:
    """How far the agent is proven to be ahead of what its baseline allows, in the problem's units.

    None if it has no baseline to be held against.
    """
    if not isinstance(agent, Conservative):
        return None
    low, high = problem.scale
    return (high - low) * float(agent.proven)
