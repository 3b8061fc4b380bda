"""A graph from a short text: a family and its size, or the name of a file."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from graphcb.graphs import families
from graphcb.graphs.graph import FeedbackGraph

# Family by name, the arguments that may follow the colon, and how they are read.
_FAMILIES: Mapping[str, tuple[str, Callable[[Sequence[str]], FeedbackGraph]]] = MappingProxyType(
    {
        "bandit": ("K", lambda a: families.bandit(*_whole(a, 1))),
        "full-information": ("K", lambda a: families.full_information(*_whole(a, 1))),
        "cops-and-robbers": ("K", lambda a: families.cops_and_robbers(*_whole(a, 1))),
        "inventory": ("K", lambda a: families.inventory(*_whole(a, 1))),
        "posted-price": ("K", lambda a: families.posted_price(*_whole(a, 1))),
        "apple-tasting": ("K", lambda a: families.apple_tasting(*(_whole(a, 1) if a else ()))),
        "disjoint-cliques": ("SIZE,SIZE,...", lambda a: families.disjoint_cliques(_whole(a))),
        "random-self-aware": ("K,DENSITY[,SEED]", lambda a: _random(a)),
    }
)
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
    name, _, arguments = text.partition(":")
    name = name.lower().replace("_", "-")
    if name not in _FAMILIES:
        known = ", ".join(f"{family}:{what}" for family, (what, _) in _FAMILIES.items())
        raise ValueError(
            f"`graph` must be a family with its size ({known}) "
            f"or a file ending in {', '.join(_SUFFIXES)}; got {text!r}"
        )
    expected, build = _FAMILIES[name]
    try:
        return build(arguments.split(",") if arguments else [])
    except ValueError as reason:
        raise ValueError(
            f"`graph` must be given as {name}:{expected}, got {text!r}: {reason}"
        ) from None


def _whole(arguments: Sequence[str], count: int | None = None) -> list[int]:
    if not arguments or (count is not None and len(arguments) != count):
        raise ValueError(f"{len(arguments)} numbers after the colon")
    return [int(argument) for argument in arguments]


def _random(arguments: Sequence[str]) -> FeedbackGraph:
    if len(arguments) not in (2, 3):
        raise ValueError(f"{len(arguments)} numbers after the colon")
    size, density, seed = int(arguments[0]), float(arguments[1]), int((*arguments, "0")[2])
    return families.random_self_aware(size, density, np.random.default_rng(seed))


def _read_file(path: Path) -> FeedbackGraph:
    if not path.is_file():
        raise FileNotFoundError(f"`graph` must name a file that is there, got {str(path)!r}")
    if path.suffix.lower() == ".json":
        read: Callable[[Path], FeedbackGraph] = _read_json
    else:
        read = _read_matrix
    try:
        return read(path)
    except (ValueError, IndexError, TypeError, OSError) as reason:
        raise ValueError(f"{path}: {reason}") from None


def _read_json(path: Path) -> FeedbackGraph:
    return FeedbackGraph.from_json(path.read_text(encoding="utf-8"))


def _read_matrix(path: Path) -> FeedbackGraph:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return FeedbackGraph(_read_csv(path))
    if suffix == ".npy":
        return FeedbackGraph(np.load(path, allow_pickle=False))
    with np.load(path, allow_pickle=False) as archive:
        names = list(archive)
        if "format" not in names:
            if len(names) != 1:
                raise ValueError(f"the file must hold one array, got {names}")
            return FeedbackGraph(archive[names[0]])
    from scipy.sparse import load_npz

    return FeedbackGraph(load_npz(path))


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
