"""What `graphcb inspect` says of a problem, in its own words."""

import numpy as np

from graphcb.checks import listed
from graphcb.graph_oracles.sides import STORIES
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.problems.wording import guardrails_in_words

SHOWN = 12  # actions with a line of their own

Facts = list[tuple[str, str]]


def graph_of(problem: Problem) -> FeedbackGraph | None:
    """The graph that a problem is explored on, with what needs no feedback.

    None if there is none before a round comes, or it is unknown.
    """
    if not isinstance(problem.actions, tuple) or problem.reveals.each_round:
        return None
    return None if problem.reveals.unknown else problem.with_known(problem.graph, problem.actions)


def problem_facts(problem: Problem) -> Facts:
    """Its actions, what each reveals, its feedback and features, and what must hold."""
    better = "larger" if problem.feedback == "rewards" else "smaller"
    facts = [("name", problem.name)] if problem.name else []
    facts += [
        ("actions", _actions(problem)),
        ("feedback", f"{problem.feedback}{_range(problem)}; {better} is better"),
        ("features", _features(problem)),
    ]
    return facts + _reveals(problem) + list[tuple[str, str]](guardrails_in_words(problem))


def _actions(problem: Problem) -> str:
    if not isinstance(problem.actions, tuple):
        return "come with each round, with features or without"
    return f"{len(problem.actions):,}: {listed(problem.actions, at_most=SHOWN)}"


def _range(problem: Problem) -> str:
    if problem.range is None and problem.needs_range is None:
        return ", whose range is found as it comes"
    needed = "" if problem.range is not None else f", as {problem.needs_range} a range"
    low, high = problem.scale
    return f" from {low:g} to {high:g}{needed}"


def _features(problem: Problem) -> str:
    if problem.features is None:
        return "noted as they come"
    kinds = (
        f"{name} ({kind.replace('?', ', may be missing')})"
        for name, kind in problem.features.items()
    )
    return listed(kinds, at_most=40)


def _reveals(problem: Problem) -> Facts:
    unknown = problem.reveals.unknown
    if unknown:
        if isinstance(unknown, str):
            return [
                ("an action reveals", f"what a hidden price decides: {STORIES[unknown]}"),
                ("the price", "is learned; its levels are the actions, in their order"),
            ]
        return [("an action reveals", "nobody knows beforehand: it is learned")]
    if problem.reveals.each_round or not isinstance(problem.actions, tuple):
        family = problem.reveals.family
        rule = "what the graph of the round says" if family is None else f"as in {family}"
        return [("an action reveals", rule)]
    graph, facts = problem.graph, Facts()
    if not problem.informed:
        facts.append(("feedback", "may not come: how often it does is learned"))
    for action, name in enumerate(problem.actions[:SHOWN]):
        row = graph.row(action)
        seen = [
            problem.actions[i] + ("" if row[i] == 1.0 else f" ({row[i]:.3g} of the time)")
            for i in np.flatnonzero(row)
        ]
        everything = len(seen) == graph.n_actions and bool((row == 1.0).all())
        facts.append(
            (
                f"  {name} reveals",
                "everything" if everything else listed(seen) if seen else "nothing",
            )
        )
    more = graph.n_actions - SHOWN
    return facts + ([("  ...", f"and {more:,} more")] if more > 0 else [])
