"""Tables on the screen: by `rich` where it is installed, else in plain text."""

from collections.abc import Sequence

from graphcb.commands.packages import missing


def print_table(title: str, rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> None:
    """Print a table with its title above it, and the names of its columns if there are any."""
    if missing("rich"):
        print("\n".join([title, *plain_lines(rows, head)]))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), show_header=bool(head), title_justify="left")
    for column in head:
        table.add_column(Text(column))
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def plain_lines(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> list[str]:
    """The rows in columns, two blanks apart.

    >>> plain_lines([("actions", "5"), ("self-aware", "yes")])
    ['actions     5', 'self-aware  yes']
    """
    cells = [head, *rows] if head else list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
