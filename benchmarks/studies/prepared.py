"""A stream of real data ready to be played, as `graphcb run` would read it from a file."""

import csv
import io
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from graphcb.graphs import FeedbackGraph
from graphcb.streams import BadRows, Examples, ReadOptions, Source, first_look
from graphcb.streams.cells import is_number
from studies.streams import load_stream, read_table


class Facts(NamedTuple):
    """What must be known of a stream before it is played."""

    n_rounds: int
    n_features: int  # columns
    has_words: bool
    is_bandit: bool
    fingerprint: str


class Prepared(NamedTuple):
    """A stream in the order of a seed, as `graphcb run` would read it from a file."""

    pieces: list[Examples]
    graph: FeedbackGraph
    loss_range: tuple[float, float]
    n_features: int


def facts(spec: Mapping[str, Any]) -> Facts:
    """The facts of a stream; data is read once per process."""
    return _facts(json.dumps(spec))


@lru_cache(maxsize=256)
def _facts(spec: str) -> Facts:
    options = json.loads(spec)
    stream = load_stream(options, seed=0)
    matrix = stream.graph.matrix
    return Facts(
        len(stream.losses),
        len(stream.feature_names),
        not all(is_number(cell) for row in stream.features for cell in row),
        bool((matrix == np.eye(len(matrix))).all()),
        read_table(options["file"]).fingerprint,
    )


def prepare(spec: Mapping[str, Any], seed: int) -> Prepared:
    """The rows in the order of the seed; the last two streams are kept."""
    return _prepare(json.dumps(spec), seed)


@lru_cache(maxsize=2)
def _prepare(spec: str, seed: int) -> Prepared:
    stream = load_stream(json.loads(spec), seed)
    losses = tuple(f"loss of {action}" for action in stream.actions)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*stream.feature_names, *losses))
    for cells, row in zip(stream.features, stream.losses.tolist(), strict=True):
        writer.writerow((*cells, *(f"{loss:.6g}" for loss in row)))
    text.seek(0)
    source = Source("-", stdin=text)
    reading = first_look(source, ReadOptions(losses=losses, loss_range=(0.0, stream.largest_loss)))
    pieces = list(reading.read(source, BadRows("the stream")))
    return Prepared(pieces, stream.graph, reading.targets.loss_range, reading.n_features)
