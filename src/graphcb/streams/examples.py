"""What every format becomes: examples, and the rows that cannot be used."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphcb.graphs import FeedbackGraph

SHOWN = 3


class Examples(NamedTuple):
    """Some rows of a file.

    `contexts` is a list of encoded rows, or of pairs (indices, values). `losses` is (n, K) in the
    units of the file. `lines` is the place of each row in the file. `graphs` has one graph per
    row, or is None if all rounds have the same one.

    Rows that bring their own `actions` have a dict of them each; `contexts` are then as in the
    file, and `losses` an array for each row, with losses or rewards as in the file.
    """

    contexts: Any
    losses: Any
    lines: Sequence[int]
    graphs: list[FeedbackGraph] | None = None
    actions: list[dict[str, Any]] | None = None


class BadRows:
    """Rows that cannot be used: the first one stops the run, or all are counted and skipped.

    >>> bad_rows = BadRows("mail.csv", skip=True)
    >>> bad_rows.report(3, "the cell is empty")
    >>> bad_rows.count, bad_rows.shown
    (1, ['mail.csv, line 3: the cell is empty'])
    """

    def __init__(self, name: str, *, place: str = "line", skip: bool = False) -> None:
        self.name = name
        self.place = place
        self.skip = skip
        self.count = 0
        self.shown: list[str] = []

    def report(self, line: int, text: str) -> None:
        """Report one bad row."""
        where = f"{self.name}, {self.place} {line}: {text}"
        if not self.skip:
            raise ValueError(f"{where} (use --on-error skip to leave out such rows)")
        self.count += 1
        if self.count <= SHOWN:
            self.shown.append(where)

    def in_words(self) -> list[str]:
        """A line for each of the first rows that were skipped, and one for all others."""
        more = self.count - len(self.shown)
        return [f"skipped: {text}" for text in (*self.shown, *([f"{more:,} more"] if more else []))]

    def report_all(self, texts: Mapping[int, str]) -> None:
        """Report bad rows, given as texts by line, in the order of the file."""
        for line in sorted(texts):
            self.report(line, texts[line])
