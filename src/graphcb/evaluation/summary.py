"""What happened in a log: decisions, feedback and its delay, the loss over time, the actions."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import numpy as np

from graphcb.checks import as_count
from graphcb.contexts import Encoder
from graphcb.contexts.codes import codes_in_words
from graphcb.decisions import DecisionLog, LoggedDecision, ReplayError, Versions, replay
from graphcb.decisions.dating import dated
from graphcb.decisions.inbox import count_waiting
from graphcb.estimates.intervals import Interval, check_confidence
from graphcb.estimates.stillness import Alarm
from graphcb.evaluation.answering import Answered, Answering
from graphcb.evaluation.clocks import ClockReadings
from graphcb.evaluation.defaulting import own_alone
from graphcb.evaluation.keeping import GuardrailsKept, Keeping
from graphcb.evaluation.own_means import OwnMean, OwnMeans
from graphcb.evaluation.replayed import predicted_graphs
from graphcb.evaluation.standing import Standing, standings
from graphcb.evaluation.weighing import Weights, weighed, weighing_graphs
from graphcb.files import FileError
from graphcb.html import interval, shares, table
from graphcb.problems import Problem
from graphcb.problems.alarms import alarms_of, in_words

QUANTILES = (0.1, 0.5, 0.9, 1.0)
LOOKED_AT = 2000  # contexts, about, of which it is said what looks odd in them


@dataclass(frozen=True)
class Window:
    """Some decisions that follow each other; `mean` is None if it is not known."""

    first: int  # decisions are counted from 1
    last: int
    begins_at: float
    ends_at: float
    feedback_share: float
    n_used: int
    mean: float | None
    interval: Interval | None
    shares: dict[str, float]  # of the actions


@dataclass(frozen=True)
class LogSummary:
    """What a log holds, in the units of its problem.

    `delays` are seconds from a decision to its first feedback at each of `QUANTILES`, and
    `last_delays` those to the last part of it. A mean is that of the policy which wrote the log,
    as `evaluate(log, logged)` estimates it with the graph, from `n_used` decisions in the unit of
    the last version. It is None if a share of what was played, `unseen_share`, could not have
    been revealed. `interval` is a normal one, and None where it would not hold; `anytime` holds
    whatever could not be seen, and however often one looks; `warnings` say what speaks against
    the mean. `kept` says whether the limits, budgets and baseline of the problem were kept,
    if it has any; each decision is held against the limits of its version. `guardrails` has the
    same in words, and the defaults of the problem. `answers` says how much feedback came.
    `weights` says where the reveal probabilities of means come from, as in `Evaluation`; where
    they are learned and the log cannot be replayed, there are no means. `n_by_default` decisions
    have the default after waiting, which counts in the means but not as feedback. Another program
    made `n_imported` of the decisions. `notes` say which features of contexts have a value that
    looks like a code for missing, and where the clock went back. `alarms` say what looked
    different to the agent, and since when. `n_waiting` feedbacks from other processes are in the
    inbox: they count once a policy has taken them in. `n_removed` older decisions were removed from
    the log and count in nothing here.
    """

    unit: str
    n_decisions: int
    n_with_feedback: int
    n_parts: int
    delays: tuple[float, ...] | None
    last_delays: tuple[float, ...] | None
    n_used: int
    mean: float | None
    interval: Interval | None
    shares: dict[str, float]
    windows: tuple[Window, ...]
    kept: GuardrailsKept | None = None
    answers: tuple[Answered, ...] = ()
    weights: Weights = "known"
    n_by_default: int = 0
    guardrails: tuple[Standing, ...] = ()
    unseen_share: float = 0.0
    warnings: tuple[str, ...] = ()
    anytime: Interval | None = None
    n_imported: int = 0
    notes: tuple[str, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    n_waiting: int = 0
    n_removed: int = 0

    @property
    def answer_rate(self) -> float | None:
        """The share of promised outcomes that came, of decisions with feedback."""
        promised = sum(one.n * (one.promised or 0.0) for one in self.answers)
        revealed = sum(one.n * one.revealed for one in self.answers)
        return revealed / promised if promised > 0.0 else None

    @property
    def feedback_share(self) -> float:
        """The share of decisions that have feedback."""
        return self.n_with_feedback / self.n_decisions

    def plot(self, *, title: str = "") -> Any:
        """A matplotlib figure: the mean, the actions and the feedback over time."""
        figures = import_module("graphcb.figures.summary")  # which needs the extra `experiments`
        return figures.draw_summary(self, title)

    def _repr_html_(self) -> str:
        mean = "not known" if self.mean is None else f"{self.mean:.4g}"
        rows = [
            ("decisions", f"{self.n_decisions:,}"),
            ("with feedback", f"{self.n_with_feedback:,} ({self.feedback_share:.1%})"),
            (f"mean {self.unit}", f"{mean} {interval(self.interval)}".strip()),
            *((one.name, one.stands or one.says) for one in self.guardrails),
        ]
        bars = shares("share of each action", list(self.shares), list(self.shares.values()))
        return table("summary of the log", rows) + bars

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        plain = asdict(self)
        plain["feedback_share"] = self.feedback_share
        plain["quantiles"] = QUANTILES
        plain["answer_rate"] = self.answer_rate
        plain["guardrails"] = [one._asdict() for one in self.guardrails]
        plain["alarms"] = [{**one._asdict(), "text": in_words(one)} for one in self.alarms]
        if self.kept is None:
            del plain["kept"]
        if not self.guardrails:
            del plain["guardrails"]
        for name in ("n_by_default", "n_imported", "notes", "n_waiting", "n_removed"):
            if not plain[name]:
                del plain[name]
        for part in (plain, *plain["windows"]):
            for key in ("interval", "anytime"):
                if part.get(key) is not None:
                    part[key] = list(part[key])
        return plain


def summarize(log: DecisionLog, *, n_windows: int = 10, confidence: float = 0.95) -> LogSummary:
    """Read a log once and sum it up in up to `n_windows` windows of about as many decisions.

    >>> import tempfile, pathlib, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> with graphcb.Policy(file, graphcb.Uniform(), seed=0) as policy:
    ...     for _ in range(10):
    ...         made = policy.decide(None, graphcb.graphs.full_information(2))
    ...         receipt = policy.feedback(made.decision_id, {0: 0.25, 1: 0.75})
    >>> with graphcb.DecisionLog(file) as log:
    ...     summarize(log).mean
    0.5
    """
    check_confidence(confidence)
    try:
        return _summarize(log, n_windows, confidence, replays=not log.informed)
    except ReplayError:  # made on another machine: nobody can say what was predicted
        return _summarize(log, n_windows, confidence, replays=False)


def _summarize(log: DecisionLog, n_windows: int, confidence: float, *, replays: bool) -> LogSummary:
    versions, n = log.versions, log.n_decisions
    problem = versions.last.problem
    unlike = {version.number for version in versions if not _same_unit(version.problem, problem)}
    if n == 0:
        raise ValueError(f"{log.storage.location}: must have decisions to sum up, got none")
    n_windows = min(as_count("n_windows", n_windows), n)
    ends = [n * (k + 1) // n_windows for k in range(n_windows)]
    rows, position, parts, keeping = iter(log), 0, [], Keeping(versions)
    encoder, every, clock = Encoder(), max(1, n // LOOKED_AT), ClockReadings()
    weighing = _Weighing(log, versions, replays=replays)
    estimating = OwnMeans([one.problem for one in versions if one.number not in unlike])
    for end in ends:
        part = _Part()
        while position < end and (row := next(rows, None)) is not None:
            part.add(row)
            clock.add(row)
            keeping.add(row)
            if problem is not None and position % every == 0:
                encoder.learn(row.context)
            own = own_alone(row)
            judged = weighing.of(own)
            if judged is not None and row.version not in unlike:
                estimating.add(own, judged)
            position += 1
        parts.append(part)
    begins = [1, *(end + 1 for end in ends)]
    has_true_weights = weighing.weights != "learned"
    estimating.work_out(confidence, has_true_weights=has_true_weights)
    means = estimating.of_windows([part.position for part in parts])
    windows = [
        part.window(begin, end, mean)
        for part, begin, end, mean in zip(parts, begins, ends, means, strict=False)
    ]
    whole = estimating.of_all("loss" if problem is None else problem.unit)
    first = [delay for part in parts for delay in part.first_delays]
    last = [delay for part in parts for delay in part.last_delays]
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part.played)
    kept = keeping.result(log, confidence)
    return LogSummary(
        "loss" if problem is None else problem.unit,
        n,
        len(first),
        sum(part.n_parts for part in parts),
        _quantiles(first),
        _quantiles(last),
        whole.n_used,
        whole.mean,
        whole.interval,
        _shares(total),
        tuple(windows),
        kept,
        weighing.answering.result(),
        weighing.weights,
        sum(part.n_by_default for part in parts),
        () if problem is None else tuple(standings(problem, kept or keeping.kept())),
        whole.unseen_share,
        whole.warnings,
        whole.anytime,
        log.n_imported,
        (*codes_in_words([encoder]), *clock.in_words()),
        tuple(_alarms(log)),
        count_waiting(log.storage),
        log.n_removed,
    )


def _alarms(log: DecisionLog) -> list[Alarm]:
    """What looked different to the agent at the end; nothing where it cannot be rebuilt."""
    try:
        state = replay(log)
        found = alarms_of(state.agent)
        return dated(found, log.storage, state, log.start)
    except (ReplayError, FileError):
        return []


class _Weighing:
    """The graphs by which decisions are weighed, and what they revealed."""

    def __init__(self, log: DecisionLog, versions: Versions, *, replays: bool) -> None:
        problems = [version.problem for version in versions]
        unknown = {one.reveals.unknown for one in problems if one is not None}
        self.answering = Answering(promises=not any(unknown))
        self.predicted = predicted_graphs(log) if replays else None
        self.start = log.start.position  # from which the log can be replayed
        self.certain = {
            version.number
            for version in versions
            if version.problem is not None and isinstance(version.problem.reveals.unknown, str)
        }
        self.graphs = weighing_graphs(log)
        self.weights: Weights = "known"

    def of(self, row: LoggedDecision) -> LoggedDecision | None:
        """The decision as it is weighed; None if nobody can say how."""
        can_say = self.predicted is not None and row.position > self.start
        graph = self.predicted(row) if self.predicted and can_say and not row.informed else None
        self.answering.add(row, graph)
        if row.informed:
            return weighed(row, None)
        if row.version in self.certain:
            if self.weights == "known":
                self.weights = "certain"
            return weighed(row, self.graphs)
        self.weights = "learned"
        return None if graph is None else weighed(row, lambda row: graph)


class _Part:
    """Decisions of one window, as they are added."""

    def __init__(self) -> None:
        self.n = self.n_parts = self.n_by_default = 0
        self.position = 0  # of the first
        self.times: list[float] = []
        self.played: Counter[str] = Counter()
        self.first_delays: list[float] = []
        self.last_delays: list[float] = []

    def add(self, row: LoggedDecision) -> None:
        """One decision."""
        if self.n == 0:
            self.position = row.position
        self.n += 1
        self.times = [*self.times[:1], row.made_at]
        self.played[str(row.action)] += 1
        seen = row.feedback
        if seen is not None:
            parts = [part for part in seen.parts or (seen,) if not part.is_default]
            self.n_parts += len(parts)
            self.n_by_default += seen.is_default
            if parts:
                self.first_delays.append(max(parts[0].received_at - row.made_at, 0.0))
                self.last_delays.append(max(parts[-1].received_at - row.made_at, 0.0))

    def window(self, first: int, last: int, own: OwnMean) -> Window:
        return Window(
            first,
            last,
            self.times[0],
            self.times[-1],
            len(self.first_delays) / self.n,
            own.n_used,
            own.mean,
            own.interval,
            _shares(self.played),
        )


def _same_unit(one: Problem | None, other: Problem | None) -> bool:
    return (None if one is None else one.feedback) == (None if other is None else other.feedback)


def _quantiles(delays: list[float]) -> tuple[float, ...] | None:
    return tuple(np.quantile(delays, QUANTILES).tolist()) if delays else None


def _shares(played: Counter[str]) -> dict[str, float]:
    """Shares of the actions, the largest first."""
    total = sum(played.values())
    ordered: Iterable[tuple[str, int]] = sorted(played.items(), key=lambda one: (-one[1], one[0]))
    return {name: count / total for name, count in ordered}
