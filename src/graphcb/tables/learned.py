"""Learned targets: a saved `Learner` as a function of a row."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphcb.problems import Learner
from graphcb.rounds import would_play
from graphcb.saving import load
from graphcb.tables.asking import check_column


class SavedLearner:
    """What a saved learner would play in a row, as it is: it learns nothing from the table."""

    def __init__(self, path: Path, *, greedy: bool) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"`policy` must name a model that exists, got {str(path)!r}")
        learner = load(path)
        if not isinstance(learner, Learner) or not learner.problem.has_fixed_actions:
            raise ValueError(
                f"{path}: must contain a Learner whose problem names its actions, to be judged on "
                f"a table, got a {type(learner).__name__}"
            )
        self.learner = learner
        self.names: tuple[str, ...] = tuple(learner.problem.actions)
        self._agent = learner.greedy() if greedy else learner
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        self._described = f"SavedLearner({digest}, greedy={greedy})"

    def __repr__(self) -> str:
        return self._described

    def __call__(self, row: dict[str, Any]) -> dict[str, float]:
        """Probabilities by name."""
        shares = would_play(self._agent, row, self.learner.problem.graph, None)
        return dict(zip(self.names, shares.tolist(), strict=True))


def read_learned(
    policy: str, types: Mapping[str, Any], features: tuple[str, ...]
) -> tuple[SavedLearner, tuple[str, ...]]:
    """The model that a text names, as MODEL.npz or greedy:MODEL.npz, and the columns it sees."""
    is_greedy = policy.startswith("greedy:")
    model = SavedLearner(Path(policy.removeprefix("greedy:")), greedy=is_greedy)
    declared = model.learner.problem.features
    if declared is None:
        return model, features
    for name in declared:
        check_column(name, types, f"the model {policy} needs its features: the table")
    return model, tuple(declared)
