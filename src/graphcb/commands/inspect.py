"""`graphcb inspect`: what kind of graph or problem is this, how hard is it, a picture; a model."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.agents import InformationDirected, SquareCBG
from graphcb.checks import listed
from graphcb.commands.guardrail_facts import cost_of_rules
from graphcb.commands.options import Commands, add_command
from graphcb.commands.outputs import FORCE, Output, check_outputs, is_model
from graphcb.commands.packages import install, missing, need
from graphcb.commands.problem_facts import graph_of, problem_facts
from graphcb.commands.tables import print_table
from graphcb.experiments.model import Model
from graphcb.exploration import solve_dec
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.files import read_graph
from graphcb.graphs.numbers import Bounds
from graphcb.graphs.registry import recognise
from graphcb.problems import Learner, Problem
from graphcb.problems.learned import learned_facts
from graphcb.saving import load

OPTIONS = {
    "GRAPH ...": "a family and its size (inventory:20, or inventory 20), a file with a graph, a "
    "problem (.toml), or a model (.npz)",
    "--out --plot FILE": "where the picture goes, .png, .svg or .pdf (default: graph.png, where "
    "graphs can be drawn; graph-1.png, graph-2.png, ... for several)",
    "--no-picture": "print only",
    **FORCE,
    "--time-limit SECONDS=20": "for each graph number; bounds are printed when it runs out "
    "(default: %(default)g)",
}
MOST_TO_SOLVE = 500  # actions


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    text = "describe a graph, a problem or a model"
    add_command(commands, "inspect", text, _inspect, OPTIONS)


def _inspect(options: argparse.Namespace) -> None:
    models = [
        name for name in options.graphs if Path(name).suffix == ".npz" and is_model(Path(name))
    ]
    for name in models:
        print_table(name, model_facts(name))
    named = _named([name for name in options.graphs if name not in models])
    if not named:
        return
    pictures = _pictures(options, len(named))
    inputs = {name: name for name in named if Path(name).is_file()}
    check_outputs([Output("--out", path, "picture") for path in pictures], inputs,
                  force=options.force)  # fmt: skip
    problems = {name: Problem.read(name) for name in named if Path(name).suffix == ".toml"}
    graphs = [graph_of(problems[n]) if n in problems else read_graph(n) for n in named]
    for i, (name, graph) in enumerate(zip(named, graphs, strict=True)):
        problem = problems.get(name)
        names = None if problem is None else tuple(problem.actions)
        facts = [] if problem is None else problem_facts(problem)
        if graph is not None:
            facts += _facts(graph, options.time_limit, names)
            facts += [] if problem is None else cost_of_rules(problem)
        print_table(name, facts)
        if graph is None:
            known = problem is None or problem.informed
            when = "before a round comes" if known else "beforehand"
            print(f"no picture: there is no graph {when}")
        elif pictures:
            from graphcb.figures.curves import save
            from graphcb.figures.graph import draw_graph

            save(draw_graph(graph, problem.name or name if problem else name, names), pictures[i])
            print(f"picture: {pictures[i]}")
    if not pictures and not options.no_picture:
        print(f"no picture: it needs matplotlib and networkx: {install('matplotlib')}")


def _named(words: Sequence[str]) -> list[str]:
    """One text per graph; the size of a family may be a word of its own.

    >>> _named(["inventory", "20", "bandit:3"])
    ['inventory:20', 'bandit:3']
    """
    named: list[str] = []
    for word in words:
        is_size = word.replace(",", "").replace(".", "").isdigit()
        if named and is_size and ":" not in named[-1] and not Path(named[-1]).suffix:
            named[-1] += f":{word}"
        else:
            named.append(word)
    return named


def _pictures(options: argparse.Namespace, n_graphs: int) -> list[Path]:
    """Where the pictures go; nowhere if none is asked for and none can be drawn."""
    if options.out is not None:
        if options.no_picture:
            raise ValueError("`--out` must not be given with --no-picture")
        if n_graphs > 1:
            raise ValueError(f"`--out` must not be given with several graphs, got {n_graphs}")
        for package in ("matplotlib", "networkx"):
            need(package, "`--out`")
        return [options.out]
    if options.no_picture or missing("matplotlib") or missing("networkx"):
        return []
    if n_graphs == 1:
        return [Path("graph.png")]
    return [Path(f"graph-{i}.png") for i in range(1, n_graphs + 1)]


def _facts(
    graph: FeedbackGraph, time_limit: float, names: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """What is known of a graph; with the names of its actions it is that of a problem."""
    known = FeedbackGraph.from_structure(recognise(graph))
    caveat = "" if known.is_deterministic else " (as if every edge were certain)"
    facts = [] if names else [("actions", f"{known.n_actions:,}")]
    facts += [
        ("edges", f"{known.n_edges:,}"),
        ("family", "none of the named ones" if known.family == "edges" else repr(known)),
        ("edges are", "certain" if known.is_deterministic else "partly random"),
        ("self-aware", "yes" if known.is_self_aware else "no"),
        ("undirected", "yes" if known.is_undirected else "no"),
        ("observability", _observability(known, names)),
        ("independence number", _number(known.independence_number(time_limit=time_limit)) + caveat),
        (
            "  of the self-looped part",
            _number(known.self_looped_independence_number(time_limit=time_limit)) + caveat,
        ),
    ]
    if known.observability != "unobservable":
        domination = known.weak_domination_number(time_limit=time_limit)
        facts.append(("weak domination number", _number(domination) + caveat))
        if not known.is_deterministic:
            facts += _chance(known)
    explorer = InformationDirected() if names else SquareCBG()
    facts.append(("explored by", explorer.explain(known)))
    return facts


def _chance(graph: FeedbackGraph) -> list[tuple[str, str]]:
    """How hard a graph with random edges is, where the numbers above say too little."""
    if graph.observability == "strong":
        name, least = "independence number", graph.effective_independence_bound()
    else:
        name, least = "weak domination number", graph.effective_weak_domination_bound()
    facts = [(f"effective {name}", f"at most {least:,.4g} (divided by the chance of an edge)")]
    if graph.n_actions <= MOST_TO_SOLVE:
        value = solve_dec(np.zeros(graph.n_actions), graph, gamma=1.0).value
        facts.append(("gamma * DEC", f"{value:,.4g}, before anything is known, at any gamma"))
    return facts


def _observability(graph: FeedbackGraph, names: Sequence[str] | None) -> str:
    kind = graph.observability
    if kind == "strong":
        return "strong: each action reveals itself or is revealed by all others"
    if kind == "weak":
        reason = _some(graph.weakly_observable_actions.tolist(), names)
        return f"weak, because of {reason}: seen by some actions only, not itself"
    return f"unobservable: nothing reveals {_some(graph.unobservable_actions.tolist(), names)}"


def _some(actions: list[int], names: Sequence[str] | None) -> str:
    if names is not None:
        return listed((names[action] for action in actions), at_most=8)
    return f"action{'s' if len(actions) > 1 else ''} {listed(actions, at_most=8)}"


def _number(value: int | Bounds) -> str:
    if isinstance(value, Bounds):
        return f"between {value.lower:,} and {value.upper:,} (time ran out)"
    return f"{value:,}"


def model_facts(path: str) -> list[tuple[str, str]]:
    """What it has learned, from how much, and how good it was on the rows of `graphcb run`."""
    model: Any = load(path)
    if not hasattr(model, "act"):
        return [("oracle", repr(model))]
    facts = learned_facts(model)
    if isinstance(model, Learner) and model.progress is not None:
        facts.append((f"mean {model.problem.unit}", _progress(model)))
    return facts


def _progress(model: Learner) -> str:
    run = Model.from_learner(model, "the model")
    tally = run.tally
    text = f"{run.in_units(tally.total / max(tally.count, 1)):.6g} over {tally.count:,} rows"
    n = tally.count - tally.last_count
    if 0 < n < tally.count:
        lately = run.in_units((tally.total - tally.last_total) / n)
        text += f", {lately:.6g} in the last {n:,}"
    return text
