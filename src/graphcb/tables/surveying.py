"""The passes that a question needs: usually one, and one before it if something must be known."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.estimates.terms import Floats
from graphcb.tables.asking import Question
from graphcb.tables.choosing import RowFunction
from graphcb.tables.columns import as_floats
from graphcb.tables.design import NO_PLACE, design_of, usable_features
from graphcb.tables.fitting import Fitting
from graphcb.tables.models import Outcomes, Propensities
from graphcb.tables.passes import Pass, Running, run_pass
from graphcb.tables.sampling import Sample
from graphcb.tables.source import OpenedTable
from graphcb.tables.tally import TableTally
from graphcb.tables.weighing import Weighing


class Work:
    """The passes that a question needs: usually one."""

    def __init__(
        self,
        table: OpenedTable,
        question: Question,
        value_range: tuple[float, float] | None,
        running: Running,
        scratch: Path,
    ) -> None:
        self.table, self.question, self.running = table, question, running
        self.features: tuple[str, ...] = ()
        self.named_actions = bool(question.columns.actions)
        hashes_to = None if question.columns.identifier is None else scratch
        types = _read_types(table, question)
        self.first = Pass(question.columns, types, None, value_range, hashes_to=hashes_to)

    def run(self, *, robust: bool) -> tuple[TableTally, Weighing]:
        """Survey the table if something must be known beforehand, then weigh its rows."""
        question, one = self.question, self.first
        columns = question.columns
        estimated = columns.probability is None and not columns.probabilities
        weighing = Weighing(question.targets, graph=question.graph)
        if estimated or robust or columns.reveals or question.lists_actions:
            weighing, one = self._survey(estimated=estimated, robust=robust)
        one = replace(one, weighing=weighing, features=self.features)
        tally = run_pass(one, self.table, self.running).tally
        shares = None if columns.reveals else _shares_with_value(tally)
        if shares is not None and weighing.shares is None:
            weighing = replace(weighing, shares=shares)
            one = replace(one, weighing=weighing, hashes_to=None)
            tally = run_pass(one, self.table, self.running).tally
        return tally, weighing

    def _survey(self, *, estimated: bool, robust: bool) -> tuple[Weighing, Pass]:
        """Actions, what rows show, and the models, by a pass before the first."""
        question, columns = self.question, self.question.columns
        sampled: tuple[str, ...] = ()
        if estimated or robust:
            sampled = self._sampled()
        found = run_pass(replace(self.first, sampled=sampled), self.table, self.running)
        tally = found.tally
        if question.lists_actions:
            columns = columns._replace(actions=tuple(sorted(tally.counts)))
        graph = None
        if columns.reveals:
            graph = _graph_of(tally, columns.actions, question.graph)
        shares = None if columns.reveals else _shares_with_value(tally)
        propensities, outcomes = None, None
        if found.sample is not None:
            propensities, outcomes = self._fit(found.sample, tally, sampled, estimated, robust)
        weighing = Weighing(question.targets, shares, graph, propensities, outcomes)
        return weighing, replace(self.first, columns=columns, hashes_to=None)

    def _sampled(self) -> tuple[str, ...]:
        """The columns that a sample holds, by which rows are told apart."""
        types, columns = self.table.types, self.question.columns
        chosen = self.question.features
        of_targets = {name for one in self.question.targets if not isinstance(one, RowFunction)
                      for name in one.columns}  # fmt: skip
        if chosen is None:
            chosen = tuple(name for name in types
                           if name not in columns.used and name not in of_targets)  # fmt: skip
        return tuple(dict.fromkeys((*columns.used, *chosen)))

    def _fit(
        self,
        sample: Sample,
        tally: TableTally,
        sampled: tuple[str, ...],
        estimated: bool,
        robust: bool,
    ) -> tuple[Propensities | None, Outcomes | None]:
        types, columns = self.table.types, self.question.columns
        features = self.question.features
        if features is None:
            known = [name for name in sampled if name not in columns.used]
            features = usable_features(sample.table, known, types)
        slot = () if columns.slot is None else (columns.slot,)
        counts = sample.counts.astype(np.float64)
        design = design_of(sample.table, counts, dict.fromkeys((*slot, *features)), types)
        self.features = sampled
        names = columns.actions or tuple(sorted(tally.counts))
        words = columns.action, columns.slot
        fitting = Fitting(sample, design, names, columns.action, sampled, words)
        propensities = outcomes = None
        if estimated:
            played = {name: count for name, (count, _) in tally.counts.items()}
            propensities = fitting.propensities(played)
            if not design.parts and not robust:
                self.features = ()
        if robust and columns.value is not None:
            column = fitting.table.column(columns.value)
            values = as_floats(column, columns.value, NO_PLACE)
            span = self.first.value_range or (tally.low, tally.high)
            outcomes = fitting.outcomes(values, span)
        return propensities, outcomes


def _shares_with_value(tally: TableTally) -> dict[str, float] | None:
    """The share of the rows of each action that have a value; None if all have."""
    found = {name: with_value / played for name, (played, with_value) in tally.counts.items()}
    return found if any(share < 1.0 for share in found.values()) else None


def _graph_of(tally: TableTally, actions: tuple[str, ...], known: Floats | None) -> Floats:
    """G[a, j]: the share of the rows with a that show the value of j, if the graph reveals it."""
    played = np.array([tally.counts.get(name, [0])[0] for name in actions], dtype=np.float64)
    shown = tally.seen / np.maximum(played, 1.0)[:, None]
    return shown if known is None else np.where(known > 0.0, shown, 0.0)


def _read_types(table: OpenedTable, question: Question) -> dict[str, Any]:
    """The types as which columns are read; texts have none of their own."""
    import pyarrow as pa

    types = dict(table.types)
    if not any(piece.kind in ("csv", "jsonl") for piece in table.pieces):
        return types
    columns = question.columns
    words = {columns.action, columns.slot}
    words |= {name for one in question.targets for name in one.columns
              if not isinstance(one, RowFunction)}  # fmt: skip
    for name in words - {None}:
        types[str(name)] = pa.string()
    for one in question.targets:
        for name in getattr(one, "actions", ()) and one.columns:
            types[name] = pa.float64()
    for name in columns.numbers:
        types[name] = pa.float64()
    return types
