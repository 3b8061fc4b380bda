"""What was made of a file: the kind of each column, what was missing or odd, and hints."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class ColumnReport:
    """One column: its kind, and how many of its cells were missing or odd.

    An odd cell is a word in a column of numbers or times; it is one of the missing ones.
    `first_odd` is the first of them, with its line. `distinct` values were seen in the first look.
    """

    name: str
    kind: str
    distinct: int = 0
    missing: int = 0
    odd: int = 0
    first_odd: tuple[str, int] | None = None

    @property
    def declared(self) -> str:
        """The kind as an `Encoder` takes it, with ? where the rows read so far miss values."""
        return f"{self.kind}?" if self.missing else self.kind

    def add_odd(self, cell: str, line: int) -> None:
        """Count an odd cell."""
        self.odd += 1
        if self.first_odd is None:
            self.first_odd = (cell, line)


@dataclass
class Report:
    """What the columns of a file are; counts are those of the rows read so far.

    Before the first row is read, the counts are those of the first look, over at most 10,000
    rows. `hints` say what may be wrong with the file or with the options.
    """

    name: str
    place: str = "line"
    n_rows: int = 0
    columns: dict[str, ColumnReport] = field(default_factory=dict)
    hints: list[str] = field(default_factory=list)
    unknown: int = 0  # values of features that are not among the columns, and were left out

    @classmethod
    def of(cls, kinds: Mapping[str, str]) -> "Report":
        """Of a file that is still to be named, with columns of these kinds."""
        columns = {name: ColumnReport(name, kind.removesuffix("?")) for name, kind in kinds.items()}
        return cls("", columns=columns)

    def restart(self) -> None:
        """Count from the first row on."""
        self.n_rows = self.unknown = 0
        for column in self.columns.values():
            column.missing = column.odd = 0

    def warnings(self) -> list[str]:
        """A text for each column of numbers or times with odd cells.

        >>> report = Report("a.csv", columns={"size": ColumnReport("size", "number")})
        >>> report.columns["size"].add_odd("12kB", 7)
        >>> report.warnings()[0]
        "a.csv, line 7: the column 'size' holds numbers, but '12kB' is none: it counts as missing"
        """
        texts = []
        for column in self.columns.values():
            if column.first_odd is not None:
                cell, line = column.first_odd
                more = f", like {column.odd - 1:,} more" if column.odd > 1 else ""
                texts.append(
                    f"{self.name}, {self.place} {line}: the column {column.name!r} holds "
                    f"{column.kind}s, but {cell!r} is none: it counts as missing{more}"
                )
        return texts
