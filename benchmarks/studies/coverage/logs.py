"""Logs of a world in memory, with feedback that comes at once, late, in part, or never."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from graphcb.decisions import LoggedDecision, LoggedFeedback
from graphcb.rounds import action_at
from studies.coverage.worlds import CONTEXTS, N_KINDS, Floats, World, new_agent

WAITING = 20  # decisions until a default takes the place of feedback


class Come(NamedTuple):
    """A part of a feedback, and the number of decisions that were made when it came."""

    at: int
    part: LoggedFeedback


class Log(NamedTuple):
    """Decisions without their feedback, and all feedback that ever comes, by decision.

    `expected` is the mean loss that the policy of the log has in each decision, (n,).
    """

    rows: list[LoggedDecision]
    come: list[list[Come]]
    expected: Floats

    def at(self, n: int) -> list[LoggedDecision]:
        """The log as it was after `n` decisions."""
        return [
            row._replace(feedback=_together([one.part for one in come if one.at <= n]))
            for row, come in zip(self.rows[:n], self.come[:n], strict=True)
        ]


def new_log(
    world: World, settings: Mapping[str, Any], n_decisions: int, rng: np.random.Generator
) -> Log:
    """A log of the policy that the settings name, with feedback as they say."""
    n_actions = world.graph.n_actions
    name = settings.get("policy", "fixed")
    agent = None if name == "fixed" else new_agent(name, n_actions)
    kinds = rng.integers(N_KINDS, size=n_decisions)
    losses = (rng.random((n_decisions, n_actions)) < world.means[kinds]).astype(np.float64)
    rows, come, expected = [], [], np.zeros(n_decisions)
    waiting: dict[int, list[int]] = {}
    form = settings.get("feedback", "at once")
    seconds = float(WAITING) if form == "defaults" else None
    for t, kind in enumerate(kinds.tolist()):
        context = CONTEXTS[kind]
        p = world.logging[kind] if agent is None else agent.act(context, world.graph)
        action = action_at(rng.random(), p, n_actions)
        rows.append(
            LoggedDecision(
                t + 1, f"d{t}", float(t), context, world.graph, None, action, action, p, None, 0,
                None, waiting=seconds,
            )
        )  # fmt: skip
        expected[t] = p @ world.means[kind]
        shown = world.graph.draw_revealed(action, rng)
        parts = _feedback(form, t, n_decisions, action, shown, losses[t], rng)
        come.append(parts)
        if agent is not None:
            for one in parts:
                waiting.setdefault(max(one.at, t + 1), []).append(t)
            for place in waiting.pop(t + 1, ()):
                seen = come[place][-1].part
                agent.learn(rows[place].context, seen.action_indices, seen.losses)
    return Log(rows, come, expected)


def _feedback(
    form: str,
    t: int,
    n: int,
    action: int,
    shown: Any,
    losses: Floats,
    rng: np.random.Generator,
) -> list[Come]:
    """What comes back for decision `t` of `n`, and when."""
    if not shown.size:
        return []
    at = t + 1
    if form == "late":  # half of it is pending at the end
        at += int(rng.integers(n + 1))
    elif form == "by action" and action == len(losses) - 1 and rng.random() < 0.5:
        return []
    elif form == "in part":
        shown = shown[rng.random(shown.size) < 0.7]
        if not shown.size:
            return []
    elif form == "defaults" and losses[action] == 1.0:
        # A loss of 1 is nothing that anybody reports: it is the default after waiting.
        default = _part(t + WAITING, np.array([action]), losses)._replace(is_default=True)
        return [Come(t + WAITING, default)]
    return [Come(at, _part(at, shown, losses))]


def _part(at: int, shown: Any, losses: Floats) -> LoggedFeedback:
    return LoggedFeedback(at, float(at), shown, shown, losses[shown])


def _together(parts: list[LoggedFeedback]) -> LoggedFeedback | None:
    return parts[-1] if parts else None
