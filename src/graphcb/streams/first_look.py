"""What must be known before the first row: what the columns hold, and which labels exist."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from graphcb.checks import did_you_mean, listed
from graphcb.contexts import Look, look_at
from graphcb.contexts.noted import lack_most
from graphcb.streams import json_lines
from graphcb.streams.hints import comma_hints, date_hints, file_hints, label_hints, nameless_hints
from graphcb.streams.lines import PARSERS
from graphcb.streams.ranges import costs_in, is_multiclass, labels_in, values_in
from graphcb.streams.report import ColumnReport, Report
from graphcb.streams.source import FIRST_LOOK, Source
from graphcb.streams.sparse import MANY_FEATURES, SparseExamples
from graphcb.streams.tables import TABLES, column_names, read_batches
from graphcb.streams.tabular import Columns, TableExamples
from graphcb.streams.targets import Targets, in_order

SPARSE = ["rows lack most of many numbers: one that is not there is 0, as in counts of words"]


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about the data; None or empty where the file decides.

    `losses`, `rewards`, `features` and `categorical` are names of columns, or patterns such as
    "stock*". `loss_range` is the range of the rewards if there are rewards.
    """

    label: str | None = None
    losses: tuple[str, ...] = ()
    rewards: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    edges: str | None = None
    classes: tuple[str, ...] = ()
    loss_range: tuple[float, float] | None = None
    bits: int = 18

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 30:
            raise ValueError(f"`--bits` must be between 1 and 30, got {self.bits}")


def first_look(source: Source, options: ReadOptions) -> TableExamples | SparseExamples:
    """How to read the source.

    The first 10,000 rows decide whether a column holds numbers or words. It holds numbers if at
    most one in ten of its cells is something else; those cells then count as missing. The labels
    and the range of the losses come from the options, or else from a first pass over the whole
    file. Only the first 10,000 rows of standard input can be read twice.
    """
    if source.format in TABLES:
        return _look_at_table(source, options)
    for option in ("label", "losses", "rewards", "features", "categorical", "edges"):
        if getattr(options, option):
            raise ValueError(
                f"`--{option}` is for CSV, Parquet and JSON lines, got it with {source.format}"
            )
    if source.format == "libsvm" or is_multiclass(source):
        if options.loss_range is not None:
            raise ValueError("`--loss-range` is for losses in the file, got it with labels")
        targets = Targets(options.classes or in_order(labels_in(source)))
    else:
        actions, loss_range = costs_in(source, options.classes, options.loss_range)
        targets = Targets(actions, loss_range)
    features = _few_features(source)
    reading = SparseExamples(source.format, targets, bits=options.bits, features=features)
    reading.report.hints += label_hints(targets)
    return reading


def _few_features(source: Source) -> list[Any]:
    """The features of a file if they are few and all have values; else none.

    Those of libsvm include indices in between that are 0 in every line, as a table would.
    """
    found: dict[Any, None] = {}
    parse = PARSERS[source.format]
    for line in source.lines(first_look=True):
        try:
            row = parse(line)
        except ValueError:
            continue  # reported with its line when the row is read
        if row is not None:
            found |= dict.fromkeys(row.features)
            if row.has_words or len(found) > MANY_FEATURES:
                return []
    if source.format == "libsvm" and found:
        last = max(found)
        return list(range(min(1, *found), last + 1)) if last <= MANY_FEATURES else sorted(found)
    return list(found)


def _look_at_table(source: Source, options: ReadOptions) -> TableExamples:
    names, inside = names_in(source)
    hints = file_hints(source, names)
    advice = "".join(f"; {hint}" for hint in hints)
    hints += nameless_hints(names)
    names = tuple(name for name in names if name)
    targets_named = [bool(options.label), bool(options.losses), bool(options.rewards)]
    if sum(targets_named) != 1:
        raise ValueError(
            "give either --label COLUMN or --losses COLUMN,COLUMN,... or --rewards COLUMN,...; "
            f"the columns are {listed(names)}{advice}"
        )
    if options.label is not None and options.loss_range is not None:
        raise ValueError("`--loss-range` is for --losses, got it with --label")
    if options.label is None and options.classes:
        raise ValueError("`--classes` is for --label; with --losses each column is an action")
    kind = "losses" if options.losses else "rewards" if options.rewards else "label"
    asked = options.losses or options.rewards or (options.label or "",)
    target = matching_columns(kind, asked, names, advice)
    wanted = () if options.edges is None else (options.edges,)
    edges = matching_columns("edges", wanted, names, advice)
    categorical = matching_columns("categorical", options.categorical, names, advice)
    features = matching_columns("features", options.features, names, advice)
    if not features:
        features = tuple(n for n in inside or names if n not in (*target, *edges))
    shown = [name for name in features if name in (*target, *edges)]
    if shown:
        raise ValueError(f"`--features` must not name the label, losses or edges, got {shown[0]!r}")
    unused = [name for name in categorical if name not in features]
    if unused:
        raise ValueError(f"`--categorical` must name features, got {unused[0]!r}")
    targets = _targets(source, options, target)
    report = report_of(source, features, categorical)
    # A column that is asked to hold categories is declared, and so are the others then.
    sparse = not categorical and _lack_most(report)
    report.hints[:0] = hints + label_hints(targets, options.label) + SPARSE * sparse
    kinds = {name: column.declared for name, column in report.columns.items()}
    columns = Columns(
        tuple(name for name in features if kinds[name].startswith("number")),
        tuple(name for name in features if not kinds[name].startswith("number")),
        options.label,
        () if options.label is not None else target,
        options.edges,
    )
    return TableExamples(
        columns, targets, bits=options.bits, kinds=kinds, report=report, sparse=sparse
    )


def _lack_most(report: Report) -> bool:
    """Whether rows lack most of many numbers, by the rule for contexts that are dicts."""
    numbers = [column for column in report.columns.values() if column.kind == "number"]
    n_given = sum(report.n_rows - column.missing for column in numbers)
    return lack_most(len(numbers), n_given, report.n_rows)


def names_in(source: Source) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """All columns, and those that are features if the file says so."""
    if source.format == "jsonl":
        return json_lines.names_in(source)
    return column_names(source), None


def matching_columns(
    option: str, asked: Sequence[str], names: Sequence[str], advice: str
) -> tuple[str, ...]:
    """The columns of these names or patterns, or inside an object of this name in JSON."""
    found: dict[str, None] = {}
    for text in asked:
        matches = [text] if text in names else [n for n in names if fnmatchcase(n, text)]
        matches = matches or [name for name in names if name.startswith(f"{text}.")]
        if not matches:
            raise ValueError(
                f"`--{option}` must name a column of the file ({listed(names)}), got "
                f"{text!r}{did_you_mean(text, names)}{advice}"
            )
        found |= dict.fromkeys(matches)
    return tuple(found)


def report_of(source: Source, features: Sequence[str], categorical: Sequence[str]) -> Report:
    """What the first rows hold."""
    report = Report(source.name, source.place)
    batches = read_batches(source, features, FIRST_LOOK, numbers=set(features), first_look=True)
    batch = next(batches, None)
    report.n_rows = 0 if batch is None else len(batch.lines)
    for j, name in enumerate(features):
        found = Look("number", 0, (), 0) if batch is None else look_at(batch.columns[j])
        column = ColumnReport(name, found.kind, found.distinct, found.missing + len(found.odd))
        if name in categorical:
            column.kind = "category"
        elif batch is not None:
            for row in found.odd:
                column.add_odd(str(batch.columns[j][row]), batch.lines[row])
            if column.kind in ("category", "text"):
                cells = list(batch.columns[j])
                report.hints += comma_hints(name, cells) + date_hints(name, cells)
        report.columns[name] = column
    return report


def _targets(source: Source, options: ReadOptions, columns: tuple[str, ...]) -> Targets:
    if options.label is not None:
        return Targets(options.classes or in_order(labels_in(source, options.label)))
    prefix = f"{(options.losses or options.rewards)[0]}."
    inside = all(name.startswith(prefix) for name in columns)
    actions = tuple(name.removeprefix(prefix) for name in columns) if inside else columns
    value_range = options.loss_range or values_in(source, columns)
    return Targets(actions, value_range, rewards=bool(options.rewards))
