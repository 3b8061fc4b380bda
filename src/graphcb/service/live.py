"""What the page shows, as JSON: the log's tally and the service's own numbers."""

import math
import time
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from graphcb.problems import Problem
from graphcb.service.desk import Desk
from graphcb.service.judged import Judge, Judged
from graphcb.service.metrics import Metrics
from graphcb.service.status import status_of
from graphcb.service.tally import NAMED, Tally
from graphcb.service.watching import Watch

MOST_IN_GRAPH = 24  # actions
WATCHED = ("/v1/decisions", "/v1/decisions/{id}/feedback", "/personalizer/v1.0/rank")


class ValueAnswer(msgspec.Struct):
    """A mean in the problem's units, null if too little of it can be seen, and its interval.

    The interval holds with 95 % at all times at once, and `unseen` is the share of decisions in
    which the loss could not have been revealed.
    """

    name: str
    mean: float | None
    lower: float
    upper: float
    unseen: float


class CurveAnswer(msgspec.Struct):
    """Means after `decisions` settled decisions; the interval is that of the policy."""

    decisions: list[int]
    mean: list[float | None]
    lower: list[float]
    upper: list[float]
    baseline: list[float | None]
    best: list[float | None]


class ActionAnswer(msgspec.Struct):
    """How often an action was played, of all and of late, and what playing it always would be."""

    name: str
    share: float
    recent: float
    value: ValueAnswer | None


class WindowsAnswer(msgspec.Struct):
    """Shares of actions, and of exploration, in windows that end after `decisions` decisions."""

    decisions: list[int]
    shares: dict[str, list[float]]
    explored: list[float]


class ExplorationAnswer(msgspec.Struct):
    """How likely actions other than the most likely one were, and what that costs a decision."""

    share: float
    recent: float
    cost: ValueAnswer


class FeedbackShown(msgspec.Struct):
    """Decisions that reveal something, how many have feedback, and how long it took."""

    expected: int
    answered: int
    waiting: int
    delay_p50: float | None
    delay_p90: float | None


class RuleAnswer(msgspec.Struct):
    """A limit, a budget or the baseline: what it says, how it stands, and whether it is held."""

    name: str
    says: str
    stands: str
    held: bool


class GraphAnswer(msgspec.Struct):
    """Which action reveals which: row played, column revealed."""

    actions: list[str]
    matrix: list[list[float]]


class LatencyAnswer(msgspec.Struct):
    """Requests of a path, refusals and failures among them, and upper ends of latencies."""

    path: str
    requests: int
    refused: int
    failed: int
    p50: float | None
    p99: float | None


class LiveAnswer(msgspec.Struct):
    """All that the page shows. Gains are positive where the policy is better.

    The tally begins after event `first_event` and has come to `seen_event` of `n_events`.
    """

    name: str
    unit: str
    version: str
    uptime: float
    now: float
    n_events: int
    first_event: int
    seen_event: int
    model_version: int
    n_decisions: int
    n_settled: int
    policy: ValueAnswer
    baseline: ValueAnswer | None
    best: ValueAnswer | None
    gain_on_baseline: ValueAnswer | None
    gain_on_best: ValueAnswer | None
    curve: CurveAnswer
    actions: list[ActionAnswer]
    windows: WindowsAnswer
    exploration: ExplorationAnswer
    feedback: FeedbackShown
    rules: list[RuleAnswer]
    graph: GraphAnswer | None
    requests: list[LatencyAnswer]
    waiting: int
    jobs_per_commit: float


def live_of(problem: Problem, watch: Watch, desk: Desk, metrics: Metrics) -> LiveAnswer:
    """The state of the service at this moment."""
    tally, judge, status = watch.tally, watch.tally.judge, status_of(desk, metrics)
    units = _Units(problem)
    means = judge.means()
    best = units.best(means)
    rule = None if problem.baseline is None else str(problem.baseline["action"])
    rule = rule if rule in judge.actions else None
    return LiveAnswer(
        problem.name,
        problem.unit,
        status.version,
        status.uptime,
        time.time(),
        status.n_events,
        watch.first,
        watch.position,
        status.model_version,
        tally.n,
        judge.n,
        units.value("this policy", judge.policy()),
        None if rule is None else units.value(rule, judge.constant(rule)),
        None if best is None else units.value(best, judge.constant(best)),
        None if rule is None else units.gain(rule, judge.excess(rule)),
        None if best is None else units.gain(best, judge.excess(best)),
        _curve(judge, units, rule, best),
        _actions(tally, units),
        _windows(tally),
        _exploration(tally, units),
        FeedbackShown(
            tally.n_expected, tally.n_answered, tally.n_open, tally.delay(0.5), tally.delay(0.9)
        ),
        _rules(problem, tally, units, rule),
        _graph(problem),
        _requests(metrics),
        status.waiting,
        status.jobs_per_commit,
    )


class _Units:
    """From the scale of 0 to 1 to the problem's own units."""

    def __init__(self, problem: Problem) -> None:
        self.low, high = problem.range
        self.width = high - self.low
        self.rewards = problem.feedback == "rewards"

    def best(self, means: Mapping[str, float]) -> str | None:
        if not means:
            return None
        return (max if self.rewards else min)(means, key=lambda name: means[name])

    def at(self, mean: float | None) -> float | None:
        shown = mean is not None and math.isfinite(mean)
        return self.low + self.width * mean if shown and mean is not None else None

    def value(self, name: str, one: Judged) -> ValueAnswer:
        lower, upper = (self.low + self.width * end for end in (one.lower, one.upper))
        return ValueAnswer(name, self.at(one.mean), lower, upper, one.unseen)

    def gain(self, name: str, excess: Judged) -> ValueAnswer:
        sign = self.width if self.rewards else -self.width
        mean = None if excess.mean is None else sign * excess.mean
        lower, upper = sorted((sign * excess.lower, sign * excess.upper))
        return ValueAnswer(name, mean, lower, upper, excess.unseen)


def _curve(judge: Judge, units: _Units, rule: str | None, best: str | None) -> CurveAnswer:
    points = list(judge.points)
    ends = [[units.low + units.width * float(end) for end in point[2]] for point in points]

    def line(name: str | None) -> list[float | None]:
        if name is None:
            return [None] * len(points)
        row = 2 + judge.actions.index(name)
        return [units.at(float(point[1][row])) for point in points]

    return CurveAnswer(
        [point[0] for point in points],
        [units.at(float(point[1][0])) for point in points],
        [pair[0] for pair in ends],
        [pair[1] for pair in ends],
        line(rule),
        line(best),
    )


def _actions(tally: Tally, units: _Units) -> list[ActionAnswer]:
    recent: dict[str, int] = {}
    for window in tally.windows[-5:]:
        for name, count in window.played.items():
            recent[name] = recent.get(name, 0) + count
    n_recent, judge = max(1, sum(recent.values())), tally.judge
    names = judge.actions or [name for name, _ in tally.played.most_common(2 * NAMED)]
    return [
        ActionAnswer(
            name,
            tally.played[name] / max(1, tally.n),
            recent.get(name, 0) / n_recent,
            units.value(name, judge.constant(name)) if name in judge.actions else None,
        )
        for name in names
    ]


def _windows(tally: Tally) -> WindowsAnswer:
    windows = tally.windows[:-1] if tally.last_is_short else tally.windows
    names = [name for name, _ in tally.played.most_common(NAMED)]
    fixed = tally.problem.actions
    if isinstance(fixed, tuple):  # the colours of actions stay as they are
        names = [name for name in fixed if name in names]
    sizes = [max(1, sum(window.played.values())) for window in windows]
    shares = {
        name: [window.played[name] / n for window, n in zip(windows, sizes, strict=True)]
        for name in names
    }
    if len(tally.played) > len(names):
        rest = 1.0 - np.array(list(shares.values())).sum(axis=0)
        shares["others"] = np.maximum(rest, 0.0).tolist()
    explored = [window.explored / n for window, n in zip(windows, sizes, strict=True)]
    return WindowsAnswer(np.cumsum(sizes).tolist(), shares, explored)


def _exploration(tally: Tally, units: _Units) -> ExplorationAnswer:
    last = tally.windows[-5:]
    n = max(1, sum(sum(window.played.values()) for window in last))
    recent = sum(window.explored for window in last) / n
    gain = units.gain("exploration", tally.judge.excess())
    cost = None if gain.mean is None else 0.0 - gain.mean
    shown = ValueAnswer("exploration", cost, -gain.upper, -gain.lower, gain.unseen)
    return ExplorationAnswer(tally.explored / max(1, tally.n), recent, shown)


def _rules(problem: Problem, tally: Tally, units: _Units, rule: str | None) -> list[RuleAnswer]:
    keeping, rules = tally.keeping, []
    if problem.limits is not None:
        n = keeping.n_broken
        stands = f"broken in {n:,} decisions" if n else f"held in all {keeping.n:,} decisions"
        rules.append(RuleAnswer("limits", _limits(problem.limits.as_table()), stands, n == 0))
    for spending in keeping.spending:
        one = spending.result()
        says = f"at most {one.at_most:g} per {one.per}{', never more' if one.hard else ''}"
        rate = "" if one.rate is None else f", {one.rate:.3g} per {one.per}"
        ahead = f"; at most {one.most_over:.3g} ahead, where {one.band:.3g} is allowed"
        held = one.most_over <= one.band + 1e-6
        rules.append(
            RuleAnswer(f"budget {one.name}", says, f"{one.spent:,.6g} spent{rate}{ahead}", held)
        )
    if problem.baseline is not None:
        action, mode = problem.baseline["action"], problem.baseline["mode"]
        says = f"{action} is always played" if mode == "shadow" else f"not to fall behind {action}"
        left = keeping.n_deviations / max(1, keeping.n)
        stands = f"left in {100 * left:.1f} % of the decisions"
        held = keeping.n_deviations == 0 if mode == "shadow" else _keeps_up(tally, units, rule)
        rules.append(RuleAnswer("baseline", says, stands, held))
    return rules


def _keeps_up(tally: Tally, units: _Units, rule: str | None) -> bool:
    """Whether nothing proves that more is lost than (1 + epsilon) times the baseline's loss."""
    baseline = tally.problem.baseline
    if rule is None or baseline is None:
        return True
    known, excess = tally.judge.constant(rule), tally.judge.excess(rule)
    if units.rewards:
        return -excess.upper <= baseline["epsilon"] * (1.0 - known.lower)
    return bool(excess.lower <= baseline["epsilon"] * known.upper)


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


def _graph(problem: Problem) -> GraphAnswer | None:
    if not isinstance(problem.actions, tuple) or problem.reveals.each_round:
        return None
    if len(problem.actions) > MOST_IN_GRAPH:
        return None
    return GraphAnswer(list(problem.actions), problem.graph.matrix.tolist())


def _requests(metrics: Metrics) -> list[LatencyAnswer]:
    found = []
    for path in WATCHED:
        counts = {status: n for (route, status), n in metrics.answers.items() if route == path}
        if not counts:
            continue
        latencies = metrics.latencies[path]
        ends = (latencies.quantile(share) for share in (0.5, 0.99))
        p50, p99 = (end if math.isfinite(end) else None for end in ends)
        refused = sum(n for status, n in counts.items() if 400 <= status < 500)
        failed = sum(n for status, n in counts.items() if status >= 500)
        found.append(LatencyAnswer(path, sum(counts.values()), refused, failed, p50, p99))
    return found
