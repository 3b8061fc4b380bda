"""`graphcb run`: progressive validation on the user's own data."""

import argparse
import csv
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphcb.checks import as_count
from graphcb.commands.learner import build_agent, build_model, load_model, seed_of
from graphcb.commands.options import Commands, add_command
from graphcb.commands.outputs import PREDICTIONS, asked, check_outputs
from graphcb.commands.progress import Progress
from graphcb.commands.regret_bound import check_regression_regret
from graphcb.commands.run_options import add_run_options, source_of
from graphcb.experiments.comparison import Comparison
from graphcb.experiments.model import Model
from graphcb.experiments.progressive import PlayedRows, Player
from graphcb.files import atomic_write
from graphcb.imports.foreign import refuse_decisions
from graphcb.saving import save
from graphcb.streams import BadRows, Examples

DATA = {
    "DATA": "a CSV, Parquet, JSON lines, libsvm or VW file, or - for standard input; JSON lines "
    "may bring their own actions with features"
}
OUTPUTS = {"save": "model", "predictions": "table of predictions", "plot": "picture"}


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "run",
        "progressive validation on your own data",
        _run,
        DATA,
        description="Replay a file of examples as decisions. In each row an action is drawn, the "
        "losses it reveals are learned, and its own loss is counted.",
    )
    add_run_options(parser)


def _run(options: argparse.Namespace) -> None:
    _check(options)
    if options.data != "-":
        refuse_decisions(options.data)
    source = source_of(options, shuffle_seed=seed_of(options) if options.shuffle else None)
    bad_rows = BadRows(source.name, place=source.place, skip=options.on_error == "skip")
    progress = Progress(options)
    with source.explained():
        model = load_model(source, options) if options.load else build_model(source, options)
        check_regression_regret(model.learner.agent, options.regression_regret)
        comparison = _comparison(model, options)
        progress.start(model, options.load)
        start = time.perf_counter()
        with _predictions(options.predictions) as predictions:
            for examples in model.reading.read(source, bad_rows):
                played = _play(model.player, examples, bad_rows)
                progress.add(model, examples, played, comparison.add(examples, played))
                if predictions is not None:
                    names = (model.names(examples, row)[action]
                             for row, action in enumerate(played.actions.tolist()))  # fmt: skip
                    chances = played.probabilities.tolist()
                    predictions.writerows(zip(examples.lines, names, chances, strict=True))
                if progress.reader_is_gone:
                    return
            if model.tally.count == 0:
                raise ValueError(
                    f"{source.name}: must have at least one row that can be used, got none"
                )
    seconds = time.perf_counter() - start
    progress.finish(comparison, bad_rows, seconds)
    if options.save is not None:
        save(model.to_learner(), options.save)
        progress.say(f"model: {options.save}")
    if options.predictions is not None:
        progress.say(f"predictions: {options.predictions}")
    if options.plot is not None:
        _draw(comparison, options.plot, source.name)
        progress.say(f"figure: {options.plot}")


def _check(options: argparse.Namespace) -> None:
    """Refuse now what would fail after the last row."""
    if options.plot is not None and options.load is not None:
        raise ValueError(
            "`--plot` must not be given with --load: the curve would lack its beginning"
        )
    if options.seeds is not None:
        as_count("--seeds", options.seeds)
        for name in ("load", "save", "predictions"):
            if getattr(options, name) is not None:
                raise ValueError(f"`--{name}` must not be given with --seeds: it is for one run")
    if options.metric_window is not None:
        as_count("--metric-window", options.metric_window)
    has_file = options.graph is not None and Path(options.graph).is_file()
    inputs = {
        "the data": options.data,
        "the graph": options.graph if has_file else None,
        "the problem": options.problem,
    }
    check_outputs(asked(options, OUTPUTS), inputs, force=options.force)
    for name in ("predictions", "plot"):  # a model may be loaded from and saved to one file
        if getattr(options, name) is not None:
            outputs = asked(options, {name: OUTPUTS[name]})
            check_outputs(outputs, {"the model": options.load}, force=options.force)


def _comparison(model: Model, options: argparse.Namespace) -> Comparison:
    """What the model is scored beside: a rival for the figure, repeats for the other seeds."""
    rival = build_agent(options, model.reading) if options.plot else None
    first = seed_of(options)
    others = range(first + 1, first + (options.seeds or 1))
    repeats = [model.repeat(build_agent(options, model.reading), seed) for seed in others]
    return Comparison(model, rival, seed=first, repeats=repeats)


def _play(player: Player, examples: Examples, bad_rows: BadRows) -> PlayedRows:
    try:
        return player.play(examples)
    except FloatingPointError as reason:
        where = f"{bad_rows.name}, {bad_rows.place} {examples.lines[0]} or later"
        raise ValueError(f"{where}: {reason}") from None


@contextmanager
def _predictions(path: Path | None) -> Iterator[Any]:
    """A CSV writer for what was played, or None."""
    if path is None:
        yield None
        return
    with atomic_write(path, text=True) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(PREDICTIONS.split(","))
        yield writer


def _draw(comparison: Comparison, path: Path, title: str) -> None:
    """Draw the learner beside the best constant action and the full-information learner."""
    from graphcb.figures.curves import draw_progress
    from graphcb.figures.curves import save as save_figure

    model = comparison.model
    rounds, curves = comparison.curves()
    shown = {name: model.in_units(curve) for name, curve in curves.items()}
    save_figure(draw_progress(rounds, shown, title, what=model.learner.problem.unit), path)
