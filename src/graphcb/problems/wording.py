"""What a problem promises, knows and assumes, in words, for all who show it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from graphcb.agents import Budget
from graphcb.checks import listed
from graphcb.exploration import Limits
from graphcb.problems.baselines import Baseline
from graphcb.problems.defaults import Defaults
from graphcb.problems.known import Known
from graphcb.problems.problem import Problem


class Guardrail(NamedTuple):
    """What must hold: its name, such as "budget reviews", and what it says."""

    name: str
    says: str


def guardrails_in_words(problem: Problem) -> list[Guardrail]:
    """The limits, budgets, baseline, what is explored or known, and the defaults, if there are any.

    >>> reviews = {"costs": {"review": 1}, "at_most": 5, "per": 100}
    >>> problem = Problem(["approve", "review"], budgets={"reviews": reviews}, baseline="approve")
    >>> for one in guardrails_in_words(problem):
    ...     print(*one, sep=": ")
    budget reviews: at most 5 per 100 rounds, where review costs 1
    baseline: approve; the learner loses at most 1.1 times as much, with a confidence of 95 %
    """
    found = []
    if problem.limits is not None:
        found.append(Guardrail("limits", "; ".join(_limits(problem.limits))))
    for budget in problem.budgets:
        found.append(Guardrail(f"budget {budget.name}", _budget(budget)))
    if problem.baseline is not None:
        found.append(Guardrail("baseline", _baseline(problem.baseline, problem)))
    if problem.known is not None:
        found.append(Guardrail("known", _known(problem.known, problem.unit)))
    if problem.explore:
        found.append(Guardrail("explore", _explore(problem.explore)))
    if problem.defaults is not None:
        found.append(Guardrail("defaults", _defaults(problem.defaults, problem.unit)))
    return found


def lost_without_explore(problem: Problem) -> str | None:
    """What cannot be found out from the log of a problem without `explore`; None if all can be.

    >>> lost_without_explore(Problem(["a", "b"], reveals="full-information"))
    >>> lost_without_explore(Problem(["a", "b"], explore=0.01))
    """
    rule = problem.baseline
    if problem.explore or (rule is not None and rule.is_shadow) or _always_seen(problem):
        return None
    return (
        "the problem has no explore: where the learner is certain it plays one action alone, so "
        "that few other policies can be judged on the log; write explore = 0.01 under [problem]"
    )


def _always_seen(problem: Problem) -> bool:
    """Whether every outcome is known or has a chance in every decision, by graph or floors."""
    if not isinstance(problem.actions, tuple) or problem.reveals.each_round or not problem.informed:
        return False
    structure = problem.with_known(problem.graph, problem.actions).structure
    box = None if problem.limits is None else problem.limits.on(problem.actions)
    floors = np.zeros(structure.n_actions) if box is None else box.lower
    by_floors = structure.reveal_probabilities(floors) > 0.0
    return bool((by_floors | (structure.in_degrees() == floors.size)).all())


def spent_in_words(spent: float, rate: float | None, per: str | float) -> str:
    """Such as "49 spent, 0.049 per round"; there is no rate before any time has passed."""
    return f"{spent:,.6g} spent" + ("" if rate is None else f", {rate:.4g} per {period(per)}")


def left_in_words(share: float) -> str:
    """How often a learner decided instead of the baseline."""
    if share == 0.0:
        return "the baseline decided all"
    return f"the learner decided {share:.1%}, the baseline the rest"


def period(per: str | float) -> str:
    """What a budget is counted over.

    >>> period("round"), period(100), period("day"), period(90.0)
    ('round', '100 rounds', 'day', '90 s')
    """
    if isinstance(per, int):
        return f"{per:,} rounds"
    return f"{per:g} s" if isinstance(per, float) else per


def _limits(limits: Limits) -> Iterator[str]:
    for bound, values, none in (("at least", limits.floors, 0.0), ("at most", limits.caps, 1.0)):
        if isinstance(values, Mapping):
            yield from (f"probability of {name} {bound} {p:g}" for name, p in values.items())
        elif values != none:
            yield f"every probability {bound} {values:g}"
    for one in limits.linear:
        name = "" if one.name is None else f"{one.name}: "
        bounds = (("at least", one.at_least), ("at most", one.at_most))
        shown = (f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        yield f"{name}{_sum(one.weights)} {' and '.join(shown)}"


def _sum(weights: Any) -> str:
    """A weighted sum of probabilities.

    >>> _sum({"call": 1.0, "review": 2.0, "approve": -0.5})
    'call + 2 * review - 0.5 * approve'
    """
    text = ""
    for action, weight in weights.items():
        sign = (" - " if weight < 0.0 else " + ") if text else ("-" if weight < 0.0 else "")
        factor = "" if abs(weight) == 1.0 else f"{abs(weight):g} * "
        text += f"{sign}{factor}{action}"
    return text


def _budget(budget: Budget) -> str:
    costs = (
        f"{action} costs {cost if isinstance(cost, str) else format(cost, 'g')}"
        for action, cost in budget.costs.items()
    )
    amount = "never more than" if budget.hard else "at most"
    return f"{amount} {budget.at_most:g} per {period(budget.per)}, where {listed(costs)}"


def _baseline(rule: Baseline, problem: Problem) -> str:
    action, unit = rule.action, problem.unit
    if rule.is_first:
        action = "the first action of each round"
    if rule.is_shadow:
        return f"{action} is always played; what the learner would have played is worked out"
    if rule.value is None and not rule.is_first and not _shows_itself(problem, action):
        return (
            f"{action}, which can never be left: playing it does not reveal its {unit}; "
            f"write {unit} = ..., what it is known to be on average"
        )
    worth = "" if rule.value is None else f", a {unit} of {rule.value:g} per round"
    return (
        f"{action}{worth}; the learner loses at most {1.0 + rule.epsilon:g} times as much, "
        f"with a confidence of {100 * rule.confidence:g} %"
    )


def _known(known: Known, unit: str) -> str:
    """What needs no feedback.

    >>> _known({"review": -2.0, "refund": "amount"}, "reward")
    'the reward of review is -2, the reward of refund is the feature amount; needs no feedback'
    """
    says = (
        f"the {unit} of {action} is {f'the feature {one}' if isinstance(one, str) else f'{one:g}'}"
        for action, one in known.items()
    )
    return f"{listed(says)}; needs no feedback"


def _shows_itself(problem: Problem, action: str) -> bool:
    """Whether playing an action may reveal its own outcome; True if only rounds can tell."""
    if action in (problem.known or {}):
        return True
    if not problem.has_fixed_actions or problem.reveals.each_round:
        return True
    place = problem.index(action)
    return bool(problem.graph.row(place)[place] > 0.0)


def _explore(share: float) -> str:
    return f"up to {share:g} of every decision's probability goes to outcomes that are seldom seen"


def _defaults(defaults: Defaults, unit: str) -> str:
    sentences = []
    if defaults.waiting is not None:
        sentences.append(
            f"a decision without feedback after {defaults.waiting:,g} s has a {unit} of "
            f"{defaults.value:g}"
        )
    if defaults.adds_up:
        sentences.append("rewards from clients of Personalizer add up until then")
    if defaults.keep_days is not None:
        sentences.append(f"decisions may be removed after {defaults.keep_days:g} days")
    return "; ".join(sentences)
