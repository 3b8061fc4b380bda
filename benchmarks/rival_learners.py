"""Contextual learners of other packages behind one interface, for benchmarks/learning.py."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphcb import FeedbackGraph

Floats = NDArray[np.float64]


class Learner(Protocol):
    """What a rival must do."""

    def prepare(self, context: Any) -> Any:
        """The context (indices, values) in the learner's own format."""

    def act(self, context: Any) -> Floats | tuple[int, float]:
        """Probabilities, or an action that it drew and its probability."""

    def learn(
        self, context: Any, action: int, probability: float, seen: Mapping[int, float]
    ) -> None:
        """What was revealed: loss by action."""


def as_text(context: Any) -> str:
    """Features with names: Vowpal Wabbit takes a number for an address, one away from the next.

    Its `--cb_explore` then lays the weights of one action over those of another.
    """
    indices, values = context
    return " ".join(f"f{i}:{v:.6g}" for i, v in zip(indices.tolist(), values.tolist(), strict=True))


def read_setting(setting: str) -> tuple[float, str]:
    """What is taken from every loss, and the options."""
    cost, _, options = setting.partition("; ")
    return (1.0 if cost == "loss - 1" else 0.0), options


class VowpalWabbitLearner:
    """`--cb_explore K` with an exploration of its own, each action with weights of its own.

    What an action reveals beside its own loss is learned as if that action had been drawn with
    the probability of being revealed. A setting is "loss; OPTIONS" or "loss - 1; OPTIONS": what is
    not known yet is predicted as 0, the best loss or the worst.
    """

    def __init__(self, setting: str, n_actions: int, n_features: int, seed: int) -> None:
        from vowpalwabbit import Workspace

        self.shift, options = read_setting(setting)
        bits = "--bit_precision 22 " if n_features > 10_000 else ""
        self.workspace = Workspace(
            f"--quiet --cb_explore {n_actions} {bits}--random_seed {seed} {options}"
        )

    def prepare(self, context: Any) -> str:
        return as_text(context)

    def act(self, context: str) -> Floats:
        return np.array(self.workspace.predict(f"| {context}"))

    def learn(
        self, context: str, action: int, probability: float, seen: Mapping[int, float]
    ) -> None:
        for revealed, loss in seen.items():
            self.workspace.learn(f"{revealed + 1}:{loss - self.shift}:{probability} | {context}")


class VowpalWabbitGraph:
    """`--cb_explore_adf --graph_feedback`; its graph is row revealed, column played."""

    def __init__(
        self, graph: FeedbackGraph, setting: str, n_actions: int, n_features: int, seed: int
    ) -> None:
        from vowpalwabbit import Workspace

        self.shift, options = read_setting(setting)
        matrix, actions = graph.matrix, range(n_actions)
        self.n_actions = n_actions
        self.shared = "shared graph " + " ".join(
            f"{j},{i},{matrix[i, j]:g}" for i in actions for j in actions
        )
        self.workspace = Workspace(
            f"--quiet --cb_explore_adf --graph_feedback --random_seed {seed} {options}"
        )

    def prepare(self, context: Any) -> list[str]:
        text = as_text(context)
        return [f"{self.shared} | ", *(f"|a{action} {text}" for action in range(self.n_actions))]

    def act(self, context: list[str]) -> Floats:
        return np.array(self.workspace.predict(context))

    def learn(
        self, context: list[str], action: int, probability: float, seen: Mapping[int, float]
    ) -> None:
        lines = list(context)
        for revealed, loss in seen.items():
            lines[1 + revealed] = (
                f"{action}:{loss - self.shift}:{probability} {lines[1 + revealed]}"
            )
        if seen:
            self.workspace.learn(lines)


class CobaLearner:
    """A learner of coba by its setting; rewards are 1 - loss, actions are one-hot vectors."""

    def __init__(self, setting: str, n_actions: int, n_features: int, seed: int) -> None:
        from coba import learners

        words = setting.replace(",", "").split()
        if words[0] == "linucb":
            self.learner: Any = learners.LinUCBLearner(float(words[2]), features=["ax"], seed=seed)
        elif words[0] == "squarecb":
            self.learner = learners.VowpalSquarecbLearner(
                gamma_scale=float(words[2]), features=("ax",), seed=seed,
                learning_rate=float(words[4]), bit_precision=22,
            )  # fmt: skip
        else:
            self.learner = learners.VowpalEpsilonLearner(
                float(words[1]), features=("ax",), seed=seed,
                learning_rate=float(words[3]), bit_precision=22,
            )  # fmt: skip
        self.told: dict[str, Any] = {}
        self.n_features = n_features
        self.is_dense = words[0] == "linucb"
        self.actions = [tuple(row) for row in np.eye(n_actions).tolist()]

    def prepare(self, context: Any) -> Any:
        indices, values = context
        if not self.is_dense:
            return {str(i): v for i, v in zip(indices.tolist(), values.tolist(), strict=True)}
        dense = np.zeros(self.n_features)
        dense[indices] = values
        return tuple(dense.tolist())

    def act(self, context: Any) -> tuple[int, float]:
        action, probability, *more = self.learner.predict(context, self.actions)
        self.told = more[0] if more else {}  # what the learner wants back when it learns
        return self.actions.index(action), float(probability)

    def learn(
        self, context: Any, action: int, probability: float, seen: Mapping[int, float]
    ) -> None:
        for revealed, loss in seen.items():
            drawn = self.actions[revealed]
            self.learner.learn(context, drawn, 1.0 - loss, probability, **self.told)


class RiverLearner:
    """river's LinUCBDisjoint."""

    def __init__(self, setting: str, n_actions: int, n_features: int, seed: int) -> None:
        from river.bandit import LinUCBDisjoint

        words = setting.replace(",", "").split()
        self.policy = LinUCBDisjoint(alpha=float(words[1]), beta=float(words[3]), seed=seed)
        self.actions = list(range(n_actions))

    def prepare(self, context: Any) -> dict[int, float]:
        indices, values = context
        return dict(zip(indices.tolist(), values.tolist(), strict=True))

    def act(self, context: dict[int, float]) -> tuple[int, float]:
        return int(self.policy.pull(self.actions, context=context)), 1.0

    def learn(
        self, context: dict[int, float], action: int, probability: float, seen: Mapping[int, float]
    ) -> None:
        for revealed, loss in seen.items():
            self.policy.update(revealed, context, 1.0 - loss)
