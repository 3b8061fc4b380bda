"""A graph from a short text: a family and its size, or the name of a file."""

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.archives import check_size, read_archive, read_array, size_limit
from graphcb.files import FileError
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.reading import MOST_ACTIONS, check_few_actions
from graphcb.graphs.registry import FAMILIES, Family

_SUFFIXES = (".csv", ".npy", ".npz", ".json")
_SPARSE = {  # what an array of each format is made of, beside its data
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}


def read_graph(text: str, *, max_bytes: int | None = None) -> FeedbackGraph:
    """A graph named as "inventory:20", or stored in a CSV, npy, npz or JSON file.

    Files: a square matrix (row = played, column = revealed) as CSV without a header, as .npy,
    or as .npz (scipy.sparse.save_npz, or numpy.savez with one array); or JSON as written by
    `FeedbackGraph.to_json`, such as {"n_actions": 2, "edges": [[0, 1], [1, 1, 0.5]]}. A file
    that holds no graph raises `FileError`. It may unpack to 1 GiB, or to its own size if that is
    larger, unless `max_bytes` says otherwise.

    >>> read_graph("cops-and-robbers:5")
    cops_and_robbers(n_actions=5)
    """
    path = Path(text)
    if path.suffix.lower() in _SUFFIXES:
        return _read_file(path, max_bytes)
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


def _read_file(path: Path, max_bytes: int | None) -> FeedbackGraph:
    if not path.is_file():
        raise FileNotFoundError(f"`graph` must name an existing file, got {str(path)!r}")
    try:
        size = path.stat().st_size
        check_size(size, size_limit(size, max_bytes))
        if path.suffix.lower() == ".json":
            return FeedbackGraph.from_json(path.read_text(encoding="utf-8"))
        return FeedbackGraph(_read_matrix(path, max_bytes))
    except (ValueError, IndexError, TypeError, ArithmeticError) as reason:
        raise FileError(f"{path}: {reason}") from None


def _read_matrix(path: Path, max_bytes: int | None) -> Any:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _read_csv(path)
    if suffix == ".npy":
        return read_array(path.read_bytes())
    arrays = read_archive(path.read_bytes(), max_bytes=max_bytes)
    if "format" in arrays:
        return _read_sparse(arrays)
    if len(arrays) != 1:
        raise ValueError(f"the file must hold one array, got {list(arrays)}")
    return next(iter(arrays.values()))


def _read_sparse(arrays: dict[str, Any]) -> Any:
    """What scipy.sparse.save_npz wrote, with its sizes checked; the graph checks the indices."""
    from scipy import sparse

    kind = arrays["format"].item()
    kind = kind.decode() if isinstance(kind, bytes) else kind
    names = _SPARSE.get(kind)
    if names is None or not {"shape", "data", *names} <= arrays.keys():
        raise ValueError(f"the file must hold a sparse array, got {kind!r} with {list(arrays)}")
    for name in ("shape", *names):
        if arrays[name].dtype.kind not in "iu" or arrays[name].ndim != 1:
            raise ValueError(f"{name!r} must be a list of whole numbers")
    shape = tuple(arrays["shape"].tolist())
    for n_actions in shape:
        check_few_actions(n_actions, MOST_ACTIONS)
    data, parts = arrays["data"], [arrays[name] for name in names]
    build = getattr(sparse, f"{kind}_array")
    content = (data, tuple(parts)) if kind == "coo" else (data, *parts)
    return build(content, shape=shape)


def _read_csv(path: Path) -> Any:
    rows: list[Any] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append(np.fromiter(map(float, line.split(",")), np.float64))
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
