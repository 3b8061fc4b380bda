"""Checks that both kinds of features share when they come from a file."""

from typing import Any

from graphcb.checks import LARGEST
from graphcb.loaded import MOST, check_array


def check_sums(thing: Any, size: int) -> None:
    """Refuse means, squares and counts that cannot be those of `size` numbers."""
    check_array(thing, "means", (size,), least=-LARGEST, most=LARGEST)
    check_array(thing, "squares", (size,), least=0.0)
    check_array(thing, "counts", (size,), least=0.0, most=MOST)


def check_missing(missing: Any) -> None:
    """Refuse counts of missing values that are no counts."""
    if not all(type(count) is int and 0 <= count <= MOST for count in missing.values()):
        raise ValueError("`missing` must be counts")
