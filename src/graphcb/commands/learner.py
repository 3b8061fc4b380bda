"""The learner of `graphcb run`: built as the options say, or loaded from a file."""

import argparse
from collections.abc import Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from graphcb.agents import SquareCBG
from graphcb.checks import as_count, as_one_of, listed
from graphcb.experiments.progressive import CLASSES, Model, Player
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.files import read_graph
from graphcb.oracles import (
    DefaultOracle,
    LinearAdaGrad,
    LinearOGD,
    LogisticOGD,
    OnlineRidge,
    Oracle,
)
from graphcb.saving import load
from graphcb.streams import ReadOptions, Source, SparseExamples, TableExamples, first_look
from graphcb.streams.tables import column_names

# Oracle by name: the class, and its learning rate (for losses and contexts of size 1).
ORACLES: dict[str, tuple[Any, float | None]] = {
    "logistic": (LogisticOGD, 4.0),
    "linear": (LinearOGD, 0.1),
    "adagrad": (LinearAdaGrad, 0.1),
    "ridge": (OnlineRidge, None),
}
READING = tuple(field.name for field in fields(ReadOptions))
# What a model file decides; with --load each of these options must be None.
IN_MODEL = (*READING, "rewards", "graph", "oracle", "learning_rate", "gamma", "method", "seed")


def build_model(source: Source, options: argparse.Namespace) -> Model:
    """A new model, from the options and a first look at the file."""
    if options.losses is not None and options.rewards is not None:
        raise ValueError("give either --losses or --rewards, got both")
    if options.edges is not None and options.graph is not None:
        raise ValueError("give either --graph or --edges, which has a graph for each row; got both")
    given = {name: value for name in READING if (value := getattr(options, name)) is not None}
    if options.rewards is not None:
        given["losses"] = options.rewards
    if source.format in ("csv", "parquet"):
        given = _with_patterns(given, source, options)
    reading = first_look(source, ReadOptions(**given))
    actions = reading.targets.actions
    graph = _graph(options.graph or "bandit", actions) if options.edges is None else None
    return Model(reading, build_player(options, reading, graph, seed_of(options)))


def build_player(
    options: argparse.Namespace,
    reading: TableExamples | SparseExamples,
    graph: FeedbackGraph | None,
    seed: int,
) -> Player:
    """A new agent that goes through the examples with draws of its own."""
    return Player(
        build_agent(options, reading),
        graph,
        seed=seed,
        loss_range=reading.targets.loss_range,
        are_rewards=options.rewards is not None,
    )


def _with_patterns(
    given: dict[str, Any], source: Source, options: argparse.Namespace
) -> dict[str, Any]:
    """The same options with the columns of the file for patterns such as 'stock*'."""
    names = column_names(source)
    found = dict(given)
    for option in ("losses", "features", "categorical"):
        if option in given:
            called = "rewards" if option == "losses" and options.rewards is not None else option
            found[option] = columns_like(given[option], names, f"--{called}")
    return found


def columns_like(asked: Sequence[str], names: Sequence[str], option: str) -> tuple[str, ...]:
    """The columns that names and patterns stand for, each once, in the order of the patterns.

    >>> columns_like(["b", "stock*"], ["stock1", "a", "b", "stock2"], "--losses")
    ('b', 'stock1', 'stock2')
    """
    found: list[str] = []
    for pattern in asked:
        like = [pattern]
        if pattern not in names and any(sign in pattern for sign in "*?["):
            like = [name for name in names if fnmatchcase(name, pattern)]
            if not like:
                raise ValueError(
                    f"`{option}` must name columns of the file ({listed(names)}), got {pattern!r}, "
                    "which fits none"
                )
        found += [name for name in like if name not in found]
    return tuple(found)


def build_agent(options: argparse.Namespace, reading: TableExamples | SparseExamples) -> SquareCBG:
    """SquareCB.G with the oracle, gamma and method of the options."""
    return SquareCBG(
        _oracle(options, reading), gamma=options.gamma, method=options.method or "auto"
    )


def seed_of(options: argparse.Namespace) -> int:
    """The seed of the draws."""
    return 0 if options.seed is None else as_count("--seed", options.seed, at_least=0)


def load_model(options: argparse.Namespace) -> Model:
    """The model of an earlier run, with the options of that run."""
    for name in IN_MODEL:
        if getattr(options, name) is not None:
            raise ValueError(
                f"`--{name.replace('_', '-')}` must not be given with --load: "
                "the model keeps the options it was made with"
            )
    model = load(options.load, classes=CLASSES)
    if not isinstance(model, Model):
        raise ValueError(
            f"{options.load}: must be a model written by `graphcb run --save`, "
            f"got a {type(model).__name__}"
        )
    return model


def _oracle(options: argparse.Namespace, reading: TableExamples | SparseExamples) -> Oracle:
    usual = "default" if options.learning_rate is None else "logistic"
    name = as_one_of("--oracle", options.oracle or usual, ("default", *ORACLES))
    if name == "default":
        if options.learning_rate is not None:
            raise ValueError(
                "`--learning-rate` must not be given with --oracle default: it has none"
            )
        return DefaultOracle(len(reading.targets.actions))
    kind, rate = ORACLES[name]
    settings = {}
    if rate is not None:
        settings["learning_rate"] = rate if options.learning_rate is None else options.learning_rate
    else:
        if options.learning_rate is not None:
            raise ValueError("`--learning-rate` must not be given with --oracle ridge: it has none")
        if not (isinstance(reading, TableExamples) and reading.encoder.is_dense):
            raise ValueError(
                "`--oracle ridge` is for columns of numbers only, as its cost grows with the "
                "square of the number of features; use logistic, or leave out words with --features"
            )
    oracle: Oracle = kind(len(reading.targets.actions), reading.n_features, **settings)
    return oracle


def _graph(text: str, actions: tuple[str, ...]) -> FeedbackGraph:
    """The graph by its name; a family without a size has as many actions as the data."""
    is_complete = ":" in text or Path(text).suffix
    graph = read_graph(text if is_complete else f"{text}:{len(actions)}")
    if graph.n_actions != len(actions):
        raise ValueError(
            f"`--graph {text}` must have {len(actions)} actions, one for each of "
            f"{listed(actions)}; got {graph.n_actions}"
        )
    return graph
