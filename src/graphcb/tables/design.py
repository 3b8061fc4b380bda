"""Features of rows as numbers for the models: scaled, and a place for each common word."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graphcb.estimates.terms import Floats
from graphcb.tables.columns import CellPlace, Vocabulary, as_floats, codes_of

MOST_WORDS = 50  # that have a place of their own, of each column
NO_PLACE = CellPlace("", 0)


class Scaled(NamedTuple):
    """A column of numbers."""

    column: str
    mean: float
    deviation: float
    marks: bool  # a further feature says that the number is missing


class Words(NamedTuple):
    """A column of words."""

    column: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Design:
    """How the features of a row become numbers; made from a sample, so it is the same for all."""

    parts: tuple[Scaled | Words, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are looked at."""
        return tuple(part.column for part in self.parts)

    def matrix(self, batch: Any, place: CellPlace = NO_PLACE) -> Floats:
        """Features of the rows of a batch or table, (n, d)."""
        found: list[Floats] = []
        for part in self.parts:
            array = batch.column(part.column)
            if isinstance(part, Scaled):
                values = as_floats(array, part.column, place)
                missing = np.isnan(values)
                found.append(np.where(missing, 0.0, (values - part.mean) / part.deviation))
                if part.marks:
                    found.append(missing.astype(np.float64))
            else:
                vocabulary = Vocabulary(part.words)
                codes = codes_of(array, vocabulary)
                found += [(codes == k).astype(np.float64) for k in range(len(part.words))]
        if not found:
            return np.zeros((batch.num_rows, 0))
        return np.ascontiguousarray(np.stack(found, axis=1))


def design_of(
    sample: Any, counts: Floats, columns: Iterable[str], types: Mapping[str, Any]
) -> Design:
    """The design for the columns of a sample; each row of it came `counts` times."""
    import pyarrow as pa

    parts: list[Scaled | Words] = []
    for column in columns:
        kind, array = types[column], sample.column(column)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            values = as_floats(array, column, NO_PLACE)
            here = np.isfinite(values)
            if not here.any():
                continue
            mean = float(np.average(values[here], weights=counts[here]))
            spread = float(np.average((values[here] - mean) ** 2, weights=counts[here]))
            if spread > 0.0 or not here.all():
                parts.append(Scaled(column, mean, max(spread, 1e-300) ** 0.5, not here.all()))
        else:
            vocabulary = Vocabulary()
            codes = codes_of(array, vocabulary)
            times = np.bincount(codes[codes >= 0], counts[codes >= 0], len(vocabulary.names))
            ordered = sorted(zip(-times, vocabulary.names, strict=True))[:MOST_WORDS]
            if len(vocabulary.names) > 1 or (codes < 0).any():
                parts.append(Words(column, tuple(name for _, name in ordered)))
    return Design(tuple(parts))


def usable_features(
    sample: Any, columns: Iterable[str], types: Mapping[str, Any]
) -> tuple[str, ...]:
    """Those that can be learned from: no lists, no times, and nothing that names the row."""
    import pyarrow as pa

    found = []
    for column in columns:
        kind, array = types[column], sample.column(column)
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        whole, text = (
            pa.types.is_integer(kind),
            pa.types.is_string(kind) or pa.types.is_large_string(kind),
        )
        if not (whole or text or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            continue
        different = len(array.unique())
        if (whole or text) and different > max(20, 0.5 * len(array)):
            continue  # an identifier, or the time in whole seconds
        if different > 1:
            found.append(column)
    return tuple(found)
