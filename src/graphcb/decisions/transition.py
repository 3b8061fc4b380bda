"""One step of a policy: from a state and a round to a decision, from feedback to the next state.

Live decisions and replayed ones go through the same functions, so they agree bit for bit.
"""

import copy
import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent, Played, act_on, gamma_of, hook, learn_from
from graphcb.checks import as_numbers
from graphcb.decisions.identifiers import pick
from graphcb.graphs import FeedbackGraph
from graphcb.sampling import action_at


@dataclass(frozen=True)
class PolicyState:
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
    """The probabilities of a round, the index drawn from them, and the state afterwards."""

    probabilities: NDArray[np.float64]
    action_index: int
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
    logged: tuple[NDArray[np.float64], int] | None = None,
) -> Drawn:
    """The next decision, made at this time by a number in [0, 1); `state` itself does not change.

    `logged` are the probabilities and the index that the log has: the agent settles what was
    played, even where a replay comes out differently.
    """
    probabilities, gamma, agent = answer(state.agent, context, graph, actions, seconds=seconds)
    position = state.position + 1
    index = action_at(uniform, probabilities, graph.n_actions)
    settle = hook(agent, "settle")
    if settle is not None:
        settle(Played(context, graph, actions, *(logged or (probabilities, index))))
    after = PolicyState(agent, position, state.n_feedbacks, state.version)
    return Drawn(probabilities, index, gamma, after)


def pass_by(state: PolicyState, seconds: float, played: Played, version: int) -> PolicyState:
    """The state after a decision that was made elsewhere, with an earlier state of this version.

    The agent goes through the round as if it had decided, so that its counters and budgets go on.
    A round of another version, or one that it would refuse, changes nothing in it.
    """
    after = replace(state, position=state.position + 1)
    if version == state.version:
        logged = played.probabilities, played.action
        with suppress(ValueError, TypeError, LookupError):
            after = draw(state, 0.0, seconds, *played[:3], logged=logged).after
    return after


def learn(
    state: PolicyState, played: Played, indices: NDArray[np.int64], losses: NDArray[np.float64]
) -> PolicyState:
    """The state after one more feedback; its agent learns in place."""
    judge = hook(state.agent, "judge")
    if judge is not None:
        judge(played, indices, losses)
    learn_from(state.agent, played, pick(played.actions, indices), losses)
    return after_feedback(state)


def after_feedback(state: PolicyState) -> PolicyState:
    """The counts of the state after one more feedback."""
    return PolicyState(state.agent, state.position + 1, state.n_feedbacks + 1, state.version)


def answer(
    agent: Agent,
    context: Any,
    graph: FeedbackGraph,
    actions: Any,
    *,
    seconds: float | None = None,
) -> tuple[NDArray[np.float64], float | None, Agent]:
    """Probabilities of a round, their gamma, and the agent after it; `agent` does not change.

    A round changes an agent's counters and its schedule. Its oracle, which may be large, is only
    read, and so it is shared. Without `seconds`, it is as late as in the agent's last round.
    """
    after: Agent = copy.copy(agent)
    at_time = hook(after, "at_time")
    if at_time is not None and seconds is not None:
        at_time(seconds)
    probabilities = as_numbers("probabilities", act_on(after, context, graph, actions))
    return probabilities, gamma_of(after), after


def uniform_at(seed: int, position: int) -> float:
    """A number in [0, 1) for one event of one log: 53 bits of a BLAKE2b hash keyed by the seed.

    The same decision is drawn again after a restart, and no generator's state has to be kept.
    """
    return _uniform(seed, position.to_bytes(8, "little"))


def uniform_of(seed: int, token: str) -> float:
    """The same for a decision that has a token, but no number yet."""
    return _uniform(seed, b"token " + token.encode())


def _uniform(seed: int, content: bytes) -> float:
    key = seed.to_bytes(8, "little")
    digest = hashlib.blake2b(content, key=key, digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53
