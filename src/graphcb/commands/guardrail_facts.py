"""Limits, budgets and the baseline of a problem, in words."""

from collections.abc import Mapping
from typing import Any

from graphcb.checks import listed
from graphcb.problems import Problem

Facts = list[tuple[str, str]]


def guardrail_facts(problem: Problem) -> Facts:
    """What must hold in every round, over time, and beside today's rule."""
    facts = _limits(problem)
    for name, budget in (problem.budgets or {}).items():
        facts.append((f"budget {name}", budget_in_words(budget)))
    if problem.baseline is not None:
        facts.append(("baseline", baseline_in_words(problem)))
    return facts


def _limits(problem: Problem) -> Facts:
    limits = problem.limits
    if limits is None:
        return []
    facts = []
    for name, bounds in (("at least", limits.floors), ("at most", limits.caps)):
        if isinstance(bounds, Mapping):
            shown = listed(f"{action} {bound:g}" for action, bound in bounds.items())
            facts.append((f"probability {name}", shown))
        elif bounds != (0.0 if name == "at least" else 1.0):
            facts.append((f"probability {name}", f"{bounds:g} for each action"))
    for place, one in enumerate(limits.linear):
        facts.append((f"limit {one.name or place + 1}", _linear_in_words(one.as_table())))
    return facts


def _linear_in_words(table: Mapping[str, Any]) -> str:
    """Such as "call + 2 * review at most 0.6"."""
    if "actions" in table:
        terms = list(map(str, table["actions"]))
    else:
        weights = table["weights"].items()
        terms = [str(a) if weight == 1.0 else f"{weight:g} * {a}" for a, weight in weights]
    bounds = [
        f"{word} {table[key]:g}"
        for key, word in (("at_least", "at least"), ("at_most", "at most"))
        if key in table
    ]
    return f"{' + '.join(terms)} {' and '.join(bounds)}"


def budget_in_words(budget: Mapping[str, Any]) -> str:
    """Such as "at most 0.05 per round: review 1"."""
    costs = (
        f"{action} {cost if isinstance(cost, str) else format(cost, 'g')}"
        for action, cost in budget["costs"].items()
    )
    hard = ", never more" if budget["hard"] else ""
    return f"at most {budget['at_most']:g} per {period(budget['per'])}{hard}: {listed(costs)}"


def period(per: Any) -> str:
    """What a budget is counted over.

    >>> period("round"), period(100), period("day"), period(90.0)
    ('round', '100 rounds', 'day', '90 s')
    """
    if isinstance(per, int):
        return f"{per:,} rounds"
    return f"{per:g} s" if isinstance(per, float) else str(per)


def baseline_in_words(problem: Problem) -> str:
    """Such as "approve; the loss stays below 1.1 times its loss"."""
    baseline = problem.baseline or {}
    action = baseline["action"]
    if baseline["mode"] == "shadow":
        return f"{action} is always played; what the learner would have played is worked out"
    known = baseline.get(problem.unit)
    worth = "" if known is None else f", a {problem.unit} of {known:g} per round"
    return (
        f"{action}{worth}; the learner loses at most {1.0 + baseline['epsilon']:g} times as much, "
        f"with a confidence of {100 * baseline['confidence']:g} %"
    )
