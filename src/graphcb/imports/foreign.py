"""A file of decisions that another program wrote, whatever its format."""

import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal, get_args

from graphcb.checks import as_count, as_one_of
from graphcb.imports.dsjson import read_dsjson
from graphcb.imports.record import ForeignDecision
from graphcb.imports.vw_text import largest_action, read_cb, read_cb_adf
from graphcb.streams import BadRows, Source

LogFormat = Literal["cb", "cb_adf", "dsjson"]
LOOKED_AT = 1000  # lines that tell the format
_DECISION = re.compile(r"\s*(shared\s.*|(ca\s+)?\d+:[^:|\s]+:[^:|\s]+\s*('\S*\s*)?)\|")

__all__ = ["ForeignDecision", "LogFormat", "format_of", "read_foreign"]


def read_foreign(
    path: str | os.PathLike[str],
    *,
    format: LogFormat | None = None,
    n_actions: int | None = None,
    bad: BadRows | None = None,
) -> Iterator[ForeignDecision]:
    """The decisions in a file of Vowpal Wabbit (`cb`, `cb_adf`) or in DSJSON; it may be gzipped.

    The format is found from the first lines unless it is given. `n_actions` is for `cb` alone;
    if left out, the file is read once more to find the largest action. The first odd line is an
    error with its number, unless `bad` is a `BadRows` that skips and counts them.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.vw"
    >>> _ = file.write_text("2:0.5:0.25 | rainy price:3\\n")
    >>> next(read_foreign(file)).context
    {'price': 3.0, 'features': ['rainy']}
    """
    source = Source(os.fspath(path), format="vw")
    bad = BadRows(source.name) if bad is None else bad
    with source.explained():
        kind = (
            format_of(source)
            if format is None
            else as_one_of("format", format, get_args(LogFormat))
        )
        if kind == "dsjson":
            yield from read_dsjson(source.lines(), bad)
        elif kind == "cb_adf":
            yield from read_cb_adf(source.lines(), bad)
        else:
            if n_actions is None:
                n_actions = largest_action(source.lines())
            if n_actions == 0:
                raise ValueError(f"{source.name}: must have lines `action:cost:probability | ...`")
            yield from read_cb(source.lines(), as_count("n_actions", n_actions), bad)


def format_of(source: Source) -> LogFormat:
    """The format of a file from its first lines."""
    head = [line.strip() for line in islice(source.lines(), LOOKED_AT)]
    filled = [line for line in head if line]
    if not filled:
        raise ValueError(f"{source.name}: must have decisions, got an empty file")
    if filled[0].startswith("{"):
        return "dsjson"
    labels = [line.partition("|")[0] for line in filled if "|" in line]
    if not labels:
        raise ValueError(
            f"{source.name}: must be DSJSON, or text of Vowpal Wabbit with features after a `|`; "
            f"got {filled[0][:60]!r}"
        )
    is_adf = any(":" not in label for label in labels)  # a shared line, or an action not chosen
    has_blocks = "" in "\n".join(head).strip().split("\n")
    return "cb_adf" if is_adf or has_blocks else "cb"


def refuse_decisions(path: str) -> None:
    """Refuse a file of decisions where every outcome of a row must be known."""
    try:
        with Source(path, format="vw").explained():
            lines = islice(Source(path, format="vw").lines(), LOOKED_AT)
            first = next((line for line in lines if not line.isspace()), "")
    except (OSError, ValueError):
        return  # said by whoever reads it
    if _DECISION.match(first) or (first.lstrip().startswith("{") and '"_multi"' in first):
        raise ValueError(
            f"{path}: holds decisions, each with the outcome of the chosen action alone, and a run "
            "needs the outcomes of all; turn it into a log with `graphcb log import`, and judge "
            "policies on that with `graphcb evaluate`"
        )
