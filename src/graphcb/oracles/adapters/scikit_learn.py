"""Any scikit-learn regressor that learns in steps."""

from typing import Any

import numpy as np

from graphcb.checks import as_count
from graphcb.describing import describe
from graphcb.oracles.columns import as_columns, as_seen
from graphcb.oracles.rows import Floats, as_row, check_finite


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
        return np.array([self._predict_one(row, column) for column in columns])

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One `partial_fit` for each revealed action."""
        row = self._row(context)
        columns, seen = as_seen(actions, losses, self.n_actions)
        for column, loss in zip(columns, seen, strict=True):
            self.regressors[column].partial_fit(row, np.array([loss]))
            self.fitted[column] = True

    def __repr__(self) -> str:
        return describe(self, regressor=self.regressors[0])

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
