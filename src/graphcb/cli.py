"""The command line: parse, call, print."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphcb import __version__
from graphcb.exploration import closed_form_for
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.files import read_graph
from graphcb.graphs.numbers import Bounds
from graphcb.graphs.recognition import recognise

if TYPE_CHECKING:
    from graphcb.experiments.curves import Curve, Summary

NUMBER_SECONDS = 20.0
NEEDS_EXTRA = "this command needs the extra packages: pip install 'graphcb[experiments]'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `graphcb` command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except (ValueError, IndexError, TypeError, OSError, MemoryError) as problem:
        print(f"graphcb: {problem}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as missing:
        print(f"graphcb: {missing}; {NEEDS_EXTRA}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("graphcb: interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphcb", description="Contextual bandits with feedback graphs."
    )
    parser.add_argument("--version", action="version", version=f"graphcb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    inspect = commands.add_parser("inspect", help="what kind of graph is this, how hard is it")
    inspect.add_argument(
        "graph", nargs="+", metavar="GRAPH", help="a family and its size (inventory:20) or a file"
    )
    inspect.add_argument(
        "--out", type=Path, help="where the picture goes, .png or .svg (default: graph.png)"
    )
    inspect.add_argument("--no-picture", action="store_true", help="print only")
    inspect.add_argument(
        "--time-limit",
        type=float,
        default=NUMBER_SECONDS,
        metavar="SECONDS",
        help="for each graph number; bounds are printed when it runs out (default: %(default)g)",
    )
    inspect.set_defaults(command=_inspect)

    reproduce = commands.add_parser("reproduce", help="a figure of the paper from one command")
    reproduce.add_argument(
        "figure", metavar="FIGURE", help="inventory-fixed, inventory-adaptive, all"
    )
    reproduce.add_argument("--quick", action="store_true", help="few settings and seeds")
    reproduce.add_argument("--out", type=Path, default=Path("results"), metavar="DIR")
    reproduce.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    reproduce.set_defaults(command=_reproduce)
    return parser


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
    family = recognise(graph)
    known = graph if family is None else family
    form = closed_form_for(known)
    facts = [
        ("actions", f"{known.n_actions:,}"),
        ("edges", f"{known.n_edges:,}"),
        ("family", "none of the named ones" if family is None else repr(family)),
        ("edges are", "certain" if known.is_deterministic else "partly chances"),
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
    if form is not None:
        facts.append(("closed form", f"{form.name}: {form.because}"))
    elif known.observability == "unobservable":
        facts.append(("closed form", "none: SquareCB.G refuses a graph it cannot learn from"))
    else:
        facts.append(("closed form", "none: SquareCB.G solves the convex program"))
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
    shown = ", ".join(map(str, actions[:8]))
    more = f" and {len(actions) - 8:,} more" if len(actions) > 8 else ""
    return f"action{'s' if len(actions) > 1 else ''} {shown}{more}"


def _number(value: int | Bounds) -> str:
    if isinstance(value, Bounds):
        return f"between {value.lower:,} and {value.upper:,} (time ran out)"
    return f"{value:,}"


def _reproduce(options: argparse.Namespace) -> None:
    from graphcb.experiments.inventory import EXPERIMENTS

    if options.figure != "all" and options.figure not in EXPERIMENTS:
        raise ValueError(
            f"`FIGURE` must be one of {', '.join(EXPERIMENTS)}, all; got {options.figure!r}"
        )
    options.out.mkdir(parents=True, exist_ok=True)
    for name in EXPERIMENTS if options.figure == "all" else [options.figure]:
        _reproduce_one(name, options)


def _reproduce_one(name: str, options: argparse.Namespace) -> None:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from graphcb.experiments.curves import summarise, write_csv
    from graphcb.experiments.inventory import EXPERIMENTS
    from graphcb.experiments.sweep import sweep
    from graphcb.figures.curves import draw_curves, save

    experiment = EXPERIMENTS[name].quick() if options.quick else EXPERIMENTS[name]
    settings = experiment.settings()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    start = time.perf_counter()
    with Progress(*columns) as progress:
        task = progress.add_task(f"{name}: runs", total=len(settings))
        curves: list[Curve] = sweep(
            experiment.play,
            settings,
            n_jobs=options.jobs,
            on_done=lambda: progress.advance(task),
        )
    seconds = time.perf_counter() - start
    summaries = summarise(curves)
    write_csv(curves, options.out / f"{name}.csv")
    save(draw_curves(summaries, experiment.title), options.out / f"{name}.png")
    _print_summaries(name, summaries)
    n_rounds = len(settings) * experiment.n_rounds
    print(f"{n_rounds:,} rounds in {seconds:.1f} s with {options.jobs} processes")
    print(f"figure: {options.out / name}.png   table: {options.out / name}.csv")


def _print_summaries(name: str, summaries: "Sequence[Summary]") -> None:
    from rich.console import Console
    from rich.table import Table

    from graphcb.experiments.inventory import claims

    table = Table(title=f"{name}: progressive validation loss", title_justify="left")
    for column in ("agent", "grid", "mean", "std", "learning rate", "c", "seeds"):
        table.add_column(column)
    for s in summaries:
        table.add_row(
            s.agent,
            s.line,
            f"{s.mean:.4f}",
            f"{s.deviation:.4f}",
            f"{s.learning_rate:g}" + "*" * ("learning_rate" in s.at_grid_end),
            f"{s.c:g}" + "*" * ("c" in s.at_grid_end),
            str(s.n_seeds),
        )
    console = Console()
    console.print(table)
    if any(s.at_grid_end for s in summaries):
        console.print("* at the end of the grid that was tried: a value beyond it may be better")
    for claim, measured, holds in claims(name, list(summaries)):
        console.print(f"{'holds' if holds else 'DOES NOT HOLD'}: {claim} ({measured})")
