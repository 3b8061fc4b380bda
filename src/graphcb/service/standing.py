"""How limits, budgets, the baseline and defaults stand in what a tally has seen."""

from graphcb.evaluation.standing import standings
from graphcb.service.live_answers import RuleAnswer
from graphcb.service.tally import LiveTally


def rules_of(tally: LiveTally, rule: str | None) -> list[RuleAnswer]:
    """All guardrails; `rule` is the action of the baseline, where it can be estimated."""
    kept = tally.keeping.kept(tally.known_budgets)
    found = standings(tally.problem, kept, keeps_up=keeps_up(tally, rule))
    return [RuleAnswer(*one) for one in found]


def keeps_up(tally: LiveTally, rule: str | None) -> bool | None:
    """Whether nothing proves that more is lost than (1 + epsilon) times the baseline's loss.

    None if its action cannot be estimated, and if a lead that was not seen may make up for it.
    """
    baseline = tally.problem.baseline
    if rule is None or baseline is None:
        return None
    known, excess = tally.judge.constant(rule), tally.judge.excess(rule)
    if tally.problem.feedback == "rewards":
        holds = -excess.upper <= baseline.epsilon * (1.0 - known.lower)
    else:
        holds = excess.lower <= baseline.epsilon * known.upper
    return True if holds else None if _has_lead(tally) else False


def _has_lead(tally: LiveTally) -> bool:
    """Whether the policy may have gained on its baseline in decisions that are not counted."""
    now, former = tally.problem, tally.former
    if not tally.is_whole or former is None:
        return not tally.is_whole
    same = now.baseline == former.baseline and now.feedback == former.feedback
    return same and now.range == former.range
