"""A folder of problem files, each with its own log, keys and limits."""

import argparse
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from graphcb.checks import listed
from graphcb.commands.opening import open_log, read_keys
from graphcb.problems import Problem

SETTINGS = "serve.toml"  # the file in which each problem may have a table of its own
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class ProblemFile(NamedTuple):
    """A problem file, and what the command line or its table in `serve.toml` says about it."""

    file: Path
    log: str
    keys: Path | None
    rate: float | None
    largest_graph: int


def find_problems(options: argparse.Namespace) -> dict[str, ProblemFile]:
    """The problems of a folder by name, in order."""
    folder: Path = options.problem
    files = sorted(path for path in folder.glob("*.toml") if path.name != SETTINGS)
    if not files:
        raise ValueError(
            f"`PROBLEM` must be a folder with problem files (TOML), got {str(folder)!r}"
        )
    for path in files:
        if not _NAME.fullmatch(path.stem):
            raise ValueError(
                "a problem's file must be called by at most 40 letters, digits, - and _, which are "
                f"part of its paths, got {path.name!r}; rename it"
            )
    tables = _tables(folder / SETTINGS, [path.stem for path in files])
    return {path.stem: _found(path, tables.get(path.stem, {}), options) for path in files}


def _found(path: Path, table: Mapping[str, Any], options: argparse.Namespace) -> ProblemFile:
    log = table.get("log", options.log)
    if log is None:
        log = str(path.with_suffix(".db"))
    elif "://" not in log:
        log = str(path.parent / log if "log" in table else Path(log) / f"{path.stem}.db")
    keys = path.parent / table["keys"] if "keys" in table else options.keys
    return ProblemFile(
        path, log, keys, table.get("rate", options.rate),
        table.get("largest_graph", options.largest_graph),
    )  # fmt: skip


def _tables(path: Path, names: list[str]) -> dict[str, dict[str, Any]]:
    """What the folder's own file says about some problems."""
    if not path.exists():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"{path}: must be TOML: {problem}") from None
    kinds = {"log": str, "keys": str, "rate": (int, float), "largest_graph": int}
    for name, table in tables.items():
        if name not in names or not isinstance(table, dict):
            raise ValueError(f"{path}: must have tables for {listed(names)} alone, got {name!r}")
        for key, value in table.items():
            if key not in kinds:
                raise ValueError(f"{path}: [{name}] must have some of {listed(kinds)}, got {key!r}")
            kind: Any = kinds[key]
            is_fit = isinstance(value, kind) and not isinstance(value, bool)
            if not is_fit or (key in ("rate", "largest_graph") and value <= 0):
                needed = "a text" if kind is str else "a number above 0"
                raise ValueError(f"{path}: [{name}] `{key}` must be {needed}, got {value!r}")
    return tables


def has_keys(found: Mapping[str, ProblemFile]) -> bool:
    """Whether all problems have keys."""
    return all(one.keys is not None for one in found.values())


def openings(
    found: Mapping[str, ProblemFile], options: argparse.Namespace
) -> dict[str, Callable[[], Any]]:
    """How to open each problem."""
    return {name: partial(_open, name, one, options) for name, one in found.items()}


def _open(name: str, one: ProblemFile, options: argparse.Namespace) -> Any:
    """The service of a problem."""
    from graphcb.service.admission import RequestLimits
    from graphcb.service.app import Service

    keys = None if one.keys is None else read_keys(one.keys)
    log = one.log
    if "://" in log:
        from graphcb.decisions.learners import create_schema, in_schema

        schema = f"graphcb_{name}"
        if not options.decide_only:
            create_schema(log, schema)
        log = in_schema(log, schema)
    problem = None if options.decide_only else Problem.read(one.file)
    limits = RequestLimits(per_second=one.rate, graph=one.largest_graph)
    policy = open_log(log, problem, options)
    try:
        return Service(policy, keys=keys, limits=limits, name=name)
    except BaseException:
        policy.close()
        raise


def learners_of(log: str) -> Any:
    """The learners that share the problems of a database, this one included."""
    from graphcb.decisions.learners import Learners

    learners = Learners(log)
    learners.start()
    return learners
