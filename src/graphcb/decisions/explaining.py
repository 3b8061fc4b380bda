"""Why a decision was made, from the state that its log leads to."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Conservative, Shadow
from graphcb.decisions import records
from graphcb.decisions.decision import check_decision_id, read_decision_id
from graphcb.decisions.explained import in_html, in_words, times
from graphcb.decisions.log import DecisionLog, LoggedDecision
from graphcb.decisions.replaying import state_for
from graphcb.decisions.tables import DecisionRow, select
from graphcb.problems import Learner, Problem, Recorded
from graphcb.problems.attribution import Attribution, Contribution, attribute, has_oracle
from graphcb.problems.guarded import innermost
from graphcb.rounds import hook
from graphcb.rounds.identifiers import Identifier, identifier_at

Floats = NDArray[np.float64]
CLOSE = 1e-9


class Shown(NamedTuple):
    """An action whose outcome is revealed, and with what probability."""

    action: Identifier
    probability: float


@dataclass(frozen=True)
class ExplainedAction:
    """One of the actions of a decision, in the units of the problem.

    `predicted` is the loss or reward that was expected of it, `interval` where that lies with 95 %
    by the model, and `n_seen` how often its outcome had been seen; None where nothing says so. If
    it `is_known`, the problem says what it brings. `price` is what budgets added to its loss when
    the choice was made. `contributions` are the features that moved the prediction, the largest
    first; `typical` is what would be predicted if no feature said anything, and `left_over` what
    features did only together. `reveals` are the actions whose outcomes playing it shows.
    """

    action: Identifier
    probability: float
    predicted: float | None
    interval: tuple[float, float] | None
    n_seen: float | None
    is_known: bool
    price: float
    contributions: tuple[Contribution, ...]
    typical: float | None
    left_over: float | None
    reveals: tuple[Shown, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a decision was made: the reason in one sentence, and each action beside the others.

    `unit` is "loss" or "reward". `bound` are sentences on limits, budgets and prices that had a say
    in this decision. `str` of it is a short text, `to_dict` is for JSON.
    """

    decision_id: str
    made_at: float
    action: Identifier
    probability: float
    unit: str
    reason: str
    bound: tuple[str, ...]
    actions: tuple[ExplainedAction, ...]
    model_version: int

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        plain = asdict(self)
        for given, one in zip(self.actions, plain["actions"], strict=True):
            one["interval"] = None if given.interval is None else list(given.interval)
            one["contributions"] = [
                {**each._asdict(), "value": _plain(each.value)} for each in given.contributions
            ]
            one["reveals"] = [each._asdict() for each in given.reveals]
        plain["bound"] = list(self.bound)
        return plain

    def _repr_html_(self) -> str:
        return in_html(self)

    def __str__(self) -> str:
        return in_words(self)


def explain(
    log: DecisionLog,
    decision_id: str,
    *,
    classes: Iterable[type] = (),
    at_most: int | None = None,
) -> Explanation:
    """Why a decision of a log was made; see `Policy.explain`.

    `classes` are those of your own that the agent contains. `at_most` bounds the events that may
    have to be replayed.
    """
    row, logged = _read(log, decision_id)
    if log.versions.of(row).recorded is not None:
        raise ValueError(
            f"decision {decision_id!r} was imported: another program made it, and only that one "
            "knows why"
        )
    state = state_for(log, row, classes=classes, at_most=at_most)
    agent: Any = state.agent
    problem = log.versions.of(row).problem
    at = _Moment(agent, logged, problem, _predictions(agent, logged))
    names = [identifier_at(logged.actions, k) for k in range(logged.graph.n_actions)]
    prices, bound, chosen = at.rules(names)
    return Explanation(
        logged.decision_id,
        logged.made_at,
        logged.action,
        float(logged.probabilities[logged.action_index]),
        "loss" if problem is None else problem.unit,
        at.reason(names, chosen),
        tuple(bound),
        tuple(at.action(k, name, names, prices) for k, name in enumerate(names)),
        logged.model_version,
    )


class _Moment(NamedTuple):
    """The agent as it was for a decision, and what it predicted."""

    agent: Any
    logged: LoggedDecision
    problem: Problem | None
    found: Attribution | None

    @property
    def inside(self) -> Any:
        return self.agent.agent if isinstance(self.agent, Learner) else self.agent

    @property
    def losses(self) -> Floats | None:
        """What was predicted, the smaller the better."""
        if self.found is None:
            return None
        sign = -1.0 if self.problem is not None and self.problem.feedback == "rewards" else 1.0
        return sign * self.found.predicted

    def rules(self, names: Sequence[Any]) -> tuple[Floats, list[str], Floats | None]:
        """What budgets added to each action, sentences on what bound, and losses with prices."""
        none, rules = np.zeros(len(names)), getattr(innermost(self.inside), "rules", None)
        if rules is None or self.losses is None:
            return none, [], self.losses
        logged, agent = self.logged, self.agent
        given: Any = {}
        context, actions = logged.context, logged.actions
        if isinstance(agent, Learner):
            _, context, _, actions, _, given = agent.enter(context, logged.graph, actions)
        at_time = hook(self.inside, "at_time")
        if at_time is not None:
            at_time(logged.made_at)
            rules = innermost(self.inside).rules
        inner = self.losses if self.problem is None else self.problem.as_losses(self.found_values)
        ruled = rules.ruled(inner, context, actions, given.get("names"), given.get("costs"))
        width = 1.0 if self.problem is None else self.problem.scale[1] - self.problem.scale[0]
        prices = width * (ruled.losses - inner)
        spending = None if ruled.rules is None else ruled.rules.spending
        bound = _limits_in_words(ruled.box, logged.probabilities, names)
        if spending is not None:
            for budget, account in zip(spending.budgets, spending.accounts, strict=True):
                left = f"{account.balance:.4g} left"
                bound.append(
                    f"budget {budget.name!r}: {left}, at a price of {width * account.price:.4g} "
                    "per unit"
                )
        return prices, bound, self.losses + prices

    @property
    def found_values(self) -> Floats:
        """Predictions in the problem's units."""
        return np.zeros(0) if self.found is None else self.found.predicted

    def action(
        self, index: int, name: Identifier, names: Sequence[Any], prices: Floats
    ) -> ExplainedAction:
        """All that is said of one action."""
        logged, found = self.logged, self.found
        row = logged.graph.row(index)
        shown = [Shown(names[k], float(row[k])) for k in np.flatnonzero(row > 0.0).tolist()]
        ends = None
        if found is not None and found.low is not None and found.high is not None:
            ends = float(found.low[index]), float(found.high[index])
        seen = None if found is None or found.n_seen is None else float(found.n_seen[index])
        return ExplainedAction(
            name,
            float(logged.probabilities[index]),
            None if found is None else float(found.predicted[index]),
            ends,
            seen,
            index in (logged.known or {}),
            float(prices[index]),
            () if found is None else found.contributions[index],
            None if found is None else float(found.typical[index]),
            None if found is None else float(found.left_over[index]),
            tuple(shown),
        )

    def reason(self, names: Sequence[Any], losses: Floats | None) -> str:
        """One sentence."""
        logged, action = self.logged, repr(self.logged.action)
        probability = logged.probabilities[logged.action_index]
        if len(names) == 1:
            return f"played {action}, the only action"
        by_rule = _by_baseline(self.inside, logged)
        if by_rule is not None:
            return f"played {action}: {by_rule}"
        if losses is None:
            return f"played {action} by chance, with probability {probability:.3g}"
        best = int(np.argmin(losses))
        worse = float(losses[logged.action_index] - losses[best])
        if worse <= CLOSE:
            return f"played {action}: {self._as_the_best(names, losses)}"
        if self.found is None or self.losses is None or self.found.n_seen is None:
            why = f"by chance, with probability {probability:.3g}"
        else:
            why = self._to_find_out(names)
        return f"played {action} {why}: {worse:.3g} worse by prediction than {names[best]!r}" + (
            self._seen_so_often(names)
        )

    def _as_the_best(self, names: Sequence[Any], losses: Floats) -> str:
        values, index = self.found_values, self.logged.action_index
        others = [k for k in range(len(names)) if k != index]
        second = min(others, key=lambda k: float(losses[k]))
        if np.ptp(losses) <= CLOSE:
            return "nothing tells the actions apart yet"
        unit = "loss" if self.problem is None else self.problem.unit
        how = "a known" if index in (self.logged.known or {}) else "an expected"
        text = f"it looked best, with {how} {unit} of {values[index]:.3g}"
        text += f"; {names[second]!r} came next with {values[second]:.3g}"
        if self.losses is not None and int(np.argmin(self.losses)) != index:
            text += ", and would have been better but for its price"
        return text

    def _target(self) -> int | None:
        """The action that playing the drawn one would have told most about."""
        logged, found = self.logged, self.found
        if found is None or found.low is None or found.high is None:
            return None
        shown = [
            int(k)
            for k in np.flatnonzero(logged.graph.row(logged.action_index) > 0.0)
            if int(k) not in (logged.known or {})
        ]
        width = found.high - found.low
        return max(shown, key=lambda k: float(width[k]), default=None)

    def _to_find_out(self, names: Sequence[Any]) -> str:
        target, logged = self._target(), self.logged
        probability = float(logged.probabilities[logged.action_index])
        if target is None:
            return f"by chance, with probability {probability:.3g}"
        explore = getattr(innermost(self.inside), "explore", 0.0)
        if 0.0 < probability <= explore + CLOSE:
            return f"with the share of {explore:g} that is kept for outcomes seldom seen"
        about = "it" if target == logged.action_index else repr(names[target])
        return f"to find out about {about}"

    def _seen_so_often(self, names: Sequence[Any]) -> str:
        target = self._target()
        if target is None or self.found is None or self.found.n_seen is None:
            return ""
        low, high = float(self.found.low[target]), float(self.found.high[target])  # type: ignore[index]
        unit = "loss" if self.problem is None else self.problem.unit
        return (
            f", but {names[target]!r} was {times(float(self.found.n_seen[target]))} "
            f"and its expected {unit} may be anything between {low:.3g} and {high:.3g}"
        )


def _read(log: DecisionLog, name: str) -> tuple[DecisionRow, LoggedDecision]:
    """A decision by its name, with the row that it was read from."""
    location = log.storage.location
    position, token = read_decision_id(name, log.start.name, location)
    if position:
        rows = list(records.read_decisions(log.storage, [position]))
    else:  # of a decider: it has a number in the log, but not in its name
        rows = select(log.storage, DecisionRow, "WHERE token = ?", token)
    until = log.n_events
    row = check_decision_id(
        name, token, rows[0] if rows else None, until, location, log.start.position
    )
    return row, log.read_row(row, [], log.versions.of(row))


def _predictions(agent: Any, logged: LoggedDecision) -> Attribution | None:
    """What was predicted of each action, and by which features; None if nothing predicts."""
    if isinstance(agent, Recorded) or not has_oracle(agent):
        return None
    if isinstance(agent, Learner):
        return attribute(agent, logged.context, logged.actions)
    oracle: Any = innermost(agent).oracle if hasattr(innermost(agent), "oracle") else None
    if oracle is None:
        return None
    n = logged.graph.n_actions
    predicted = np.asarray(oracle.predict(logged.context, logged.actions), dtype=np.float64)[:n]
    none: tuple[tuple[Contribution, ...], ...] = ((),) * n
    return Attribution(predicted, None, None, None, predicted, none, np.zeros(n))


def _by_baseline(agent: Any, logged: LoggedDecision) -> str | None:
    """What to say if today's rule decided."""
    if isinstance(agent, Shadow):
        return "today's rule decides, and the agent only learns"
    if isinstance(agent, Conservative) and float(logged.probabilities.max()) == 1.0:
        return (
            "today's rule, as what the agent is proven to have gained does not cover the risk of "
            "deciding otherwise"
        )
    return None


def _limits_in_words(box: Any, probabilities: Floats, names: Sequence[Any]) -> list[str]:
    """The limits that hold with equality."""
    if box is None:
        return []
    found = []
    for name, p, low, high in zip(names, probabilities, box.lower, box.upper, strict=True):
        if low > 0.0 and p <= low + CLOSE:
            found.append(f"floor: {name!r} has at least {low:.3g}, and got no more")
        if high < 1.0 and p >= high - CLOSE:
            found.append(f"cap: {name!r} has at most {high:.3g}, and got all of it")
    for row, most in zip(box.rows, box.most, strict=True):
        if row @ probabilities >= most - CLOSE:
            held = [repr(name) for name, weight in zip(names, row, strict=True) if weight != 0.0]
            found.append(f"limit: {' and '.join(held)} together are at their bound")
    return found


def _plain(value: Any) -> Any:
    """A value of a context as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    return str(value)
