"""/v1/live: the tally of the log and the service's own numbers, as the page shows them."""

import time
from collections import Counter

import numpy as np

from graphcb.problems import Problem
from graphcb.service.answers import of_alarms
from graphcb.service.desk import Desk
from graphcb.service.judged import Judge
from graphcb.service.live_answers import (
    ActionShown,
    CurveShown,
    EstimatesShown,
    ExplorationShown,
    FeedbackShown,
    GraphShown,
    LiveAnswer,
    LogShown,
    RequestsShown,
    ServiceShown,
    ValueShown,
    VersionShown,
    VersionsShown,
    WindowsShown,
)
from graphcb.service.metrics import Metrics, status_of
from graphcb.service.standing import rules_of
from graphcb.service.tally import NAMED, LiveTally
from graphcb.service.units import Units
from graphcb.service.watching import Watch

MOST_IN_GRAPH = 24  # actions
MOST_VERSIONS = 10  # in the table
RECENT = 5  # windows
NOT_ESTIMATED = (
    "This problem learns how likely each loss is to be revealed, so losses cannot be weighted as "
    "they arrive. graphcb log summary LOG replays the log and estimates them."
)
NOT_BOUNDED = (
    "This problem says no range, and not all values lie between 0 and 1: without a bound, no "
    "interval is valid at any time. graphcb log summary LOG has means with normal intervals; a "
    "version with range = [LOW, HIGH] has estimates here."
)
WATCHED = ("/v1/decisions", "/v1/decisions/{id}/feedback", "/personalizer/v1.0/rank")


def live_of(watch: Watch, desk: Desk, metrics: Metrics) -> LiveAnswer:
    """The state of the service at this moment."""
    tally = watch.tally
    problem, units = tally.problem, Units(tally.problem)
    rule = None if problem.baseline is None else problem.baseline.action
    rule = rule if rule in tally.judge.actions else None
    return LiveAnswer(
        name=problem.name,
        unit=problem.unit,
        now=time.time(),
        log=_log(watch, desk),
        versions=_versions(watch),
        estimates=_estimates(tally, units, rule),
        actions=_actions(tally, units),
        windows=_windows(tally),
        exploration=_exploration(tally, units),
        feedback=_feedback(tally),
        rules=rules_of(problem, tally, units, rule),
        graph=_graph(problem),
        alarms=of_alarms(desk.alarms),
        service=_service(desk, metrics),
    )


def _log(watch: Watch, desk: Desk) -> LogShown:
    return LogShown(
        n_events=desk.position,
        first_event=max(watch.first, watch.tally.version.position),
        seen_event=watch.position,
        n_decisions=watch.tally.n,
        n_settled=watch.tally.judge.n,
        model_version=desk.model_version,
    )


def _estimates(tally: LiveTally, units: Units, rule: str | None) -> EstimatesShown:
    judge = tally.judge
    best = units.best(judge.means())
    return EstimatesShown(
        missing=_missing(tally),
        policy=units.value("this policy", judge.policy()),
        baseline=None if rule is None else units.value(rule, judge.constant(rule)),
        best=None if best is None else units.value(best, judge.constant(best)),
        gain_on_baseline=None if rule is None else units.gain(rule, judge.excess(rule)),
        gain_on_best=None if best is None else units.gain(best, judge.excess(best)),
        curve=_curve(judge, units, rule, best),
    )


def _missing(tally: LiveTally) -> str:
    """Why there are no estimates; empty if there are."""
    if tally.has_estimates:
        return ""
    return NOT_BOUNDED if tally.is_unbounded else NOT_ESTIMATED


def _curve(judge: Judge, units: Units, rule: str | None, best: str | None) -> CurveShown:
    points = judge.curve.values
    ends = [[units.low + units.width * float(end) for end in point[1]] for point in points]

    def line(name: str | None) -> list[float | None]:
        if name is None:
            return [None] * len(points)
        row = 2 + judge.actions.index(name)
        return [units.at(float(point[0][row])) for point in points]

    return CurveShown(
        decisions=judge.curve.counts,
        mean=[units.at(float(point[0][0])) for point in points],
        lower=[pair[0] for pair in ends],
        upper=[pair[1] for pair in ends],
        baseline=line(rule),
        best=line(best),
    )


def _actions(tally: LiveTally, units: Units) -> list[ActionShown]:
    last, judge = tally.windows[-RECENT:], tally.judge
    recent = sum((window.played for window in last), Counter())
    n_recent = max(1, sum(window.n for window in last))
    estimated = judge.actions if tally.has_estimates else ()
    names = judge.actions or [name for name, _ in tally.played.most_common(2 * NAMED)]
    return [
        ActionShown(
            name=name,
            share=tally.played[name] / max(1, tally.n),
            recent=recent[name] / n_recent,
            value=units.value(name, judge.constant(name)) if name in estimated else None,
        )
        for name in names
    ]


def _windows(tally: LiveTally) -> WindowsShown:
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
    return WindowsShown(np.cumsum(sizes).tolist(), shares, explored)


def _exploration(tally: LiveTally, units: Units) -> ExplorationShown:
    last = tally.windows[-RECENT:]
    n_recent = max(1, sum(window.n for window in last))
    gain = units.gain("exploration", tally.judge.excess())
    cost = None if gain.mean is None else 0.0 - gain.mean
    return ExplorationShown(
        share=tally.explored / max(1, tally.n),
        recent=sum(window.explored for window in last) / n_recent,
        cost=ValueShown("exploration", cost, -gain.upper, -gain.lower, gain.unseen),
    )


def _feedback(tally: LiveTally) -> FeedbackShown:
    defaults = tally.problem.defaults
    waits = defaults is not None and defaults.waiting is not None
    return FeedbackShown(
        expected=tally.n_expected,
        answered=tally.n_answered,
        by_default=tally.n_by_default if waits else None,
        replaced=tally.n_replaced,
        waiting=tally.n_open,
        delay_p50=tally.delay(0.5),
        delay_p90=tally.delay(0.9),
    )


def _versions(watch: Watch) -> VersionsShown:
    """The last versions, newest first, with what was seen of them."""
    last = []
    for version in reversed(list(watch.versions)[-MOST_VERSIONS:]):
        if version.problem is None:
            continue
        is_counted = version.number == watch.tally.version.number
        seen = watch.tally.result() if is_counted else watch.finished.get(version.number)
        value = None
        if seen is not None and seen.policy is not None:
            value = Units(version.problem).value("policy", seen.policy)
        last.append(
            VersionShown(
                number=version.number,
                since=version.made_at,
                note=version.note,
                unit=version.problem.unit,
                n_decisions=None if seen is None else seen.n,
                is_whole=seen is not None and seen.is_whole,
                value=value,
            )
        )
    return VersionsShown(counted=watch.tally.version.number, n=len(watch.versions), last=last)


def _graph(problem: Problem) -> GraphShown | None:
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
    return GraphShown(list(problem.actions), rows)


def _service(desk: Desk, metrics: Metrics) -> ServiceShown:
    status = status_of(desk, metrics)
    return ServiceShown(
        version=status.version,
        agent=desk.played_by,
        uptime=status.uptime,
        waiting=status.waiting,
        jobs_per_commit=status.jobs_per_commit,
        requests=[
            RequestsShown(
                path=path,
                requests=sum(counts.values()),
                refused=sum(n for code, n in counts.items() if code.startswith("4")),
                failed=sum(n for code, n in counts.items() if code.startswith("5")),
                p50=status.latency[path].get("p50"),
                p99=status.latency[path].get("p99"),
            )
            for path in WATCHED
            if (counts := status.requests.get(path))
        ],
    )
