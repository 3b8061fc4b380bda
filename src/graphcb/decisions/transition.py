"""One step of a policy: a round or its feedback, and the state that follows.

Live decisions and replayed ones go through the same functions, so they agree bit for bit.
"""

import copy
import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph
from graphcb.rounds import (
    Agent,
    Played,
    gamma_of,
    learn_revealed,
    play_round,
    tell_if_nothing_comes,
)
from graphcb.rounds.identifiers import pick


class PolicyState(NamedTuple):
    """The agent after event number `position` of a log; `version` counts from 1."""

    agent: Agent
    position: int = 0
    n_feedbacks: int = 0
    version: int = 1

    @property
    def n_decisions(self) -> int:
        """The number of decisions so far."""
        return self.position - self.n_feedbacks - (self.version - 1)


class Drawn(NamedTuple):
    """A round that was played, its gamma if there is one, and the state afterwards."""

    played: Played
    gamma: float | None
    after: PolicyState


def draw(
    state: PolicyState,
    uniform: float,
    seconds: float,
    context: Any,
    graph: FeedbackGraph,
    actions: Any,
    *,
    logged: Played | None = None,
) -> Drawn:
    """The next decision, made at this time by a number in [0, 1); `state` itself does not change.

    A round changes an agent's counters and its schedule. Its oracle, which may be large, is only
    read, and so it is shared. `logged` as in `play_round`.
    """
    agent: Agent = copy.copy(state.agent)
    played = play_round(agent, context, graph, actions, uniform, seconds=seconds, logged=logged)
    tell_if_nothing_comes(agent, logged or played)
    after = PolicyState(agent, state.position + 1, state.n_feedbacks, state.version)
    return Drawn(played, gamma_of(agent), after)


class Passed(NamedTuple):
    """A decision that was made elsewhere: when, by which version, and what was played."""

    seconds: float
    version: int
    played: Played


def pass_by(state: PolicyState, decisions: Iterable[Passed]) -> PolicyState:
    """The state after decisions that were made elsewhere, with earlier states of this version.

    The agent goes on to its next round, so that its counters and budgets do. Nothing is decided
    again unless it needs that: decisions are checked where a log is verified. A round of another
    version, or one that it would refuse, changes nothing in it.
    """
    agent: Any = copy.copy(state.agent)
    position = state.position
    for seconds, version, played in decisions:
        position += 1
        if version != state.version:
            continue
        try:
            passed = getattr(agent, "passed", None)
            if passed is not None and passed(played):
                tell_if_nothing_comes(agent, played)
            else:
                now = state._replace(agent=agent)
                round_ = played.context, played.graph, played.actions
                agent = draw(now, 0.0, seconds, *round_, logged=played).after.agent
        except (ValueError, TypeError, LookupError):  # it was refused
            continue
    return state._replace(agent=agent, position=position)


def learn(
    state: PolicyState, played: Played, indices: NDArray[np.int64], losses: NDArray[np.float64]
) -> PolicyState:
    """The state after one more feedback; its agent learns in place."""
    revealed = pick(played.actions, indices)
    learn_revealed(state.agent, played, revealed, losses, indices=indices)
    return after_feedback(state)


def after_feedback(state: PolicyState) -> PolicyState:
    """The counts of the state after one more feedback."""
    return PolicyState(state.agent, state.position + 1, state.n_feedbacks + 1, state.version)


def uniform_at(seed: int, position: int) -> float:
    """A number in [0, 1) for one event of one log: 53 bits of a BLAKE2b hash keyed by the seed.

    The same decision is drawn again after a restart, and no generator's state has to be kept.
    """
    return _uniform(seed, position.to_bytes(8, "little"))


def uniform_of(seed: int, token: str) -> float:
    """The same for a decision that has a token, but no number yet."""
    return _uniform(seed, b"token " + token.encode())


def _uniform(seed: int, content: bytes) -> float:
    hashed = _keyed(seed).copy()
    hashed.update(content)
    return (int.from_bytes(hashed.digest(), "little") >> 11) * 2.0**-53


@lru_cache(maxsize=16)
def _keyed(seed: int) -> "hashlib.blake2b":
    return hashlib.blake2b(key=seed.to_bytes(8, "little"), digest_size=8)
