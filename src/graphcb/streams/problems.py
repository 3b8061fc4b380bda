"""Rows that cannot be used: the first one stops the run, or all are counted and skipped."""

from collections.abc import Mapping

SHOWN = 3


class Problems:
    """Says where a row is wrong; with `skip` it counts, and keeps the first texts to show.

    >>> problems = Problems("mail.csv", skip=True)
    >>> problems.report(3, "the cell is empty")
    >>> problems.count, problems.shown
    (1, ['mail.csv, line 3: the cell is empty'])
    """

    def __init__(self, name: str, *, place: str = "line", skip: bool = False) -> None:
        self.name = name
        self.place = place
        self.skip = skip
        self.count = 0
        self.shown: list[str] = []

    def report(self, line: int, text: str) -> None:
        """One row that is wrong."""
        where = f"{self.name}, {self.place} {line}: {text}"
        if not self.skip:
            raise ValueError(f"{where} (--on-error skip leaves such rows out)")
        self.count += 1
        if self.count <= SHOWN:
            self.shown.append(where)

    def report_all(self, texts: Mapping[int, str]) -> None:
        """Rows that are wrong, a text by line, in the order of the file."""
        for line in sorted(texts):
            self.report(line, texts[line])
