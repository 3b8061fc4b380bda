"""The role of an oracle."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


class Oracle(Protocol):
    """An online regressor: predicts the loss of each action and learns from the revealed ones.

    `actions` are identifiers in the oracle's own terms: column numbers for a model with one
    output per action, stock levels for a model that knows what a level costs.
    """

    def predict(self, context: Any, actions: Any) -> NDArray[np.float64]:
        """One predicted loss per action; None stands for all actions."""
        ...

    def update(self, context: Any, actions: Any, losses: NDArray[np.float64]) -> None:
        """Learn the losses seen for these actions; there may be none."""
        ...


class Forecast(NamedTuple):
    """Predicted losses and how sure an oracle is of them: arrays (n,), one entry per action.

    `span` is the width of the range in which losses lie, and `low` its lower end. `bound` is the
    width of the range declared, which losses may yet fill if it is larger; 0 if there is none.
    """

    losses: NDArray[np.float64]
    deviations: NDArray[np.float64]  # standard deviation of each expected loss
    gains: NDArray[np.float64]  # information that seeing a loss would give, in nats
    counts: NDArray[np.float64]  # losses seen of each action
    span: float
    low: float = 0.0
    bound: float = 0.0


@runtime_checkable
class ForecastingOracle(Protocol):
    """An oracle that says how sure it is, as `InformationDirected` needs."""

    def predict(self, context: Any, actions: Any) -> NDArray[np.float64]:
        """As in `Oracle`."""
        ...

    def update(self, context: Any, actions: Any, losses: NDArray[np.float64]) -> None:
        """As in `Oracle`."""
        ...

    def forecast(self, context: Any, actions: Any) -> Forecast:
        """Predicted losses with their uncertainty; None stands for all actions."""
        ...


def as_oracle(oracle: Any, *, name: str = "oracle") -> Oracle:
    """An object with `predict` and `update`; a class is not one yet."""
    if isinstance(oracle, type):
        raise TypeError(
            f"`{name}` must be an oracle, got the class {oracle.__name__}; "
            f"make one first: {oracle.__name__}(...)"
        )
    lacking = [role for role in ("predict", "update") if not callable(getattr(oracle, role, None))]
    if lacking:
        raise TypeError(
            f"`{name}` must have the methods predict and update, such as "
            f"oracles.LogisticOGD(n_actions, n_features), got {type(oracle).__name__} "
            f"without {' and '.join(lacking)}"
        )
    checked: Oracle = oracle
    return checked
