"""What looks different to an agent, in the words of its problem."""

from typing import Any

from graphcb.estimates.stillness import Change
from graphcb.oracles import DefaultOracle
from graphcb.problems.guarded import explorer_of
from graphcb.problems.learner import Learner


def changes_of(agent: Any) -> list[Change]:
    """The actions and features that have looked different to an agent, the latest first.

    Actions are watched by a `DefaultOracle`, features by a `Learner`: there is nothing to say of
    any other. Decisions are counted from 1.

    >>> from graphcb import Learner, Problem
    >>> changes_of(Learner(Problem(["approve", "refuse"])))
    []
    """
    is_learner = isinstance(agent, Learner)
    oracle = getattr(explorer_of(agent.agent if is_learner else agent), "oracle", None)
    found = list(agent.watched.changes()) if is_learner else []
    if isinstance(oracle, DefaultOracle):
        found += oracle.watched.changes(agent.problem.actions if is_learner else None)
    return sorted(found, key=lambda change: (-change.raised, change.kind, change.name))


def is_watched(agent: Any) -> bool:
    """Whether an alarm could be raised at all."""
    is_learner = isinstance(agent, Learner)
    oracle = getattr(explorer_of(agent.agent if is_learner else agent), "oracle", None)
    return is_learner or isinstance(oracle, DefaultOracle)


def in_words(change: Change) -> str:
    """One sentence on a change.

    >>> in_words(Change("action", "approve", 4012, 4060, None, None, None, None, 0.0002))
    "losses of 'approve' have looked different since decision 4,012 (chance below 0.0002)"
    """
    what = "losses" if change.kind == "action" else "values"
    until = "" if change.over is None else f" to {change.over:,}"
    verb = "have looked" if change.over is None else "looked"
    since = "since" if change.over is None else "from"
    return (
        f"{what} of {change.name!r} {verb} different {since} decision {change.since:,}{until} "
        f"(chance below {_rounded_up(change.chance):g})"
    )


def _rounded_up(chance: float) -> float:
    """With one digit, never below it."""
    return float(f"{min(1.0, 1.5 * chance):.0e}") if chance > 0.0 else 0.0
