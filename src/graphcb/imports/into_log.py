"""From a log that another program wrote to a decision log."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.checks import as_range
from graphcb.decisions.recording import PastDecision, record
from graphcb.graphs import FeedbackGraph, bandit
from graphcb.imports.foreign import LogFormat, format_of, read_foreign
from graphcb.imports.record import ForeignDecision
from graphcb.problems import Problem, Recorded
from graphcb.streams import BadRows, Source


@dataclass(frozen=True)
class ImportReport:
    """What was found in a file, and what became of it."""

    format: LogFormat
    n_decisions: int
    n_without_outcome: int
    n_without_choice: int  # left out
    n_odd: int  # lines, left out
    first_odd: tuple[str, ...]
    all_probabilities: bool
    has_times: bool
    problem: Problem


@dataclass
class _Found:
    """What must be known of all decisions before the first is written."""

    n_decisions: int = 0
    n_without_outcome: int = 0
    n_without_choice: int = 0
    names: tuple[str, ...] | None = None
    has_fixed_actions: bool = True
    all_probabilities: bool = True
    has_times: bool = True
    smallest: float = 0.0
    largest: float = 0.0

    def count(self, one: ForeignDecision, value: float | None) -> None:
        if one.chosen is None:
            self.n_without_choice += 1
            return
        self.n_decisions += 1
        self.n_without_outcome += value is None
        self.all_probabilities &= one.probabilities is not None
        self.has_times &= one.made_at is not None
        if self.has_fixed_actions:
            names = tuple(one.actions)
            self.names = names if self.names is None else self.names
            self.has_fixed_actions = names == self.names and not any(one.actions.values())
        if value is not None:
            self.smallest, self.largest = min(self.smallest, value), max(self.largest, value)


def import_log(
    path: str | os.PathLike[str],
    log: str | os.PathLike[str],
    *,
    format: LogFormat | None = None,
    n_actions: int | None = None,
    value_range: tuple[float, float] | None = None,
    skip_odd: bool = False,
) -> ImportReport:
    """Turn a file of Vowpal Wabbit or DSJSON into a new decision log, all or nothing.

    The log can be read, exported and evaluated, but not continued: no agent of graphcb made its
    decisions. DSJSON has rewards, which are minus the costs; the other formats have losses. Their
    range is 0 to 1, or what is found if that is wider, unless `value_range` gives it. Each
    decision shows the outcome of the chosen action alone. Where the file has only the
    probability of that action, the rest is spread evenly over the others: estimates that need no
    other probability stay right, and doubly robust ones are left out.

    The file is read twice. Decisions without a chosen action are left out, as are odd lines with
    `skip_odd`; without it, the first one is an error.
    """
    source = Source(os.fspath(path), format="vw")
    kind = format_of(source) if format is None else format
    bad = BadRows(source.name, skip=skip_odd)
    sign = -1.0 if kind == "dsjson" else 1.0
    found = _Found()
    for one in read_foreign(path, format=kind, n_actions=n_actions, bad=bad):
        found.count(one, None if one.cost is None else sign * one.cost)
    if found.n_decisions == 0:
        raise ValueError(f"{source.name}: must have decisions with a chosen action, got none")
    low, high = value_range or (found.smallest, max(found.largest, 1.0))
    problem = Problem(
        found.names if found.has_fixed_actions and found.names else "each round",
        feedback="rewards" if kind == "dsjson" else "losses",
        range=as_range("value_range", (low, high)),
    )
    agent = Recorded(problem, source=Path(path).name, all_probabilities=found.all_probabilities)
    again = read_foreign(path, format=kind, n_actions=n_actions, bad=BadRows("", skip=skip_odd))
    record(os.fspath(log), agent, _past(again, problem, sign))
    return ImportReport(
        kind, found.n_decisions, found.n_without_outcome, found.n_without_choice, bad.count,
        tuple(bad.shown), found.all_probabilities, found.has_times, problem,
    )  # fmt: skip


def _past(
    decisions: Iterator[ForeignDecision], problem: Problem, sign: float
) -> Iterator[PastDecision]:
    now = time.time()
    for one in decisions:
        if one.chosen is None:
            continue
        made_at = now if one.made_at is None else one.made_at
        losses = None
        if one.cost is not None:
            value = problem.check_values([sign * one.cost + 0.0], [list(one.actions)[one.chosen]])
            losses = {one.chosen: float(value[0])}
        yield PastDecision(
            made_at,
            one.context,
            _graph(len(one.actions)),
            _actions(one.actions),
            one.chosen,
            _probabilities(one),
            losses,
            made_at,
        )


@lru_cache(maxsize=64)
def _graph(n_actions: int) -> FeedbackGraph:
    return bandit(n_actions)


def _actions(actions: Any) -> Any:
    """Names with their features, or names alone where no action has any."""
    return dict(actions) if any(actions.values()) else list(actions)


def _probabilities(one: ForeignDecision) -> Any:
    n, chosen = len(one.actions), one.chosen or 0
    if one.probabilities is not None:
        return np.array(one.probabilities)
    own = 1.0 if one.probability is None or n == 1 else one.probability
    probabilities = np.full(n, (1.0 - own) / max(n - 1, 1))
    probabilities[chosen] = own
    return probabilities
