"""/v1/live: the tally of the log and the service's own numbers, as the page shows them."""

from collections import Counter

import numpy as np

from graphcb.problems import Problem
from graphcb.service.judged import Judge
from graphcb.service.live_answers import (
    ActionShown,
    CurveShown,
    EstimatesShown,
    ExplorationShown,
    FeedbackShown,
    GraphShown,
    HourShown,
    LiveAnswer,
    LogShown,
    ProcessShown,
    ValueShown,
    VersionShown,
    VersionsShown,
    WindowsShown,
)
from graphcb.service.standing import rules_of
from graphcb.service.tally import NAMED, LiveTally
from graphcb.service.units import Units
from graphcb.service.watching import Watch

MOST_IN_GRAPH = 24  # actions
MOST_VERSIONS = 10  # in the table
NOT_ESTIMATED = (
    "This problem learns how likely each loss is to be revealed, so losses cannot be weighted as "
    "they arrive. graphcb log summary LOG replays the log and estimates them."
)
NOT_BOUNDED = (
    "This problem says no range, and not all values lie between 0 and 1: without a bound, no "
    "interval is valid at any time. graphcb log summary LOG has means with normal intervals; a "
    "version with range = [LOW, HIGH] has estimates here."
)


def live_of(watch: Watch, process: ProcessShown) -> LiveAnswer:
    """The state of the service at this moment."""
    tally, now = watch.tally, process.now
    problem, units = tally.problem, Units(tally.problem)
    rule = None if problem.baseline is None else problem.baseline.action
    rule = rule if rule in tally.judge.actions else None
    return LiveAnswer(
        name=problem.name,
        unit=problem.unit,
        now=now,
        log=_log(watch, process),
        versions=_versions(watch),
        estimates=_estimates(tally, units, rule),
        hour=_hour(tally, units, now),
        actions=_actions(tally, units, now),
        windows=_windows(tally),
        exploration=_exploration(tally, units, now),
        feedback=_feedback(tally),
        match_rate=process.match_rate,
        rules=rules_of(tally, rule),
        graph=_graph(problem),
        alarms=process.alarms,
        service=process.service,
    )


def _log(watch: Watch, process: ProcessShown) -> LogShown:
    return LogShown(
        n_events=process.n_events,
        first_event=max(watch.first, watch.tally.version.position),
        seen_event=watch.position,
        n_decisions=watch.tally.n,
        n_settled=watch.tally.judge.n,
        model_version=process.model_version,
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
    ends = [[units.low + units.width * float(end) for end in point.ends] for point in points]

    def line(name: str | None) -> list[float | None]:
        if name is None:
            return [None] * len(points)
        row = 2 + judge.actions.index(name)
        return [units.at(float(point.means[row])) for point in points]

    return CurveShown(
        decisions=judge.curve.counts,
        times=[point.at for point in points],
        mean=[units.at(float(point.means[0])) for point in points],
        lower=[pair[0] for pair in ends],
        upper=[pair[1] for pair in ends],
        baseline=line(rule),
        best=line(best),
    )


def _hour(tally: LiveTally, units: Units, now: float) -> HourShown:
    n_settled, mean = tally.judge.lately(now)
    n = sum(window.n for window in tally.minutes.last(now))
    return HourShown(n, n_settled, units.at(mean) if tally.has_estimates else None)


def _actions(tally: LiveTally, units: Units, now: float) -> list[ActionShown]:
    last, judge = tally.minutes.last(now), tally.judge
    played = sum((window.played for window in last), Counter())
    n_last = sum(window.n for window in last)
    estimated = judge.actions if tally.has_estimates else ()
    names = judge.actions or [name for name, _ in tally.played.most_common(2 * NAMED)]
    return [
        ActionShown(
            name=name,
            share=tally.played[name] / max(1, tally.n),
            hour=played[name] / n_last if n_last else None,
            value=units.value(name, judge.constant(name)) if name in estimated else None,
        )
        for name in names
    ]


def _windows(tally: LiveTally) -> WindowsShown:
    windows = tally.windows
    names = [name for name, _ in tally.played.most_common(NAMED)]
    fixed = tally.problem.actions
    if isinstance(fixed, tuple):
        names = [name for name in fixed if name in names]
    colours = tally.colours_for(names)
    sizes = [max(1, window.n) for window in windows]
    shares = {
        name: [window.played[name] / n for window, n in zip(windows, sizes, strict=True)]
        for name in names
    }
    if len(tally.played) > len(names):
        rest = 1.0 - np.array(list(shares.values())).sum(axis=0)
        shares["others"] = np.maximum(rest, 0.0).tolist()
        colours["others"] = NAMED
    explored = [window.explored / n for window, n in zip(windows, sizes, strict=True)]
    times = [window.until for window in windows]
    return WindowsShown(np.cumsum(sizes).tolist(), times, shares, colours, explored)


def _exploration(tally: LiveTally, units: Units, now: float) -> ExplorationShown:
    last = tally.minutes.last(now)
    n_last = sum(window.n for window in last)
    gain = units.gain("exploration", tally.judge.excess())
    cost = None if gain.mean is None else 0.0 - gain.mean
    return ExplorationShown(
        share=tally.explored / max(1, tally.n),
        hour=sum(window.explored for window in last) / n_last if n_last else None,
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
