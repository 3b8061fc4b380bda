"""`graphcb run`: progressive validation on the user's own data."""

import argparse
import csv
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphcb.agents import SquareCBG
from graphcb.checks import as_count
from graphcb.commands.command import Commands
from graphcb.commands.progress import Report, some
from graphcb.experiments.progressive import CLASSES, Model, Played, Player
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families import full_information
from graphcb.graphs.files import read_graph
from graphcb.graphs.registry import FAMILIES
from graphcb.oracles import LinearAdaGrad, LinearOGD, LogisticOGD, OnlineRidge, Oracle
from graphcb.saving import load, save
from graphcb.streams import (
    Examples,
    Problems,
    Source,
    SparseExamples,
    TableExamples,
    Wishes,
    first_look,
)

# Oracle by name: the class, and its learning rate (for losses and contexts of size 1).
ORACLES: dict[str, tuple[Any, float | None]] = {
    "logistic": (LogisticOGD, 4.0),
    "linear": (LinearOGD, 0.1),
    "adagrad": (LinearAdaGrad, 0.1),
    "ridge": (OnlineRidge, None),
}
# What a model file decides; each must be left at None with --load.
IN_MODEL = (
    "label",
    "losses",
    "features",
    "categorical",
    "edges",
    "classes",
    "loss_range",
    "bits",
    "graph",
    "oracle",
    "learning_rate",
    "gamma",
    "method",
    "seed",
)


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="progressive validation on your own data",
        description="Replay a file of examples as decisions: each row is a round in which an "
        "action is drawn, what it reveals is learned, and its loss is counted.",
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
        "--losses", type=_names, metavar="COLUMNS", help="one column of losses an action"
    )
    group.add_argument(
        "--features", type=_names, metavar="COLUMNS", help="default: all other columns"
    )
    group.add_argument(
        "--categorical",
        type=_names,
        metavar="COLUMNS",
        help="features to take as words though they look like numbers",
    )
    group.add_argument(
        "--edges", metavar="COLUMN", help="a graph a row: 'a>a a>b b>b:0.5' (played>revealed)"
    )
    group.add_argument(
        "--classes",
        type=_names,
        metavar="LABELS",
        help="all labels, in the order of the graph's actions (default: those in the file, sorted)",
    )
    group.add_argument(
        "--loss-range", type=_range, metavar="LOW,HIGH", help="default: that of the file"
    )
    group.add_argument(
        "--bits", type=int, help="words and sparse features take 2^BITS places (default: 18)"
    )
    group.add_argument("--format", help="csv, parquet, libsvm or vw (default: by the name)")
    group.add_argument("--delimiter", help="between the cells of a CSV file (default: comma)")
    group.add_argument(
        "--no-header", action="store_true", help="CSV without names: columns are 1, 2, ..."
    )
    group.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="what to do with a row that cannot be used (default: %(default)s)",
    )


def _add_learner(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("who learns")
    group.add_argument(
        "--graph", help="a family (bandit, cops-and-robbers, ...) or a file (default: bandit)"
    )
    group.add_argument("--oracle", help=f"{', '.join(ORACLES)} (default: logistic)")
    group.add_argument("--learning-rate", type=float, metavar="RATE", help="of the oracle")
    group.add_argument("--gamma", type=float, help="a number (default: chosen as it goes)")
    group.add_argument("--method", help="auto, closed-form or solver (default: auto)")
    group.add_argument("--seed", type=int, help="of the draws (default: 0)")
    group.add_argument("--load", type=Path, metavar="MODEL", help="go on from a saved model")


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is written")
    group.add_argument("--save", type=Path, metavar="MODEL", help="the model, to go on later")
    group.add_argument(
        "--predictions", type=Path, metavar="FILE", help="line, action and probability a row, CSV"
    )
    group.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="the curve beside the best constant action and the full-information learner",
    )


def _run(options: argparse.Namespace) -> None:
    source = Source(
        options.data,
        format=options.format,
        delimiter=options.delimiter,
        header=not options.no_header,
    )
    _check_outputs(options)
    problems = Problems(source.name, place=source.place, skip=options.on_error == "skip")
    with source.explained():
        model = _start(source, options) if options.load is None else _load(options)
        rival = _full_information(model, options) if options.plot else None
        report = Report(model, rival)
        start = time.perf_counter()
        with _predictions(options.predictions) as predictions:
            for examples in model.reading.read(source, problems):
                played = _play(model.player, examples, problems)
                report.add(examples, played)
                if predictions is not None:
                    _write(predictions, examples, played, model.reading.targets.actions)
    if model.tally.count == 0:
        raise ValueError(f"{source.name}: must have at least one row that can be used, got none")
    report.finish(problems, time.perf_counter() - start)
    if options.save is not None:
        save(model, options.save)
        print(f"model: {options.save}")
    if options.predictions is not None:
        print(f"predictions: {options.predictions}")
    if options.plot is not None:
        report.draw(options.plot, source.name)


def _play(player: Player, examples: Examples, problems: Problems) -> Played:
    try:
        return player.play(examples)
    except FloatingPointError as reason:
        after = f"{problems.name}, {problems.place} {examples.lines[0]} or later"
        raise ValueError(f"{after}: {reason}") from None


def _start(source: Source, options: argparse.Namespace) -> Model:
    """A new model, as the options and a first look at the file say."""
    reading = first_look(
        source,
        Wishes(
            label=options.label,
            losses=options.losses or (),
            features=options.features or (),
            categorical=options.categorical or (),
            edges=options.edges,
            classes=options.classes or (),
            loss_range=options.loss_range,
            bits=18 if options.bits is None else options.bits,
        ),
    )
    actions = reading.targets.actions
    graph = _graph(options.graph or "bandit", actions) if options.edges is None else None
    if options.edges is not None and options.graph is not None:
        raise ValueError("give either --graph or --edges, which brings a graph a row; got both")
    agent = _agent(options, reading)
    print(f"{len(actions)} actions: {some(actions)}")
    if graph is None:
        print(f"graph: one a row, by {options.edges!r}")
    else:
        print(f"graph: {graph!r}")
        print(f"SquareCB.G by {agent.explain(graph)}")
    print()
    return Model(
        reading, Player(agent, graph, seed=_seed(options), loss_range=reading.targets.loss_range)
    )


def _seed(options: argparse.Namespace) -> int:
    return 0 if options.seed is None else as_count("--seed", options.seed, at_least=0)


def _agent(options: argparse.Namespace, reading: TableExamples | SparseExamples) -> SquareCBG:
    oracle = _oracle(options, len(reading.targets.actions), reading)
    return SquareCBG(oracle, gamma=options.gamma, method=options.method or "auto")


def _oracle(
    options: argparse.Namespace, n_actions: int, reading: TableExamples | SparseExamples
) -> Oracle:
    name = options.oracle or "logistic"
    if name not in ORACLES:
        raise ValueError(f"`--oracle` must be one of {', '.join(ORACLES)}; got {name!r}")
    kind, rate = ORACLES[name]
    asked = options.learning_rate
    oracle: Oracle
    if rate is None:
        if asked is not None:
            raise ValueError("`--learning-rate` must not be given with --oracle ridge: it has none")
        if not (isinstance(reading, TableExamples) and reading.n_places == 0):
            raise ValueError(
                "`--oracle ridge` is for columns of numbers alone, as its cost grows with the "
                "square of the features; use logistic, or leave words out with --features"
            )
        oracle = kind(n_actions, reading.n_features)
    else:
        rate = rate if asked is None else asked
        oracle = kind(n_actions, reading.n_features, learning_rate=rate)
    return oracle


def _graph(text: str, actions: tuple[str, ...]) -> FeedbackGraph:
    """The graph by its name; a family without a size gets one action a label."""
    family = FAMILIES.get(text.replace("-", "_"))
    full = f"{text}:{len(actions)}" if family is not None and family.usage == "K" else text
    graph = read_graph(full)
    if graph.n_actions != len(actions):
        raise ValueError(
            f"`--graph {text}` must have {len(actions)} actions, one for each of "
            f"{some(actions)}; got {graph.n_actions}"
        )
    return graph


def _load(options: argparse.Namespace) -> Model:
    """The model of an earlier run, which keeps all that it was told then."""
    for name in IN_MODEL:
        if getattr(options, name) is not None:
            raise ValueError(
                f"`--{name.replace('_', '-')}` must not be given with --load: "
                "the model keeps what it was made with"
            )
    model = load(options.load, classes=CLASSES)
    if not isinstance(model, Model):
        raise ValueError(
            f"{options.load}: must be a model that `graphcb run --save` wrote, "
            f"got a {type(model).__name__}"
        )
    print(f"model: {options.load}, {model.tally.count:,} examples so far")
    print()
    return model


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse now what would fail after the last row."""
    if options.plot is not None and options.load is not None:
        raise ValueError(
            "`--plot` must not be given with --load: the curve would lack its beginning"
        )
    for name in ("save", "predictions", "plot"):
        path = getattr(options, name)
        if path is not None and not path.parent.is_dir():
            raise FileNotFoundError(f"`--{name}` must be in a folder that is there, got {path}")
        if path is not None and path.exists() and not path.is_file():
            raise ValueError(f"`--{name}` must name a file, got {path}")


def _full_information(model: Model, options: argparse.Namespace) -> Player:
    """The same learner where every action reveals everything."""
    agent = _agent(options, model.reading)
    graph = full_information(len(model.reading.targets.actions))
    return Player(agent, graph, seed=_seed(options), loss_range=model.player.loss_range)


@contextmanager
def _predictions(path: Path | None) -> Iterator[Any]:
    """A CSV file that appears whole, after the last row, or not at all."""
    if path is None:
        yield None
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("line", "action", "probability"))
            yield writer
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _write(writer: Any, examples: Examples, played: Played, actions: tuple[str, ...]) -> None:
    names = [actions[action] for action in played.actions.tolist()]
    writer.writerows(zip(examples.lines, names, played.probabilities.tolist(), strict=True))


def _names(text: str) -> tuple[str, ...]:
    """Names with commas between; a name with a comma in it is quoted as in CSV."""
    return tuple(name.strip() for name in next(csv.reader([text])))


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two numbers LOW,HIGH; got {text!r}") from None
    return low, high
