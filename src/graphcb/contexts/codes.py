"""Values that look like codes for missing, -999 or 999999, in words."""

from collections.abc import Iterable

from graphcb.contexts.encoder import Encoder


def codes_in_words(encoders: Iterable[Encoder | None]) -> list[str]:
    """A sentence for each feature that has such a value, and what to do about it.

    >>> encoder = Encoder({"age": "number"})
    >>> for age in [*range(20, 60), -999, *range(25, 55), -999]:
    ...     encoder.learn({"age": age})
    >>> codes_in_words([encoder])[0]
    "the feature 'age' was -999 more than once, far from all its other values: if that stands for missing, leave it empty (None in Python, null in JSON)"
    """  # noqa: E501 - the answer is one line
    found = {
        name: value
        for encoder in encoders
        if encoder is not None
        for name, value in encoder.odd_values().items()
    }
    return [
        f"the feature {name!r} was {value:.12g} more than once, far from all its other values: if "
        "that stands for missing, leave it empty (None in Python, null in JSON)"
        for name, value in found.items()
    ]
