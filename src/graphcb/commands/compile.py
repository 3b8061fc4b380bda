"""`graphcb compile`: all machine code ahead of time, for a container image or a new machine.

Each room is called the way users call it, so that kernels are compiled for the very types they
meet: there is no list of kernels or types that could be forgotten.
"""

import argparse
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from graphcb import (
    Budget,
    Encoder,
    EpsilonGreedy,
    FeedbackGraph,
    Greedy,
    InformationDirected,
    Limits,
    OnPredictedGraph,
    SquareCB,
    SquareCBG,
    compilation,
    dec,
    graph_oracles,
    graphs,
    oracles,
    solve_dec,
    solve_dec_batch,
)
from graphcb.commands import predict as predict_command
from graphcb.commands import run as run_command
from graphcb.commands.options import Commands, add_command
from graphcb.commands.packages import missing
from graphcb.compilation import cache, watch
from graphcb.contexts.watched_features import WatchedFeatures
from graphcb.decisions.packing import pack_numbers, pack_probabilities
from graphcb.environments import KnownLosses, OffLinear, RandomSelfAware, SyntheticInventory
from graphcb.estimates.moments import Moments
from graphcb.experiments import run
from graphcb.experiments.trace import trace
from graphcb.exploration import closed_form_for, closed_form_probabilities
from graphcb.exploration.information_directed import WRITTEN_OUT
from graphcb.graphs.runs import RunStructure
from graphcb.tables import evaluate_table


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "compile",
        "compile all kernels ahead of time",
        _compile,
        {},
        description="Compile all kernels to machine code and keep it on disk, so that no later "
        "process has to. For container images: run it after the installation.",
    )


def _compile(_: argparse.Namespace) -> None:
    names: list[str] = []
    start = time.perf_counter()
    with _bar(len(compilation.ENTRY_POINTS) + len(compilation.INNER)) as show:

        def tell(name: str) -> None:
            names.append(name)
            show(name)

        with watch.reporting_to(tell):
            for warm_up in WARM_UPS:
                warm_up()
    seconds = time.perf_counter() - start
    print(f"compiled {len(names)} kernels in {seconds:.0f} s" if names else "nothing to compile")
    place = cache.place()
    if place is None:
        raise OSError(
            "no folder for machine code can be written, so nothing was kept; "
            "set NUMBA_CACHE_DIR to one"
        )
    print(f"machine code: {place}")


@contextmanager
def _bar(total: int) -> Iterator[Callable[[str], None]]:
    """A function to call for each kernel: it moves a bar, or prints a line without `rich`."""
    try:
        from rich.progress import Progress
    except ModuleNotFoundError:
        number = count(1)
        yield lambda name: print(f"{next(number)} of at most {total}: {name}", flush=True)
        return
    with Progress() as progress:
        task = progress.add_task("compiling", total=total)
        yield lambda name: progress.update(task, advance=1, description=name.split(".")[-1])
        progress.update(task, completed=total, description="compiled")


def _solve() -> None:
    losses = np.array([0.1, 0.2, 0.3])
    matrix = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.5, 0.0, 1.0]])
    names = "bandit full_information cops_and_robbers inventory posted_price apple_tasting"
    for graph in (
        FeedbackGraph(matrix),
        FeedbackGraph(csr_array(matrix)),
        graphs.disjoint_cliques([2, 1]),
        graphs.threshold([0.9, 0.5, 0.1], [1.0, 1.0, 1.0]),
        *(getattr(graphs, name)(3) for name in names.split()),
    ):
        p = solve_dec(losses, graph, 10.0).probabilities
        dec(p, losses, graph, 10.0)
        repr((graph.is_deterministic, graph.is_undirected, graph.observability))
        graph.reveal_probabilities(p)
        if isinstance(graph.structure, RunStructure):  # as a family of the user's own does
            RunStructure.reveal_probabilities(graph.structure, p)
        graph.draw_revealed(0, np.random.default_rng(0))
        solve_dec_batch([losses, losses], graph, 10.0)
        solve_dec_batch([losses, losses], [graph, graph], 10.0)
        for limits in (
            Limits(floors=0.1, caps=0.4, linear=[{"actions": [0, 1], "at_most": 0.7}]),
            Limits(floors=0.1, caps=0.4),
            Limits(caps=[0.4, 0.3, 0.3]),
        ):
            solve_dec(losses, graph, 10.0, limits=limits)
        if closed_form_for(graph) is not None:
            closed_form_probabilities(losses, graph, 10.0)
    closed_form_probabilities(losses[:2], graphs.apple_tasting(), 10.0)


def _learn_and_play() -> None:
    context, actions, losses = np.ones(3), np.array([1, 0]), np.array([0.5, 0.25])
    kinds = (oracles.LogisticOGD, oracles.LinearOGD, oracles.LinearAdaGrad, oracles.OnlineRidge)
    newsvendor = oracles.NewsvendorOGD(3, learning_rate=0.5)
    for writeable in (True, False):  # arrays that cannot be written are another type to numba
        for array in (context, actions, losses):
            array.setflags(write=writeable)
        for oracle in (
            *(kind(2, 3) for kind in kinds),
            oracles.BayesianLogistic(2, 3),
            oracles.BayesianLogistic(2, 3, covariance="diagonal"),
            oracles.DefaultOracle(2),
            newsvendor,
        ):
            levels = losses if oracle is newsvendor else actions
            oracle.predict(context, levels)
            oracle.update(context, levels, losses)
    anywhere = oracles.DefaultOracle(2, loss_range=None)
    for loss in (0.5, 5.0, *[1.0] * 6):  # outside its range, which grows; priors are learned
        anywhere.update(context, actions, np.full(2, loss))
    with suppress(ValueError):  # a row so large that it is looked at more closely
        oracles.BayesianLogistic(2, 3).update(1e9 * context, actions, losses)
    items = oracles.ActionFeatureOracle()
    for size in (1, 60):  # many rows need a larger table
        rows = np.eye(size, 8) + 0.1
        items.update(context, rows, np.full(size, 0.5))
        items.predict(context, rows)
    words, text = oracles.DefaultOracle(2), (np.arange(300), np.ones(300))
    for _ in range(2):
        words.update(text, actions, losses)
        words.predict(text, actions)
    WatchedFeatures().after({"x": 1.0})
    for encoder in (Encoder(), Encoder({"x": "number"})):
        oracle = oracles.DefaultOracle(2)
        for number in range(20):  # until there is enough for ranks
            oracle.update(encoder.encode({"x": 10.0**number}), actions, losses)
            encoder.learn({"x": 10.0**number})
    encoder.encode_columns(np.ones((2, 1)), [])
    noted = Encoder()
    noted.learn({"x": 1.0})
    noted.encode_each([{"x": 1.0}, {"x": 2.0}])
    pack_probabilities(np.array([0.5, 0.5]).tobytes(), 0)
    pack_numbers(b'{"x": 1.0}', b'{"x": \x00}')
    listing = Encoder()
    listing.learn({"x": np.ones(16)})
    listing.encode({"x": np.ones(16)})

    def table(graph: object, sparse: bool) -> KnownLosses:
        rows = np.eye(4, 3) + 0.1
        contexts = csr_array(rows) if sparse else rows
        return KnownLosses(contexts, np.eye(4, 2), graph, n_rounds=4)  # type: ignore[arg-type]

    for kind in kinds:
        list(run(SquareCBG(kind(2, 3), gamma=10.0), table(graphs.bandit(2), False), seed=0))
    for sparse in (False, True):
        list(run(InformationDirected(), table(graphs.cops_and_robbers(2), sparse), seed=0))
    ridge = InformationDirected(oracles.OnlineRidge(2, 3))
    list(run(ridge, table(graphs.bandit(2), False), seed=0))
    logistic, many = oracles.LogisticOGD(2, 3), RandomSelfAware(2, 0.5)
    limits = Limits(caps=0.8, linear=[{"weights": [1.0, 0.5], "at_most": 0.9}])
    EpsilonGreedy(logistic, limits=limits).act(context, graphs.bandit(2))
    InformationDirected(limits=limits).act(context, graphs.bandit(2))
    paced = InformationDirected(budgets=[Budget("calls", {0: 1.0}, at_most=0.3)])
    paced.act(context, graphs.bandit(2))
    InformationDirected().act(context, graphs.bandit(WRITTEN_OUT + 1))
    for bounds in (None, Limits(caps=0.99, linear=[{"actions": [0, 1], "at_most": 0.999}])):
        for family in (graphs.bandit, graphs.cops_and_robbers):
            Greedy(explore=0.1, limits=bounds).act(context, family(3))  # sees too little
    for agent in (Greedy(logistic), SquareCB(logistic, gamma=10.0)):
        list(run(agent, table(many, True), seed=0))
    for graph in (graphs.bandit(2), many):
        trace(SquareCB(logistic, gamma=10.0), table(graph, True), seed=0)
        trace(SquareCBG(logistic, gamma=10.0, method="solver"), table(graph, False), seed=0)
    trace(Greedy(oracles.OnlineRidge(2, 5)), OffLinear(graphs.bandit(2), 0.1, 4), seed=0)
    for compiled in (True, False):
        newsvendor = oracles.NewsvendorOGD(100, learning_rate=0.5)
        stock = SyntheticInventory(n_rounds=4)
        trace(SquareCBG(newsvendor, gamma=10.0), stock, seed=0, compiled=compiled)


def _predict_graphs() -> None:
    row, columns, prices = np.ones(3), np.array([1, 0]), graphs.posted_price(3)
    world = KnownLosses(np.eye(4, 3) + 0.1, np.eye(4, 3), prices, n_rounds=4)
    edges = graph_oracles.LogisticEdges(3, 3)
    bids = graph_oracles.Thresholds([0.0, 0.5, 1.0], n_features=3)
    answers = graph_oracles.Answers(prices, n_features=3)
    for oracle in (edges, bids, answers):
        oracle.update_full(row, prices)
        for explorer in (InformationDirected(), SquareCBG(gamma=10.0)):
            list(run(OnPredictedGraph(explorer, oracle), world, seed=0))
    for writeable in (True, False):
        columns.setflags(write=writeable)
        edges.update(row, 0, [1], columns)
        edges.predict(row, columns)


def _read() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    run_command.add_to(commands)
    predict_command.add_to(commands)
    actions = '{"context": {"x": 1}, "actions": {"a": {"z": 1}, "b": {"w": "v"}}, "label": "a"}\n'
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        model = str(Path(folder, "model.npz"))
        for name, text, arguments in (
            ("table.csv", "x,y\n1.0,a\n2.0,b\n", ["--label", "y", "--save", model]),
            ("rows.libsvm", "0 1:0.5\n1 2:0.5\n", []),
            ("words.vw", "1:0 2:1 | free\n1:1 2:0 | prize\n", []),
            ("rounds.jsonl", 2 * actions, []),
        ):
            file = Path(folder, name)
            file.write_text(text, encoding="utf-8")
            options = parser.parse_args(["run", str(file), *arguments])
            options.command(options)
        options = parser.parse_args(["predict", model, str(Path(folder, "table.csv"))])
        options.command(options)


def _judge() -> None:
    weights = np.ones((2, 3))
    Moments(2).add(weights, 0.5 * weights)
    if missing("pyarrow") or missing("sklearn"):
        return
    n = 60
    table = {
        "item": ["a", "b", "c"] * (n // 3),
        "p": [1 / 3] * n,
        "click": [0.0, 1.0, 1.0, 0.0, 0.0, 1.0] * (n // 6),
        "age": [float(k % 7) for k in range(n)],
        "rule": ["a", "c"] * (n // 2),
        "place": ["top", "side"] * (n // 2),
        "p_a": [0.5] * n,
        "p_b": [0.25] * n,
        "p_c": [0.25] * n,
        "all": [[0.2, 0.3, 0.5]] * n,
        "offered": [["a", "b", "c"]] * n,
        "v_a": [0.0, None, None] * (n // 3),
        "v_b": [None, 1.0, None] * (n // 3),
        "v_c": [None, None, 1.0] * (n // 3),
    }
    asked: dict[str, Any] = {"action": "item", "reward": "click", "actions": ["a", "b", "c"]}
    for policy, more in (
        (["constant:a", "rule", "logged"], {"probability": "p", "slot": "place"}),
        (["constant:a", "rule"], {"probability": "p", "features": ["age", "place"]}),
        (["constant:a", "uniform"], {"features": ["age", "place"]}),
        (["uniform", "p_*", "all"], {"probability": "all"}),
        (["uniform"], {"probability": "p_*", "reveals": "v_*"}),
        (["uniform"], {"probability": "p", "action_set": "offered"}),
    ):
        evaluate_table(table, policy=policy, **asked, **more)


WARM_UPS = (_solve, _learn_and_play, _predict_graphs, _read, _judge)
