"""`graphcb inspect`: what kind of graph is this, how hard is it, a picture."""

import argparse
from pathlib import Path

from graphcb.checks import listed
from graphcb.commands.command import Commands
from graphcb.exploration.choice import explain
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.files import read_graph
from graphcb.graphs.numbers import Bounds
from graphcb.graphs.registry import recognise

NUMBER_SECONDS = 20.0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("inspect", help="what kind of graph is this, how hard is it")
    parser.add_argument(
        "graph", nargs="+", metavar="GRAPH", help="a family and its size (inventory:20) or a file"
    )
    parser.add_argument(
        "--out", type=Path, help="where the picture goes, .png or .svg (default: graph.png)"
    )
    parser.add_argument("--no-picture", action="store_true", help="print only")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=NUMBER_SECONDS,
        metavar="SECONDS",
        help="for each graph number; bounds are printed when it runs out (default: %(default)g)",
    )
    parser.set_defaults(command=_inspect)


def _inspect(options: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.table import Table

    named = ":".join(options.graph)
    graph = read_graph(named)
    table = Table(title=named, show_header=False, title_justify="left")
    for label, value in _facts(graph, options.time_limit):
        table.add_row(label, value)
    Console().print(table)
    if not options.no_picture:
        from graphcb.figures.curves import save
        from graphcb.figures.graph import draw_graph

        out = options.out or Path("graph.png")
        save(draw_graph(graph, named), out)
        print(f"picture: {out}")


def _facts(graph: FeedbackGraph, time_limit: float) -> list[tuple[str, str]]:
    known = FeedbackGraph.from_structure(recognise(graph))
    facts = [
        ("actions", f"{known.n_actions:,}"),
        ("edges", f"{known.n_edges:,}"),
        ("family", "none of the named ones" if known.family == "edges" else repr(known)),
        ("edges are", "certain" if known.is_deterministic else "partly random"),
        ("self-aware", "yes" if known.is_self_aware else "no"),
        ("undirected", "yes" if known.is_undirected else "no"),
        ("observability", _observability(known)),
        ("independence number", _number(known.independence_number(time_limit=time_limit))),
        (
            "  of the self-looped part",
            _number(known.self_looped_independence_number(time_limit=time_limit)),
        ),
    ]
    if known.observability != "unobservable":
        domination = known.weak_domination_number(time_limit=time_limit)
        facts.append(("weak domination number", _number(domination)))
    facts.append(("explored by", explain(known)))
    return facts


def _observability(graph: FeedbackGraph) -> str:
    kind = graph.observability
    if kind == "strong":
        return "strong: each action reveals itself or is revealed by all others"
    if kind == "weak":
        reason = graph.weakly_observable_actions
        return f"weak, because of {_some(reason.tolist())}: seen by some actions only, not itself"
    return f"unobservable: nothing reveals {_some(graph.unobservable_actions.tolist())}"


def _some(actions: list[int]) -> str:
    return f"action{'s' if len(actions) > 1 else ''} {listed(actions, at_most=8)}"


def _number(value: int | Bounds) -> str:
    if isinstance(value, Bounds):
        return f"between {value.lower:,} and {value.upper:,} (time ran out)"
    return f"{value:,}"
