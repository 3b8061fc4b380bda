"""Any scikit-learn regressor that learns in steps."""

import copy
from typing import Any

import numpy as np

from graphcb.checks import DivergenceError, as_count
from graphcb.describing import describe
from graphcb.loaded import check_array, check_counts, check_kind, check_numbers
from graphcb.oracles.rows import Floats, as_columns, as_row, as_seen, check_finite


class SklearnRegressor:
    """One copy of a regressor with `partial_fit` for each action.

    Needs the extra `sklearn`. An action that was never revealed is predicted as `start`. Contexts
    as in `LogisticOGD`; they reach the regressor as dense rows, or as CSR rows if `sparse`.

    >>> from sklearn.linear_model import SGDRegressor
    >>> oracle = SklearnRegressor(SGDRegressor(random_state=0), n_actions=2, n_features=3)
    >>> oracle.predict([1.0, 0.0, 2.0])
    array([0., 0.])
    """

    def __init__(
        self,
        regressor: Any,
        n_actions: int,
        n_features: int,
        *,
        start: float = 0.0,
        sparse: bool = False,
    ) -> None:
        if not (hasattr(regressor, "partial_fit") and hasattr(regressor, "predict")):
            raise TypeError(
                "`regressor` must have partial_fit and predict, as SGDRegressor has, "
                f"got {type(regressor).__name__}"
            )
        from sklearn.base import clone

        self.n_actions = as_count("n_actions", n_actions)
        self.n_features = as_count("n_features", n_features)
        self.start = float(start)
        self.sparse = sparse
        self.regressors = [clone(regressor) for _ in range(self.n_actions)]
        self.fitted = np.zeros(self.n_actions, dtype=np.bool_)

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """Predicted losses of these actions (numbers), of all for None."""
        row = self._row(context)
        columns = as_columns(actions, self.n_actions)
        predicted = np.array([self._predict_one(row, column) for column in columns])
        if not np.isfinite(predicted).all():
            raise DivergenceError("the predictions are no longer finite; scale the contexts down")
        return predicted

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One `partial_fit` for each revealed action."""
        for column, regressor in self._learned(context, actions, losses):
            self.regressors[column] = regressor
            self.fitted[column] = True

    def check_update(self, context: Any, actions: Any, losses: Any) -> None:
        """Raise what `update` would raise; nothing changes."""
        self._learned(context, actions, losses)

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        check_counts(self, n_actions=1, n_features=1)
        check_numbers(self, "start")
        check_kind(self, "sparse", bool)
        check_kind(self, "regressors", list)
        check_array(self, "fitted", (len(self.regressors),), dtype=np.bool_)
        if len(self.regressors) != self.n_actions:
            raise ValueError(f"there must be {self.n_actions} regressors")
        if not all(hasattr(r, "partial_fit") and hasattr(r, "predict") for r in self.regressors):
            raise ValueError("the regressors must have partial_fit and predict")

    def __repr__(self) -> str:
        return describe(self, regressor=self.regressors[0])

    def _learned(self, context: Any, actions: Any, losses: Any) -> list[tuple[int, Any]]:
        """Copies that have learned: a regressor may refuse, or diverge, after it has changed."""
        row = self._row(context)
        columns, seen = as_seen(actions, losses, self.n_actions)
        learned = []
        for column, loss in zip(columns.tolist(), seen, strict=True):
            regressor = copy.deepcopy(self.regressors[column])
            regressor.partial_fit(row, np.array([loss]))
            if not np.isfinite(regressor.predict(row)).all():
                raise DivergenceError(
                    "the predictions would no longer be finite; scale the contexts and losses down"
                )
            learned.append((column, regressor))
        return learned

    def _predict_one(self, row: Any, column: int) -> float:
        return float(self.regressors[column].predict(row)[0]) if self.fitted[column] else self.start

    def _row(self, context: Any) -> Any:
        indices, values = as_row(context, self.n_features)
        check_finite(indices, values)
        if self.sparse:
            from scipy.sparse import csr_matrix

            ends = np.array([0, values.size])
            return csr_matrix((values, indices, ends), shape=(1, self.n_features))
        dense = np.zeros((1, self.n_features))
        dense[0, indices] = values
        return dense
