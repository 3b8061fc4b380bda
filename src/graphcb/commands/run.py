"""`graphcb run`: progressive validation on the user's own data."""

import argparse
import csv
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphcb.checks import as_count
from graphcb.commands.command import Commands
from graphcb.commands.learner import build_agent, build_model, load_model, seed_of
from graphcb.commands.outputs import asked, check_outputs
from graphcb.commands.progress import Progress, in_units
from graphcb.commands.regret_bound import check_regression_regret
from graphcb.commands.run_options import add_columns, add_learner, add_output
from graphcb.commands.run_rounds import run_rounds
from graphcb.experiments.comparison import Comparison
from graphcb.experiments.model import Model
from graphcb.experiments.progressive import PlayedRows, Player
from graphcb.files import atomic_write
from graphcb.problems.guarded import guarded
from graphcb.saving import save
from graphcb.streams import BadRows, Examples, Source
from graphcb.streams.rounds import brings_actions

OUTPUTS = {"save": "model", "predictions": "table of predictions", "plot": "picture"}


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="progressive validation on your own data",
        description="Replay a file of examples as decisions. In each row an action is drawn, the "
        "losses it reveals are learned, and its own loss is counted.",
    )
    parser.add_argument(
        "data",
        metavar="DATA",
        help="a CSV, Parquet, JSON lines, libsvm or VW file, or - for standard input; JSON lines "
        "may bring their own actions with features",
    )
    add_columns(parser)
    add_learner(parser)
    add_output(parser)
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> None:
    _check(options)
    if options.data != "-":
        from graphcb.imports.foreign import refuse_decisions

        refuse_decisions(options.data)
    source = Source(
        options.data,
        format=options.format,
        delimiter=options.delimiter,
        header=not options.no_header,
        shuffle_seed=seed_of(options) if options.shuffle else None,
    )
    bad_rows = BadRows(source.name, place=source.place, skip=options.on_error == "skip")
    progress = Progress(options)
    with source.explained():
        if brings_actions(source):
            run_rounds(source, options, bad_rows)
            return
        model = build_model(source, options) if options.load is None else load_model(options)
        check_regression_regret(model.player.agent, options.regression_regret)
        comparison = _comparison(model, options)
        progress.start(model, options.load)
        start = time.perf_counter()
        with _predictions(options.predictions) as predictions:
            for examples in model.reading.read(source, bad_rows):
                played = _play(model.player, examples, bad_rows)
                counts, totals = comparison.add(examples, played)
                progress.add(model, examples, played, counts, totals)
                if predictions is not None:
                    predictions(examples, played, model.reading.targets.actions)
                if progress.is_unheard:
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
    inputs = {
        "the data": options.data,
        "the graph": _graph_file(options),
        "the problem": options.problem,
    }
    check_outputs(asked(options, OUTPUTS), inputs, force=options.force)
    for name in ("predictions", "plot"):  # a model may be loaded from and saved to one file
        if getattr(options, name) is not None:
            outputs = asked(options, {name: OUTPUTS[name]})
            check_outputs(outputs, {"the model": options.load}, force=options.force)


def _graph_file(options: argparse.Namespace) -> str | None:
    is_file = options.graph is not None and Path(options.graph).is_file()
    return options.graph if is_file else None


def _comparison(model: Model, options: argparse.Namespace) -> Comparison:
    """What the model is scored beside: a rival for the figure, repeats for the other seeds."""
    rival = build_agent(options, model.reading) if options.plot else None
    first = seed_of(options)
    others = range(first + 1, first + (options.seeds or 1))
    graph, loss_range = model.player.graph, model.player.loss_range
    problem, reading = model.learner.problem, model.reading
    repeats = [
        Player(guarded(build_agent(options, reading), problem), graph, seed=seed,
               loss_range=loss_range)
        for seed in others
    ]  # fmt: skip
    return Comparison(model, rival, seed=first, repeats=repeats)


def _play(player: Player, examples: Examples, bad_rows: BadRows) -> PlayedRows:
    try:
        return player.play(examples)
    except FloatingPointError as reason:
        where = f"{bad_rows.name}, {bad_rows.place} {examples.lines[0]} or later"
        raise ValueError(f"{where}: {reason}") from None


@contextmanager
def _predictions(path: Path | None) -> Iterator[Any]:
    """A function that writes what was played, or None."""
    if path is None:
        yield None
        return
    with atomic_write(path, text=True) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("line", "action", "probability"))

        def write(examples: Examples, played: PlayedRows, actions: tuple[str, ...]) -> None:
            names = [actions[action] for action in played.actions.tolist()]
            rows = zip(examples.lines, names, played.probabilities.tolist(), strict=True)
            writer.writerows(rows)

        yield write


def _draw(comparison: Comparison, path: Path, title: str) -> None:
    """Draw the learner beside the best constant action and the full-information learner."""
    from graphcb.figures.curves import draw_progress
    from graphcb.figures.curves import save as save_figure

    problem = comparison.model.learner.problem
    rounds, curves = comparison.curves()
    shown = {name: in_units(problem, curve) for name, curve in curves.items()}
    save_figure(draw_progress(rounds, shown, title, what=problem.unit), path)
