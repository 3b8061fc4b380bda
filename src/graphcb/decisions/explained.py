"""An explanation in words, for people who read it in a terminal or a mail."""

from html import escape
from typing import TYPE_CHECKING, Any

from graphcb.html import Markup, interval, paragraphs, table

if TYPE_CHECKING:
    from graphcb.decisions.explaining import ExplainedAction, Explanation

MOST = 5  # features of each action, and actions that one reveals, that are named
MOST_ACTIONS = 8
LEAST = 0.005  # of the largest change, below which a feature is not named


def in_words(found: "Explanation") -> str:
    """The reason, then one paragraph per action, then the limits that bound the decision."""
    lines = [f"{found.reason[0].upper()}{found.reason[1:]}."]
    named = _named(found)
    for one in named:
        lines += ["", *_action(one, found.unit)]
    if len(named) < len(found.actions):
        lines += ["", _of_others([one for one in found.actions if one not in named], found.unit)]
    if found.bound:
        lines += ["", *(f"{text[0].upper()}{text[1:]}." for text in found.bound)]
    return "\n".join(lines)


def in_html(found: "Explanation") -> str:
    """The same as a table, for a notebook."""
    rows = []
    for one in _named(found):
        moved = "<br>".join(escape(" ".join(line.split())) for line in _account(one, found.unit))
        known = "known" if one.is_known else interval(one.interval)
        seen = "" if one.n_seen is None or one.is_known else f"{one.n_seen:,.0f}"
        value = "" if one.predicted is None else one.predicted
        rows.append((one.action, one.probability, value, known, seen, Markup(moved)))
    expected = f"expected {found.unit}"
    heads = ("action", "probability", expected, "between", "times seen", "made up of")
    title = f"{found.reason[0].upper()}{found.reason[1:]}."
    return table(title, rows, heads) + paragraphs(found.bound)


def _named(found: "Explanation") -> "list[ExplainedAction]":
    """The actions in their order; of many, the one that was played and those that looked best."""
    if len(found.actions) <= MOST_ACTIONS:
        return list(found.actions)
    sign = 1.0 if found.unit == "loss" else -1.0

    def rank(one: "ExplainedAction") -> tuple[bool, float]:
        return one.action != found.action, sign * (one.predicted or 0.0)

    best = sorted(found.actions, key=rank)[:MOST_ACTIONS]
    return [one for one in found.actions if one in best]


def _of_others(others: "list[ExplainedAction]", unit: str) -> str:
    text = f"{len(others):,} other actions"
    values = [one.predicted for one in others if one.predicted is not None]
    return f"{text}: expected {unit} {min(values):.3g} to {max(values):.3g}" if values else text


def _action(one: "ExplainedAction", unit: str) -> list[str]:
    lines = [_head(one, unit)]
    if one.predicted is None:
        return lines
    if not one.is_known:
        lines += _account(one, unit)
    if one.price:
        lines.append(f"  budgets made it {one.price:.3g} dearer")
    shown = [each.action for each in one.reveals]
    lines.append(f"  playing it shows the outcome of {_listed(shown) if shown else 'no action'}")
    return lines


def _head(one: "ExplainedAction", unit: str) -> str:
    head = f"{one.action} (probability {one.probability:.3g})"
    if one.predicted is None:
        return head
    if one.is_known:
        return f"{head}: known {unit} {one.predicted:.3g}"
    text = f"{head}: expected {unit} {one.predicted:.3g}"
    if one.interval is not None:
        text += f", between {one.interval[0]:.3g} and {one.interval[1]:.3g}"
    return text if one.n_seen is None else f"{text}; its outcome was {times(one.n_seen)}"


def _account(one: "ExplainedAction", unit: str) -> list[str]:
    """The prediction as a sum, from a typical case to this one."""
    largest = max((abs(each.change) for each in one.contributions), default=0.0)
    named = [each for each in one.contributions if abs(each.change) > LEAST * largest][:MOST]
    if one.predicted is None or one.typical is None or not named:
        return []
    entries = [(f"{one.typical:.3g}", "if nothing were known of the case")]
    for each in named:
        speaks = "for" if (each.change < 0.0) == (unit == "loss") else "against"
        entries.append((f"{each.change:+.3g}", f"{each.feature} {_value(each.value)}: {speaks} it"))
    rest = one.predicted - one.typical - sum(each.change for each in named)
    others = "all other features, and what " if len(named) < len(one.contributions) else "what "
    if abs(rest) > LEAST * largest:
        entries.append((f"{rest:+.3g}", f"{others}features say only together"))
    width = max(len(number) for number, _ in entries)
    return [f"  {number:>{width}}  {text}" for number, text in entries]


def times(n_seen: float) -> str:
    """How often an outcome was seen, in words.

    >>> times(0.0), times(1.0), times(1204.3)
    ('never seen', 'seen once', 'seen 1,204 times')
    """
    n = round(n_seen)
    return "never seen" if n == 0 else f"seen {'once' if n == 1 else f'{n:,} times'}"


def _listed(shown: list[Any]) -> str:
    return ", ".join(map(str, shown[:MOST])) + (", ..." if len(shown) > MOST else "")


def _value(value: Any) -> str:
    if value is None:
        return "is missing"
    if isinstance(value, float):
        return f"= {value:,.4g}"
    return f"= {value}"
