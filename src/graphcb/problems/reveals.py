"""What each action reveals, in a problem's words: a family, names, each round, or unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from graphcb.checks import as_one_of, first_twice, listed
from graphcb.graphs import FeedbackGraph, full_information
from graphcb.graphs.files import read_graph
from graphcb.graphs.registry import FAMILIES, recognise
from graphcb.loaded import Learned
from graphcb.problems.names import EACH_ROUND, as_names

WAYS = "family, file, each_round = true, unknown = true, or all, own and edges"
HIDDEN_PRICES = ("bids", "prices", "stock")

KEYS = ("family", "file", "each_round", "all", "own", "edges", "unknown", "answers")

Edge = tuple[str, str, float]


@dataclass(frozen=True)
class Reveals:
    """One of four: a `family` of graphs, a graph `each_round`, names, or `unknown`.

    By names: those in `all` reveal everything, with `own` each action reveals itself, and
    `edges` are (played, revealed, probability). What none of these says is not revealed.

    A graph that is `unknown` beforehand is learned; "bids", "prices" and "stock" say that a
    hidden price among the actions, in their order, decides what is revealed. With `answers`,
    "learned", the graph is known, but its feedback may not come: how often it does is learned.
    """

    family: str | None = None
    each_round: bool = False
    all: tuple[str, ...] = ()
    own: bool = False
    edges: tuple[Edge, ...] = ()
    unknown: bool | str = False
    answers: str | None = None
    learned = Learned()  # the problem around it knows the actions, and checks it

    @property
    def informed(self) -> bool:
        """Whether it is known beforehand, perhaps by its probabilities, what will be revealed."""
        return not self.unknown and self.answers is None

    def graph(self, actions: Sequence[str]) -> FeedbackGraph:
        """The graph among these actions, in their order; if it is unknown, all that may be."""
        if self.unknown:
            return full_information(len(actions))
        if self.family is not None:
            return _family_graph(self.family, actions)
        index = {action: i for i, action in enumerate(actions)}
        entries: dict[tuple[int, int], float] = {}
        for name in self.all:
            entries.update({(index[name], j): 1.0 for j in range(len(actions))})
        if self.own:
            entries.update({(i, i): 1.0 for i in range(len(actions))})
        for played, revealed, probability in self.edges:
            entries[index[played], index[revealed]] = probability
        edges = [(i, j, probability) for (i, j), probability in entries.items()]
        plain = FeedbackGraph.from_edges(len(actions), edges)
        return FeedbackGraph.from_structure(recognise(plain))

    def as_table(self) -> dict[str, Any]:
        """The entries that differ from their defaults, as in the TOML table [reveals]."""
        table: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value != entry.default:
                table[entry.name] = value
        if "edges" in table:
            table["edges"] = [edge[: 2 if edge[2] == 1.0 else 3] for edge in self.edges]
        return table

    def shortest(self) -> Any:
        """What `Problem(reveals=...)` can be given for this."""
        if self.answers is not None:
            return self.as_table()
        if self.unknown is True:
            return "unknown"
        return self.family or (EACH_ROUND if self.each_round else self.as_table())


def read_reveals(reveals: Any, actions: tuple[str, ...] | str) -> Reveals:
    """From a family's name, "each round", "unknown", a graph, or a mapping as in [reveals]."""
    if isinstance(reveals, Reveals):
        reveals = reveals.as_table()
    elif isinstance(reveals, str):
        words = {EACH_ROUND: {"each_round": True}, "unknown": {"unknown": True}}
        reveals = words.get(reveals, {"family": reveals})
    elif isinstance(reveals, FeedbackGraph):
        return _from_graph(reveals, actions)
    elif isinstance(reveals, np.ndarray | list | tuple):
        return _from_graph(FeedbackGraph(reveals), actions)
    elif isinstance(reveals, Mapping) and _lists_actions(reveals, actions):
        reveals = {"edges": _edges_of(reveals)}
    if not isinstance(reveals, Mapping):
        raise TypeError(
            "`reveals` must be the name of a family, 'each round', 'unknown', a FeedbackGraph, a "
            f"matrix, or a mapping from actions or with {WAYS}; got {type(reveals).__name__}"
        )
    for key in reveals:
        as_one_of("reveals", key, KEYS)
    if "answers" in reveals:
        return _read_answers(reveals, actions)
    _check_one_way(reveals)
    if "unknown" in reveals:
        return _read_unknown(reveals["unknown"], actions)
    if "file" in reveals:
        return _from_graph(_read_file(reveals["file"]), actions)
    if "family" in reveals:
        return _read_family(reveals["family"], actions)
    if reveals.get("each_round"):
        return Reveals(each_round=True)
    return _read_names(reveals, actions)


def _lists_actions(reveals: Mapping[Any, Any], actions: tuple[str, ...] | str) -> bool:
    """Whether a mapping has actions as keys, and lists of those that each shows."""
    if isinstance(actions, str) or not reveals or any(key in KEYS for key in reveals):
        return False
    return any(key in actions for key in reveals)


def _edges_of(reveals: Mapping[str, Any]) -> list[Any]:
    edges: list[Any] = []
    for played, shown in reveals.items():
        if isinstance(shown, Mapping):
            edges += [(played, name, chance) for name, chance in shown.items()]
        elif isinstance(shown, str) or not isinstance(shown, Sequence):
            raise TypeError(
                f"`reveals[{played!r}]` must be a list of actions, or a mapping from them to "
                f"probabilities, got {shown!r}"
            )
        else:
            edges += [(played, name) for name in shown]
    return edges


def _check_one_way(reveals: Mapping[str, Any]) -> None:
    by_name = [key for key in ("all", "own", "edges") if key in reveals]
    ways = [key for key in ("family", "file", "each_round", "unknown") if key in reveals]
    if not ways and not by_name:
        raise ValueError(f"`reveals` must say what is revealed by one of {WAYS}; got none of them")
    if len(ways) + bool(by_name) > 1:
        raise ValueError(
            f"`reveals` must say what is revealed in one way, got {listed([*ways, *by_name])}; "
            "keep one of them"
        )
    for key in ("each_round", "own"):
        if key in reveals and not isinstance(reveals[key], bool):
            raise TypeError(f"`reveals.{key}` must be true or false, got {reveals[key]!r}")
    if reveals.get("each_round") is False:
        raise ValueError("`reveals.each_round` must be true or left out, got false")


def _read_unknown(unknown: Any, actions: tuple[str, ...] | str) -> Reveals:
    if isinstance(unknown, str):
        as_one_of("reveals.unknown", unknown, HIDDEN_PRICES)
    elif unknown is not True:
        raise ValueError(
            f"`reveals.unknown` must be true, {', '.join(map(repr, HIDDEN_PRICES))}, or left out, "
            f"got {unknown!r}"
        )
    _check_fixed(actions, "unknown")
    return Reveals(unknown=unknown)


def _read_answers(reveals: Mapping[str, Any], actions: tuple[str, ...] | str) -> Reveals:
    known = {key: value for key, value in reveals.items() if key != "answers"}
    as_one_of("reveals.answers", reveals["answers"], ("learned",))
    for key in ("unknown", "each_round"):
        if key in known:
            raise ValueError(
                "`reveals.answers` must come with one known graph, whose feedback may not come, "
                f"got {key}; leave one of them out"
            )
    found = read_reveals(known, actions)
    _check_fixed(actions, 'answers = "learned"')
    return replace(found, answers="learned")


def _check_fixed(actions: tuple[str, ...] | str, shown: str) -> None:
    if isinstance(actions, str):
        raise ValueError(
            f"`reveals` must not have {shown} if the actions come with each round: what is "
            "revealed is learned for each action; give the names of the actions"
        )


def _read_names(reveals: Mapping[str, Any], actions: tuple[str, ...] | str) -> Reveals:
    if isinstance(actions, str):
        raise ValueError(
            "`reveals` must be a family or each_round = true if the actions come with each round, "
            f"got {listed(reveals)}"
        )
    names = as_names("reveals.all", reveals.get("all", ()))
    for name in names:
        as_one_of("reveals.all", name, actions)
    edges = reveals.get("edges", ())
    if isinstance(edges, str) or not isinstance(edges, Sequence):
        raise TypeError(f"`reveals.edges` must be a list of edges, got {edges!r}")
    read = tuple(_read_edge(edge, i, actions) for i, edge in enumerate(edges))
    twice = first_twice(edge[:2] for edge in read)
    if twice is not None:
        raise ValueError(f"`reveals.edges` must name each pair once, got {list(twice)} twice")
    return Reveals(all=names, own=reveals.get("own", False), edges=read)


def _read_edge(edge: Any, place: int, actions: tuple[str, ...]) -> Edge:
    name = f"reveals.edges[{place}]"
    if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) not in (2, 3):
        raise ValueError(
            f"`{name}` must be [played, revealed] or [played, revealed, probability], got {edge!r}"
        )
    played, revealed = (as_one_of(name, end, actions) for end in edge[:2])
    chance = edge[2] if len(edge) == 3 else 1.0
    if isinstance(chance, bool) or not isinstance(chance, int | float) or not 0.0 < chance <= 1.0:
        raise ValueError(f"`{name}` must have a probability in (0, 1], got {chance!r}")
    return played, revealed, float(chance)


def _read_family(text: Any, actions: tuple[str, ...] | str) -> Reveals:
    if not isinstance(text, str):
        raise TypeError(f"`reveals.family` must be the name of a family, got {text!r}")
    name, colon, rest = text.lower().replace("_", "-").partition(":")
    known = [name.replace("_", "-") for name in FAMILIES]
    name = as_one_of("reveals.family", name, known)
    if isinstance(actions, str):
        if colon:
            raise ValueError(
                "`reveals.family` must have no size if the actions come with each round, "
                f"got {text!r}; write {name!r}"
            )
        return Reveals(family=name)
    text = f"{name}{colon}{rest}"
    if FAMILIES[name.replace("-", "_")].structure is None:  # drawn at random: this one stays
        return _from_graph(_family_graph(text, actions), actions)
    if text == f"{name}:{len(actions)}":
        text = name
    _family_graph(text, actions)
    return Reveals(family=text)


def _family_graph(text: str, actions: Sequence[str]) -> FeedbackGraph:
    graph = read_graph(text) if ":" in text else _sized_graph(text, len(actions))
    _check_size(graph, actions, repr(text))
    return graph


@lru_cache(maxsize=64)
def _sized_graph(family: str, n_actions: int) -> FeedbackGraph:
    """A family's graph, made once: rounds with actions of their own ask for it again and again."""
    return read_graph(f"{family}:{n_actions}")


def _from_graph(graph: FeedbackGraph, actions: tuple[str, ...] | str) -> Reveals:
    """A graph by its family if the number of actions says it all, else by its edges."""
    if isinstance(actions, str):
        raise ValueError(
            "`reveals` must be a family or each_round = true if the actions come with each round, "
            "got a graph with a fixed number of actions"
        )
    _check_size(graph, actions, "the graph")
    family = recognise(graph).family
    if family != "edges" and len(actions) > 1:
        text = family.replace("_", "-")
        try:
            if read_graph(f"{text}:{len(actions)}") == graph:
                return Reveals(family=text)
        except ValueError:
            pass  # a family with more to say than its size
    matrix = graph.matrix
    places = zip(*np.nonzero(matrix), strict=True)
    return Reveals(edges=tuple((actions[i], actions[j], float(matrix[i, j])) for i, j in places))


def _check_size(graph: FeedbackGraph, actions: Sequence[str], shown: str) -> None:
    if graph.n_actions != len(actions):
        raise ValueError(
            f"`reveals` must have {len(actions)} actions, one for each of {listed(actions)}; "
            f"got {graph.n_actions} in {shown}"
        )


def _read_file(file: Any) -> FeedbackGraph:
    if not isinstance(file, str):
        raise TypeError(f"`reveals.file` must be the name of a graph file, got {file!r}")
    return read_graph(file)
