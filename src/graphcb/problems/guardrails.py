"""The limits and budgets of a problem, read from what a person wrote and checked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphcb.agents import Budget, Spending
from graphcb.checks import as_one_of, listed
from graphcb.exploration import Limits
from graphcb.problems.names import as_name

Actions = tuple[str, ...] | str

BUDGET_KEYS = ("costs", "at_most", "per", "hard")


# Limits ---------------------------------------------------------------------------------------


def read_limits(limits: Any, actions: Actions) -> Limits | None:
    """From `Limits` or a mapping as in the TOML table [limits]; what cannot be met is refused."""
    if limits is None:
        return None
    if not isinstance(limits, Limits):
        if not isinstance(limits, Mapping):
            raise TypeError(
                "`limits` must be graphcb.Limits or a mapping with floors, caps and linear; "
                f"got {type(limits).__name__}"
            )
        for key in limits:
            as_one_of("limits", key, ("floors", "caps", "linear"))
        limits = Limits(**limits)
    named = _by_name(limits, actions)
    if not isinstance(actions, str):
        named.check_names(actions)
        named.on(actions)  # raises an error that names what clashes
    return named


def with_names(limits: Limits, names: Mapping[str, Any]) -> Limits:
    """The same limits for actions that are called otherwise."""
    return _changed(limits, lambda key, bounds: {names[a]: n for a, n in bounds.items()})


def _by_name(limits: Limits, actions: Actions) -> Limits:
    """All that differs between actions by their names, in the order of the problem."""
    return _changed(limits, lambda key, bounds: _named(f"limits.{key}", bounds, actions))


def _changed(limits: Limits, change: Callable[[str, Any], dict[Any, float]]) -> Limits:
    """Limits whose bounds and weights are changed; one number for all actions stays."""
    table = limits.as_table()
    for key in ("floors", "caps"):
        if isinstance(table.get(key), Mapping | list):
            table[key] = change(key, table[key])
    for place, row in enumerate(table.get("linear", ())):
        if "weights" in row:
            row["weights"] = change(f"linear[{place}].weights", row["weights"])
        else:
            row["actions"] = list(change(f"linear[{place}]", dict.fromkeys(row["actions"], 1.0)))
    return Limits(**table)


def _named(name: str, bounds: Any, actions: Actions) -> dict[Any, float]:
    if isinstance(bounds, Mapping):
        return in_order(bounds, actions)
    if isinstance(actions, str):
        raise ValueError(
            f"`{name}` must be by name, such as {{ review = 0.1 }}, as the actions come with each "
            f"round; got {bounds}"
        )
    if len(bounds) != len(actions):
        raise ValueError(
            f"`{name}` must have {len(actions)} numbers, one for each of {listed(actions)}; "
            f"got {len(bounds)}"
        )
    return dict(zip(actions, bounds, strict=True))


def in_order(values: Mapping[Any, Any], actions: Actions) -> dict[Any, Any]:
    """In the order of the actions, or of the alphabet: the order of a file means nothing."""
    if isinstance(actions, str):
        return {action: values[action] for action in sorted(values, key=str)}
    known = {action: values[action] for action in actions if action in values}
    return known | dict(values)


# Budgets --------------------------------------------------------------------------------------


def read_budgets(
    budgets: Any, actions: Actions, features: Mapping[str, str] | None
) -> tuple[Budget, ...]:
    """From budgets, or tables by their names as in TOML; costs are numbers or features."""
    if isinstance(budgets, Mapping):
        budgets = [_read_budget(name, table) for name, table in budgets.items()]
    elif isinstance(budgets, str) or not isinstance(budgets, Sequence):
        raise TypeError(
            "`budgets` must be a list of graphcb.Budget or a mapping such as {'reviews': "
            f"{{'costs': {{'review': 1}}, 'at_most': 0.05}}}}, got {type(budgets).__name__}"
        )
    return tuple(_checked_budget(budget, actions, features) for budget in budgets)


def _read_budget(name: Any, table: Any) -> Budget:
    as_name("budgets", name)
    if not isinstance(table, Mapping):
        raise TypeError(f"`budgets.{name}` must be a table with costs and at_most, got {table!r}")
    for key in table:
        as_one_of(f"budgets.{name}", key, BUDGET_KEYS)
    for key in ("costs", "at_most"):
        if key not in table:
            raise ValueError(f"`budgets.{name}` must have {key}, got {listed(table)}")
    return Budget(name, **table)


def _checked_budget(budget: Any, actions: Actions, features: Mapping[str, str] | None) -> Budget:
    if not isinstance(budget, Budget):
        raise TypeError(f"`budgets` must be graphcb.Budget, got {type(budget).__name__}")
    if not isinstance(budget.costs, Mapping):
        raise ValueError(
            f"`costs` of budget {budget.name!r} must say what actions cost, by a number or a "
            f"feature of the context, such as {{ review = 1 }}; got {budget.costs!r}"
        )
    if not isinstance(actions, str):
        budget.check_names(actions)
    for action, feature in budget.features.items():
        check_feature(f"costs of budget {budget.name!r} for {action!r}", feature, features)
    return with_costs(budget, in_order(budget.costs, actions))


def check_feature(name: str, feature: str, features: Mapping[str, str] | None) -> None:
    """Refuse a feature that is not declared to be a number, where features are declared."""
    if features is not None and not features[as_one_of(name, feature, features)].startswith(
        "number"
    ):
        raise ValueError(
            f"`{name}` must be a feature that is a number, got {feature!r}, a {features[feature]}"
        )


def check_spending(budgets: Sequence[Budget], limits: Limits | None, actions: Actions) -> None:
    """Refuse budgets that do not go together, or not with the limits."""
    spending = Spending.of(budgets, limits)
    if spending is not None and not isinstance(actions, str):
        spending.check_actions(actions)


def with_costs(budget: Budget, costs: Any) -> Budget:
    """The same budget with other costs."""
    return Budget(budget.name, costs, budget.at_most, per=budget.per, hard=budget.hard)
