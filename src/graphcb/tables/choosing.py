"""Targets as a user gives them: a text, a saved model, or a function of a row."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.checks import did_you_mean
from graphcb.estimates.terms import Floats
from graphcb.problems import Learner
from graphcb.rounds import would_play
from graphcb.saving import load
from graphcb.streams.tables import holds_lists
from graphcb.tables.columns import as_name, check_column
from graphcb.tables.rows import ReadRows, Sets, check_distributions
from graphcb.tables.targets import (
    ActionColumn,
    ConstantTarget,
    Logged,
    Probabilities,
    Target,
    UniformTarget,
    masses,
    moved,
)


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


FORMS = (
    "uniform, logged, constant:ACTION, the name of a column that holds an action per row, of a "
    "column of lists of probabilities, a pattern of columns of probabilities such as 'p_*', "
    "MODEL.npz, or greedy:MODEL.npz"
)


@dataclass(frozen=True)
class RowFunction:
    """A function of a row, a dict of its columns: a name, a dict of probabilities, or an array."""

    function: Callable[[dict[str, Any]], Any]
    columns: tuple[str, ...]
    name: str

    def chosen(self, rows: ReadRows) -> Floats:
        names = rows.vocabulary.names
        pairs = zip(self._answers(rows), rows.codes.tolist(), strict=True)
        return np.array([answer.get(names[code], 0.0) for answer, code in pairs])

    def whole(self, rows: ReadRows, sets: Sets) -> Floats | None:
        mine, shares = self._ragged(rows)
        return moved(mine, shares, rows, sets, self.name)

    def plays(self, rows: ReadRows) -> dict[str, int]:
        return masses(rows, *self._ragged(rows))

    def _ragged(self, rows: ReadRows) -> tuple[Sets, Floats]:
        answers = self._answers(rows)
        ends = np.cumsum([0, *map(len, answers)], dtype=np.int64)
        codes = np.array([rows.vocabulary.code(name) for one in answers for name in one], np.int64)
        return Sets(ends, codes), np.array([p for one in answers for p in one.values()], np.float64)

    def _answers(self, rows: ReadRows) -> list[dict[str, float]]:
        key = f"{self.name} {id(self)}"
        if key not in rows.memo:
            values = rows.batch.select(list(self.columns)).to_pylist()
            rows.memo[key] = [
                self._as_dict(self.function(one), rows, row) for row, one in enumerate(values)
            ]
        found: list[dict[str, float]] = rows.memo[key]
        return found

    def _as_dict(self, answer: Any, rows: ReadRows, row: int) -> dict[str, float]:
        if isinstance(answer, Mapping):
            found = {as_name(name): float(share) for name, share in answer.items()}
        elif isinstance(answer, list | tuple | np.ndarray) and np.ndim(answer) == 1:
            if rows.sets is None:
                raise ValueError(
                    "`policy` must return a name or a dict of probabilities, got an array: give "
                    "`actions`, the names of the actions in its order"
                )
            first, last = rows.sets.ends[row : row + 2]
            names = [rows.vocabulary.names[code] for code in rows.sets.codes[first:last]]
            if len(names) != len(answer):
                rows.place.wrong(row, self.name, f"must return {len(names)} probabilities, one "
                                                 f"for each action, got {len(answer)}")  # fmt: skip
            found = dict(zip(names, map(float, answer), strict=True))
        elif answer is None or isinstance(answer, bool):
            rows.place.wrong(row, self.name, "must return a name, a dict of probabilities or an "
                                             f"array, got {answer!r}")  # fmt: skip
        else:
            return {as_name(answer): 1.0}
        shares = np.array(list(found.values()))
        check_distributions(shares, np.array([0, shares.size]), self.name,
                            rows.place._replace(first=rows.place.first + row))  # fmt: skip
        return found


def read_target(policy: Any, types: Mapping[str, Any], features: tuple[str, ...]) -> Target:
    """A target from what a user gives: a text, or a function of a row."""
    if callable(policy):
        name = getattr(policy, "__name__", type(policy).__name__)
        return RowFunction(policy, features, "policy" if name == "<lambda>" else name)
    if not isinstance(policy, str):
        raise TypeError(f"`policy` must be a text or a function of a row, got {policy!r}")
    kind, colon, rest = policy.partition(":")
    if policy in types:
        lists = holds_lists(types[policy])
        return Probabilities(policy, (policy,)) if lists else ActionColumn(policy)
    if policy in ("uniform", "logged"):
        return UniformTarget() if policy == "uniform" else Logged()
    if kind == "constant" and colon and rest:
        return ConstantTarget(rest)
    if policy.endswith(".npz"):
        model, columns = read_learned(policy, types, features)
        return RowFunction(model, columns, policy)
    if found := matching(policy, types):
        return Probabilities(policy, tuple(found.values()), tuple(found))
    meant = did_you_mean(policy, [*types, "uniform", "logged"])
    raise ValueError(f"`policy` must be {FORMS}; got {policy!r}{meant}")


def matching(pattern: str, columns: Mapping[str, Any]) -> dict[str, str]:
    """Columns that fit a pattern with one star, by what stands in the place of the star."""
    if pattern.count("*") != 1:
        return {}
    head, _, tail = pattern.partition("*")
    return {
        name[len(head) : len(name) - len(tail)]: name
        for name in columns
        if name.startswith(head) and name.endswith(tail) and len(name) > len(head) + len(tail)
    }
