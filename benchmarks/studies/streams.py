"""Tables of real data as decisions with partial feedback: features, losses, and what is revealed.

A stream is described by a mapping: the `file` in `GRAPHCB_DATA`/streams, the `kind` of decision,
and the numbers of that kind. In all graphs a row is played and a column is revealed.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_one_of
from graphcb.datasets.location import find
from graphcb.datasets.tables import Row, Table, read_csv
from graphcb.graphs import FeedbackGraph

Floats = NDArray[np.float64]

GENERATED = "generated"  # in place of a file: a table that needs no data
MOST_ROWS = 5000


class Decisions(NamedTuple):
    """A stream: the features of each row as text, and the loss of each action in it."""

    feature_names: tuple[str, ...]
    features: list[list[str]]
    actions: tuple[str, ...]
    losses: Floats
    graph: FeedbackGraph
    largest_loss: float


class _Outcome(NamedTuple):
    """What a kind of decision makes of the rows."""

    hidden: tuple[str, ...]  # columns that nobody learns from
    actions: tuple[str, ...]
    losses: Floats
    matrix: NDArray[np.bool_]


@lru_cache(maxsize=32)
def read_table(file: str) -> Table:
    """A gzipped CSV file with a header from `GRAPHCB_DATA`/streams."""
    if file == GENERATED:
        return _generate()
    return read_csv(find("streams", file, f"use {GENERATED!r} as the file"))


def load_stream(spec: Mapping[str, Any], seed: int) -> Decisions:
    """The stream of a description; the seed decides the order of its rows.

    Rows keep their order where the description has `shuffle = false`. The first `rows` of them
    are taken (default: 5000), and losses lie between 0 and `largest` (default: 1). With `drift`
    each class is called by the name of the next one: from the middle on ("swap"), more and more
    often in the middle third ("slide"), or in the second and the last quarter ("return").

    >>> spec = {"file": "generated", "kind": "review", "price": 0.3, "rows": 100}
    >>> stream = load_stream(spec, seed=0)
    >>> stream.actions, stream.losses.shape, stream.graph.observability
    (('c1', 'c2', 'c3', 'review'), (100, 4), 'weak')
    """
    table = read_table(spec["file"])
    rows = list(table.rows)
    if spec.get("shuffle", True):
        random.Random(1000 + seed).shuffle(rows)
    rows = rows[: spec.get("rows", MOST_ROWS)]
    if "drift" in spec:
        rows = _drifting(
            table.names.index("label"), rows, spec["drift"], random.Random(2000 + seed)
        )
    kind = as_one_of("kind", spec.get("kind"), KINDS)
    try:
        outcome = KINDS[kind](_Columns(table.names, rows), spec)
    except KeyError as missing:
        raise ValueError(f"a stream of kind {kind!r} must have {missing}") from None
    hidden = {*outcome.hidden, *spec.get("drop", ())}
    kept = [j for j, name in enumerate(table.names) if name not in hidden]
    return Decisions(
        tuple(table.names[j] for j in kept),
        [[row[j] for j in kept] for row in rows],
        outcome.actions,
        outcome.losses,
        FeedbackGraph(outcome.matrix.astype(np.float64)),
        float(spec.get("largest", 1.0)),
    )


def _drifting(at: int, rows: list[Row], drift: str, rng: random.Random) -> list[Row]:
    """The rows with other classes in column `at` where the world has changed."""
    changes: dict[str, Callable[[float], bool]] = {
        "swap": lambda t: t >= 0.5,
        "slide": lambda t: rng.random() < 3.0 * t - 1.0,
        "return": lambda t: int(4.0 * t) % 2 == 1,
    }
    is_changed = changes[as_one_of("drift", drift, tuple(changes))]
    classes = sorted({row[at] for row in rows})
    following = dict(zip(classes, [*classes[1:], classes[0]], strict=True))
    return [
        (*row[:at], following[row[at]] if is_changed(i / len(rows)) else row[at], *row[at + 1 :])
        for i, row in enumerate(rows)
    ]


class _Columns:
    """The rows of a table by the names of its columns."""

    def __init__(self, names: tuple[str, ...], rows: Sequence[Row]) -> None:
        self.names = names
        self._rows = rows

    def texts(self, name: str) -> list[str]:
        at = self.names.index(as_one_of("column", name, self.names))
        return [row[at] for row in self._rows]

    def numbers(self, name: str) -> Floats:
        return np.array(self.texts(name), dtype=np.float64)


def _labels(columns: _Columns) -> tuple[tuple[str, ...], Floats]:
    """The classes, and loss 0 for the right one and 1 for the others."""
    labels = np.array(columns.texts("label"))
    classes = np.unique(labels)
    return tuple(classes.tolist()), (labels[:, None] != classes).astype(np.float64)


def _label(columns: _Columns, spec: Mapping[str, Any]) -> _Outcome:
    """Choose the class; `graph` says what that reveals."""
    classes, losses = _labels(columns)
    own = np.eye(len(classes), dtype=bool)
    matrices = {"bandit": own, "cops": ~own, "full": own | ~own}
    matrix = matrices[as_one_of("graph", spec["graph"], tuple(matrices))]
    return _Outcome(("label",), classes, losses, matrix)


def _cycle(columns: _Columns, spec: Mapping[str, Any]) -> _Outcome:
    """Choose the class; each reveals only the loss of the next one."""
    classes, losses = _labels(columns)
    matrix = np.roll(np.eye(len(classes), dtype=bool), 1, axis=1)
    return _Outcome(("label",), classes, losses, matrix)


def _review(columns: _Columns, spec: Mapping[str, Any]) -> _Outcome:
    """Choose the class unseen, or pay `price` for a review, the only action that reveals."""
    classes, losses = _labels(columns)
    return _last_reveals_all(("label",), (*classes, "review"), losses, spec["price"])


def _approve(columns: _Columns, spec: Mapping[str, Any]) -> _Outcome:
    """Act, which reveals both losses, or let go, which reveals nothing.

    `act` and `let_go` are losses, each where `target` is `value` and where it is not.
    """
    is_bad = np.array(columns.texts(spec["target"])) == spec["value"]
    if_bad, if_good = np.array([spec["act"], spec["let_go"]], dtype=np.float64).T
    losses = np.where(is_bad[:, None], if_bad, if_good)
    matrix = np.array([[True, True], [False, False]])
    return _Outcome((spec["target"],), ("act", "let_go"), losses, matrix)


def _stock(columns: _Columns, spec: Mapping[str, Any]) -> _Outcome:
    """Stock one of `levels`: too much costs `over` per unit, too little 1; reveals lower levels.

    Demand is a share of its 99 % quantile, and at most 1.
    """
    demand = columns.numbers(spec["target"])
    demand = np.minimum(demand / np.sort(demand)[int(0.99 * len(demand))], 1.0)
    n_levels = spec["levels"]
    excess = np.arange(n_levels) / (n_levels - 1) - demand[:, None]
    losses = np.where(excess > 0.0, spec["over"] * excess, -excess)
    actions = tuple(str(level) for level in range(n_levels))
    return _Outcome((spec["target"],), actions, losses, np.tri(n_levels, dtype=bool))


def _route(columns: _Columns, spec: Mapping[str, Any]) -> _Outcome:
    """Choose the model that answers a prompt: 1 for a wrong answer, plus `weight` times its cost.

    The unit of cost is the mean of the last model. `feedback` is "bandit" (a model reveals
    itself), "cascade" (and all before it) or "audit" (an action of price `price` reveals all, and
    no other reveals anything).
    """
    models = tuple(spec["models"])
    costs = np.column_stack([columns.numbers(f"cost_{model}") for model in models])
    correct = np.column_stack([columns.numbers(f"correct_{model}") for model in models])
    losses = 1.0 - correct + spec["weight"] * costs / costs[:, -1].mean()
    losses = np.minimum(losses, spec["largest"])
    hidden = tuple(name for name in columns.names if name not in ("prompt", "input_tokens"))
    if as_one_of("feedback", spec["feedback"], ("bandit", "cascade", "audit")) == "audit":
        return _last_reveals_all(hidden, (*models, "audit"), losses, spec["price"])
    n_models = len(models)
    matrix = np.eye(n_models) if spec["feedback"] == "bandit" else np.tri(n_models)
    return _Outcome(hidden, models, losses, matrix.astype(bool))


def _last_reveals_all(
    hidden: tuple[str, ...], actions: tuple[str, ...], losses: Floats, price: float
) -> _Outcome:
    """One more action of a known price, which reveals all; the others reveal nothing."""
    matrix = np.zeros((len(actions), len(actions)), dtype=bool)
    matrix[-1] = True
    prices = np.full(len(losses), float(price))
    return _Outcome(hidden, actions, np.column_stack((losses, prices)), matrix)


KINDS: Mapping[str, Callable[[_Columns, Mapping[str, Any]], _Outcome]] = MappingProxyType(
    {
        "label": _label,
        "cycle": _cycle,
        "review": _review,
        "approve": _approve,
        "stock": _stock,
        "route": _route,
    }
)


def _generate() -> Table:
    """Three classes that are linear in four numbers, with a word that says something too."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(1000, 4))
    labels = (numbers[:, :3] + 0.5 * rng.normal(size=(1000, 3))).argmax(axis=1)
    words = np.where(rng.random(1000) < 0.5, labels, rng.integers(0, 3, size=1000))
    rows = tuple(
        (*(f"{x:.3f}" for x in four), "abc"[word], f"c{label + 1}")
        for four, word, label in zip(numbers.tolist(), words.tolist(), labels.tolist(), strict=True)
    )
    return Table(("x1", "x2", "x3", "x4", "word", "label"), rows, GENERATED)
