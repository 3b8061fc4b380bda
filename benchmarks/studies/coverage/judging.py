"""One log of a setting, judged at its end and at some looks on the way."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphcb.decisions import LoggedDecision
from graphcb.evaluation import Target, evaluate, logged
from graphcb.oracles import OnlineRidge
from studies.coverage.counting import Claim, Counts, claims
from studies.coverage.demo import judge_demo
from studies.coverage.logs import Log, new_log
from studies.coverage.programs import judge_program
from studies.coverage.tables import judge_table
from studies.coverage.worlds import N_KINDS, Floats, World, new_world

DECISIONS = 300

Settings = Mapping[str, Any]


def judge_world(settings: Settings, rng: np.random.Generator, looks: int, counts: Counts) -> int:
    """A log of a new world; the number of its decisions."""
    n_decisions = int(settings.get("decisions", DECISIONS))
    world = new_world(settings, rng)
    log = new_log(world, settings, n_decisions, rng)

    def look(n: int) -> list[Claim]:
        return claims_of(world, log, n, learns="policy" in settings)

    counts.add(look(n_decisions))
    if looks:
        counts.add_looks([look(n_decisions * (k + 1) // looks) for k in range(looks)])
    return n_decisions


def claims_of(world: World, log: Log, n: int, *, learns: bool) -> list[Claim]:
    """The truth of fixed policies is their mean over all contexts that could come.

    That of a policy which learns is the mean over the decisions of the log, with and without
    feedback, of what each was expected to lose: another log of it would have another mean.
    """
    rows = log.at(n)
    own = float(log.expected[:n].mean()) if learns else world.mean_loss(world.logging)
    target, close = world.mean_loss(world.target), world.mean_loss(world.close)
    oracle = OnlineRidge(world.graph.n_actions, N_KINDS)
    try:
        first = evaluate(rows, logged)
        other = evaluate(rows, by_kind(world.target), against=by_kind(world.close), oracle=oracle)
    except ValueError:  # too early: no decision has complete feedback
        return []
    return [
        *claims("logged", first, own),
        *claims("another", other, target),
        Claim("difference", "with the graph", other.difference, target - close),
    ]


def by_kind(policy: Floats) -> Target:
    """A policy that knows the kind of a context."""

    def target(row: LoggedDecision) -> Floats:
        return np.asarray(policy[int(row.context.argmax())])

    return target


JUDGES: dict[str, Callable[..., int]] = {
    "world": judge_world,
    "program": judge_program,
    "demo": judge_demo,
    "table": judge_table,
}
