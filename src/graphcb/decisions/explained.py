"""An explanation in words, for people who read it in a terminal or a mail."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphcb.decisions.explaining import ExplainedAction, Explanation

MOST = 5  # features of each action that are named
LEAST = 0.005  # of the largest change, below which a feature is not named


def in_words(found: "Explanation") -> str:
    """The reason, then one paragraph per action, then what bound."""
    lines = [f"{found.reason[0].upper()}{found.reason[1:]}."]
    for one in found.actions:
        lines += ["", *_action(one, found.unit)]
    if found.bound:
        lines += ["", *(f"{text[0].upper()}{text[1:]}." for text in found.bound)]
    return "\n".join(lines)


def _action(one: "ExplainedAction", unit: str) -> list[str]:
    head = f"{one.action} (probability {one.probability:.3g})"
    if one.predicted is None:
        return [head]
    text = f"{head}: {'known' if one.is_known else 'predicted'} {unit} {one.predicted:.3g}"
    if one.interval is not None and not one.is_known:
        text += f", between {one.interval[0]:.3g} and {one.interval[1]:.3g}"
    if one.n_seen is not None and not one.is_known:
        text += f"; its outcome was seen about {one.n_seen:,.0f} times"
    lines = [text]
    if one.price:
        lines.append(f"  budgets made it {one.price:.3g} dearer")
    shown = [each.action for each in one.reveals]
    lines.append(f"  shows {_listed(shown)}" if shown else "  shows nothing")
    if one.is_known:
        return lines
    largest = max((abs(each.change) for each in one.contributions), default=0.0)
    named = [e for e in one.contributions if abs(e.change) > LEAST * largest][:MOST]
    for each in named:
        speaks = "for" if (each.change < 0.0) == (unit == "loss") else "against"
        lines.append(f"  {speaks} it: {each.feature} {_value(each.value)} ({each.change:+.3g})")
    if one.typical is not None and named:
        rest = one.predicted - one.typical - sum(each.change for each in named)
        lines.append(f"  from {one.typical:.3g} without features; in combination {rest:+.3g}")
    return lines


def _listed(shown: list[Any]) -> str:
    return ", ".join(map(str, shown[:MOST])) + (", ..." if len(shown) > MOST else "")


def _value(value: Any) -> str:
    if value is None:
        return "is missing"
    if isinstance(value, float):
        return f"= {value:,.4g}"
    return f"= {value}"
