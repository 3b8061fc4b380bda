"""A learner that has learned what the imported decisions of a log show.

It is taught the revealed outcomes, decision by decision in the order of the log, and nothing
else: the probabilities by which actions were drawn do not weigh them (docs/decisions, 0040), and
limits, budgets and baselines count from its own first decision.
"""

import copy
from typing import Any

import numpy as np

from graphcb.agents import Agent
from graphcb.checks import listed
from graphcb.decisions import records
from graphcb.decisions.parts import merge, read_decision
from graphcb.decisions.start import first_agent
from graphcb.decisions.writer import Pending
from graphcb.problems import Learner, Problem, problem_of
from graphcb.rounds.identifiers import pick


def warm_start(
    pending: Pending, problem: Problem | None, agent: Agent | None
) -> tuple[Learner, list[str]]:
    """A learner for the problem, that of the log if left out, and what it has learned from."""
    then = pending.versions.last.problem
    wanted = problem or problem_of(agent) or then
    if wanted is None or then is None:
        raise ValueError("`problem` must be given to continue imported decisions")
    check_fits(then, wanted)
    if problem_of(agent) is None:
        learner = Learner(wanted, agent)
    else:
        first_agent(agent, wanted)  # refuses a learner for another problem
        learner = copy.deepcopy(agent)  # type: ignore[assignment]
    n_learned = n_silent = 0
    rows = records.read_pairs(pending.storage, pending.state.position, pending.start.position)
    for row, parts in rows:
        location = pending.storage.location
        graph = pending.graphs.read(row.graph)
        context, actions = read_decision(row, graph, location)
        known = merge(parts, graph, location)
        if not known:
            n_silent += 1
            continue
        offered = list(actions) if wanted.has_fixed_actions and actions is not None else actions
        revealed = pick(offered, np.array(list(known), dtype=np.int64))
        try:
            learner.update(context, revealed, [one.loss for one in known.values()])
        except (ValueError, TypeError, LookupError) as reason:
            raise ValueError(
                f"`problem` must fit the imported decisions: event {row.position}: {reason}"
            ) from None
        n_learned += 1
    return learner, _sentences(learner, n_learned, n_silent)


def check_fits(imported: Problem, problem: Problem) -> None:
    """Refuse a problem that imported decisions cannot teach."""
    if imported.feedback != problem.feedback:
        raise ValueError(
            f"`problem` must have the {imported.feedback} of the imported decisions, got "
            f"{problem.feedback}"
        )
    if not isinstance(problem.actions, tuple):
        return
    if not isinstance(imported.actions, tuple):
        raise ValueError(
            '`problem` must have actions = "each round", as the imported decisions were made '
            f"among actions of their own, got {listed(problem.actions)}"
        )
    lacking = [name for name in imported.actions if name not in problem.actions]
    if lacking:
        raise ValueError(
            "`problem` must have all actions of the imported decisions, got "
            f"{listed(problem.actions)} without {listed(map(repr, lacking))}"
        )


def _sentences(learner: Learner, n_learned: int, n_silent: int) -> list[str]:
    said = [f"learned from {n_learned:,} imported decisions"]
    if n_silent:
        said.append(f"{n_silent:,} imported decisions have no outcome yet")
    if not learner.informed:
        said.append("what actions reveal starts unknown: imported outcomes do not tell it")
    problem: Any = learner.problem
    if problem.budgets:
        said.append("budgets begin with nothing spent")
    if problem.baseline is not None:
        said.append("nothing is proven against the baseline yet")
    return said
