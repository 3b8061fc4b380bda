"""What a user asks of a table, checked against its columns."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from graphcb.checks import first_twice, listed
from graphcb.estimates.terms import Floats
from graphcb.problems import Problem
from graphcb.streams.tables import holds_lists
from graphcb.tables.choosing import matching, read_target
from graphcb.tables.columns import as_name, check_column
from graphcb.tables.rows import TableColumns
from graphcb.tables.source import OpenedTable
from graphcb.tables.targets import Probabilities, Target, UniformTarget

Choice = str | Mapping[Any, str]


class Question(NamedTuple):
    """Columns, targets, and what is to be estimated beside."""

    columns: TableColumns
    targets: tuple[Target, ...]
    unit: str
    features: tuple[str, ...] | None  # None: whatever can be learned from
    graph: Floats | None  # G[a, j]

    @property
    def lists_actions(self) -> bool:
        """Whether a target has to know all actions, and nobody has named them."""
        if self.columns.actions or self.columns.action_set is not None:
            return False
        lists = (one for one in self.targets if isinstance(one, Probabilities) and not one.actions)
        if any(lists):
            raise ValueError("`actions` must be given: the names of all actions, in the order of "
                             "the lists of probabilities")  # fmt: skip
        return any(isinstance(one, UniformTarget) for one in self.targets)


def ask(
    table: OpenedTable,
    *,
    action: str,
    reward: str | None,
    loss: str | None,
    probability: Choice | None,
    policy: Any,
    actions: Iterable[Any] | None,
    action_set: str | None,
    reveals: Choice | None,
    graph: Any,
    slot: str | None,
    identifier: str | None,
    features: Iterable[str] | None,
) -> Question:
    """The question, with all columns that it names found in the table."""
    types = table.types
    if reward is not None and loss is not None:
        raise ValueError("give either `reward` or `loss`, got both")
    unit, value = ("loss", loss) if reward is None else ("reward", reward)
    if value is None and reveals is None:
        raise ValueError("`reward` or `loss` must be given: the column with what each row brought")
    whole, single, of_actions = _probabilities(probability, types, table.name)
    shown = _by_action(reveals, types, table.name, "reveals")
    names = _actions(actions, of_actions, shown)
    columns = TableColumns(
        action, value, single, whole, names, action_set, tuple(shown.values()), slot, identifier
    )
    for name in (*columns.used, *(features or ())):
        check_column(name, types, table.name)
    if of_actions and tuple(of_actions) != names:
        columns = columns._replace(probabilities=tuple(of_actions[name] for name in names))
    if len(whole) == 1 and not names and action_set is None:
        raise ValueError("`actions` must be given: the names of all actions, in the order of the "
                         f"lists in {whole[0]!r}")  # fmt: skip
    if shown and not whole:
        raise ValueError("`probability` must be that of all actions where rows show several "
                         "values: a column of lists, or a column for each action")  # fmt: skip
    if shown and action_set is not None:
        raise ValueError("`reveals` must not be given with `action_set`: rows that show several "
                         "values must have the same actions")  # fmt: skip
    if shown and tuple(shown) != names:
        missing = [name for name in names if name not in shown]
        if missing or len(shown) != len(names):
            raise ValueError(f"`reveals` must have a column for each action, got none for "
                             f"{listed(missing or set(shown) - set(names))}")  # fmt: skip
        columns = columns._replace(reveals=tuple(shown[name] for name in names))
    if graph is not None and not shown:
        raise ValueError("`reveals` must be given with `graph`: the columns with the values of "
                         "the actions that a row shows")  # fmt: skip
    several = policy if isinstance(policy, list | tuple) else [policy]
    if not several:
        raise ValueError("`policy` must be given")
    visible = tuple(types) if features is None else tuple(features)
    targets = tuple(read_target(one, types, visible) for one in several)
    twice = first_twice(one.name for one in targets)
    if twice is not None and not all(callable(one) for one in several):
        raise ValueError(f"each `policy` must be given once, got {twice!r} again")
    matrix = None
    if graph is not None:  # of a family by its name, or of names as in a problem's `reveals`
        known = Problem(list(names), reveals=graph).graph.matrix
        matrix = np.ascontiguousarray(known, dtype=np.float64)
    chosen = None if features is None else tuple(features)
    return Question(columns, targets, unit, chosen, matrix)


def _probabilities(
    given: Choice | None, types: Mapping[str, Any], where: str
) -> tuple[tuple[str, ...], str | None, dict[str, str]]:
    """Columns of all probabilities, the column of what was played, and columns by action."""
    if given is None:
        return (), None, {}
    if isinstance(given, str) and given in types:
        return ((given,), None, {}) if holds_lists(types[given]) else ((), given, {})
    if isinstance(given, str) and "*" not in given:
        check_column(given, types, where)
    found = _by_action(given, types, where, "probability")
    if len(found) < 2:
        raise ValueError(f"`probability` must have a column for each action, got {listed(found)}")
    return tuple(found.values()), None, found


def _by_action(
    given: Choice | None, types: Mapping[str, Any], where: str, name: str
) -> dict[str, str]:
    """Columns by action: a mapping, or a pattern with a star in the place of the action."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        found = {as_name(action): column for action, column in given.items()}
    else:
        found = matching(given, types)
        if not found:
            raise ValueError(f"`{name}` must be a pattern of columns such as 'p_*', or a mapping "
                             f"from actions to columns; {where} has no column like {given!r}, it "
                             f"has {listed(types)}")  # fmt: skip
    for column in found.values():
        check_column(column, types, where)
    return found


def _actions(
    given: Iterable[Any] | None, of_actions: Mapping[str, str], shown: Mapping[str, str]
) -> tuple[str, ...]:
    names = () if given is None else tuple(map(as_name, given))
    names = names or tuple(of_actions) or tuple(shown)
    if len(set(names)) < len(names):
        raise ValueError(f"`actions` must be distinct, got {listed(names)}")
    if of_actions and set(of_actions) != set(names):
        raise ValueError(f"`probability` must have a column for each of {listed(names)}, got "
                         f"{listed(of_actions)}")  # fmt: skip
    return names
