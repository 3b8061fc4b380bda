"""Whether limits, budgets and the baseline are held, in words."""

from collections.abc import Mapping
from typing import Any

from graphcb.problems import Problem
from graphcb.service.live_answers import RuleAnswer
from graphcb.service.tally import LiveTally
from graphcb.service.units import Units


def rules_of(
    problem: Problem, tally: LiveTally, units: Units, rule: str | None
) -> list[RuleAnswer]:
    """Limits, budgets and the baseline; `rule` is its action, where that can be judged."""
    keeping, rules = tally.keeping, []
    if problem.limits is not None:
        n = keeping.n_broken
        stands = f"broken in {n:,} decisions" if n else f"held in all {keeping.n:,} decisions"
        rules.append(RuleAnswer("limits", _limits(problem.limits.as_table()), stands, n == 0))
    for spending in keeping.spending:
        one = spending.result()
        says = f"at most {one.at_most:g} per {one.per}{', never more' if one.hard else ''}"
        rate = "" if one.rate is None else f", {one.rate:.3g} per {one.per}"
        held: bool | None = None
        more = " in what was counted; what was left before is not known"
        if repr(spending.budget) in tally.known_budgets:
            held = one.most_over <= one.band + 1e-6
            more = f"; at most {one.most_over:.3g} ahead, where {one.band:.3g} is allowed"
        stands = f"{one.spent:,.6g} spent{rate}{more}"
        rules.append(RuleAnswer(f"budget {one.name}", says, stands, held))
    if problem.baseline is not None:
        action, mode = problem.baseline["action"], problem.baseline["mode"]
        says = f"{action} is always played" if mode == "shadow" else f"not to fall behind {action}"
        left = keeping.n_deviations / max(1, keeping.n)
        stands = f"left in {100 * left:.1f} % of the decisions"
        held = keeping.n_deviations == 0 if mode == "shadow" else keeps_up(tally, units, rule)
        rules.append(RuleAnswer("baseline", says, stands, held))
    return rules


def keeps_up(tally: LiveTally, units: Units, rule: str | None) -> bool | None:
    """Whether nothing proves that more is lost than (1 + epsilon) times the baseline's loss.

    None if its action cannot be judged, and if a lead that was not seen may make up for it.
    """
    baseline = tally.problem.baseline
    if rule is None or baseline is None:
        return None
    known, excess = tally.judge.constant(rule), tally.judge.excess(rule)
    if units.rewards:
        holds = -excess.upper <= baseline["epsilon"] * (1.0 - known.lower)
    else:
        holds = excess.lower <= baseline["epsilon"] * known.upper
    return True if holds else None if _has_lead(tally) else False


def _has_lead(tally: LiveTally) -> bool:
    """Whether the policy may have gained on its baseline in decisions that are not counted."""
    now, former = tally.problem, tally.former
    if not tally.is_whole or former is None:
        return not tally.is_whole
    same = now.baseline == former.baseline and now.feedback == former.feedback
    return same and now.range == former.range


def _limits(table: Mapping[str, Any]) -> str:
    """Such as "probability of review at least 0.05"."""
    words = []
    for key, text in (("floors", "at least"), ("caps", "at most")):
        bounds = table.get(key, {})
        if isinstance(bounds, Mapping):
            words += [f"probability of {name} {text} {bound:g}" for name, bound in bounds.items()]
        else:
            words.append(f"every probability {text} {bounds}")
    for place, one in enumerate(table.get("linear", ())):
        group = " + ".join(map(str, one.get("actions", one.get("weights", ()))))
        ends = [
            f"{text} {one[key]:g}"
            for key, text in (("at_least", "at least"), ("at_most", "at most"))
            if key in one
        ]
        words.append(f"{one.get('name', f'limit {place + 1}')}: {group} {' and '.join(ends)}")
    return "; ".join(words)
