"""`graphcb predict`: what a saved model would do, for rows without labels."""

import argparse
import csv
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from graphcb.checks import as_count
from graphcb.commands.learner import read_model
from graphcb.commands.options import Commands, add_command
from graphcb.commands.outputs import FORCE, PREDICTIONS, asked, check_outputs, stop_printing
from graphcb.commands.run_options import FILE, source_of
from graphcb.experiments.model import ColumnReading, Model
from graphcb.files import atomic_write
from graphcb.graphs import FeedbackGraph
from graphcb.rounds import action_at, would_play
from graphcb.streams import BadRows, Source, TableExamples
from graphcb.streams.cells import as_words
from graphcb.streams.tables import column_names, read_batches
from graphcb.streams.targets import parse_edges

AT_A_TIME = 4096  # rows
OPTIONS = {
    "MODEL": "written by graphcb run --save",
    "DATA": "a file of the kind the model was trained on, or - ",
    "--out FILE": "the CSV file to write (default: standard output)",
    "--draw": "draw each action with its probability, so that exploration goes on, instead of the "
    "most probable one",
    "--seed N=0": "seed of --draw (default: %(default)s)",
    **FILE,
    **FORCE,
}


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "predict",
        "the action for each row of a file without labels",
        _predict,
        OPTIONS,
        description="Read rows with the columns that a model was trained on, and write a CSV file "
        "with the line, the action that the model prefers, its probability, and the loss or reward "
        "that is expected of each action. The model learns nothing from them.",
    )


def _predict(options: argparse.Namespace) -> None:
    as_count("--seed", options.seed, at_least=0)
    source = source_of(options)
    check_outputs(
        asked(options, {"out": "table of predictions"}),
        {"the data": options.data, "the model": options.model},
        force=options.force,
    )
    model = read_model(options.model)
    draws = np.random.default_rng(options.seed) if options.draw else None
    bad_rows = BadRows(source.name, place=source.place, skip=options.on_error == "skip")
    try:
        with source.explained(), _writing(options.out) as writer:
            count = _write(model, source, bad_rows, draws, writer)
    except BrokenPipeError:  # nobody reads on, and nothing else was asked for
        stop_printing()
        return
    for text in bad_rows.in_words():
        print(text, file=sys.stderr)
    if options.out is not None:
        print(f"{count:,} rows: {options.out}")


def _write(
    model: Model,
    source: Source,
    bad_rows: BadRows,
    draws: np.random.Generator | None,
    writer: Any,
) -> int:
    """Write one line for each row, and count them."""
    learner, actions = model.learner, model.actions or ()
    graph_at = _graphs(model, source)
    expected = [f"{learner.problem.unit} of {action}" for action in actions]
    reading = cast(ColumnReading, model.reading)  # `read_model` refuses others
    batches = reading.contexts(source, bad_rows)
    first = list(islice(batches, 1))  # a file that cannot be used is refused before the header
    writer.writerow((*PREDICTIONS.split(","), *expected))
    count = 0
    for contexts, lines in chain(first, batches):
        for context, line in zip(contexts, lines, strict=True):
            probabilities = would_play(learner, context, graph_at(line), None)
            values = learner.predict(context).tolist()
            if draws is None:
                action = int(probabilities.argmax())
            else:
                action = action_at(draws.random(), probabilities, len(actions))
            writer.writerow((line, actions[action], float(probabilities[action]), *values))
            count += 1
    return count


def _graphs(model: Model, source: Source) -> Callable[[int], FeedbackGraph]:
    """The graph of the row at a line."""
    problem, actions = model.learner.problem, model.actions or ()
    if not problem.reveals.each_round or not isinstance(model.reading, TableExamples):
        graph = problem.graph
        return lambda line: graph
    column = model.reading.columns.edges or ""
    if source.is_stdin or column not in column_names(source):
        raise ValueError(
            f"{source.name}: must be a file with the column {column!r}, which has the graph of "
            "each row"
        )
    texts: dict[int, str] = {}
    for batch in read_batches(source, (column,), AT_A_TIME):
        texts |= zip(batch.lines, map(sys.intern, as_words(batch.columns[0])), strict=True)
    return lambda line: parse_edges(texts[line], actions)


@contextmanager
def _writing(path: Path | None) -> Iterator[Any]:
    if path is None:
        yield csv.writer(sys.stdout, lineterminator="\n")
        sys.stdout.flush()
        return
    with atomic_write(path, text=True) as file:
        yield csv.writer(file, lineterminator="\n")
