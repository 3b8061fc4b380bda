"""What guardrails cost, and what a run has spent and left of them."""

from typing import Any

from graphcb.agents import Rules
from graphcb.problems import Learner, Problem
from graphcb.problems.guarded import innermost, proven_gain
from graphcb.problems.wording import left_in_words, spent_in_words

Facts = list[tuple[str, str]]

MOST_TO_SOLVE = 500  # actions


def cost_of_limits(problem: Problem) -> Facts:
    """What limits cost on the graph of the problem, and what cannot be learned within them."""
    rules = Rules.of(problem.limits)
    if rules is None or len(problem.actions) > MOST_TO_SOLVE:
        return []
    graph = problem.with_known(problem.graph, problem.actions)
    cost = rules.cost(graph, names=problem.actions)
    return [("cost of the limits", cost.removeprefix("limits: "))]


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
