"""What must be known before the first row: which columns are numbers, which labels there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from graphcb.streams.libsvm import labels_of
from graphcb.streams.source import FIRST_LOOK, Source
from graphcb.streams.sparse import SparseExamples
from graphcb.streams.table import MISSING, Cells, Floats, as_numbers, as_texts, reader_of
from graphcb.streams.tabular import Columns, TableExamples
from graphcb.streams.targets import Targets, check_few, in_order
from graphcb.streams.vw_text import costs_of

PIECE = 4096


@dataclass(frozen=True)
class Wishes:
    """What the user says of the data; None or empty where the file decides."""

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


def first_look(source: Source, wishes: Wishes) -> TableExamples | SparseExamples:
    """How to read the source.

    Whether a column holds numbers or words is decided by the first 10,000 rows: a stray word
    later on is a mistake in that row and must not turn the column. The labels and the range of
    the losses are taken from the whole file, which is read once for that, unless the wishes
    name them; of the standard input only the first 10,000 rows can be read twice.
    """
    if source.format in ("csv", "parquet"):
        return _look_at_table(source, wishes)
    for option in ("label", "losses", "features", "categorical", "edges"):
        if getattr(wishes, option):
            raise ValueError(f"`--{option}` is for CSV and Parquet, got it with {source.format}")
    if source.format == "libsvm":
        if wishes.loss_range is not None:
            raise ValueError("`--loss-range` is for losses in the file, got it with labels")
        actions = wishes.classes or in_order(_labels(source))
        return SparseExamples("libsvm", Targets(actions), bits=wishes.bits)
    actions, loss_range = _costs(source, wishes)
    return SparseExamples("vw", Targets(actions, loss_range), bits=wishes.bits)


def _look_at_table(source: Source, wishes: Wishes) -> TableExamples:
    names = reader_of(source).names(source)
    if (wishes.label is None) == (not wishes.losses):
        raise ValueError(
            "give either --label COLUMN or --losses COLUMN,COLUMN,...; "
            f"the columns are {', '.join(names)}"
        )
    if wishes.label is not None and wishes.loss_range is not None:
        raise ValueError("`--loss-range` is for --losses, got it with --label")
    if wishes.losses and wishes.classes:
        raise ValueError("`--classes` is for --label; with --losses each column is an action")
    target = wishes.losses or (wishes.label or "",)
    edges = () if wishes.edges is None else (wishes.edges,)
    features = wishes.features or tuple(n for n in names if n not in (*target, *edges))
    for option, asked in (
        ("losses" if wishes.losses else "label", target),
        ("features", features),
        ("categorical", wishes.categorical),
        ("edges", edges),
    ):
        _check_names(option, asked, names)
    shown = [name for name in features if name in (*target, *edges)]
    if shown:
        raise ValueError(f"`--features` must not hold what is to be learned, got {shown[0]!r}")
    unused = [name for name in wishes.categorical if name not in features]
    if unused:
        raise ValueError(f"`--categorical` must name features, got {unused[0]!r}")
    words = set(wishes.categorical) | _columns_of_words(source, features)
    columns = Columns(
        tuple(name for name in features if name not in words),
        tuple(name for name in features if name in words),
        wishes.label,
        wishes.losses,
        wishes.edges,
    )
    return TableExamples(columns, _targets(source, wishes), bits=wishes.bits)


def _check_names(option: str, asked: Sequence[str], names: Sequence[str]) -> None:
    for name in asked:
        if name not in names:
            raise ValueError(
                f"`--{option}` must name a column of the file ({', '.join(names)}), got {name!r}"
            )


def _columns_of_words(source: Source, features: Sequence[str]) -> set[str]:
    """Those with a cell that is no number, and those with none at all, in the first rows."""
    words: set[str] = set()
    tables = reader_of(source).tables(source, features, FIRST_LOOK, first_look=True)
    for table in islice(tables, 1):
        words |= {
            name for name, cells in zip(features, table.columns, strict=True) if _are_words(cells)
        }
    return words


def _are_words(cells: Cells) -> bool:
    if isinstance(cells, np.ndarray):
        return False
    _, wrong = as_numbers(cells)
    return any(cells[row].strip() not in MISSING for row in wrong)


def _targets(source: Source, wishes: Wishes) -> Targets:
    reader = reader_of(source)
    if wishes.label is not None:
        if wishes.classes:
            return Targets(wishes.classes)
        found: set[str] = set()
        for table in reader.tables(source, (wishes.label,), PIECE, first_look=True):
            found.update(as_texts(table.columns[0]))
            check_few(found, f"`--label {wishes.label}`")
        return Targets(in_order(found - {""}))
    if wishes.loss_range is not None:
        return Targets(wishes.losses, wishes.loss_range)
    low, high = np.inf, -np.inf
    numbers = set(wishes.losses)
    for table in reader.tables(source, wishes.losses, PIECE, numbers=numbers, first_look=True):
        for cells in table.columns:
            low, high = _widen(low, high, as_numbers(cells)[0])
    return Targets(wishes.losses, _range(source, low, high))


def _labels(source: Source) -> set[str]:
    found: set[str] = set()
    for line in source.lines(first_look=True):
        found.update(labels_of(line))
        check_few(found, source.name)
    return found


def _costs(source: Source, wishes: Wishes) -> tuple[tuple[str, ...], tuple[float, float]]:
    """The actions of the first line that can be read, and the range of all costs."""
    actions = wishes.classes
    low, high = np.inf, -np.inf
    for line in source.lines(first_look=True):
        try:
            costs = costs_of(line.partition("|")[0])
        except ValueError:
            continue  # told with its line when the row is read
        actions = actions or in_order(costs)
        if actions and wishes.loss_range is not None:
            return actions, wishes.loss_range
        low, high = _widen(low, high, np.array(list(costs.values())))
    return actions, wishes.loss_range or _range(source, low, high)


def _widen(low: float, high: float, losses: Floats) -> tuple[float, float]:
    finite = losses[np.isfinite(losses)]
    if not finite.size:
        return low, high
    return min(low, float(finite.min())), max(high, float(finite.max()))


def _range(source: Source, low: float, high: float) -> tuple[float, float]:
    if low > high:
        raise ValueError(f"{source.name}: must have losses that are numbers, got none")
    return (low, high) if low < high else (low, low + 1.0)
