"""What the page shows, as JSON: the log's tally and the service's own numbers."""

import math
import time

import numpy as np

from graphcb.problems import Problem
from graphcb.service.desk import Desk
from graphcb.service.judged import Judge
from graphcb.service.live_answers import (
    ActionAnswer,
    CurveAnswer,
    ExplorationAnswer,
    FeedbackShown,
    GraphAnswer,
    LatencyAnswer,
    LiveAnswer,
    ValueAnswer,
    VersionShown,
    WindowsAnswer,
)
from graphcb.service.metrics import Metrics
from graphcb.service.standing import rules_of
from graphcb.service.status import status_of
from graphcb.service.tally import NAMED, LiveTally
from graphcb.service.units import Units
from graphcb.service.watching import Watch

MOST_IN_GRAPH = 24  # actions
MOST_VERSIONS = 10  # in the table
NOT_ESTIMATED = (
    "How likely each loss was to be revealed is learned in this problem, so that losses cannot be "
    "weighed as they come. graphcb log summary LOG replays the log and estimates them."
)
WATCHED = ("/v1/decisions", "/v1/decisions/{id}/feedback", "/personalizer/v1.0/rank")


def live_of(watch: Watch, desk: Desk, metrics: Metrics) -> LiveAnswer:
    """The state of the service at this moment."""
    tally, judge, status = watch.tally, watch.tally.judge, status_of(desk, metrics)
    problem = tally.problem
    units = Units(problem)
    means = judge.means()
    best = units.best(means)
    rule = None if problem.baseline is None else problem.baseline.action
    rule = rule if rule in judge.actions else None
    return LiveAnswer(
        problem.name,
        problem.unit,
        status.version,
        status.uptime,
        time.time(),
        status.n_events,
        max(watch.first, tally.version.position),
        watch.position,
        status.model_version,
        tally.n,
        judge.n,
        tally.version.number,
        len(watch.versions),
        _versions(watch),
        "" if tally.has_estimates else NOT_ESTIMATED,
        units.value("this policy", judge.policy()),
        None if rule is None else units.value(rule, judge.constant(rule)),
        None if best is None else units.value(best, judge.constant(best)),
        None if rule is None else units.gain(rule, judge.excess(rule)),
        None if best is None else units.gain(best, judge.excess(best)),
        _curve(judge, units, rule, best),
        _actions(tally, units),
        _windows(tally),
        _exploration(tally, units),
        _feedback(tally),
        rules_of(problem, tally, units, rule),
        _graph(problem),
        _requests(metrics),
        status.waiting,
        status.jobs_per_commit,
    )


def _curve(judge: Judge, units: Units, rule: str | None, best: str | None) -> CurveAnswer:
    points = judge.curve.values
    ends = [[units.low + units.width * float(end) for end in point[1]] for point in points]

    def line(name: str | None) -> list[float | None]:
        if name is None:
            return [None] * len(points)
        row = 2 + judge.actions.index(name)
        return [units.at(float(point[0][row])) for point in points]

    return CurveAnswer(
        judge.curve.counts,
        [units.at(float(point[0][0])) for point in points],
        [pair[0] for pair in ends],
        [pair[1] for pair in ends],
        line(rule),
        line(best),
    )


def _actions(tally: LiveTally, units: Units) -> list[ActionAnswer]:
    recent: dict[str, int] = {}
    for window in tally.windows[-5:]:
        for name, count in window.played.items():
            recent[name] = recent.get(name, 0) + count
    n_recent, judge = max(1, sum(window.n for window in tally.windows[-5:])), tally.judge
    judged = judge.actions if tally.has_estimates else ()
    names = judge.actions or [name for name, _ in tally.played.most_common(2 * NAMED)]
    return [
        ActionAnswer(
            name,
            tally.played[name] / max(1, tally.n),
            recent.get(name, 0) / n_recent,
            units.value(name, judge.constant(name)) if name in judged else None,
        )
        for name in names
    ]


def _windows(tally: LiveTally) -> WindowsAnswer:
    windows = tally.windows[:-1] if tally.last_is_short else tally.windows
    names = [name for name, _ in tally.played.most_common(NAMED)]
    fixed = tally.problem.actions
    if isinstance(fixed, tuple):  # the colours of actions stay as they are
        names = [name for name in fixed if name in names]
    sizes = [max(1, window.n) for window in windows]
    shares = {
        name: [window.played[name] / n for window, n in zip(windows, sizes, strict=True)]
        for name in names
    }
    if len(tally.played) > len(names):
        rest = 1.0 - np.array(list(shares.values())).sum(axis=0)
        shares["others"] = np.maximum(rest, 0.0).tolist()
    explored = [window.explored / n for window, n in zip(windows, sizes, strict=True)]
    return WindowsAnswer(np.cumsum(sizes).tolist(), shares, explored)


def _exploration(tally: LiveTally, units: Units) -> ExplorationAnswer:
    last = tally.windows[-5:]
    n = max(1, sum(window.n for window in last))
    recent = sum(window.explored for window in last) / n
    gain = units.gain("exploration", tally.judge.excess())
    cost = None if gain.mean is None else 0.0 - gain.mean
    shown = ValueAnswer("exploration", cost, -gain.upper, -gain.lower, gain.unseen)
    return ExplorationAnswer(tally.explored / max(1, tally.n), recent, shown)


def _feedback(tally: LiveTally) -> FeedbackShown:
    defaults = tally.problem.defaults
    waits = defaults is not None and defaults.waiting is not None
    return FeedbackShown(
        tally.n_expected,
        tally.n_answered,
        tally.n_by_default if waits else None,
        tally.n_replaced,
        tally.n_open,
        tally.delay(0.5),
        tally.delay(0.9),
    )


def _versions(watch: Watch) -> list[VersionShown]:
    """The last versions, newest first, with what was seen of them."""
    found = []
    for version in reversed(list(watch.versions)[-MOST_VERSIONS:]):
        if version.problem is None:
            continue
        now = version.number == watch.tally.version.number
        seen = watch.tally.result() if now else watch.finished.get(version.number)
        value = None
        if seen is not None and seen.policy is not None:
            value = Units(version.problem).value("policy", seen.policy)
        found.append(
            VersionShown(
                version.number,
                version.made_at,
                version.note,
                version.problem.unit,
                None if seen is None else seen.n,
                seen is not None and seen.is_whole,
                value,
            )
        )
    return found


def _graph(problem: Problem) -> GraphAnswer | None:
    if not isinstance(problem.actions, tuple) or problem.reveals.each_round:
        return None
    if len(problem.actions) > MOST_IN_GRAPH:
        return None
    rows: list[list[float | None]] = problem.graph.matrix.tolist()
    if not problem.informed:
        sure = problem.certain_graph_for(problem.actions)
        sure_rows = np.zeros(problem.graph.matrix.shape) if sure is None else sure.matrix
        rows = [
            [None if may and not certain else certain for may, certain in zip(*pair, strict=True)]
            for pair in zip(rows, sure_rows.tolist(), strict=True)
        ]
    return GraphAnswer(list(problem.actions), rows)


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
