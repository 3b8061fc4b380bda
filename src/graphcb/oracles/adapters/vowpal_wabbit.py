"""Vowpal Wabbit's regressor, with the exploration left to graphcb."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.checks import DivergenceError, as_count
from graphcb.describing import describe
from graphcb.loaded import check_counts, check_kind
from graphcb.oracles.rows import Floats, as_columns, as_row, as_seen, check_finite

LARGEST_SINGLE = 1e15  # VW calculates in single precision, where 1e20 squared is infinite


class VowpalWabbit:
    """A Vowpal Wabbit regression model in which each action has its own namespace.

    Needs the extra `vw`. `arguments` are those of its command line for a plain regressor, such as
    "--learning_rate 0.5 --bit_precision 22"; exploration reductions do not belong there. The
    actions share nothing, not even VW's constant: add a constant feature if you need one.

    >>> oracle = VowpalWabbit(2, 3, arguments="--learning_rate 0.5")
    >>> oracle.predict([1.0, 0.0, 2.0])
    array([0., 0.])
    """

    read_by = "Vowpal Wabbit"  # so `graphcb.load` builds one only if it is asked to

    def __init__(self, n_actions: int, n_features: int, *, arguments: str = "") -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.n_features = as_count("n_features", n_features)
        self.arguments = arguments
        self.workspace = _open(arguments)

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """Predicted losses of these actions (numbers), of all for None."""
        features = self._features(context)
        columns = as_columns(actions, self.n_actions)
        found = [self.workspace.predict(f"|a{c} {features}") for c in columns]
        predicted = np.array(found, dtype=np.float64)
        if not np.isfinite(predicted).all():
            raise DivergenceError(
                "the predictions are no longer finite; lower the learning rate in `arguments`"
            )
        return predicted

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One example for each revealed action."""
        features, columns, seen = self._examples(context, actions, losses)
        for column, loss in zip(columns, seen.tolist(), strict=True):
            self.workspace.learn(f"{loss} |a{column} {features}")

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        self._examples(context, actions, losses)

    __repr__ = describe

    def _examples(self, context: Any, actions: Any, losses: Any) -> tuple[str, Any, Floats]:
        features = self._features(context)
        columns, seen = as_seen(actions, losses, self.n_actions)
        _check_single("losses", seen)
        return features, columns, seen

    def _features(self, context: Any) -> str:
        indices, values = as_row(context, self.n_features)
        check_finite(indices, values)
        _check_single("context", values)
        pairs = zip(indices.tolist(), values.tolist(), strict=True)
        return " ".join(f"{index}:{value}" for index, value in pairs)

    def __getstate__(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model"
            self.workspace.save(str(file))
            model = np.frombuffer(file.read_bytes(), dtype=np.uint8)
        return {
            "n_actions": self.n_actions,
            "n_features": self.n_features,
            "arguments": self.arguments,
            "model": model,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.n_actions = state["n_actions"]
        self.n_features = state["n_features"]
        self.arguments = state["arguments"]
        check_counts(self, n_actions=1, n_features=1)
        check_kind(self, "arguments", str)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model"
            file.write_bytes(state["model"].tobytes())
            self.workspace = _open(f"--initial_regressor {file}")


def _check_single(name: str, values: Floats) -> None:
    """Refuse numbers whose squares are infinite in single precision."""
    wrong = np.flatnonzero(np.abs(values) > LARGEST_SINGLE)
    if wrong.size:
        raise ValueError(
            f"`{name}` must be at most {LARGEST_SINGLE:g} in size for Vowpal Wabbit, got "
            f"{values[wrong[0]]} at position {wrong[0]}; scale it down"
        )


def _open(arguments: str) -> Any:
    from vowpalwabbit import Workspace

    return Workspace(f"--quiet --noconstant {arguments}")
