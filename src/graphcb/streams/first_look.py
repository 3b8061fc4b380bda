"""What must be known before the first row: which columns are numbers, and which labels exist."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.streams.source import FIRST_LOOK, Source
from graphcb.streams.sparse import SparseExamples, costs_of, labels_of
from graphcb.streams.tables import Cells, column_names, read_batches
from graphcb.streams.tabular import MISSING, Columns, TableExamples, as_numbers, as_texts
from graphcb.streams.targets import Targets, check_few, in_order

BATCH = 4096


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about the data; None or empty where the file decides."""

    label: str | None = None
    losses: tuple[str, ...] = ()
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

    The first 10,000 rows decide whether a column holds numbers or words: a stray word later on is
    an error in that row and must not change the column. The labels and the range of the losses
    come from the options, or else from a first pass over the whole file. Only the first 10,000
    rows of standard input can be read twice.
    """
    if source.format in ("csv", "parquet"):
        return _look_at_table(source, options)
    for option in ("label", "losses", "features", "categorical", "edges"):
        if getattr(options, option):
            raise ValueError(f"`--{option}` is for CSV and Parquet, got it with {source.format}")
    if source.format == "libsvm":
        if options.loss_range is not None:
            raise ValueError("`--loss-range` is for losses in the file, got it with labels")
        actions = options.classes or in_order(_labels(source))
        return SparseExamples("libsvm", Targets(actions), bits=options.bits)
    actions, loss_range = _costs(source, options)
    return SparseExamples("vw", Targets(actions, loss_range), bits=options.bits)


def _look_at_table(source: Source, options: ReadOptions) -> TableExamples:
    names = column_names(source)
    if (options.label is None) == (not options.losses):
        raise ValueError(
            "give either --label COLUMN or --losses COLUMN,COLUMN,...; "
            f"the columns are {listed(names)}"
        )
    if options.label is not None and options.loss_range is not None:
        raise ValueError("`--loss-range` is for --losses, got it with --label")
    if options.losses and options.classes:
        raise ValueError("`--classes` is for --label; with --losses each column is an action")
    target = options.losses or (options.label or "",)
    edges = () if options.edges is None else (options.edges,)
    features = options.features or tuple(n for n in names if n not in (*target, *edges))
    for option, asked in (
        ("losses" if options.losses else "label", target),
        ("features", features),
        ("categorical", options.categorical),
        ("edges", edges),
    ):
        unknown = [name for name in asked if name not in names]
        if unknown:
            raise ValueError(
                f"`--{option}` must name a column of the file ({listed(names)}), got {unknown[0]!r}"
            )
    shown = [name for name in features if name in (*target, *edges)]
    if shown:
        raise ValueError(f"`--features` must not name the label, losses or edges, got {shown[0]!r}")
    unused = [name for name in options.categorical if name not in features]
    if unused:
        raise ValueError(f"`--categorical` must name features, got {unused[0]!r}")
    words = set(options.categorical) | _columns_of_words(source, features)
    columns = Columns(
        tuple(name for name in features if name not in words),
        tuple(name for name in features if name in words),
        options.label,
        options.losses,
        options.edges,
    )
    return TableExamples(columns, _targets(source, options), bits=options.bits)


def _columns_of_words(source: Source, features: Sequence[str]) -> set[str]:
    """The columns with a cell that is not a number in the first rows."""
    batch = next(read_batches(source, features, FIRST_LOOK, first_look=True), None)
    columns = zip(features, batch.columns, strict=True) if batch is not None else ()
    return {name for name, cells in columns if _are_words(cells)}


def _are_words(cells: Cells) -> bool:
    if isinstance(cells, np.ndarray):
        return False
    _, wrong = as_numbers(cells)
    return any(cells[row].strip() not in MISSING for row in wrong)


def _targets(source: Source, options: ReadOptions) -> Targets:
    if options.label is not None:
        if options.classes:
            return Targets(options.classes)
        found: set[str] = set()
        for batch in read_batches(source, (options.label,), BATCH, first_look=True):
            found.update(as_texts(batch.columns[0]))
            check_few(found, f"`--label {options.label}`")
        return Targets(in_order(found - {""}))
    if options.loss_range is not None:
        return Targets(options.losses, options.loss_range)
    low, high = np.inf, -np.inf
    numbers = set(options.losses)
    for batch in read_batches(source, options.losses, BATCH, numbers=numbers, first_look=True):
        for cells in batch.columns:
            low, high = _widen(low, high, as_numbers(cells)[0])
    return Targets(options.losses, _range(source, low, high))


def _labels(source: Source) -> set[str]:
    found: set[str] = set()
    for line in source.lines(first_look=True):
        found.update(labels_of(line))
        check_few(found, source.name)
    return found


def _costs(source: Source, options: ReadOptions) -> tuple[tuple[str, ...], tuple[float, float]]:
    """The actions of the first line that can be read, and the range of all costs."""
    actions = options.classes
    low, high = np.inf, -np.inf
    for line in source.lines(first_look=True):
        try:
            costs = costs_of(line.partition("|")[0])
        except ValueError:
            continue  # reported with its line when the row is read
        actions = actions or in_order(costs)
        if actions and options.loss_range is not None:
            return actions, options.loss_range
        low, high = _widen(low, high, np.array(list(costs.values())))
    return actions, options.loss_range or _range(source, low, high)


def _widen(low: float, high: float, losses: NDArray[np.float64]) -> tuple[float, float]:
    finite = losses[np.isfinite(losses)]
    if not finite.size:
        return low, high
    return min(low, float(finite.min())), max(high, float(finite.max()))


def _range(source: Source, low: float, high: float) -> tuple[float, float]:
    if low > high:
        raise ValueError(f"{source.name}: must have losses that are numbers, got none")
    return (low, high) if low < high else (low, low + 1.0)
