"""A problem as TOML: read with the standard library, written by the few forms that it needs."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from graphcb.checks import did_you_mean, listed

# The tables of a file and their keys; None: any key.
TABLES: dict[str, tuple[str, ...] | None] = {
    "problem": ("name", "actions", "feedback", "range", "explore", "subject"),
    "reveals": ("family", "file", "each_round", "all", "own", "edges", "unknown", "answers"),
    "features": None,
    "limits": ("floors", "caps", "linear"),
    "budgets": None,
    "known": None,
    "baseline": ("action", "mode", "epsilon", "loss", "reward", "confidence"),
    "defaults": ("waiting", "loss", "reward", "keep_days", "reward_aggregation"),
}

GUARDRAILS = """\
What must hold whatever is learned. Take away the marks to use it.
[limits]
{floors}    # at least this probability
{caps}    # at most this one

[budgets.spent]
{costs}    # or the name of a feature with the cost
at_most = 0.1    # on average per decision; per = "day" makes it an amount per day

[baseline]
{action}    # what is done today; the learner must not do worse
mode = "conservative"    # or "shadow": do it, and report what was missed

[known]
{known}    # what is the same every time, or the name of a feature with it; needs no feedback
"""


def read_tables(text: str) -> dict[str, dict[str, Any]]:
    """The tables of a problem; unknown tables and keys are refused by name."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        raise ValueError(f"must be TOML: {reason}") from None
    for table, content in tables.items():
        if not isinstance(content, dict):
            home = next((t for t, keys in TABLES.items() if keys and table in keys), "problem")
            raise ValueError(f"`{table}` must stand in a table; write [{home}] above it")
        if table not in TABLES:
            raise ValueError(f"[{table}] is not a table of a problem{_meant(table, list(TABLES))}")
        keys = TABLES[table]
        for key in content:
            if keys is not None and key not in keys:
                raise ValueError(f"[{table}] has no key {key!r}{_meant(key, keys)}")
    if "problem" not in tables:
        raise ValueError("must have a table [problem] with the actions, got none")
    return tables


def write_tables(tables: Mapping[str | tuple[str, ...], Mapping[str, Any]]) -> str:
    """Tables of texts, numbers, booleans, lists and mappings as TOML; empty ones are left out.

    The name of a table inside another one is a tuple. A list of mappings becomes an array of
    tables.

    >>> print(write_tables({"problem": {"actions": ["a", "b"], "range": [0.0, 1.0]}}), end="")
    [problem]
    actions = ["a", "b"]
    range = [0.0, 1.0]
    >>> print(write_tables({("budgets", "reviews"): {"costs": {"review": 1}}}), end="")
    [budgets.reviews]
    costs = { review = 1 }
    """
    blocks: list[str] = []
    for name, content in tables.items():
        header = ".".join(map(_key, (name,) if isinstance(name, str) else name))
        arrays = {key: value for key, value in content.items() if _is_array_of_tables(value)}
        plain = {key: value for key, value in content.items() if key not in arrays}
        if plain:
            blocks.append(f"[{header}]\n{_lines(plain)}")
        for key, items in arrays.items():
            blocks += [f"[[{header}.{_key(key)}]]\n{_lines(item)}" for item in items]
    return "\n".join(blocks)


def guardrails_to_fill_in(actions: Sequence[str] | str, value: float = 0.0) -> str:
    """Comments that become limits, a budget, a baseline and a known value without their marks.

    >>> print(guardrails_to_fill_in(["approve", "review"]).splitlines()[2])
    # floors = { approve = 0.02 }    # at least this probability
    """
    names = ("one name", "another name") if isinstance(actions, str) else (actions[0], actions[-1])
    first, last, today = _key(names[0]), _key(names[1]), _value(names[0])
    return "".join(f"# {line}".rstrip() + "\n" for line in GUARDRAILS.format(
        floors=f"floors = {{ {first} = 0.02 }}", caps=f"caps = {{ {last} = 0.5 }}",
        costs=f"costs = {{ {last} = 1.0 }}", action=f"action = {today}",
        known=f"{last} = {value!r}",
    ).splitlines())  # fmt: skip


def _lines(content: Mapping[str, Any]) -> str:
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in content.items())


def _is_array_of_tables(value: Any) -> bool:
    is_list = isinstance(value, list | tuple) and len(value) > 0
    return is_list and all(isinstance(item, Mapping) for item in value)


def _meant(given: str, known: Sequence[str]) -> str:
    others = f"; it may have {listed(known)}" if known else "; it has no keys yet"
    return did_you_mean(given, known) or others


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if _is_long(value):
        return "[\n" + "".join(f"    {_value(item)},\n" for item in value) + "]"
    return f"[{', '.join(map(_value, value))}]"


def _is_long(values: Sequence[Any]) -> bool:
    """Whether a list is easier to read with one item per line."""
    return any(isinstance(value, list | tuple) for value in values) or len(values) > 10
