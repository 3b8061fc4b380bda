"""Learners of other packages as agents, for streams with bandit feedback.

Each learns from the loss of the action played, and from its probability. Rewards are 1 - loss.
Those that draw the action themselves put all probability on it.
"""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.graphs import FeedbackGraph

Floats = NDArray[np.float64]

WIDE = 10_000  # features from which Vowpal Wabbit gets a larger table of weights
BITS = 22


def installed(package: str) -> str | None:
    """The package with its version; None if it is not installed.

    >>> installed("numpy").split()[0]
    'numpy'
    """
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return None


def as_pair(context: Any) -> tuple[list[int], list[float]]:
    """Indices and values of a dense row or a sparse pair."""
    if isinstance(context, tuple):
        return context[0].tolist(), context[1].tolist()
    return list(range(len(context))), context.tolist()


def all_on(action: int, n_actions: int) -> Floats:
    """All probability on one action."""
    probabilities = np.zeros(n_actions)
    probabilities[action] = 1.0
    return probabilities


class VowpalWabbitPeer:
    """Vowpal Wabbit with `--cb_explore` and an exploration of its own."""

    def __init__(self, options: str, n_actions: int, n_features: int, seed: int) -> None:
        from vowpalwabbit import Workspace

        bits = f"--bit_precision {BITS} " if n_features > WIDE else ""
        self.workspace = Workspace(
            f"--quiet --cb_explore {n_actions} {bits}--random_seed {seed} {options}"
        )
        self.probabilities = np.empty(0)
        self.text = ""

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """Its probabilities, which are in single precision."""
        # Features need names: a number would be taken for an address, next to another action's.
        pairs = zip(*as_pair(context), strict=True)
        self.text = " ".join(f"f{i}:{value:.6g}" for i, value in pairs)
        answer = np.array(self.workspace.predict(f"| {self.text}"), dtype=np.float64)
        self.probabilities = answer / answer.sum()
        return self.probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """The loss of the action played."""
        for action, loss in zip(actions, losses, strict=True):
            label = f"{action + 1}:{loss}:{self.probabilities[action]}"
            self.workspace.learn(f"{label} | {self.text}")


class CobaPeer:
    """A learner of coba; actions are one-hot vectors."""

    def __init__(self, learner: Any, n_actions: int, *, is_dense: bool) -> None:
        self.learner = learner
        self.actions = [tuple(row) for row in np.eye(n_actions).tolist()]
        self.is_dense = is_dense
        self.context: Any = None
        self.probability = 1.0
        self.told: dict[str, Any] = {}  # what the learner wants back when it learns

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """The action that it drew."""
        indices, values = as_pair(context)
        named = {str(i): value for i, value in zip(indices, values, strict=True)}
        self.context = tuple(values) if self.is_dense else named
        action, self.probability, *more = self.learner.predict(self.context, self.actions)
        self.told = more[0] if more else {}
        return all_on(self.actions.index(action), len(self.actions))

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """The loss of the action played."""
        for action, loss in zip(actions, losses, strict=True):
            drawn, reward = self.actions[action], 1.0 - float(loss)
            self.learner.learn(self.context, drawn, reward, self.probability, **self.told)


class MabwiserPeer:
    """A contextual policy of mabwiser, for contexts that are dense rows."""

    def __init__(self, policy: Any, n_actions: int, n_features: int, seed: int) -> None:
        from mabwiser.mab import MAB

        self.n_actions = n_actions
        self.learner = MAB(list(range(n_actions)), policy, seed=seed)
        # It predicts only after a first fit: a row of zeros teaches linear policies nothing.
        self.learner.fit(np.array([0]), np.array([0.0]), np.zeros((1, n_features)))
        self.row = np.zeros((1, n_features))

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """The action that it chose."""
        indices, values = as_pair(context)
        self.row = np.zeros_like(self.row)
        self.row[0, indices] = values
        return all_on(int(self.learner.predict(self.row)), self.n_actions)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """The loss of the action played."""
        for action, loss in zip(actions, losses, strict=True):
            reward = 1.0 - float(loss)
            self.learner.partial_fit(np.array([int(action)]), np.array([reward]), self.row)


class RiverPeer:
    """A contextual policy of river."""

    def __init__(self, policy: Any, n_actions: int) -> None:
        self.policy = policy
        self.n_actions = n_actions
        self.context: dict[int, float] = {}

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        """The action that it chose."""
        self.context = dict(zip(*as_pair(context), strict=True))
        chosen = self.policy.pull(list(range(self.n_actions)), context=self.context)
        return all_on(int(chosen), self.n_actions)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """The loss of the action played."""
        for action, loss in zip(actions, losses, strict=True):
            self.policy.update(int(action), self.context, 1.0 - float(loss))
