"""Values that look like codes for missing, -999 or 999999, in words."""

from collections.abc import Iterable

from graphcb.checks import listed
from graphcb.contexts.encoder import Encoder


def codes_in_words(encoders: Iterable[Encoder | None]) -> list[str]:
    """A sentence for each such value, with the features that have it, and what to do about it.

    >>> encoder = Encoder({"age": "number"})
    >>> for age in [*range(20, 60), -999, *range(25, 55), -999]:
    ...     encoder.learn({"age": age})
    >>> codes_in_words([encoder])[0]
    "the feature 'age' was -999 more than once, far from all its other values: if that stands for missing, leave it empty (None in Python, null in JSON)"
    """  # noqa: E501 - the answer is one line
    found: dict[float, dict[str, None]] = {}
    for encoder in encoders:
        for name, value in ({} if encoder is None else encoder.odd_values()).items():
            found.setdefault(value, {})[repr(name)] = None
    return [
        f"the {_subject(list(names))} {value:.12g} more than once, far from all "
        f"{'its' if len(names) == 1 else 'their'} other values: if that stands for missing, leave "
        "it empty (None in Python, null in JSON)"
        for value, names in found.items()
    ]


def _subject(names: list[str]) -> str:
    return f"feature {names[0]} was" if len(names) == 1 else f"features {listed(names)} were"
