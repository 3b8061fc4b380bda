"""Vowpal Wabbit's text formats for contextual bandits.

`cb` has one line per decision, `action:cost:probability | features`, with actions 1, 2, ... In
`cb_adf` a decision is a block of lines that ends with an empty one: `shared | features` of the
context, if there are any, and one line for each action. The label is on the line of the action
that was chosen; the first number of it means nothing.

A feature without a value is a mark; the marks of a namespace become a list of texts, which is how
an `Encoder` takes categories and words. A feature with a value becomes a number, and `name^text` a
category. Names in a namespace are "namespace.name".
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from graphcb.imports.record import ForeignDecision, OddLineError, as_probability, distinct_names
from graphcb.streams import BadRows

MARKS = "features"  # of the namespace that has no name

Label = tuple[int, float | None, float | None]  # action, cost, probability


def read_cb(lines: Iterable[str], n_actions: int, bad: BadRows) -> Iterator[ForeignDecision]:
    """Decisions of the `cb` format among the actions 1 to `n_actions`."""
    actions: dict[str, Any] = {str(action): None for action in range(1, n_actions + 1)}
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            head, features = _split(line)
            action, cost, probability = _cb_label(head)
            if action > n_actions:
                raise OddLineError(f"the action must be between 1 and {n_actions}, got {action}")
            yield ForeignDecision(
                number, read_features(features), actions, action - 1, cost, probability
            )
        except OddLineError as reason:
            bad.report(number, str(reason))


def largest_action(lines: Iterable[str]) -> int:
    """The largest action in the labels of a `cb` file; lines that cannot be read are left out."""
    largest = 0
    for line in lines:
        for label in line.partition("|")[0].split():
            action = label.partition(":")[0]
            if action.isdecimal():
                largest = max(largest, int(action))
    return largest


def read_cb_adf(lines: Iterable[str], bad: BadRows) -> Iterator[ForeignDecision]:
    """Decisions of the `cb_adf` format."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.isspace():
            block.append((number, line))
        elif block:
            yield from _read_block(block, bad)
            block = []
    if block:
        yield from _read_block(block, bad)


def _read_block(block: list[tuple[int, str]], bad: BadRows) -> Iterator[ForeignDecision]:
    """At most one decision; the first odd line of a block speaks for all of it."""
    number = block[0][0]
    context: dict[str, Any] = {}
    names: list[str] = []
    described: list[dict[str, Any]] = []
    chosen: int | None = None
    label: Label | None = None
    try:
        for number, line in block:
            head, features = _split(line)
            words = head.split()
            if words and words[0] == "shared":
                if number != block[0][0]:
                    raise OddLineError("a shared line must be the first of its block")
                context = read_features(features)
                continue
            tag = words.pop() if words and _is_tag(words[-1], head) else ""
            if words:
                if chosen is not None:
                    raise OddLineError(
                        "only one action of a block may have a label, got a second one"
                    )
                chosen, label = len(names), _adf_label(words)
            names.append(tag.lstrip("'") or str(len(names) + 1))
            described.append(read_features(features))
    except OddLineError as reason:
        bad.report(number, str(reason))
        return
    if not names:
        bad.report(number, "a block must have at least one action, got a shared line alone")
        return
    _, cost, probability = label or (0, None, None)
    actions = dict(zip(distinct_names(names), described, strict=True))
    yield ForeignDecision(block[0][0], context, actions, chosen, cost, probability)


def read_features(text: str) -> dict[str, Any]:
    """The features after the first `|`, by name.

    >>> read_features(" a short |item price:3.5 genre^jazz new")
    {'features': ['a', 'short'], 'item.price': 3.5, 'item.genre': 'jazz', 'item': ['new']}
    """
    features: dict[str, Any] = {}
    for part in text.split("|"):
        words = part.split()
        space, scale = "", 1.0
        if words and part[:1] not in " \t":
            space, _, weight = words.pop(0).partition(":")
            scale = _number(weight, "the weight of a namespace") if weight else 1.0
        marks = []
        for word in words:
            name, colon, value = word.partition(":")
            if colon:
                features[_within(space, name)] = scale * _number(value, f"feature {name!r}")
                continue
            name, hat, value = word.partition("^")
            if hat:
                features[_within(space, name)] = value
            else:
                marks.append(word)
        if marks:
            features[space or MARKS] = marks
    return features


def _within(space: str, name: str) -> str:
    return f"{space}.{name}" if space else name


def _split(line: str) -> tuple[str, str]:
    """What stands before the first `|`, and what follows."""
    head, bar, features = line.rstrip("\r\n").partition("|")
    if not bar:
        raise OddLineError("a line must have features after a `|`, got none")
    return head, features


def _is_tag(word: str, head: str) -> bool:
    """A tag begins with ' or touches the `|`, and is no label."""
    return word.startswith("'") or (not head[-1:].isspace() and ":" not in word)


def _cb_label(head: str) -> Label:
    """The one label with a cost; other labels only name actions that were possible."""
    words = head.split()
    if words and _is_tag(words[-1], head):
        words.pop()
    if words and words[0] == "ca":
        words.pop(0)
    labels = [word for word in words if ":" in word]
    if len(labels) != 1:
        raise OddLineError(
            "a line must have one label action:cost:probability before the `|`, "
            f"got {head.strip()!r}"
        )
    action, cost, probability = _parts(labels[0])
    if action < 1:
        raise OddLineError(f"actions must be counted from 1, got {action}")
    return action, cost, probability


def _adf_label(words: list[str]) -> Label:
    if len(words) != 1:
        raise OddLineError(
            f"an action must have one label 0:cost:probability, got {' '.join(words)!r}"
        )
    return _parts(words[0])


def _parts(label: str) -> Label:
    parts = label.split(":")
    if len(parts) != 3:
        raise OddLineError(f"a label must be action:cost:probability, got {label!r}")
    if not parts[0].isdecimal():
        raise OddLineError(f"the action of a label must be a whole number, got {parts[0]!r}")
    probability = _number(parts[2], "the probability")
    return int(parts[0]), _number(parts[1], "the cost"), as_probability(probability, "the label")


def _number(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isfinite(value):
        return value
    raise OddLineError(f"{name} must be a finite number, got {text!r}")
