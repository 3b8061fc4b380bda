"""How each guardrail of a problem stands, in words: for `log summary` and the page."""

from typing import NamedTuple

from graphcb.evaluation.keeping import BaselineKept, BudgetKept, GuardrailsKept
from graphcb.problems import Problem
from graphcb.problems.wording import guardrails_in_words, left_in_words, spent_in_words

SLACK = 1e-6  # of what a budget spends ahead of its allowance


class Standing(NamedTuple):
    """A guardrail: its name, what it says, how it stands, and whether it is held.

    `held` is None if what was seen of the log does not tell. Defaults, `explore` and what is known
    without feedback promise nothing that could be broken: theirs is None, and `stands` is empty.
    """

    name: str
    says: str
    stands: str
    held: bool | None


def standings(
    problem: Problem, kept: GuardrailsKept, *, keeps_up: bool | None = None
) -> list[Standing]:
    """One for each of `guardrails_in_words`.

    `keeps_up` says whether a conservative learner keeps up with the baseline, if that is known.
    """
    states: dict[str, tuple[str, bool | None]] = {
        "known": ("", None),
        "explore": ("", None),
        "defaults": ("", None),
    }
    if kept.n_broken is not None:
        states["limits"] = _limits(kept.n_broken, kept.n_checked), kept.n_broken == 0
    for budget in kept.budgets:
        held = budget.most_over <= budget.band + SLACK if budget.is_whole else None
        states[f"budget {budget.name}"] = _budget(budget), held
    if kept.baseline is not None:
        is_shadow = kept.baseline.mode == "shadow"
        held = kept.baseline.deviations == 0.0 if is_shadow else keeps_up
        states["baseline"] = _baseline(kept.baseline, problem.unit), held
    return [Standing(*one, *states[one.name]) for one in guardrails_in_words(problem)]


def _limits(n_broken: int, n: int) -> str:
    return f"broken in {n_broken:,} decisions" if n_broken else f"held in all {n:,} decisions"


def _budget(kept: BudgetKept) -> str:
    spent = spent_in_words(kept.spent, kept.rate, kept.per)
    if not kept.is_whole:
        return f"{spent} in what was counted; what was left before is not known"
    return f"{spent}; at most {kept.most_over:.3g} ahead, where {kept.band:.3g} is allowed"


def _baseline(kept: BaselineKept, unit: str) -> str:
    text = left_in_words(kept.deviations)
    if kept.proven_gain is not None:
        text += f"; proven gain: {kept.proven_gain:.4g} of {unit}"
    if kept.gain is not None and kept.gain_interval is not None:
        lower, upper = kept.gain_interval
        text += (
            f"; the learner would have gained {kept.gain:.4f} of {unit} per decision "
            f"({lower:.4f} to {upper:.4f})"
        )
    return text
