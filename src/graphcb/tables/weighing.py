"""The weight of each row for each target, and its value times this weight.

Where a row shows the value of what was played, and p is the probability of that, the weight is
pi / p. Where rewards of an action a are missing in some rows, it is pi / (p s_a), with s_a the
share of them that came: right if whether one is missing depends on the action alone. Where a row
shows the values of several actions, the probability that the value of j is seen is

    q_j = sum over a of p_a G[a, j],

G[a, j] being the share of the rows with a in which j is seen. The weight is then the sum of
pi_j / q_j over what was seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphcb.compilation import compiled
from graphcb.estimates.terms import Floats
from graphcb.tables.models import Outcomes, Propensities
from graphcb.tables.rows import ReadRows, Sets
from graphcb.tables.targets import ONE, Target

EXPECTED_ONE = 1 << 20
LARGEST = 1e290  # of a square in units: a million of them are still a number


class Weighed(NamedTuple):
    """Weights and terms (n_targets, n); `robust` has terms around a prediction, of weight 1.

    `unseen` is, for each target, its play on what could not have been seen, in units of 1 / ONE;
    `expected` the sum of squared weights that was to be expected, in units of 1 / EXPECTED_ONE.
    """

    weights: Floats
    terms: Floats
    robust: Floats | None
    unseen: tuple[int, ...]
    expected: tuple[int, ...]


@dataclass(frozen=True)
class Weighing:
    """How rows are weighed, by what earlier passes over the table have found."""

    targets: tuple[Target, ...]
    shares: Mapping[str, float] | None = None  # of values that came, by action
    graph: Floats | None = None  # G, where rows show several values
    propensities: Propensities | None = None
    outcomes: Outcomes | None = None

    @property
    def are_known(self) -> bool:
        """Whether weights are true, not estimated from the table."""
        certain = self.graph is None or bool(np.isin(self.graph, (0.0, 1.0)).all())
        return self.propensities is None and self.shares is None and certain

    def weigh(self, rows: ReadRows) -> Weighed:
        """The weights of some rows."""
        if self.propensities is not None:
            rows = self.propensities.applied(rows)
        found = [self._of(target, rows) for target in self.targets]
        weights, terms, unseen, expected = zip(*found, strict=True)
        robust = None
        if self.outcomes is not None:
            sets, predicted = self.outcomes.predict(rows)
            whole = [target.whole(rows, sets) for target in self.targets]
            robust = np.stack([
                self._robust(pi, w, x, rows, sets, predicted)
                for pi, w, x in zip(whole, weights, terms, strict=True)
            ])  # fmt: skip
        return Weighed(np.stack(weights), np.stack(terms), robust, unseen, expected)

    def _of(self, target: Target, rows: ReadRows) -> tuple[Floats, Floats, int, int]:
        whole = None if rows.shares is None or rows.sets is None else target.whole(rows, rows.sets)
        if rows.revealed is not None and whole is not None and self.graph is not None:
            n_actions = rows.revealed.shape[1]
            pi, p = whole.reshape(-1, n_actions), rows.shares.reshape(-1, n_actions)  # type: ignore[union-attr]
            weights, terms, silent, squares = _by_graph(pi, p, self.graph, rows.revealed)
            return weights, terms, _in_units(silent, ONE), _in_units(squares, EXPECTED_ONE)
        if rows.probability is None:
            raise TypeError("`rows` must have probabilities by now")
        seen = rows.probability
        if self.shares is not None:
            names = rows.vocabulary.names
            seen = seen * np.array([self.shares.get(name, 1.0) for name in names])[rows.codes]
        with np.errstate(divide="ignore", invalid="ignore"):  # of actions whose values never came
            weights = target.chosen(rows) / seen
        if rows.seen is not None:
            weights = np.where(rows.seen, weights, 0.0)
        unseen = expected = 0
        if whole is not None and rows.shares is not None:
            could = rows.shares > 0.0
            unseen = _in_units(whole[~could], ONE)
            with np.errstate(over="ignore"):
                squares = whole[could] ** 2 / rows.shares[could]
            expected = _in_units(squares, EXPECTED_ONE)
        return weights, weights * rows.values, unseen, expected

    def _robust(
        self,
        whole: Floats | None,
        weights: Floats,
        terms: Floats,
        rows: ReadRows,
        sets: Sets,
        predicted: Floats,
    ) -> Floats:
        """The predicted value, corrected by the weighted error of what was seen."""
        if whole is None:
            return terms  # of the policy that the table is of, whose mean needs no model
        where = sets.find(rows.codes)
        own = np.where(where < 0, 0.0, predicted[where])
        means = np.add.reduceat(whole * predicted, sets.ends[:-1])
        return np.asarray(means + (terms - weights * own))


def _in_units(shares: Floats, unit: int) -> int:
    """A sum as a whole number, which is the same in any order.

    Parts may be as large as 1 / 5e-324: what is too large for a number counts as the largest.
    """
    with np.errstate(over="ignore"):
        parts = np.minimum(np.rint(shares * unit), LARGEST)
    if parts.size == 0 or parts.max() < (1 << 62) / parts.size:
        return int(parts.astype(np.int64).sum())
    return sum(map(int, parts.tolist()))


@compiled
def _by_graph(
    pi: Floats, p: Floats, graph: Floats, values: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    n, n_actions = pi.shape
    weights, terms, unseen, squares = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    by_played = np.empty(n_actions)  # the weight of a row, by what is played in it
    for i in range(n):
        by_played[:] = 0.0
        for j in range(n_actions):
            if pi[i, j] <= 0.0:
                continue
            q = 0.0
            for a in range(n_actions):
                q += p[i, a] * graph[a, j]
            if q <= 0.0:
                unseen[i] += pi[i, j]
                continue
            for a in range(n_actions):
                by_played[a] += graph[a, j] * pi[i, j] / q
            if not np.isnan(values[i, j]):
                weight = pi[i, j] / q
                weights[i] += weight
                terms[i] += weight * values[i, j]
        for a in range(n_actions):
            squares[i] += p[i, a] * by_played[a] * by_played[a]
    return weights, terms, unseen, squares
