"""The learner of `graphcb run`: built as the options say, or loaded from a file."""

import argparse
import dataclasses
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from graphcb.agents import Agent, EpsilonGreedy, Greedy, InformationDirected, SquareCBG
from graphcb.checks import as_count, as_one_of, listed
from graphcb.experiments.model import ColumnReading, Model, Reading, features_of
from graphcb.exploration import Method
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.files import read_graph
from graphcb.oracles import (
    DefaultOracle,
    ForecastingOracle,
    LinearAdaGrad,
    LinearOGD,
    LogisticOGD,
    OnlineRidge,
    Oracle,
)
from graphcb.problems import Learner, Problem
from graphcb.saving import load
from graphcb.streams import (
    ReadOptions,
    RoundExamples,
    Source,
    TableExamples,
    Targets,
    first_look,
)
from graphcb.streams.first_look import SPARSE
from graphcb.streams.rounds import brings_actions, outcome_of, range_of

# Oracle by name: the class, and its learning rate (for losses and contexts of size 1).
ORACLES: dict[str, tuple[Any, float | None]] = {
    "default": (DefaultOracle, None),
    "logistic": (LogisticOGD, 4.0),
    "linear": (LinearOGD, 0.1),
    "adagrad": (LinearAdaGrad, 0.1),
    "ridge": (OnlineRidge, None),
}
AGENTS = ("information-directed", "squarecbg", "greedy", "epsilon-greedy")
EPSILON = 0.05
READING = tuple(field.name for field in fields(ReadOptions))
# What a model file decides; with --load each of these options must be None.
IN_MODEL = (*READING, "problem", "graph", "agent", "oracle", "learning_rate", "gamma", "method",
            "seed")  # fmt: skip
# What a problem decides.
IN_PROBLEM = ("losses", "rewards", "features", "categorical", "classes", "loss_range", "graph")
# What rows that bring their own actions leave no room for.
NOT_WITH_ROUNDS = ("label", "losses", "rewards", "features", "categorical", "edges", "classes",
                   "bits", "oracle", "learning_rate", "plot")  # fmt: skip


def build_model(source: Source, options: argparse.Namespace) -> Model:
    """A new model, from the options and a first look at the file."""
    if brings_actions(source):
        return _model_of_rounds(source, options)
    if options.losses is not None and options.rewards is not None:
        raise ValueError("give either --losses or --rewards, got both")
    if options.edges is not None and options.graph is not None:
        raise ValueError("give either --graph or --edges, which has a graph for each row; got both")
    if options.problem is not None:
        learner, reading = _by_problem(source, options)
    else:
        reading = first_look(source, ReadOptions(**_given(options)))
        learner = Learner(_problem(reading, options), build_agent(options, reading))
    return Model(learner, reading, seed=seed_of(options))


def _model_of_rounds(source: Source, options: argparse.Namespace) -> Model:
    """A new model for rows that bring their own actions."""
    for name in NOT_WITH_ROUNDS:
        refuse(options, name, "with rows that bring their own actions and outcomes")
    outcome = outcome_of(source)
    if options.problem is not None:
        for name in IN_PROBLEM:
            refuse(options, name, "with --problem, which says it")
        problem = Problem.read(options.problem)
        check_runs(problem, options.problem)
    else:
        problem = Problem(
            "each round",
            reveals=options.graph or "bandit",
            feedback="rewards" if outcome == "rewards" else "losses",
            range=options.loss_range or range_of(source, outcome),
        )
    check_outcome(source, outcome, problem)
    learner = Learner(problem, build_agent(options))
    return Model(learner, RoundExamples(outcome, problem.graph_for), seed=seed_of(options))


def check_outcome(source: Source, outcome: str, problem: Problem) -> None:
    """Refuse losses where the problem has rewards, and the other way round."""
    if (problem.feedback == "rewards") != (outcome == "rewards"):
        raise ValueError(f"{source.name}: must have {problem.feedback}, got {outcome}")


def refuse(options: argparse.Namespace, name: str, why: str) -> None:
    """Refuse an option that was given."""
    if getattr(options, name) is not None:
        raise ValueError(f"`--{name.replace('_', '-')}` must not be given {why}")


def build_agent(options: argparse.Namespace, reading: Reading | None = None) -> Agent:
    """The agent that is named; else SquareCB.G if its options are given or the oracle asks for it.

    An oracle asks for it that does not say how sure it is. Rows that bring their own actions have
    no oracle to choose.
    """
    named = None if options.agent is None else as_one_of("--agent", options.agent, AGENTS)
    if named not in (None, "squarecbg"):
        for name in ("gamma", "method"):
            refuse(options, name, f"with --agent {named}: it is for squarecbg")
    of_rounds = reading is None or isinstance(reading, RoundExamples)
    oracle = None if of_rounds else _oracle(options, cast(ColumnReading, reading))
    if named == "greedy":
        return Greedy(oracle)
    if named == "epsilon-greedy":
        return EpsilonGreedy(oracle, epsilon=EPSILON)
    forecasts = oracle is None or isinstance(oracle, ForecastingOracle)
    if named == "information-directed":
        if not forecasts:
            raise ValueError(
                "`--agent information-directed` needs an oracle that says how sure it is, got "
                f"--oracle {options.oracle}"
            )
        return InformationDirected(oracle)
    if named is None and options.gamma is None and options.method is None and forecasts:
        return InformationDirected(oracle)
    certify, method = options.gamma is not None, cast(Method, options.method or "auto")
    return SquareCBG(oracle, gamma=options.gamma, method=method, certify=certify)


def seed_of(options: argparse.Namespace) -> int:
    """The seed of the draws."""
    return 0 if options.seed is None else as_count("--seed", options.seed, at_least=0)


def load_model(source: Source, options: argparse.Namespace) -> Model:
    """The model of an earlier run, with the options of that run."""
    for name in IN_MODEL:
        refuse(options, name, "with --load: the model keeps the options it was made with")
    model = read_model(options.load, of_rounds=brings_actions(source))
    if isinstance(model.reading, RoundExamples):
        model.reading.outcome = outcome_of(source)
        check_outcome(source, model.reading.outcome, model.learner.problem)
    return model


def read_model(path: Path, *, of_rounds: bool = False) -> Model:
    """The model in a file of `graphcb run --save`: for columns, or for rows with own actions."""
    found = load(path)
    if not isinstance(found, Learner):
        raise ValueError(
            f"{path}: must be a model written by `graphcb run --save`, got a {type(found).__name__}"
        )
    model = Model.from_learner(found, str(path))
    kinds = ("the columns of a file", "rows that bring their own actions")
    if isinstance(model.reading, RoundExamples) != of_rounds:
        raise ValueError(
            f"{path}: must be a model of {kinds[of_rounds]}, got one of {kinds[not of_rounds]}"
        )
    return model


def check_runs(problem: Problem, path: Path) -> None:
    """Refuse what the rows of a file cannot have: budgets by the clock, and a hidden graph."""
    if not problem.informed:
        raise ValueError(
            f"{path}: must say what is revealed to be run on a file, whose rows do not say it; "
            "got a graph that is learned, which a graphcb.Policy may have"
        )
    for budget in problem.budgets:
        if budget.seconds is not None:
            raise ValueError(
                f"{path}: budget {budget.name!r} must be per round or per number of rounds to be "
                f"run on a file, whose rows have no time; got per = {budget.per!r}"
            )


def _as_declared(reading: TableExamples, kinds: dict[str, str]) -> TableExamples:
    """The same table, with features of the declared kinds."""
    numbers = tuple(name for name, kind in kinds.items() if kind.startswith("number"))
    words = tuple(name for name in kinds if name not in numbers)
    for name, kind in kinds.items():
        column = reading.report.columns[name]
        column.kind = kind.removesuffix("?")
        if name in words:
            column.odd, column.first_odd = 0, None
    columns = dataclasses.replace(reading.columns, numbers=numbers, words=words)
    report, bits = reading.report, reading.encoder.bits
    report.hints = [hint for hint in report.hints if hint not in SPARSE]
    return TableExamples(columns, reading.targets, bits=bits, kinds=kinds, report=report)


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """What the options say about the file."""
    return {name: value for name in READING if (value := getattr(options, name)) is not None}


def _problem(reading: ColumnReading, options: argparse.Namespace) -> Problem:
    """The problem that the file and the options describe."""
    targets = reading.targets
    return Problem(
        targets.actions,
        reveals="each round" if options.edges else _graph(options.graph or "bandit", targets),
        feedback="rewards" if targets.rewards else "losses",
        range=targets.value_range,
        features=features_of(reading),
    )


def _by_problem(source: Source, options: argparse.Namespace) -> tuple[Learner, ColumnReading]:
    """The learner of a problem in a file, and how to read rows for it."""
    for name in IN_PROBLEM:
        refuse(options, name, "with --problem, which says it")
    problem = Problem.read(options.problem)
    if not isinstance(problem.actions, tuple):
        raise ValueError(
            f"{options.problem}: must have the names of its actions to be run on a file, "
            "got actions that come with each round"
        )
    check_runs(problem, options.problem)
    vary = [f"costs of budget {b.name!r} must be numbers" for b in problem.budgets if b.features]
    vary += [
        f"what is known of {action!r} must be a number"
        for action, value in (problem.known or {}).items()
        if isinstance(value, str)
    ]
    if vary:
        raise ValueError(
            f"{options.problem}: {vary[0]} to be run on the columns of a file, got a feature; JSON "
            "lines whose rows bring their own actions may have them, and so may a graphcb.Policy"
        )
    if problem.reveals.each_round and options.edges is None:
        raise ValueError("`--edges` must name a column: in this problem each row has its own graph")
    if options.edges is not None and not problem.reveals.each_round:
        raise ValueError("`--edges` must not be given: this problem has one graph for all rows")
    given = _given(options)
    is_label = options.label is not None or source.format == "libsvm"
    if is_label and problem.scale != (0.0, 1.0):
        raise ValueError(
            "labels are for problems with the range 0 to 1, where the right action has the loss 0 "
            f"or the reward 1; {options.problem} has {problem.scale[0]:g} to {problem.scale[1]:g}"
        )
    if is_label or source.format == "vw":
        given["classes"] = problem.actions
    else:
        given[problem.feedback] = problem.actions
    if not is_label and problem.range is not None:
        given["loss_range"] = problem.range
    if problem.features is not None and source.format not in ("libsvm", "vw"):
        given["features"] = tuple(problem.features)
    reading = first_look(source, ReadOptions(**given))
    if problem.range is None:  # a file can be looked through: it is what the values span
        problem = dataclasses.replace(problem, range=reading.targets.value_range)
    if problem.features is None:
        problem = dataclasses.replace(problem, features=features_of(reading))
    elif isinstance(reading, TableExamples):
        reading = _as_declared(reading, problem.features)
    return Learner(problem, build_agent(options, reading)), reading


def _oracle(options: argparse.Namespace, reading: ColumnReading) -> Oracle:
    usual = "default" if options.learning_rate is None else "logistic"
    name = as_one_of("--oracle", options.oracle or usual, ORACLES)
    kind, rate = ORACLES[name]
    if rate is None and options.learning_rate is not None:
        raise ValueError(f"`--learning-rate` must not be given with --oracle {name}: it has none")
    if name == "ridge" and (reading.encoder is None or not reading.encoder.is_dense):
        raise ValueError(
            "`--oracle ridge` is for columns of numbers only, of which rows have most, as its cost "
            "grows with the square of the number of features; use logistic, or leave out words "
            "with --features"
        )
    n_actions = len(reading.targets.actions)
    if name == "default":
        return DefaultOracle(n_actions)
    rate = rate if options.learning_rate is None else options.learning_rate
    settings = {} if rate is None else {"learning_rate": rate}
    oracle: Oracle = kind(n_actions, reading.n_features, **settings)
    return oracle


def _graph(text: str, targets: Targets) -> FeedbackGraph:
    """The graph by its name; a family without a size has as many actions as the data."""
    actions = targets.actions
    is_complete = ":" in text or Path(text).suffix
    graph = read_graph(text if is_complete else f"{text}:{len(actions)}")
    if graph.n_actions != len(actions):
        raise ValueError(
            f"`--graph {text}` must have {len(actions)} actions, one for each of "
            f"{listed(actions)}; got {graph.n_actions}"
        )
    return graph
