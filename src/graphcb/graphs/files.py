"""A graph from a short text: a family and its size, or the name of a file."""

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.registry import FAMILIES, Family

_SUFFIXES = (".csv", ".npy", ".npz", ".json")


def read_graph(text: str) -> FeedbackGraph:
    """A graph named as "inventory:20", or stored in a CSV, npy, npz or JSON file.

    Files: a square matrix (row = played, column = revealed) as CSV without a header, as .npy,
    or as .npz (scipy.sparse.save_npz, or numpy.savez with one array); or JSON as written by
    `FeedbackGraph.to_json`, such as {"n_actions": 2, "edges": [[0, 1], [1, 1, 0.5]]}.

    >>> read_graph("cops-and-robbers:5")
    cops_and_robbers(n_actions=5)
    """
    path = Path(text)
    if path.suffix.lower() in _SUFFIXES:
        return _read_file(path)
    name, _, rest = text.partition(":")
    family = FAMILIES.get(name.lower().replace("-", "_"))
    if family is None:
        known = ", ".join(_form(family) for family in reversed(list(FAMILIES.values())))
        raise ValueError(
            f"`graph` must be a family with its size ({known}) "
            f"or a file ending in {', '.join(_SUFFIXES)}; got {text!r}"
        )
    arguments = rest.split(",") if rest else []
    try:
        signature(family.from_text).bind(*arguments)
    except TypeError:
        problem = f"{len(arguments)} numbers after the colon"
    else:
        try:
            return family.from_text(*arguments)
        except ValueError as reason:
            problem = str(reason)
    raise ValueError(f"`graph` must be given as {_form(family)}, got {text!r}: {problem}")


def _form(family: Family) -> str:
    return f"{family.name.replace('_', '-')}:{family.usage}"


def _read_file(path: Path) -> FeedbackGraph:
    if not path.is_file():
        raise FileNotFoundError(f"`graph` must name an existing file, got {str(path)!r}")
    try:
        if path.suffix.lower() == ".json":
            return FeedbackGraph.from_json(path.read_text(encoding="utf-8"))
        return FeedbackGraph(_read_matrix(path))
    except (ValueError, IndexError, TypeError, OSError) as reason:
        raise ValueError(f"{path}: {reason}") from None


def _read_matrix(path: Path) -> Any:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _read_csv(path)
    if suffix == ".npy":
        return np.load(path, allow_pickle=False)
    with np.load(path, allow_pickle=False) as archive:
        names = list(archive)
        if "format" not in names:
            if len(names) != 1:
                raise ValueError(f"the file must hold one array, got {names}")
            return archive[names[0]]
    from scipy.sparse import load_npz

    return load_npz(path)


def _read_csv(path: Path) -> Any:
    rows: list[list[float]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append([float(cell) for cell in line.split(",")])
        except ValueError as reason:
            raise ValueError(f"line {number}: {reason}; the file has no header") from None
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(
                f"line {number}: must have {len(rows[0])} entries as the first line, "
                f"got {len(rows[-1])}"
            )
    if not rows:
        raise ValueError("the file is empty")
    return rows
