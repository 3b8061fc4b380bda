"""A log as Parquet: one row per decision, with its feedback in the same row."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from graphcb.contexts.values import flat, is_missing, passes
from graphcb.decisions.forgetting import subjects_of
from graphcb.decisions.log import DecisionLog, LoggedDecision
from graphcb.decisions.records import BYTES_AT_ONCE
from graphcb.decisions.storage import Storage
from graphcb.decisions.versions import Versions
from graphcb.files import atomic_write

ROWS_AT_A_TIME = 10_000


def export_parquet(log: DecisionLog, path: str | os.PathLike[str]) -> int:
    """Write all decisions to a Parquet file and return their number; needs pyarrow.

    The file appears complete or not at all, and memory does not grow with the log.
    `probability` is that of the action that was played, and `loss` what it led to, or `reward`:
    null if that was not revealed. If the problem declares features, each has a column
    "context.NAME". A context of numbers is in `context` too, the indices of a sparse one in
    `context_indices`, any other context in `context_json`. Identifiers of actions, which may be
    numbers or texts, are in the columns that end in `_json`; `action_index` and
    `feedback_action_indices` are places in `probabilities`. All that was revealed is in
    `feedback_losses` or `feedback_rewards`; there are both if versions of the problem differ in
    that. In a log with a problem, `action` is the name of the action, and the file's metadata
    holds the problem as TOML, of each `version` as "problem 1", "problem 2" and so on if there
    are several. Where nobody knew beforehand what would be revealed, `reveal_probabilities` is
    null, and `graph` what could be. `feedback_is_default` says that a loss is the default after
    waiting. `subject` is the log's hash of whom a decision is about.
    """
    import pyarrow.parquet as pq

    columns = ExportColumns.of(log.versions, log.storage)
    count = 0
    with atomic_write(path) as file, pq.ParquetWriter(file, columns.schema()) as writer:
        for batch in batches(log):
            writer.write_table(columns.table(batch))
            count += len(batch)
    return count


def batches(rows: Iterable[LoggedDecision]) -> Iterator[list[LoggedDecision]]:
    """Rows that take a few megabytes together."""
    batch: list[LoggedDecision] = []
    n_bytes = 0
    for row in rows:
        batch.append(row)
        n_bytes += _size(row.context) + 20 * row.probabilities.nbytes
        if len(batch) >= ROWS_AT_A_TIME or n_bytes >= BYTES_AT_ONCE:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch


class ExportColumns(NamedTuple):
    """The columns of an export: the unit of each version, and the declared features."""

    storage: Storage
    units: dict[int, str]
    features: dict[str, str]
    about: dict[str, str]

    @classmethod
    def of(cls, versions: Versions, storage: Storage) -> "ExportColumns":
        """Those of a log with these versions."""
        units: dict[int, str] = {}
        features: dict[str, str] = {}
        for version in versions:
            problem = version.problem
            units[version.number] = "losses" if problem is None else problem.feedback
            for name, kind in ((problem.features if problem else None) or {}).items():
                plain = kind.removesuffix("?")
                features[name] = plain if features.get(name, plain) == plain else "text"
        last = versions.last.problem
        about = {} if last is None else {"problem": last.to_toml()}
        for version in versions if about and len(versions) > 1 else ():
            problem = version.problem
            about[f"problem {version.number}"] = problem.to_toml() if problem else ""
        return cls(storage, units, features, about)

    def schema(self) -> Any:
        """As pyarrow has it."""
        import pyarrow as pa

        time, number, numbers = pa.timestamp("us", tz="UTC"), pa.float64(), pa.list_(pa.float64())
        whole, wholes, text = pa.int64(), pa.list_(pa.int64()), pa.string()
        kinds = dict.fromkeys((*_READ, "subject"), text)
        for kind, names in (
            (whole, "position version action_index model_version feedback_position"),
            (time, "made_at feedback_at"),
            (number, "probability gamma"),
            (numbers, "context probabilities reveal_probabilities"),
            (wholes, "context_indices feedback_action_indices"),
            (pa.bool_(), "feedback_is_default"),
        ):
            kinds |= dict.fromkeys(names.split(), kind)
        for unit in dict.fromkeys(self.units.values()):
            kinds |= {f"feedback_{unit}": numbers, unit_name(unit): number}
        if not self.about:  # no names without a problem
            del kinds["action"]
        for name, kind in self.features.items():
            kinds[f"context.{name}"] = number if kind == "number" else text
        return pa.schema(list(kinds.items()), metadata=self.about or None)

    def table(self, rows: list[LoggedDecision], schema: Any = None) -> Any:
        """Rows as a table of this schema, which may be that of an earlier version."""
        import pyarrow as pa

        schema = self.schema() if schema is None else schema
        features = [_features(row.context) for row in rows] if self.features else []
        columns: dict[str, list[Any]] = {
            name: [read(row) for row in rows] for name, read in _READ.items()
        }
        subjects = subjects_of(self.storage, rows)
        columns["subject"] = [subjects.get(row.position) for row in rows]
        for unit in dict.fromkeys(self.units.values()):
            of_unit = [row if self.units[row.version] == unit else None for row in rows]
            columns[f"feedback_{unit}"] = [_seen(row) for row in of_unit]
            columns[unit_name(unit)] = [_own_outcome(row) for row in of_unit]
        for field in schema:
            if field.name not in columns:
                convert = _as_number if pa.types.is_floating(field.type) else _as_text
                name = field.name.removeprefix("context.")
                columns[field.name] = [convert(row.get(name)) for row in features]
        arrays = [pa.array(columns[field.name], field.type) for field in schema]
        return pa.Table.from_arrays(arrays, schema=schema)


def unit_name(feedback: str) -> str:
    """The column of the outcome of the action that was played."""
    return {"losses": "loss", "rewards": "reward"}[feedback]


_READ: dict[str, Callable[[LoggedDecision], Any]] = {
    "decision_id": lambda row: row.decision_id,
    "position": lambda row: row.position,
    "version": lambda row: row.version,
    "made_at": lambda row: round(1e6 * row.made_at),
    "context": lambda row: _numbers_of(row.context)[0],
    "context_indices": lambda row: _numbers_of(row.context)[1],
    "context_json": lambda row: _context_json(row.context),
    "graph": lambda row: row.graph.remember("json", lambda graph: graph.to_json()),
    "actions_json": lambda row: None if row.actions is None else _as_json(row.actions),
    "action": lambda row: str(row.action),
    "action_json": lambda row: _as_json(row.action),
    "action_index": lambda row: row.action_index,
    "probability": lambda row: row.probabilities[row.action_index],
    "probabilities": lambda row: row.probabilities,
    "reveal_probabilities": lambda row: _reveal_probabilities(row),
    "gamma": lambda row: row.gamma,
    "model_version": lambda row: row.model_version,
    "feedback_position": lambda row: row.feedback and row.feedback.position,
    "feedback_at": lambda row: row.feedback and round(1e6 * row.feedback.received_at),
    "feedback_actions_json": lambda row: row.feedback and _as_json(_keys(row.feedback.actions)),
    "feedback_action_indices": lambda row: row.feedback and row.feedback.action_indices,
    "feedback_is_default": lambda row: row.feedback and row.feedback.is_default,
}


def _seen(row: LoggedDecision | None) -> Any:
    return None if row is None or row.feedback is None else row.feedback.losses


def _own_outcome(row: LoggedDecision | None) -> float | None:
    """What the action that was played led to, if that was revealed or is known without."""
    if row is None:
        return None
    if row.known is not None and row.action_index in row.known:
        return row.known[row.action_index]
    if row.feedback is None:
        return None
    indices = row.feedback.action_indices.tolist()
    if row.action_index not in indices:
        return None
    return float(row.feedback.losses[indices.index(row.action_index)])


def _reveal_probabilities(row: LoggedDecision) -> Any:
    return row.graph.reveal_probabilities(row.probabilities) if row.informed else None


def _keys(actions: Any) -> Any:
    return list(actions) if isinstance(actions, dict) else actions


def _as_json(identifiers: Any) -> str:
    if isinstance(identifiers, np.ndarray):
        identifiers = identifiers.tolist()
    if type(identifiers) is list and all(type(name) is str for name in identifiers):
        return _names_json(tuple(identifiers))
    return json.dumps(identifiers)


@lru_cache(maxsize=1024)
def _names_json(names: tuple[str, ...]) -> str:
    return json.dumps(names)


def _numbers_of(context: Any) -> tuple[Any, Any]:
    """The numbers of a row, and their indices if it is sparse."""
    if isinstance(context, np.ndarray):
        return context.astype(np.float64), None
    if isinstance(context, tuple):
        return context[1], context[0]
    if hasattr(context, "tocsr"):
        return context.data, context.indices
    return None, None


def _context_json(context: Any) -> str | None:
    """Any context that is no row of numbers."""
    plain = context is None or isinstance(context, np.ndarray | tuple) or hasattr(context, "tocsr")
    return None if plain else json.dumps(context)


def _features(context: Any) -> Any:
    return {} if passes(context) else flat(context)


def _as_number(value: Any) -> float | None:
    try:
        return None if is_missing(value) else float(value)
    except (TypeError, ValueError):  # of a version that had a word here
        return None


def _as_text(value: Any) -> str | None:
    if isinstance(value, list):
        return json.dumps(value)
    return None if is_missing(value) else str(value)


def _size(context: Any) -> int:
    """About how many bytes a context takes."""
    if isinstance(context, dict):
        return sum(map(_size, context.values())) + 20 * len(context)
    if isinstance(context, tuple):
        return sum(map(_size, context))
    return int(getattr(context, "nbytes", 0)) or (len(context) if isinstance(context, str) else 8)
