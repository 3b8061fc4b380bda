"""Data frames of pandas, polars and pyarrow, as rows.

Each has its own method for this, so none of the packages is needed, and no package between them.
"""

from collections.abc import Iterable
from typing import Any


def rows_of(frame: Any) -> list[dict[str, Any]] | None:
    """The rows of a data frame as dicts; None if it is no data frame."""
    if not is_frame(frame):
        return None
    for method, arguments in (("to_dicts", ()), ("to_pylist", ()), ("to_dict", ("records",))):
        if hasattr(frame, method):
            rows: list[dict[str, Any]] = getattr(frame, method)(*arguments)
            return rows
    return None


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame: of two dimensions, with columns that have names."""
    return len(getattr(value, "shape", ())) == 2 and hasattr(value, "columns")


def each_row(contexts: Iterable[Any]) -> Iterable[Any]:
    """Contexts one by one, also of a data frame, which gives the names of its columns itself."""
    rows = rows_of(contexts)
    return contexts if rows is None else rows


def as_listed(values: Any) -> Any:
    """A column of a data frame, its index or an array as a list; anything else unchanged."""
    if len(getattr(values, "shape", ())) != 1:
        return values
    return values.tolist() if hasattr(values, "tolist") else list(values)
