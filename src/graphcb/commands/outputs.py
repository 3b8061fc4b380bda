"""What a command may write: never its input, never one file twice, never a file of somebody else.

A file that graphcb wrote is replaced by the next one of its kind, as a user who runs a command
again expects. Anything else that exists is refused before work starts, unless `--force` is given.
"""

import argparse
import os
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from graphcb.commands.packages import missing, need

PREDICTIONS = "line,action,probability"  # how the header of such a file starts
ESTIMATES = "policy,estimate,best,mean"  # the same of `graphcb evaluate --csv`
PICTURES = (".png", ".svg", ".pdf")
FORCE = {"--force": "overwrite files that graphcb did not write; never the input"}
LOG_FILES = ("wal", "shm", "journal", "writer", "end")  # beside the database
_MARKS = (b"Software\0graphcb", b"<dc:title>graphcb</dc:title>", b"/Creator (graphcb)")


class Output(NamedTuple):
    """A file to be written: the option that names it, and what kind of file it becomes."""

    option: str
    path: Path
    kind: str


def check_outputs(
    outputs: Iterable[Output], inputs: Mapping[str, str | Path | None], *, force: bool
) -> None:
    """Refuse what would destroy a file or fail after the last row.

    `inputs` are the files that are read, by what the user calls them; None and "-" are no files.
    """
    reads = {name: Path(path) for name, path in inputs.items() if path is not None and path != "-"}
    _check_standard_output(reads)
    earlier: list[Output] = []
    for output in outputs:
        option, path = output.option, output.path
        if not path.parent.is_dir():
            raise FileNotFoundError(f"`{option}` must be in an existing folder, got {path}")
        if path.exists() and not path.is_file():
            raise ValueError(f"`{option}` must name a file, got {path}")
        for name, read in reads.items():
            if _is_same(path, read):
                raise ValueError(
                    f"`{option}` must not be the file that is read: {path} is {name}; "
                    "choose another name"
                )
        for other in earlier:
            if _is_same(path, other.path):
                raise ValueError(f"`{option}` and `{other.option}` must be two files, got {path}")
        if output.kind == "picture":
            if path.suffix.lower() not in PICTURES:
                raise ValueError(f"`{option}` must end in {', '.join(PICTURES)}, got {path}")
            need("matplotlib", f"`{option}`")
        has_content = path.exists() and path.stat().st_size > 0  # else there is nothing to lose
        if not force and has_content and not _CHECKS[output.kind](path):
            raise ValueError(
                f"`{option}` must not overwrite {path}, which is no {output.kind} that graphcb "
                "wrote; choose another name, or give --force"
            )
        earlier.append(output)


def asked(options: argparse.Namespace, kinds: Mapping[str, str]) -> list[Output]:
    """The outputs among the options; `kinds` has the kind of file for each."""
    return [
        Output(f"--{name}", path, kind)
        for name, kind in kinds.items()
        if (path := getattr(options, name)) is not None
    ]


def log_files(log: str) -> Mapping[str, str]:
    """The files of a decision log, as inputs; a database on a server has none."""
    if "://" in log:
        return {}
    return {"the log": log} | {f"the log's {end}": f"{log}-{end}" for end in LOG_FILES}


def stop_printing() -> None:
    """When nobody reads on, as in `... | head`: what is still printed goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _check_standard_output(reads: Mapping[str, Path]) -> None:
    """Refuse `>> data.csv` where data.csv is read."""
    try:
        stdout = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # no file, as in tests
        return
    for name, read in reads.items():
        if read.is_file() and os.path.samestat(read.stat(), stdout):
            raise ValueError(f"standard output must not be the file that is read: {read} is {name}")


def _is_same(one: Path, other: Path) -> bool:
    """Whether both are one file, by links too; names that differ in case only may be."""
    if one.exists() and other.exists():
        return one.samefile(other)
    if one.exists() or other.exists():
        return False
    return os.path.realpath(one).casefold() == os.path.realpath(other).casefold()


def is_model(path: Path) -> bool:
    """Whether a file is one of `graphcb.save`, and not a graph in the same format."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "json.npy" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


def _is_table(path: Path) -> bool:
    """A table of `graphcb reproduce`."""
    names = _first_line(path).split(",")
    return names[-2:] in (["round", "mean_loss"], ["mean_loss", "ratio"])


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\n\nStreams: " in file.read(4096)


def _is_picture(path: Path) -> bool:
    """By the name of the program in it, as `figures.curves.save` writes it."""
    content = path.read_bytes()
    return any(mark in content for mark in _MARKS)


def _is_export(path: Path) -> bool:
    if missing("pyarrow"):
        return False
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import read_schema

    try:
        return bool(read_schema(path).names[:2] == ["decision_id", "position"])
    except (ArrowInvalid, OSError):
        return False


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        return file.readline(4096).decode(errors="replace").rstrip("\r\n")


# Whether graphcb wrote a file of this kind.
_CHECKS: dict[str, Callable[[Path], bool]] = {
    "model": is_model,
    "table of predictions": lambda path: _first_line(path).startswith(PREDICTIONS),
    "table of results": _is_table,
    "store of runs": lambda path: _first_line(path).startswith('{"run": '),
    "report": _is_report,
    "table of estimates": lambda path: _first_line(path).startswith(ESTIMATES),
    "picture": _is_picture,
    "export of a log": _is_export,
}
