"""A log as a Parquet file: one row per decision, with its feedback in the same row."""

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphcb.decisions.log import DecisionLog, LoggedDecision
from graphcb.decisions.records import BYTES_AT_ONCE
from graphcb.decisions.versions import Versions
from graphcb.files import atomic_write
from graphcb.problems import Problem

ROWS_AT_A_TIME = 10_000


def export_parquet(log: DecisionLog, path: str | os.PathLike[str]) -> int:
    """Write all decisions to a Parquet file and return their number; needs pyarrow.

    The file appears complete or not at all, and memory does not grow with the log. A context of
    numbers is in `context`, the indices of a sparse one in `context_indices`, any other context
    in `context_json`. Identifiers of actions, which may be numbers or texts, are in the columns
    that end in `_json`; `action_index` and `feedback_action_indices` are places in
    `probabilities`. In a log with a problem, `action` is the name of the action, rewards are in
    `feedback_rewards`, and the file's metadata holds the problem as TOML. Where nobody knew
    beforehand what would be revealed, `reveal_probabilities` is null, and `graph` what could be.
    If the problem was changed, `version` says which one a decision is of, and the metadata has
    "problem 1", "problem 2" and so on; they must have the same unit. If a problem has defaults,
    `feedback_is_default` says which losses are one.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    versions = log.versions
    versions.range  # noqa: B018  # refuses losses and rewards in one column
    problem = versions.last.problem
    schema = _schema(pa, problem, versions)
    count = 0
    with atomic_write(path) as file, pq.ParquetWriter(file, schema) as writer:
        for batch in _batches(log, problem):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    return count


def _batches(log: DecisionLog, problem: Problem | None) -> Iterator[list[dict[str, Any]]]:
    """Rows of the file that take a few megabytes together."""
    batch: list[dict[str, Any]] = []
    n_bytes = 0
    for row in log:
        batch.append(_in_words(_as_row(row), problem))
        n_bytes += sum(map(_size, batch[-1].values()))
        if len(batch) >= ROWS_AT_A_TIME or n_bytes >= BYTES_AT_ONCE:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    return len(value) if isinstance(value, str) else 8


def _schema(pa: Any, problem: Problem | None, versions: Versions) -> Any:
    time, number, numbers = pa.timestamp("us", tz="UTC"), pa.float64(), pa.list_(pa.float64())
    whole, wholes, text = pa.int64(), pa.list_(pa.int64()), pa.string()
    columns = {
        "decision_id": text,
        "position": whole,
        "made_at": time,
        "context": numbers,
        "context_indices": wholes,
        "context_json": text,
        "graph": text,
        "actions_json": text,
        "action_json": text,
        "action_index": whole,
        "probability": number,
        "probabilities": numbers,
        "reveal_probabilities": numbers,
        "gamma": number,
        "model_version": whole,
        "feedback_position": whole,
        "feedback_at": time,
        "feedback_actions_json": text,
        "feedback_action_indices": wholes,
        "feedback_losses": numbers,
    }
    if len(versions) > 1:
        columns["version"] = whole
    if any(one.problem is not None and one.problem.defaults for one in versions):
        columns["feedback_is_default"] = pa.bool_()
    if problem is None:
        return pa.schema(list(columns.items()))
    named = _in_words({**columns, "action": text}, problem)
    about = {"problem": problem.to_toml()}
    for version in versions if len(versions) > 1 else ():
        about[f"problem {version.number}"] = version.problem.to_toml() if version.problem else ""
    return pa.schema(list(named.items()), metadata=about)


def _in_words(row: dict[str, Any], problem: Problem | None) -> dict[str, Any]:
    """A row whose columns are called as the problem calls them; without one, as it is."""
    if problem is None:
        return row
    return {key.replace("losses", problem.feedback): value for key, value in row.items()}


def _as_row(row: LoggedDecision) -> dict[str, Any]:
    values, indices, text = _context_columns(row.context)
    seen = row.feedback
    return {
        "decision_id": row.decision_id,
        "position": row.position,
        "made_at": round(1e6 * row.made_at),
        "context": values,
        "context_indices": indices,
        "context_json": text,
        "graph": row.graph.remember("json", lambda graph: graph.to_json()),
        "actions_json": None if row.actions is None else _as_json(row.actions),
        "action": row.action,
        "action_json": _as_json(row.action),
        "action_index": row.action_index,
        "probability": row.probabilities[row.action_index],
        "probabilities": row.probabilities,
        "reveal_probabilities": _reveal_probabilities(row),
        "gamma": row.gamma,
        "model_version": row.model_version,
        "feedback_position": None if seen is None else seen.position,
        "feedback_at": None if seen is None else round(1e6 * seen.received_at),
        "feedback_actions_json": None if seen is None else _as_json(_keys(seen.actions)),
        "feedback_action_indices": None if seen is None else seen.action_indices,
        "feedback_losses": None if seen is None else seen.losses,
        "version": row.version,
        "feedback_is_default": None if seen is None else seen.is_default,
    }


def _reveal_probabilities(row: LoggedDecision) -> Any:
    return row.graph.reveal_probabilities(row.probabilities) if row.informed else None


def _keys(actions: Any) -> Any:
    return list(actions) if isinstance(actions, dict) else actions


def _as_json(identifiers: Any) -> str:
    plain = identifiers.tolist() if isinstance(identifiers, np.ndarray) else identifiers
    return json.dumps(plain)


def _context_columns(context: Any) -> tuple[Any, Any, str | None]:
    """Numbers, indices if the row is sparse, and JSON for anything else."""
    if context is None:
        return None, None, None
    if isinstance(context, np.ndarray):
        return context.astype(np.float64), None, None
    if isinstance(context, tuple):
        return context[1], context[0], None
    if hasattr(context, "tocsr"):
        return context.data, context.indices, None
    return None, None, json.dumps(context)
