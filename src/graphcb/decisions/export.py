"""A log as a Parquet file: one row a decision, with its feedback beside it."""

import json
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from graphcb.decisions.log import DecisionLog, LoggedDecision
from graphcb.files import atomic_write

ROWS_AT_A_TIME = 10_000


def export_parquet(log: DecisionLog, path: str | os.PathLike[str]) -> int:
    """Write all decisions to a Parquet file and give their number; needs pyarrow.

    The file appears whole or not at all, and memory does not grow with the log. A context of
    numbers is in `context`, the indices of a sparse one in `context_indices`; any other is in
    `context_json`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(pa)
    count = 0
    with atomic_write(path) as file, pq.ParquetWriter(file, schema) as writer:
        for rows in _batches(log):
            writer.write_table(pa.Table.from_pylist([_as_row(row) for row in rows], schema))
            count += len(rows)
    return count


def _schema(pa: Any) -> Any:
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
        "action": whole,
        "probability": number,
        "probabilities": numbers,
        "reveal_probabilities": numbers,
        "gamma": number,
        "model_version": whole,
        "feedback_position": whole,
        "feedback_at": time,
        "feedback_actions": wholes,
        "feedback_losses": numbers,
    }
    return pa.schema(list(columns.items()))


def _batches(log: DecisionLog) -> Iterator[list[LoggedDecision]]:
    rows = iter(log)
    while batch := list(islice(rows, ROWS_AT_A_TIME)):
        yield batch


def _as_row(row: LoggedDecision) -> dict[str, Any]:
    values, indices, text = _context_columns(row.context)
    actions = row.actions.tolist() if isinstance(row.actions, np.ndarray) else row.actions
    seen = row.feedback
    return {
        "decision_id": row.decision_id,
        "position": row.position,
        "made_at": round(1e6 * row.made_at),
        "context": values,
        "context_indices": indices,
        "context_json": text,
        "graph": row.graph.remember("json", lambda graph: graph.to_json()),
        "actions_json": None if actions is None else json.dumps(actions),
        "action": row.action,
        "probability": row.probabilities[row.action],
        "probabilities": row.probabilities,
        "reveal_probabilities": row.graph.reveal_probabilities(row.probabilities),
        "gamma": row.gamma,
        "model_version": row.model_version,
        "feedback_position": None if seen is None else seen.position,
        "feedback_at": None if seen is None else round(1e6 * seen.received_at),
        "feedback_actions": None if seen is None else seen.actions,
        "feedback_losses": None if seen is None else seen.losses,
    }


def _context_columns(context: Any) -> tuple[Any, Any, str | None]:
    """Numbers, indices of a sparse row, and JSON for what is no row of numbers."""
    if context is None:
        return None, None, None
    if isinstance(context, np.ndarray):
        return context.astype(np.float64), None, None
    if isinstance(context, tuple):
        return context[1], context[0], None
    if hasattr(context, "tocsr"):
        return context.data, context.indices, None
    return None, None, json.dumps(context)
