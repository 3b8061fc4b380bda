"""From a log that another program wrote to a decision log, and on from there."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.agents import Agent
from graphcb.checks import as_range, listed
from graphcb.contexts import Encoder
from graphcb.decisions.recording import Continued, PastDecision, record
from graphcb.decisions.warm_start import check_fits
from graphcb.graphs import bandit
from graphcb.imports.foreign import format_of, read_foreign
from graphcb.imports.record import ForeignDecision
from graphcb.imports.table import DecisionColumns, DecisionTable
from graphcb.problems import Problem, Recorded
from graphcb.streams import BadRows, Source

_graph = lru_cache(maxsize=64)(bandit)


@dataclass(frozen=True)
class ImportReport:
    """What was found in a file, and what became of it.

    `said` has sentences on what was learned if the log is continued, and `warnings` on cells
    that were read otherwise than they stand there.
    """

    format: str
    n_decisions: int
    n_without_outcome: int
    n_without_choice: int  # left out
    n_odd: int  # lines, left out
    first_odd: tuple[str, ...]
    all_probabilities: bool
    has_times: bool
    problem: Problem
    said: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class _File:
    """A file of decisions, whatever its format."""

    name: str
    format: str
    place: str
    has_rewards: bool
    read: Callable[..., Iterator[ForeignDecision]]  # takes `bad`
    table: DecisionTable | None = None

    @property
    def sign(self) -> float:
        return -1.0 if self.has_rewards else 1.0


def import_log(
    path: str | os.PathLike[str],
    log: str | os.PathLike[str],
    *,
    format: str | None = None,
    n_actions: int | None = None,
    columns: DecisionColumns | None = None,
    delimiter: str | None = None,
    value_range: tuple[float, float] | None = None,
    skip_odd: bool = False,
    problem: Problem | None = None,
    agent: Agent | None = None,
) -> ImportReport:
    """Turn a file of decisions into a new decision log, all or nothing.

    The file is Vowpal Wabbit's text or DSJSON; or a table in CSV, Parquet or JSON lines, if
    `columns` say what is in it. DSJSON has rewards, which are minus the costs; a table has what
    its columns say; the others have losses. Their range is 0 to 1, or what is found if that is
    wider, unless `value_range` gives it. Each decision shows the outcome of the chosen action
    alone. Where the file has only the probability of that action, the rest is spread evenly over
    the others: estimates that need no other probability stay right, and doubly robust ones are
    left out.

    No agent of graphcb made these decisions, so the log can be read, exported and evaluated, but
    decides nothing. With a `problem` it is continued: its second version is a learner, or the
    `agent`, that has learned from the imported outcomes, and `graphcb.Policy(log)` goes on. The
    actions of the problem must include those of the file, and its range the values.

    The file is read at least twice. Decisions without a chosen action are left out, as are odd
    lines with `skip_odd`; without it, the first one is an error.
    """
    file = _open(path, format, n_actions, columns, delimiter)
    bad = BadRows(file.name, place=file.place, skip=skip_odd)
    found = _Found()
    for one in file.read(bad=bad):
        found.count(one, None if one.cost is None else file.sign * one.cost)
    if found.n_decisions == 0:
        raise ValueError(f"{file.name}: must have decisions with a chosen action, got none")
    imported = _problem(file, found, value_range, problem)
    encoder = None
    if problem is not None:
        _check_continued(file, found, imported, problem)
        encoder = Encoder(problem.features)
    recorded = Recorded(imported, source=Path(path).name, all_probabilities=found.all_probabilities)
    warnings = () if file.table is None else tuple(file.table.report.warnings())
    again = file.read(bad=BadRows("", place=file.place, skip=skip_odd))
    changed = record(
        os.fspath(log),
        recorded,
        _past(again, file, imported, encoder),
        None if problem is None else Continued(problem, agent, f"continues {recorded.source}"),
    )
    return ImportReport(
        file.format, found.n_decisions, found.n_without_outcome, found.n_without_choice, bad.count,
        tuple(bad.shown), found.all_probabilities, found.has_times, imported,
        () if changed is None else changed.said, warnings,
    )  # fmt: skip


def _open(
    path: str | os.PathLike[str],
    format: str | None,
    n_actions: int | None,
    columns: DecisionColumns | None,
    delimiter: str | None,
) -> _File:
    if columns is not None:
        source = Source(os.fspath(path), format=format, delimiter=delimiter)
        with source.explained():
            table = DecisionTable(source, columns)
        has_rewards = columns.reward is not None
        return _File(source.name, source.format, source.place, has_rewards, table.read, table)
    source = Source(os.fspath(path), format="vw")
    kind: Any = format_of(source) if format is None else format  # checked by who reads it
    read: Any = partial(read_foreign, path, format=kind, n_actions=n_actions)
    return _File(source.name, kind, source.place, kind == "dsjson", read)


def _problem(
    file: _File, found: _Found, value_range: tuple[float, float] | None, continued: Problem | None
) -> Problem:
    """What is known of the decisions that were imported."""
    usual = found.smallest, max(found.largest, 1.0)
    chosen = value_range or (continued and continued.range) or usual
    return Problem(
        found.names if found.has_fixed_actions and found.names else "each round",
        feedback="rewards" if file.has_rewards else "losses",
        range=as_range("value_range", chosen),
        features=None if file.table is None else file.table.kinds() or None,
    )


def _check_continued(file: _File, found: _Found, imported: Problem, problem: Problem) -> None:
    """Refuse a problem that does not fit, before anything is written."""
    check_fits(imported, problem)
    low, high = problem.scale
    for value in (found.smallest, found.largest):
        if not problem.accepts(np.array(value)) and value != 0.0:
            raise ValueError(
                f"`problem` must have a range with all {imported.feedback} of {file.name}, got "
                f"{low:g} to {high:g}, where the file has {value:g}"
            )
    if file.table is not None:
        for name, kind in (problem.features or {}).items():
            if name not in file.table.features and not kind.endswith("?"):
                raise ValueError(
                    f"`problem` must have features of {file.name} ({listed(file.table.features)}), "
                    f"or with ?, got {name!r}"
                )


def _past(
    decisions: Iterator[ForeignDecision], file: _File, problem: Problem, encoder: Encoder | None
) -> Iterator[PastDecision]:
    now = time.time()
    for one in decisions:
        if one.chosen is None:
            continue
        made_at = now if one.made_at is None else one.made_at
        losses = None
        if one.cost is not None:
            name = list(one.actions)[one.chosen]
            value = problem.check_values([file.sign * one.cost + 0.0], [name])
            losses = {one.chosen: float(value[0])}
            if encoder is not None:
                try:
                    encoder.encode(one.context)
                except (ValueError, TypeError) as reason:
                    raise ValueError(
                        f"{file.name}, {file.place} {one.line}: the problem's features do not fit: "
                        f"{reason}"
                    ) from None
        yield PastDecision(
            made_at,
            one.context,
            _graph(len(one.actions)),
            dict(one.actions) if any(one.actions.values()) else list(one.actions),
            one.chosen,
            _probabilities(one),
            losses,
            made_at,
        )


def _probabilities(one: ForeignDecision) -> Any:
    n, chosen = len(one.actions), one.chosen or 0
    if one.probabilities is not None:
        return np.array(one.probabilities)
    own = 1.0 if one.probability is None or n == 1 else one.probability
    probabilities = np.full(n, (1.0 - own) / max(n - 1, 1))
    probabilities[chosen] = own
    return probabilities
