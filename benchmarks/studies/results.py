"""What a study makes of its runs: files, tables on the screen, and lines below them."""

import argparse
import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from graphcb.checks import as_count
from graphcb.commands.panels import ENDINGS, check_folder, finish_shown
from graphcb.datasets import DataNotFoundError
from graphcb.experiments.curves import Curve, write_csv
from graphcb.experiments.reproduction import Runs
from graphcb.figures.curves import save
from graphcb.files import atomic_write

SETTINGS = Path(__file__).parent / "settings"
PICTURES = (".png", ".pdf")
WIDTH = 120  # in which no name of a table is cut


class Rows(NamedTuple):
    """A table: its title, the names of its columns, and its rows."""

    title: str
    head: Sequence[str]
    body: Iterable[Sequence[Any]]


class Results(NamedTuple):
    """What a study found: `table` becomes a file, `shown` is printed with `lines` below it.

    `figures` are by what follows the name of the study in their names, as "-baseline"; `drawn_by`
    are the files that draw them.
    """

    markdown: str
    table: Rows
    figures: Mapping[str, Figure]
    shown: Sequence[Rows]
    lines: Sequence[str]
    drawn_by: Sequence[Path] = ()


class Study(Runs, Protocol):
    """Runs with a title, and with a small version."""

    @property
    def title(self) -> str:
        """Above the report."""
        ...

    def made_quick(self) -> Self:
        """A small version on data that needs no download."""
        ...

    def with_seeds(self, n_seeds: int) -> Self:
        """With as many seeds."""
        ...


StudyT = TypeVar("StudyT", bound=Study)


def run_study(
    study: StudyT,
    results: Callable[[StudyT, Sequence[Curve]], Results],
    figures: Sequence[str],
    options: argparse.Namespace,
) -> None:
    """Run what is missing, write the report, the tables and the figures, and print them."""
    study = _as_asked(study, options)
    pictures = {f"{name}{kind}": "picture" for name in figures for kind in PICTURES}
    endings = {**ENDINGS, **pictures, "-table.csv": "table of results", ".md": "report"}
    check_folder(options, [(study.name, endings)])
    store, curves = finish_shown(study, options)
    found = results(study, curves)
    path = options.out / study.name
    runs = [(store.about(study.identity(curve.setting)), curve) for curve in curves]
    write_csv(runs, path.with_suffix(".csv"))
    _write_table(found.table, Path(f"{path}-table.csv"))
    with atomic_write(path.with_suffix(".md"), text=True) as file:
        file.write(f"# {study.title}\n\n{found.markdown}")
    for name, figure in found.figures.items():
        for kind in PICTURES:
            save(figure, Path(f"{path}{name}{kind}"), scripts=found.drawn_by)
    print_rows(found.shown, found.lines)
    named = ", ".join(f"{path}{name}.png" for name in found.figures)
    print(f"figures: {named}, .pdf   report: .md   tables: .csv, -table.csv   runs: .jsonl")
    work = sum(curve.seconds.total for curve in curves)
    n_rounds = sum(int(curve.rounds[-1]) for curve in curves)
    print(f"{len(curves):,} runs, {n_rounds:,} rounds, {work:.0f} s of work")


def _as_asked(study: StudyT, options: argparse.Namespace) -> StudyT:
    """The study as the options change it; its data is there."""
    if options.wide:
        raise ValueError(f"`--wide` must not be given with {study.name}: its grid has no wide form")
    if options.quick:
        study = study.made_quick()
    if options.seeds is not None:
        study = study.with_seeds(as_count("--seeds", options.seeds))
    try:
        for setting in study.settings():
            study.n_rounds_of(setting)
    except DataNotFoundError as problem:
        raise DataNotFoundError(f"{problem}. --quick needs no data") from None
    return study


def markdown_table(head: Sequence[str], body: Iterable[Sequence[str]], *, align: str = "") -> str:
    """A table in Markdown; `align` is ":" to align all columns but the first on the right."""
    rule = "|".join(["", "---", *[f"---{align}"] * (len(head) - 1), ""])
    first, *others = (f"| {' | '.join(line)} |" for line in (head, *body))
    return "\n".join((first, rule, *others))


def _write_table(rows: Rows, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows.head)
        writer.writerows(rows.body)


def print_rows(tables: Iterable[Rows], lines: Iterable[str] = ()) -> None:
    """Print tables, and lines below them."""
    console = Console()
    console.width = max(console.width, WIDTH)
    for title, head, body in tables:
        table = Table(title=title, title_justify="left")
        for column in head:
            table.add_column(column)
        for row in body:
            table.add_row(*row)
        console.print(table)
    for line in lines:
        console.print(line, markup=False)
