"""What happened in a log: decisions, feedback and its delay, the loss over time, the actions."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from graphcb.checks import as_count
from graphcb.decisions import DecisionLog, LoggedDecision, ReplayError, Versions
from graphcb.estimates.intervals import Interval, check_confidence, normal_interval
from graphcb.evaluation.answering import Answered, Answering
from graphcb.evaluation.judging import is_incomplete
from graphcb.evaluation.keeping import GuardrailsKept, Keeping
from graphcb.evaluation.replayed import predicted_graphs
from graphcb.evaluation.rounds import JudgedRound, terms_of
from graphcb.evaluation.standing import Standing, standings
from graphcb.evaluation.weighing import Weights, weighed, weighing_graphs
from graphcb.problems import Problem

AT_A_TIME = 1000
QUANTILES = (0.1, 0.5, 0.9, 1.0)


@dataclass(frozen=True)
class Window:
    """Some decisions that follow each other; `mean` is None if no outcome of them is known."""

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
    `last_delays` those to the last part of it. A mean is that of the policy which wrote the log:
    each revealed outcome counts by how likely it was to be played, divided by how likely it was
    to be revealed. `n_used` decisions have all the feedback that takes, in the unit of the last
    version. `kept` says whether the limits, budgets and baseline of the problem were kept, if it
    has any; each decision is held against the limits of its version. `guardrails` has the same
    in words, and the defaults of the problem. `answers` says how much feedback came. `weights`
    says where the reveal probabilities of means come from, as in `Evaluation`; where they are
    learned and the log cannot be replayed, there are no means. `n_by_default` decisions have the
    default after waiting, which counts in the means but not as feedback.
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

    @property
    def answer_rate(self) -> float | None:
        """The share of promised outcomes that came, of decisions with feedback."""
        promised = sum(one.n * (one.promised or 0.0) for one in self.answers)
        came = sum(one.n * one.revealed for one in self.answers)
        return came / promised if promised > 0.0 else None

    @property
    def feedback_share(self) -> float:
        """The share of decisions that have feedback."""
        return self.n_with_feedback / self.n_decisions

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        plain = asdict(self)
        plain["feedback_share"] = self.feedback_share
        plain["quantiles"] = QUANTILES
        plain["answer_rate"] = self.answer_rate
        plain["guardrails"] = [one._asdict() for one in self.guardrails]
        if self.kept is None:
            del plain["kept"]
        if not self.guardrails:
            del plain["guardrails"]
        if not self.n_by_default:
            del plain["n_by_default"]
        for part in (plain, *plain["windows"]):
            interval = part["interval"]
            part["interval"] = None if interval is None else list(interval)
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
    weighing = _Weighing(log, versions, replays=replays)
    for end in ends:
        part = _Part(unlike)
        while position < end and (row := next(rows, None)) is not None:
            part.add(row, weighing.of(row))
            keeping.add(row)
            position += 1
        parts.append(part)
    begins = [1, *(end + 1 for end in ends)]
    windows = [
        part.window(begin, end, confidence)
        for part, begin, end in zip(parts, begins, ends, strict=False)
    ]
    terms = np.concatenate([part.terms() for part in parts])
    mean, interval = _mean(terms, confidence)
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
        terms.size,
        mean,
        interval,
        _shares(total),
        tuple(windows),
        kept,
        weighing.answering.result(),
        weighing.weights,
        sum(part.n_by_default for part in parts),
        () if problem is None else tuple(standings(problem, kept or keeping.kept())),
    )


class _Weighing:
    """The graphs by which decisions are weighed, and what they revealed."""

    def __init__(self, log: DecisionLog, versions: Versions, *, replays: bool) -> None:
        problems = [version.problem for version in versions]
        unknown = {one.reveals.unknown for one in problems if one is not None}
        self.answering = Answering(promises=not any(unknown))
        self.predicted = predicted_graphs(log) if replays else None
        self.certain = {
            version.number
            for version in versions
            if version.problem is not None and isinstance(version.problem.reveals.unknown, str)
        }
        self.graphs = weighing_graphs(log)
        self.weights: Weights = "known"

    def of(self, row: LoggedDecision) -> LoggedDecision | None:
        """The decision as it is weighed; None if nobody can say how."""
        graph = None if row.informed or self.predicted is None else self.predicted(row)
        self.answering.add(row, graph)
        if row.informed:
            return row
        if row.version in self.certain:
            if self.weights == "known":
                self.weights = "certain"
            return weighed(row, self.graphs)
        self.weights = "learned"
        return None if graph is None else weighed(row, lambda row: graph)


class _Part:
    """Decisions of one window, as they are added."""

    def __init__(self, unlike: set[int]) -> None:
        self.unlike = unlike  # versions in another unit
        self.n = self.n_parts = self.n_by_default = 0
        self.times: list[float] = []
        self.played: Counter[str] = Counter()
        self.first_delays: list[float] = []
        self.last_delays: list[float] = []
        self.rounds: list[JudgedRound] = []
        self.found: list[Any] = []

    def add(self, row: LoggedDecision, judged: LoggedDecision | None) -> None:
        """One decision, and how it is weighed for the mean, if it can be."""
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
        if judged is not None:
            self._judge(judged)

    def _judge(self, row: LoggedDecision) -> None:
        seen = row.feedback
        if (seen is None and row.graph.row(row.action_index).any()) or is_incomplete(row):
            return
        if row.version in self.unlike:
            return
        n_actions = row.graph.n_actions
        revealed, losses = np.zeros(n_actions, dtype=bool), np.zeros(n_actions)
        if seen is not None:
            revealed[seen.action_indices] = True
            losses[seen.action_indices] = seen.losses
        p = row.probabilities
        self.rounds.append(JudgedRound(row.graph, p, p, row.action_index, revealed, losses, None))
        if len(self.rounds) == AT_A_TIME:
            self._work_out()

    def terms(self) -> Any:
        """One estimate of the policy's value per decision."""
        if self.rounds:
            self._work_out()
        return np.concatenate([np.zeros(0), *self.found])

    def window(self, first: int, last: int, confidence: float) -> Window:
        terms = self.terms()
        mean, interval = _mean(terms, confidence)
        share = len(self.first_delays) / self.n
        begins, ends = self.times[0], self.times[-1]
        shares = _shares(self.played)
        return Window(first, last, begins, ends, share, terms.size, mean, interval, shares)

    def _work_out(self) -> None:
        self.found.append(terms_of(self.rounds).graph)
        self.rounds = []


def _same_unit(one: Problem | None, other: Problem | None) -> bool:
    return (None if one is None else one.feedback) == (None if other is None else other.feedback)


def _mean(terms: Any, confidence: float) -> tuple[float | None, Interval | None]:
    if terms.size == 0:
        return None, None
    return float(terms.mean()), normal_interval(terms, confidence) if terms.size > 1 else None


def _quantiles(delays: list[float]) -> tuple[float, ...] | None:
    return tuple(np.quantile(delays, QUANTILES).tolist()) if delays else None


def _shares(played: Counter[str]) -> dict[str, float]:
    """Shares of the actions, the largest first."""
    total = sum(played.values())
    ordered: Iterable[tuple[str, int]] = sorted(played.items(), key=lambda one: (-one[1], one[0]))
    return {name: count / total for name, count in ordered}
