"""DSJSON: the log of a decision service, such as Azure Personalizer, one JSON object per line.

`c` holds the context, and in `c._multi` the actions with their features; `a` the actions in the
order in which they were ranked, counted from 1, the chosen one first, and `p` the probability of
each. `_label_cost` is minus the reward. Names that begin with `_` are not features. Events that
are no decision among actions (observations on their own, several slots) are odd lines.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from json import loads
from typing import Any

from graphcb.imports.record import ForeignDecision, OddLineError, as_probability, distinct_names
from graphcb.streams import BadRows


def read_dsjson(
    lines: Iterable[str], bad: BadRows, *, parse: Callable[[str], Any] = loads
) -> Iterator[ForeignDecision]:
    """The decisions of a DSJSON file, in its order."""
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            yield _decision(number, _parsed(line, parse))
        except OddLineError as reason:
            bad.report(number, str(reason))
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as reason:
            bad.report(number, f"no event of the DSJSON form: {reason!r}")


def _parsed(line: str, parse: Callable[[str], Any]) -> dict[str, Any]:
    try:
        event = parse(line)
    except ValueError as reason:
        raise OddLineError(f"must be JSON: {reason}") from None
    if not isinstance(event, dict):
        raise OddLineError(f"must be a JSON object, got {type(event).__name__}")
    return event


def _decision(number: int, event: dict[str, Any]) -> ForeignDecision:
    content = event.get("c")
    if not isinstance(content, dict) or not isinstance(content.get("_multi"), list):
        raise OddLineError("an event must have actions in c._multi, got none: no decision")
    if "_outcomes" in event or "_slots" in content:
        raise OddLineError("an event must have one slot; decisions on several at once are not read")
    described = content["_multi"]
    n = len(described)
    if n == 0:
        raise OddLineError("an event must have at least one action, got none in c._multi")
    names = distinct_names([_name(action, place) for place, action in enumerate(described)])
    chosen, probabilities = _chosen(event, n)
    # A decision that was not acted on, yet or at all, has a label that means nothing.
    cost = None if event.get("_skipLearn") or chosen is None else event.get("_label_cost")
    if cost is not None and not (isinstance(cost, int | float) and math.isfinite(cost)):
        raise OddLineError(f"_label_cost must be a finite number, got {cost!r}")
    probability = None
    if chosen is not None:
        own = event.get("_label_probability") if probabilities is None else probabilities[chosen]
        probability = as_probability(own, "the chosen action")
    features = [_features(action) for action in described]
    return ForeignDecision(
        number,
        _features(content),
        dict(zip(names, features, strict=True)),
        chosen,
        None if cost is None else float(cost) + 0.0,
        probability,
        probabilities,
        _seconds(event.get("Timestamp")),
        str(event.get("EventId", "")),
    )


def _chosen(event: dict[str, Any], n: int) -> tuple[int | None, list[float] | None]:
    """The place of the chosen action, and the probabilities in the order of the actions."""
    ranking, chances = event.get("a"), event.get("p")
    if ranking is None or chances is None:
        label = event.get("_labelIndex")
        if label is not None and not (isinstance(label, int) and 0 <= label < n):
            raise OddLineError(f"_labelIndex must be between 0 and {n - 1}, got {label!r}")
        return label, None
    if len(ranking) != len(chances) or sorted(ranking) != list(range(1, n + 1)):
        raise OddLineError(f"a must rank the actions 1 to {n}, with a probability for each in p")
    probabilities = [0.0] * n
    for action, probability in zip(ranking, chances, strict=True):
        probabilities[action - 1] = probability
    total = math.fsum(probabilities)
    if not 0.99 <= total <= 1.01 or min(probabilities) < 0.0:
        raise OddLineError(f"p must be probabilities that sum to 1, got a sum of {total:g}")
    return ranking[0] - 1, [probability / total for probability in probabilities]


def _name(action: dict[str, Any], place: int) -> str:
    """Its `_tag`, the `id` that Personalizer writes, or its number."""
    inner = action.get("i")
    name = action.get("_tag") or (inner.get("id") if isinstance(inner, dict) else None)
    return str(name or action.get("id") or place + 1)


def _features(content: dict[str, Any]) -> dict[str, Any]:
    """What is no metadata; a list of one object is that object."""
    features = {}
    for name, value in content.items():
        if name[:1] == "_" and name != "_text":
            continue
        if type(value) is list and len(value) == 1 and type(value[0]) is dict:
            value = value[0]
        features[name] = value
    return features


def _seconds(text: Any) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()
