"""A table of decisions that some program wrote: CSV, Parquet or JSON lines, one row each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphcb.checks import listed
from graphcb.imports.record import ForeignDecision, OddLineError
from graphcb.imports.table_rows import TableRows
from graphcb.streams import BadRows, Report, Source
from graphcb.streams.cells import as_labels
from graphcb.streams.first_look import matching_columns, names_in, report_of
from graphcb.streams.tables import TABLES, read_batches
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
        return {name: column.declared for name, column in self.report.columns.items()}

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
            rows = TableRows(self, dict(zip(used, batch.columns, strict=True)), batch.lines)
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
        column, asked = self.columns.action, self.columns.actions
        found: dict[str, None] = {}
        for batch in read_batches(self.source, (column,), ROWS_AT_A_TIME):
            found |= dict.fromkeys(as_labels(batch.columns[0]))
            if len(found) > MANY_ACTIONS:
                raise ValueError(
                    f"`--action {column}` has more than {MANY_ACTIONS:,} different values, too "
                    "many for actions; is it the wrong column?"
                )
        found.pop("", None)
        if asked:
            return asked  # a row with another one is an odd line
        named = [name for name in self.probabilities.values() if name]
        unnamed = [name for name in found if named and name not in named]
        if unnamed:
            raise ValueError(
                f"`--probability {self.columns.probability}` must have the probabilities of all "
                f"actions, or of the played one: it has those of {listed(named)}, but "
                f"{unnamed[0]!r} was played; name the actions of lists with --actions a,b,..."
            )
        return (*named, *in_order(name for name in found if name not in named))


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
