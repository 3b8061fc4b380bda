"""What each action reveals, in the words of a problem: by a family, by names, or each round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from graphcb.checks import as_one_of, listed
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.files import read_graph
from graphcb.graphs.registry import FAMILIES, recognise
from graphcb.problems.names import EACH_ROUND, as_names, first_twice

WAYS = "family, file, each_round = true, or all, own and edges"

Edge = tuple[str, str, float]


@dataclass(frozen=True)
class Reveals:
    """One of three: a `family` of graphs, a graph `each_round`, or names.

    By names: those in `all` reveal everything, with `own` each action reveals itself, and
    `edges` are (played, revealed, probability). What none of these says is not revealed.
    """

    family: str | None = None
    each_round: bool = False
    all: tuple[str, ...] = ()
    own: bool = False
    edges: tuple[Edge, ...] = ()

    def graph(self, actions: Sequence[str]) -> FeedbackGraph:
        """The graph among these actions, in their order."""
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

    def check_loaded(self) -> None:
        """Nothing: the problem around it checks it, as only the problem knows the actions."""

    def as_table(self) -> dict[str, Any]:
        """The entries that differ from their defaults, as in the TOML table [reveals]."""
        table: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                table[field.name] = value
        if "edges" in table:
            table["edges"] = [edge[: 2 if edge[2] == 1.0 else 3] for edge in self.edges]
        return table

    def shortest(self) -> Any:
        """What `Problem(reveals=...)` can be given for this."""
        return self.family or (EACH_ROUND if self.each_round else self.as_table())


def read_reveals(reveals: Any, actions: tuple[str, ...] | str) -> Reveals:
    """From a family's name, "each round", a graph, or a mapping as in the TOML table [reveals]."""
    if isinstance(reveals, Reveals):
        reveals = reveals.as_table()
    elif isinstance(reveals, str):
        reveals = {"each_round": True} if reveals == EACH_ROUND else {"family": reveals}
    elif isinstance(reveals, FeedbackGraph):
        return _from_graph(reveals, actions)
    if not isinstance(reveals, Mapping):
        raise TypeError(
            "`reveals` must be the name of a family, 'each round', a FeedbackGraph or a mapping "
            f"with {WAYS}; got {type(reveals).__name__}"
        )
    for key in reveals:
        as_one_of("reveals", key, ("family", "file", "each_round", "all", "own", "edges"))
    _check_one_way(reveals)
    if "file" in reveals:
        return _from_graph(_read_file(reveals["file"]), actions)
    if "family" in reveals:
        return _read_family(reveals["family"], actions)
    if reveals.get("each_round"):
        return Reveals(each_round=True)
    return _read_names(reveals, actions)


def _check_one_way(reveals: Mapping[str, Any]) -> None:
    by_name = [key for key in ("all", "own", "edges") if key in reveals]
    ways = [key for key in ("family", "file", "each_round") if key in reveals]
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
    graph = read_graph(text if ":" in text else f"{text}:{len(actions)}")
    _check_size(graph, actions, repr(text))
    return graph


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
