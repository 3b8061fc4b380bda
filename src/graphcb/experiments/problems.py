"""The problems that settings files can name: an environment, and the oracle for it."""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from graphcb import datasets
from graphcb.checks import as_one_of
from graphcb.datasets.bakery import Bakery
from graphcb.environments import (
    CostlyLooks,
    Environment,
    GrowingGrid,
    KnownLosses,
    OffLinear,
    RandomSelfAware,
    RecordedDemand,
    SyntheticInventory,
)
from graphcb.environments.known_losses import SparseTable
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import LogisticOGD, NewsvendorOGD, OnlineRidge, Oracle

N_WORDS = 4096
CATEGORIES = ("weekday", "month", "store", "product")
FLAGS_AND_NUMBERS = (
    "is_schoolholiday",
    "is_holiday",
    "is_holiday_next2days",
    "promotion_currentweek",
    "promotion_lastweek",
    "rain",
    "temperature",
)


class ExperimentProblem(NamedTuple):
    """An environment, an oracle for a learning rate, and a fingerprint of the data.

    `own` is what only the agents of this kind of problem need to know.
    """

    environment: Environment
    oracle: Callable[[float], Oracle]
    fingerprint: str
    own: Any = None


class LossTable(NamedTuple):
    """Data for `KnownLosses`, and its fingerprint."""

    contexts: SparseTable
    losses: Any
    fingerprint: str


def build(options: Mapping[str, Any], n_rounds: int | None) -> ExperimentProblem:
    """The problem described by the options; `kind` names it.

    >>> build({"kind": "synthetic-inventory", "levels": 5}, 100).environment.n_rounds
    100
    """
    return _build(json.dumps(options, sort_keys=True), n_rounds)


@lru_cache(maxsize=32)
def _build(options: str, n_rounds: int | None) -> ExperimentProblem:
    arguments = json.loads(options)
    kind = as_one_of("problem.kind", arguments.pop("kind", None), KINDS)
    try:
        return KINDS[kind](n_rounds=n_rounds, **arguments)
    except TypeError as reason:
        raise ValueError(f"the problem {kind!r} does not take these options: {reason}") from None


def _synthetic_inventory(*, n_rounds: int | None, levels: Any) -> ExperimentProblem:
    environment = SyntheticInventory(n_rounds=n_rounds or 10_000, levels=_as_levels(levels))
    return _newsvendor(environment, environment.n_features, "drawn from the seed")


def _bakery(source: str, *, n_rounds: int | None, levels: Any) -> ExperimentProblem:
    contexts, demands, fingerprint = _bakery_arrays(source)
    environment = RecordedDemand(contexts[:n_rounds], demands[:n_rounds], _as_levels(levels))
    return _newsvendor(environment, environment.n_features, fingerprint)


def _rcv1(*, n_rounds: int | None, n_topics: int, graph: Any) -> ExperimentProblem:
    return _logistic(_labelled_table(datasets.load_rcv1, n_topics), graph, n_rounds)


def _digits(*, n_rounds: int | None, graph: Any) -> ExperimentProblem:
    return _logistic(_labelled_table(datasets.load_digits), graph, n_rounds)


def _spam(
    source: str, *, n_rounds: int | None, review_cost: float, graph: Any
) -> ExperimentProblem:
    return _logistic(_spam_table(review_cost, source), graph, n_rounds)


def _costly_looks(*, n_rounds: int | None, graph: Any, costly: list[int]) -> ExperimentProblem:
    graph = FeedbackGraph.from_json(json.dumps(graph))
    environment = CostlyLooks(graph, tuple(costly), n_rounds=n_rounds or 10_000)
    return ridge(environment, environment.graph.n_actions, environment.n_features)


def _off_linear(*, n_rounds: int | None, graph: Any, off: float) -> ExperimentProblem:
    environment = OffLinear(FeedbackGraph.from_json(json.dumps(graph)), off, n_rounds or 4_000)
    return ridge(environment, environment.graph.n_actions, environment.n_features)


# Whoever has a problem of their own adds it here under its name.
KINDS: dict[str, Callable[..., ExperimentProblem]] = {
    "synthetic-inventory": _synthetic_inventory,
    "bakery": partial(_bakery, "recorded"),
    "generated-bakery": partial(_bakery, "generated"),
    "rcv1": _rcv1,
    "digits": _digits,
    "spam": partial(_spam, "recorded"),
    "generated-spam": partial(_spam, "generated"),
    "costly-looks": _costly_looks,
    "off-linear": _off_linear,
}


def ridge(environment: Environment, n_actions: int, n_features: int) -> ExperimentProblem:
    """Linear losses; ridge regression has no learning rate."""
    return ExperimentProblem(
        environment, lambda rate: OnlineRidge(n_actions, n_features), "drawn from the seed"
    )


def _newsvendor(environment: Environment, n_features: int, fingerprint: str) -> ExperimentProblem:
    return ExperimentProblem(
        environment, lambda rate: NewsvendorOGD(n_features, learning_rate=rate), fingerprint
    )


def _logistic(table: LossTable, graph: Any, n_rounds: int | None) -> ExperimentProblem:
    n_actions, n_features = table.losses.shape[1], table.contexts.n_features
    environment = KnownLosses(
        table.contexts, table.losses, _as_graph(graph, n_actions), n_rounds=n_rounds
    )
    return ExperimentProblem(
        environment,
        lambda rate: LogisticOGD(n_actions, n_features, learning_rate=rate),
        table.fingerprint,
    )


def _as_levels(levels: Any) -> int | GrowingGrid:
    if isinstance(levels, Mapping):
        return GrowingGrid(**levels)
    size: int = levels
    return size


def _as_graph(graph: Any, n_actions: int) -> FeedbackGraph | RandomSelfAware:
    """A family by name, {"random_self_aware": density}, or what `FeedbackGraph.from_json` reads."""
    if isinstance(graph, str):
        graph = {"family": graph, "n_actions": n_actions}
    if "random_self_aware" in graph:
        return RandomSelfAware(n_actions, graph["random_self_aware"])
    return FeedbackGraph.from_json(json.dumps(graph))


@lru_cache(maxsize=3)
def _labelled_table(load: Callable[..., Any], *arguments: int) -> LossTable:
    data = load(*arguments)
    return _table(data.contexts, data.losses)


@lru_cache(maxsize=2)
def _spam_table(review_cost: float, source: str) -> LossTable:
    if source == "recorded":
        messages = datasets.load_sms_spam()
    else:
        messages = datasets.generate_messages(3000, np.random.default_rng(0))
    losses = np.where(messages.is_spam[:, None], [review_cost, 1.0], [review_cost, 0.0])
    return _table(datasets.hash_words(messages.texts, N_WORDS), losses)


def _table(contexts: Any, losses: Any) -> LossTable:
    table = SparseTable(contexts.tocsr())
    return LossTable(table, losses, fingerprint(table.indices, table.values, losses))


@lru_cache(maxsize=2)
def _bakery_arrays(source: str) -> tuple[Any, Any, str]:
    """Contexts and demands ordered by day, and their fingerprint."""
    if source == "recorded":
        bakery = datasets.load_bakery()
    else:
        bakery = datasets.generate_bakery(12_000, np.random.default_rng(0))
    order = np.argsort(bakery.features[:, bakery.names.index("date")], kind="stable")
    contexts = _encode(bakery)[order]
    demands = (bakery.demand / bakery.demand.max())[order]
    return contexts, demands, fingerprint(contexts, demands)


def _encode(bakery: Bakery) -> Any:
    """Categories one-hot encoded, numbers divided by their largest, rows of norm at most 1."""
    columns = {name: bakery.features[:, i] for i, name in enumerate(bakery.names)}
    categories = [
        columns[name][:, None] == np.unique(columns[name])[None, :] for name in CATEGORIES
    ]
    numbers = [
        columns[name][:, None] / max(abs(columns[name]).max(), 1.0) for name in FLAGS_AND_NUMBERS
    ]
    encoded = np.hstack([*categories, *numbers]).astype(np.float64)
    return encoded / np.sqrt(len(CATEGORIES) + len(FLAGS_AND_NUMBERS))


def fingerprint(*arrays: Any) -> str:
    """Sixteen letters that differ where the arrays do."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
