"""How objects show themselves in a notebook: small tables and bars, as HTML without scripts."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MOST = 12  # rows
BAR = 120  # pixels


def table(title: str, rows: Iterable[Sequence[Any]], heads: Sequence[str] = ()) -> str:
    """A table of texts, numbers and pieces of HTML from `bar`.

    >>> table("a & b", [("mean", 0.5)])
    '<table><caption>a &amp; b</caption><tr><td>mean</td><td>0.5</td></tr></table>'
    """
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(title)}</caption>{f'<tr>{head}</tr>' if head else ''}"
        f"{body}</table>"
    )


def paragraphs(texts: Iterable[str]) -> str:
    """Each text as a paragraph."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def bar(share: float) -> Markup:
    """A bar of this part of its full length."""
    width = max(0.0, min(1.0, share)) * BAR
    return Markup(
        f'<svg width="{BAR}" height="10" role="img"><rect width="{width:.1f}" height="10" '
        'fill="#08519c"/></svg>'
    )


def shares(title: str, names: Sequence[Any], probabilities: Sequence[float]) -> str:
    """Probabilities by name, the largest first, as bars."""
    ordered = sorted(zip(probabilities, names, strict=True), key=lambda one: -one[0])
    rows: list[Sequence[Any]] = [(name, float(p), bar(float(p))) for p, name in ordered[:MOST]]
    if len(ordered) > MOST:
        rest = float(sum(p for p, _ in ordered[MOST:]))
        rows.append((f"{len(ordered) - MOST:,} others", rest, bar(rest)))
    return table(title, rows)


def interval(ends: Sequence[float] | None) -> str:
    """An interval in words."""
    return "" if ends is None else f"{ends[0]:.4g} to {ends[1]:.4g}"


def _cell(value: Any) -> str:
    if isinstance(value, Markup):
        return f"<td>{value}</td>"
    return f"<td>{escape(f'{value:.4g}' if isinstance(value, float) else str(value))}</td>"
