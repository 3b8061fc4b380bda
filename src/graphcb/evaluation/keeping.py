"""Whether a log kept what its problem promises: limits, budgets, and the baseline."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from graphcb.agents import Budget
from graphcb.agents.pacing import Account
from graphcb.contexts.values import features_of
from graphcb.decisions import DecisionLog, LoggedDecision, Versions, replay
from graphcb.estimates.terms import Floats
from graphcb.evaluation.judging import evaluate
from graphcb.evaluation.replayed import shadow
from graphcb.evaluation.targets import logged
from graphcb.exploration import BoxAndRows
from graphcb.exploration.cheapest import obeys
from graphcb.problems import Problem
from graphcb.problems.guarded import proven_gain

SLACK = 1e-9  # of linear limits and of probabilities


@dataclass(frozen=True)
class BudgetKept:
    """What was spent of a budget, from the first decision of the log to the last.

    `rate` is per round or per period, as `at_most` is, None if no time has passed. At some
    decision, spending was `most_over` ahead of the allowance, and `band` is how far a
    budget without a hard stop lets it run. If `is_whole` is False, decisions before the first
    that was counted may have left something, or spent it.
    """

    name: str
    at_most: float
    per: str | int | float
    hard: bool
    spent: float
    allowed: float
    rate: float | None
    most_over: float
    band: float
    is_whole: bool = True


@dataclass(frozen=True)
class BaselineKept:
    """How often the baseline was left, and what was gained on it.

    `deviations` is the share of decisions that did not play the baseline for certain.
    `proven_gain` is how far the learner is proven to be ahead of (1 + epsilon) times the
    baseline's loss, in the problem's units. In shadow mode, `gain` is what the learner would have
    gained per decision, with its interval. They are None where they have no meaning, and if the
    log cannot be replayed.
    """

    action: str
    mode: str
    deviations: float
    proven_gain: float | None = None
    gain: float | None = None
    gain_interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class GuardrailsKept:
    """What a log kept.

    `n_broken` of `n_checked` decisions were outside the limits, None if the problem has none.
    """

    n_broken: int | None
    budgets: tuple[BudgetKept, ...]
    baseline: BaselineKept | None
    n_checked: int = 0


class Keeping:
    """Decisions of a log, added one by one in their order.

    Each is held against the problem of its version. The budgets and the baseline are those of the
    last version; one with the same name and costs goes on from earlier ones.
    """

    def __init__(self, versions: Versions) -> None:
        self.versions, self.problem = versions, versions.last.problem
        self.n = self.n_broken = self.n_checked = self.n_deviations = 0
        self.number, self.spending, self.past = 0, list[_Spending](), list[_Spending]()

    def add(self, row: LoggedDecision) -> None:
        """One more decision."""
        problem = self.versions.numbered(row.version).problem
        if row.version > self.number:
            self._begin(row.version, problem)
        if problem is None:
            return
        names = tuple(map(str, problem.actions if row.actions is None else row.actions))
        if problem.limits is not None:
            self.n_checked += 1
            self.n_broken += not _is_within(problem.limits.on(names), row.probabilities)
        if row.version < self.number:  # by a decider that did not know of the change yet
            return
        self.n += 1
        for spending in self.spending:
            spending.add(row, names)
        if problem.baseline is not None:
            rule = problem.baseline
            baseline = 0 if rule.is_first else names.index(rule.action)
            self.n_deviations += bool(row.probabilities[baseline] < 1.0 - SLACK)

    def followed_by(self, versions: Versions) -> "Keeping":
        """For the last of some versions alone: its budgets go on, and all counts are of it."""
        after = Keeping(versions)
        after.spending, after.past = self.spending, self.past
        after._begin(versions.last.number, versions.last.problem)
        return after

    def _begin(self, number: int, problem: Problem | None) -> None:
        budgets = () if problem is None else problem.budgets
        known, self.spending = [*self.spending, *self.past], []
        for budget in budgets:
            found = next((one for one in known if one.budget.is_of_one_kind(budget)), None)
            self.spending.append(_Spending(budget) if found is None else found.under(budget))
            known = [one for one in known if one is not found]
        self.past = known
        self.number, self.n, self.n_deviations = number, 0, 0

    def kept(self, whole: Collection[str] | None = None) -> GuardrailsKept:
        """What was kept so far.

        `whole` are the texts of budgets whose whole account was seen, None for all of them.
        """
        problem = self.problem
        if self.number != self.versions.last.number:  # which has decided nothing yet
            self._begin(self.versions.last.number, problem)
        rule = None if problem is None else problem.baseline
        share = self.n_deviations / max(self.n, 1)
        return GuardrailsKept(
            None if problem is None or problem.limits is None else self.n_broken,
            tuple(one.result(whole is None or repr(one.budget) in whole) for one in self.spending),
            None if rule is None else BaselineKept(rule.action, rule.mode, share),
            self.n_checked,
        )

    def result(self, log: DecisionLog, confidence: float) -> GuardrailsKept | None:
        """What was kept, with what a replay of the log proves; None if nothing was promised."""
        found, problem = self.kept(), self.problem
        if problem is None or (
            problem.limits is None and not problem.budgets and found.baseline is None
        ):
            return None
        if found.baseline is not None:
            gains = _gains(log, problem, found.baseline.mode, confidence)
            found = replace(found, baseline=replace(found.baseline, **gains))
        return found


def _gains(log: DecisionLog, problem: Problem, mode: str, confidence: float) -> dict[str, Any]:
    """What is proven, or what a shadow would have gained; nothing if the log is not replayed."""
    try:
        if mode == "conservative":
            learner: Any = replay(log, from_checkpoint=True).agent
            return {"proven_gain": proven_gain(problem, learner.agent)}
        number = log.versions.last.number
        rows = (row for row in log if row.version == number)
        found = evaluate(
            rows, shadow(log), against=logged, loss_range=problem.range, confidence=confidence
        ).difference
    except ValueError:  # made by another program or another version, or a class of the user's own
        return {}
    if found is None or found.interval is None:
        return {}
    sign = 1.0 if problem.feedback == "rewards" else -1.0
    lower, upper = sorted(sign * end for end in found.interval)
    return {"gain": sign * found.value, "gain_interval": (lower, upper)}


def _is_within(box: BoxAndRows | None, probabilities: Floats) -> bool:
    """Whether a round obeys its limits; linear ones up to what the solver leaves them."""
    if box is None:
        return True
    lower, upper, rows, most = box
    return bool(obeys(probabilities.copy(), lower, upper, rows, most + SLACK))


class _Spending:
    """The account of one budget, kept anew from the log alone."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.account = Account()
        self.most_over = self.band = 0.0

    def under(self, budget: Budget) -> "_Spending":
        """The same on other terms."""
        if budget == self.budget:
            return self
        after = _Spending(budget)
        after.account = self.account.under(self.budget, budget)
        after.most_over, after.band = self.most_over, self.band
        return after

    def add(self, row: LoggedDecision, names: tuple[str, ...]) -> None:
        costs = self.budget.of_context(names, features_of(row.context))
        account = self.account.at(row.made_at).opened(self.budget, float(costs.max()), 0.0)
        self.band = max(self.band, account.band)
        self.account = account.paid(0.0, float(costs[row.action_index]), held=False)
        self.most_over = max(self.most_over, -self.account.balance)

    def result(self, is_whole: bool) -> BudgetKept:
        budget, account = self.budget, self.account
        periods = account.accrued / budget.at_most
        return BudgetKept(
            budget.name,
            budget.at_most,
            budget.per,
            budget.hard,
            account.spent,
            account.accrued,
            account.spent / periods if periods > 0.0 else None,
            self.most_over,
            0.0 if budget.hard and budget.per == "round" else self.band,
            is_whole,
        )
