"""`graphcb run`: progressive validation on the user's own data."""

import argparse
import csv
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphcb.commands import progress
from graphcb.commands.command import Commands
from graphcb.commands.learner import ORACLES, build_agent, build_model, load_model, seed_of
from graphcb.experiments.comparison import Comparison
from graphcb.experiments.progressive import Played, Player
from graphcb.files import atomic_write
from graphcb.saving import save
from graphcb.streams import BadRows, Examples, Source


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="progressive validation on your own data",
        description="Replay a file of examples as decisions. In each row an action is drawn, the "
        "losses it reveals are learned, and its own loss is counted.",
    )
    parser.add_argument(
        "data", metavar="DATA", help="a CSV, Parquet, libsvm or VW file, or - for standard input"
    )
    _add_columns(parser)
    _add_learner(parser)
    _add_output(parser)
    parser.set_defaults(command=_run)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is in the file")
    group.add_argument("--label", metavar="COLUMN", help="the right action: loss 0, all others 1")
    group.add_argument(
        "--losses", type=_names, metavar="COLUMNS", help="each action's losses in its own column"
    )
    group.add_argument(
        "--features",
        type=_names,
        metavar="COLUMNS",
        help="columns to learn from (default: all others)",
    )
    group.add_argument(
        "--categorical",
        type=_names,
        metavar="COLUMNS",
        help="features to treat as words although they look like numbers",
    )
    group.add_argument(
        "--edges",
        metavar="COLUMN",
        help="one graph per row, as 'a>a a>b b>b:0.5' (played>revealed:probability)",
    )
    group.add_argument(
        "--classes",
        type=_names,
        metavar="LABELS",
        help="all labels, in the order of the graph's actions (default: those in the file, sorted)",
    )
    group.add_argument(
        "--loss-range",
        type=_range,
        metavar="LOW,HIGH",
        help="the smallest and largest possible loss (default: those in the file)",
    )
    group.add_argument(
        "--bits", type=int, help="hash words and sparse features to 2^BITS places (default: 18)"
    )
    group.add_argument("--format", help="csv, parquet, libsvm or vw (default: by the file name)")
    group.add_argument("--delimiter", help="character between the cells of CSV (default: comma)")
    group.add_argument(
        "--no-header", action="store_true", help="CSV without column names: they are 1, 2, ..."
    )
    group.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="what to do with a row that cannot be used (default: %(default)s)",
    )


def _add_learner(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the learner")
    group.add_argument(
        "--graph", help="a family (bandit, cops-and-robbers, ...) or a file (default: bandit)"
    )
    group.add_argument("--oracle", help=f"default, {', '.join(ORACLES)} (default: default)")
    group.add_argument(
        "--learning-rate",
        type=float,
        metavar="RATE",
        help="of the oracle, logistic if none is named",
    )
    group.add_argument(
        "--gamma",
        type=float,
        help="a number; larger explores less (default: none, or automatic if the oracle needs one)",
    )
    group.add_argument("--method", help="auto, closed-form or solver (default: auto)")
    group.add_argument("--seed", type=int, help="seed of the draws (default: 0)")
    group.add_argument("--load", type=Path, metavar="MODEL", help="continue with a saved model")


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output files")
    group.add_argument("--save", type=Path, metavar="MODEL", help="the model, for --load")
    group.add_argument(
        "--predictions",
        type=Path,
        metavar="FILE",
        help="CSV with the line, the action and its probability for each row",
    )
    group.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="mean loss beside the best constant action and a full-information learner",
    )


def _run(options: argparse.Namespace) -> None:
    source = Source(
        options.data,
        format=options.format,
        delimiter=options.delimiter,
        header=not options.no_header,
    )
    _check_outputs(options)
    bad_rows = BadRows(source.name, place=source.place, skip=options.on_error == "skip")
    with source.explained():
        model = build_model(source, options) if options.load is None else load_model(options)
        progress.print_start(model, options.load)
        rival = build_agent(options, model.reading) if options.plot else None
        comparison = Comparison(model, rival, seed=seed_of(options))
        actions, start = model.reading.targets.actions, time.perf_counter()
        with _predictions(options.predictions) as predictions:
            for examples in model.reading.read(source, bad_rows):
                played = _play(model.player, examples, bad_rows)
                counts, totals = comparison.add(examples, played)
                progress.print_progress(model, examples, played, counts, totals)
                if predictions is not None:
                    names = [actions[action] for action in played.actions.tolist()]
                    chances = played.probabilities.tolist()
                    predictions.writerows(zip(examples.lines, names, chances, strict=True))
    if model.tally.count == 0:
        raise ValueError(f"{source.name}: must have at least one row that can be used, got none")
    progress.print_summary(comparison, bad_rows, time.perf_counter() - start)
    if options.save is not None:
        save(model, options.save)
        print(f"model: {options.save}")
    if options.predictions is not None:
        print(f"predictions: {options.predictions}")
    if options.plot is not None:
        progress.save_figure(comparison, options.plot, source.name)


def _play(player: Player, examples: Examples, bad_rows: BadRows) -> Played:
    try:
        return player.play(examples)
    except FloatingPointError as reason:
        where = f"{bad_rows.name}, {bad_rows.place} {examples.lines[0]} or later"
        raise ValueError(f"{where}: {reason}") from None


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse now what would fail after the last row."""
    if options.plot is not None and options.load is not None:
        raise ValueError(
            "`--plot` must not be given with --load: the curve would lack its beginning"
        )
    for name in ("save", "predictions", "plot"):
        path = getattr(options, name)
        if path is not None and not path.parent.is_dir():
            raise FileNotFoundError(f"`--{name}` must be in an existing folder, got {path}")
        if path is not None and path.exists() and not path.is_file():
            raise ValueError(f"`--{name}` must name a file, got {path}")


@contextmanager
def _predictions(path: Path | None) -> Iterator[Any]:
    if path is None:
        yield None
        return
    with atomic_write(path, text=True) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("line", "action", "probability"))
        yield writer


def _names(text: str) -> tuple[str, ...]:
    """Names separated by commas; a name that contains a comma is quoted as in CSV."""
    return tuple(name.strip() for name in next(csv.reader([text])))


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two numbers LOW,HIGH; got {text!r}") from None
    return low, high
