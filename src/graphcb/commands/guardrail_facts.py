"""What guardrails cost, and what a run has spent and left of them."""

from typing import Any

from graphcb.agents import Rules
from graphcb.exploration.seldom_seen import cost_of_exploring
from graphcb.problems import Learner, Problem
from graphcb.problems.guarded import innermost, proven_gain
from graphcb.problems.wording import left_in_words, spent_in_words

Facts = list[tuple[str, str]]

MOST_TO_SOLVE = 500  # actions


def cost_of_rules(problem: Problem) -> Facts:
    """What limits and `explore` cost on the problem's graph, and what cannot be learned."""
    rules, facts = Rules.of(problem.limits), list[tuple[str, str]]()
    if (rules is None or len(problem.actions) > MOST_TO_SOLVE) and not problem.explore:
        return facts
    graph = problem.with_known(problem.graph, problem.actions)
    if rules is not None and len(problem.actions) <= MOST_TO_SOLVE:
        cost = rules.cost(graph, names=problem.actions)
        facts.append(("cost of the limits", cost.removeprefix("limits: ")))
    if problem.explore:
        is_limited = rules is not None or bool(problem.budgets)
        cost = cost_of_exploring(graph, problem.explore, is_limited=is_limited)
        facts.append(("cost of exploring", cost.removeprefix("explore: ")))
    return facts


def run_facts(learner: Learner) -> Facts:
    """What a run has spent of its budgets, and how often it left the baseline."""
    found = run_results(learner)
    facts = [
        (f"budget {name}", spent_in_words(one["spent"], one["rate"], one["per"]))
        for name, one in found.get("budgets", {}).items()
    ]
    baseline = found.get("baseline")
    if baseline is not None:
        text = left_in_words(baseline["deviations"])
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
        found["baseline"] = {
            "action": problem.baseline.action,
            "deviations": getattr(agent, "n_deviations", 0) / max(1, innermost(agent).n_rounds),
            "proven_gain": proven_gain(problem, agent),
        }
    return found
