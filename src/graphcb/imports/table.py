"""A table of decisions that some program wrote: CSV, Parquet or JSON lines, one row each."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from graphcb.checks import listed
from graphcb.contexts.values import is_missing
from graphcb.imports.record import ForeignDecision, OddLineError
from graphcb.streams import BadRows, Report, Source
from graphcb.streams.cells import as_labels, as_numbers, as_words, not_finite
from graphcb.streams.first_look import matching_columns, names_in, report_of
from graphcb.streams.tables import TABLES, Cells, read_batches
from graphcb.streams.targets import MANY_ACTIONS, in_order

ROWS_AT_A_TIME = 4096


@dataclass(frozen=True)
class DecisionColumns:
    """What the columns of a table of decisions hold.

    `action` is the action that was played, and either `reward` or `loss` what came of it; an
    empty cell there means that no outcome is known yet. `probability` is that of the played
    action; or of all actions, as lists in the order of `actions`, or in a column for each action:
    "p_*" matches columns p_NAME, and "a,b" names those of actions a and b. `features` are names
    or patterns, all other columns if left out. `time` is in seconds since 1970 or ISO 8601, in
    UTC unless it says otherwise. No two rows may have the same `identifier`.
    """

    action: str
    probability: str
    reward: str | None = None
    loss: str | None = None
    features: tuple[str, ...] = ()
    time: str | None = None
    identifier: str | None = None
    actions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.reward is None) == (self.loss is None):
            raise ValueError("give either --reward COLUMN or --loss COLUMN")

    @property
    def outcome(self) -> str:
        """The column of rewards or losses."""
        return self.loss if self.reward is None else self.reward  # type: ignore[return-value]


class DecisionTable:
    """A table as decisions; reading it again gives the same ones.

    The kinds of features are those of the first rows, as in `graphcb run`; a word in a column of
    numbers counts as missing, and `report` says so.
    """

    def __init__(self, source: Source, columns: DecisionColumns) -> None:
        if source.is_stdin or source.format not in TABLES:
            raise ValueError(
                f"{source.name}: columns are for a file in CSV, Parquet or JSON lines, got "
                f"{'standard input' if source.is_stdin else source.format}"
            )
        self.source, self.columns = source, columns
        names, inside = names_in(source)
        self.probabilities = _probability_columns(columns, names)
        taken = {"action": (columns.action,), "probability": tuple(self.probabilities)}
        taken["loss" if columns.reward is None else "reward"] = (columns.outcome,)
        for option, column in (("time", columns.time), ("id", columns.identifier)):
            if column is not None:
                taken[option] = (column,)
        for option, wanted in taken.items():
            matching_columns(option, wanted, names, "")  # refuses what the file does not have
        used = {name for wanted in taken.values() for name in wanted}
        features = matching_columns("features", columns.features, names, "")
        shown = [name for name in features if name in used]
        if shown:
            raise ValueError(
                f"`--features` must not name a column that says something else, got {shown[0]!r}"
            )
        self.features = features or tuple(n for n in inside or names if n not in used)
        self.report: Report = report_of(source, self.features, ())
        self.actions = self._find_actions()

    def kinds(self) -> dict[str, str]:
        """The kind of each feature, with ? where the rows read so far miss values."""
        return {
            name: f"{column.kind}?" if column.missing or column.odd else column.kind
            for name, column in self.report.columns.items()
        }

    def read(self, bad: BadRows) -> Iterator[ForeignDecision]:
        """The decisions in the order of the file."""
        self.report.restart()
        columns = self.columns
        fixed = (columns.action, *self.probabilities, columns.outcome)
        extra = [name for name in (columns.time, columns.identifier) if name is not None]
        used = tuple(dict.fromkeys((*fixed, *extra, *self.features)))
        numbers = {*self.probabilities, columns.outcome, *self._numbers()}
        lists = set(self.probabilities)
        known: dict[str, int] = {}
        bad.place = self.source.place
        for batch in read_batches(
            self.source, used, ROWS_AT_A_TIME, numbers=numbers - {*extra, columns.action},
            lists=lists,
        ):  # fmt: skip
            bad.report_all(batch.broken)
            rows = _Rows(self, dict(zip(used, batch.columns, strict=True)), batch.lines)
            for place, line in enumerate(batch.lines):
                try:
                    one = rows.decision(place)
                    if columns.identifier is not None:
                        _check_new(known, one.event_id, line, columns.identifier, bad.place)
                except OddLineError as reason:
                    bad.report(line, str(reason))
                else:
                    yield one

    def _numbers(self) -> list[str]:
        return [name for name, one in self.report.columns.items() if one.kind == "number"]

    def _find_actions(self) -> tuple[str, ...]:
        """The names of the actions, in the order given or else in their own."""
        column, given = self.columns.action, self.columns.actions
        found: dict[str, None] = {}
        for batch in read_batches(self.source, (column,), ROWS_AT_A_TIME):
            found |= dict.fromkeys(as_labels(batch.columns[0]))
            if len(found) > MANY_ACTIONS:
                raise ValueError(
                    f"`--action {column}` has more than {MANY_ACTIONS:,} different values, too "
                    "many for actions; is it the wrong column?"
                )
        found.pop("", None)
        if given:
            return given  # a row with another one is an odd line
        named = [name for name in self.probabilities.values() if name]
        unnamed = [name for name in found if named and name not in named]
        if unnamed:
            raise ValueError(
                f"`--probability {self.columns.probability}` must have the probabilities of all "
                f"actions, or of the played one: it has those of {listed(named)}, but "
                f"{unnamed[0]!r} was played; name the actions of lists with --actions a,b,..."
            )
        return (*named, *in_order(name for name in found if name not in named))


class _Rows:
    """Some rows of a table."""

    def __init__(self, table: DecisionTable, cells: Mapping[str, Cells], lines: Any) -> None:
        columns = table.columns
        self.table, self.cells, self.lines = table, cells, lines
        self.actions = dict.fromkeys(table.actions)
        self.places = {name: place for place, name in enumerate(table.actions)}
        self.played = as_labels(cells[columns.action])
        self.outcomes, self.odd_outcomes = as_numbers(cells[columns.outcome])
        self.given = {name: as_probabilities_of(cells[name]) for name in table.probabilities}
        self.times = [] if columns.time is None else as_words(cells[columns.time])
        asked = columns.identifier
        self.identifiers = [] if asked is None else as_labels(cells[asked])
        self.features = [self._column(name) for name in table.features]
        table.report.n_rows += len(self.played)

    def decision(self, place: int) -> ForeignDecision:
        """One row; what is wrong with it is an odd line."""
        columns = self.table.columns
        name = self.played[place]
        chosen = self.places.get(name)
        if chosen is None:
            got = f"must be one of {listed(self.places)}, got {name!r}" if name else "is missing"
            raise OddLineError(f"the action in {columns.action!r} {got}")
        probability, probabilities = self._probability(place, chosen)
        value = self._outcome(place)
        if value is not None and columns.reward is not None:
            value = -value
        return ForeignDecision(
            self.lines[place],
            dict(zip(self.table.features, (cells[place] for cells in self.features), strict=True)),
            self.actions,
            chosen,
            value,
            probability,
            probabilities,
            self._time(place),
            self._identifier(place),
        )

    def _column(self, name: str) -> list[Any]:
        """The cells of a feature: numbers, or words; None where there is none."""
        column = self.table.report.columns[name]
        if column.kind != "number":
            words = [None if is_missing(word) else word for word in as_words(self.cells[name])]
            column.missing += sum(word is None for word in words)
            return words
        numbers, odd = as_numbers(self.cells[name])
        for place, text in odd.items():
            column.add_odd(text, self.lines[place])
        column.missing += int(np.isnan(numbers).sum())
        return [None if number != number else number for number in numbers.tolist()]

    def _outcome(self, place: int) -> float | None:
        column, value = self.table.columns.outcome, float(self.outcomes[place])
        unit = "loss" if self.table.columns.reward is None else "reward"
        if place in self.odd_outcomes or math.isinf(value):
            text = not_finite(self.cells[column][place])
            raise OddLineError(f"the {unit} in {column!r} {text}")
        return None if math.isnan(value) else value

    def _probability(self, place: int, chosen: int) -> tuple[float, list[float] | None]:
        cells = {name: given[place] for name, given in self.given.items()}
        column, own = next(iter(cells.items()))
        if len(cells) == 1 and not isinstance(own, list):
            return _checked(column, own, self.cells[column][place]), None
        if len(cells) == 1:
            probabilities = self._listed(column, own)
        else:
            by_name = {self.table.probabilities[name]: name for name in cells}
            column = by_name.get(self.table.actions[chosen], column)
            named = {action: cells[name] for action, name in by_name.items()}
            odd = [n for n in cells if not 0.0 <= cells[n] <= 1.0 + 1e-6]
            if odd:
                got = self.cells[odd[0]][place]
                raise OddLineError(_wrong(odd[0], got, least="between 0 and 1"))
            probabilities = [named.get(action, 0.0) for action in self.table.actions]
        total = math.fsum(probabilities)
        if not 0.99 <= total <= 1.01:
            many = listed(repr(name) for name in cells)
            raise OddLineError(f"the probabilities in {many} must sum to 1, got {total:g}")
        _checked(column, probabilities[chosen], probabilities[chosen])
        scaled = [one / total for one in probabilities]
        return scaled[chosen], scaled

    def _listed(self, column: str, given: list[Any]) -> list[float]:
        if not self.table.columns.actions:
            raise OddLineError(
                f"the probabilities in {column!r} are lists: name the actions in their order with "
                "--actions a,b,..."
            )
        numbers, odd = as_numbers(given)
        n = len(self.table.actions)
        if len(given) != n or odd or not ((numbers >= 0.0) & (numbers <= 1.0 + 1e-6)).all():
            raise OddLineError(
                f"the probabilities in {column!r} must be {n} numbers between 0 and 1, got "
                f"{str(given)[:60]}"
            )
        return [float(number) for number in numbers]

    def _time(self, place: int) -> float | None:
        if not self.times:
            return None
        text = self.times[place]
        try:
            seconds = float(text)
        except ValueError:
            try:
                moment = datetime.fromisoformat(text)
            except ValueError:
                seconds = math.nan
            else:
                aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
                seconds = aware.timestamp()
        if not math.isfinite(seconds):
            got = f"must be seconds since 1970 or ISO 8601, got {text!r}" if text else "is missing"
            raise OddLineError(f"the time in {self.table.columns.time!r} {got}")
        return seconds

    def _identifier(self, place: int) -> str:
        if not self.identifiers:
            return ""
        if not self.identifiers[place]:
            raise OddLineError(f"the identifier in {self.table.columns.identifier!r} is missing")
        return self.identifiers[place]


def as_probabilities_of(cells: Cells) -> list[Any]:
    """Cells as numbers, NaN for anything else, or as lists, which CSV holds as JSON."""
    if not isinstance(cells, np.ndarray) and any(_is_list(cell) for cell in cells):
        return [_as_list(cell) for cell in cells]
    return as_numbers(cells)[0].tolist()  # type: ignore[no-any-return]


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list) or (isinstance(cell, str) and cell.lstrip().startswith("["))


def _as_list(cell: Any) -> list[Any]:
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            return [cell]
    return cell if isinstance(cell, list) else [cell]


def _checked(column: str, probability: float, cell: Any) -> float:
    if 0.0 < probability <= 1.0 + 1e-6:
        return min(probability, 1.0)
    raise OddLineError(_wrong(column, cell, least="above 0 and at most 1"))


def _wrong(column: str, cell: Any, *, least: str) -> str:
    if is_missing(cell):
        return f"the probability in {column!r} is missing"
    return f"the probability in {column!r} must be {least}, got {str(cell)!r}"


def _probability_columns(columns: DecisionColumns, names: Sequence[str]) -> dict[str, str]:
    """The columns of probabilities, each with the name of its action, "" if it is no single one."""
    asked = columns.probability
    if asked in names:
        return {asked: ""}
    parts = tuple(asked.split(","))
    found = matching_columns("probability", parts, names, "")
    if len(parts) > 1:
        return {name: name for name in found}
    before, star, after = asked.partition("*")
    if not star:
        before = f"{asked}."  # the columns of an object or a list in JSON
    actions = [name[len(before) : len(name) - len(after)] for name in found]
    if columns.actions and actions == [str(place) for place in range(len(columns.actions))]:
        actions = list(columns.actions)  # of a list
    return dict(zip(found, actions, strict=True))


def _check_new(known: dict[str, int], text: str, line: int, column: str, place: str) -> None:
    first = known.setdefault(text, line)
    if first != line:
        raise OddLineError(
            f"the identifier in {column!r} must not come twice, got {text!r} as in {place} {first}"
        )
