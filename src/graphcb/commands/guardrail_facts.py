"""Limits, budgets and the baseline of a problem, in words."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphcb.agents import Budget, Rules
from graphcb.checks import listed
from graphcb.problems import Learner, Problem
from graphcb.problems.guarded import innermost, proven_gain

if TYPE_CHECKING:
    from graphcb.evaluation.keeping import BudgetKept, GuardrailsKept

Facts = list[tuple[str, str]]

MOST_TO_SOLVE = 500  # actions


def guardrail_facts(problem: Problem) -> Facts:
    """What must hold in every round, over time, and beside today's rule."""
    facts = _limits(problem)
    for budget in problem.budgets:
        facts.append((f"budget {budget.name}", budget_in_words(budget)))
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


def cost_of_limits(problem: Problem) -> Facts:
    """What limits cost on the graph of the problem, and what cannot be learned within them."""
    rules = Rules.of(problem.limits)
    if rules is None or len(problem.actions) > MOST_TO_SOLVE:
        return []
    cost = rules.cost(problem.graph, names=problem.actions)
    return [("cost of the limits", cost.removeprefix("limits: "))]


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


def budget_in_words(budget: Budget) -> str:
    """Such as "at most 0.05 per round: review 1"."""
    costs = (
        f"{action} {cost if isinstance(cost, str) else format(cost, 'g')}"
        for action, cost in budget.costs.items()
    )
    hard = ", never more" if budget.hard else ""
    return f"at most {budget.at_most:g} per {period(budget.per)}{hard}: {listed(costs)}"


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
    if known is None and not _shows_itself(problem, action):
        return (
            f"{action}, which can never be left: playing it does not reveal its {problem.unit}; "
            f"write {problem.unit} = ..., what it is known to be on average"
        )
    worth = "" if known is None else f", a {problem.unit} of {known:g} per round"
    return (
        f"{action}{worth}; the learner loses at most {1.0 + baseline['epsilon']:g} times as much, "
        f"with a confidence of {100 * baseline['confidence']:g} %"
    )


def _shows_itself(problem: Problem, action: str) -> bool:
    """Whether playing an action may reveal its own outcome; True if only rounds can tell."""
    if not problem.has_fixed_actions or problem.reveals.each_round:
        return True
    place = problem.index(action)
    return bool(problem.graph.row(place)[place] > 0.0)


def kept_facts(kept: "GuardrailsKept", unit: str) -> Facts:
    """What a log kept of all this; `unit` is "loss" or "reward"."""
    facts = []
    if kept.n_broken is not None:
        broken = f"broken in {kept.n_broken:,} decisions" if kept.n_broken else ""
        facts.append(("limits", broken or "held in every decision"))
    for one in kept.budgets:
        facts.append((f"budget {one.name}", spent_in_words(one.spent, one.rate, one)))
        ahead = f"at most {one.most_over:.4g}; the band is {one.band:.4g}"
        facts.append(("  ahead of its allowance", ahead))
    if kept.baseline is not None:
        share = f"left in {kept.baseline.deviations:.1%} of the decisions"
        facts.append((f"baseline {kept.baseline.action}", share))
        if kept.baseline.proven_gain is not None:
            facts.append(("  proven gain", f"{kept.baseline.proven_gain:.4g} of {unit}"))
        if kept.baseline.gain is not None and kept.baseline.gain_interval is not None:
            lower, upper = kept.baseline.gain_interval
            gain = f"{kept.baseline.gain:.4f} of {unit} per decision ({lower:.4f} to {upper:.4f})"
            facts.append(("  the learner would have gained", gain))
    return facts


def spent_in_words(spent: float, rate: float | None, budget: "Budget | BudgetKept") -> str:
    """Such as "49 spent, 0.049 per round; at most 0.05"."""
    per = period(budget.per)
    shown = "" if rate is None else f", {rate:.4g} per {per}"
    return f"{spent:,.6g} spent{shown}; at most {budget.at_most:g} per {per}"


def run_facts(learner: Learner) -> Facts:
    """What a run has spent of its budgets, and how often it left the baseline."""
    found = run_results(learner)
    facts = [
        (f"budget {name}", spent_in_words(one["spent"], one["rate"], budget))
        for budget in learner.problem.budgets
        for name, one in [(budget.name, found["budgets"][budget.name])]
    ]
    baseline = found.get("baseline")
    if baseline is not None:
        text = f"{baseline['action']}, left in {baseline['deviations']:.1%} of the rounds"
        if baseline["proven_gain"] is not None:
            text += f"; proven gain {baseline['proven_gain']:.4g}"
        facts.append(("baseline", text))
    return facts


def run_results(learner: Learner) -> dict[str, Any]:
    """The same for JSON: nothing if the problem has no budgets and no baseline."""
    problem, agent = learner.problem, learner.agent
    found: dict[str, Any] = {}
    if problem.budgets:
        spending = innermost(agent).rules.spending
        found["budgets"] = {
            budget.name: {
                "spent": account.spent,
                "allowed": account.accrued,
                "rate": account.spent / account.accrued * budget.at_most,
                "at_most": budget.at_most,
                "per": budget.per,
            }
            for budget, account in zip(spending.budgets, spending.accounts, strict=True)
        }
    if problem.baseline is not None:
        gain = proven_gain(problem, agent)
        share = getattr(agent, "n_deviations", 0) / max(1, innermost(agent).n_rounds)
        action = problem.baseline["action"]
        found["baseline"] = {"action": action, "deviations": share, "proven_gain": gain}
    return found
