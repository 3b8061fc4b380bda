"""A context without one of its features: what an encoder would have made of a typical one."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from graphcb.contexts.encoded import EncodedRow
from graphcb.contexts.encoder import Encoder
from graphcb.contexts.times import whole_of
from graphcb.contexts.values import features_of, is_missing

MOST_WORDS = 64  # of a text that are looked at one by one; a longer text is looked at as a whole


class Without(NamedTuple):
    """A row in which a feature says nothing; `value` is what it was, in the context's units.

    For one word of a text, `value` is the word.
    """

    name: str
    value: Any
    row: EncodedRow


def rows_without(encoder: Encoder, context: Any, *, by_word: bool = True) -> list[Without]:
    """The row of a context without each of its features in turn; none for a row of numbers.

    A number that says nothing is typical, which is 0 on the encoder's scale. A category, a word or
    the mark of a missing value that says nothing is not there. Of a text, each word is left out
    unless `by_word` is False: then the text is.

    >>> encoder = Encoder()
    >>> for amount in (10.0, 20.0, 30.0):
    ...     encoder.learn({"amount": amount, "country": "DE"})
    >>> for name, value, row in rows_without(encoder, {"amount": 30.0, "country": "XX"}):
    ...     print(name, value, row.values.round(2))
    amount 30.0 [0. 1.]
    country XX [0.9]
    """
    features = features_of(context)
    if not features:
        return []
    whole = encoder.encode(dict(features))
    found = []
    for name in _names(encoder, features, whole):
        value = features.get(name)
        if is_missing(value):
            is_number = encoder.kinds.get(name, "").startswith("number")
            other = encoder.encode({**features, name: 0.0 if is_number else "-0-"})
            found.append(Without(name, None, _shared(whole, whole.values, other)))
            continue
        is_text = isinstance(value, str) and encoder.kinds.get(name, "").startswith("text")
        words = str(value).split() if is_text else []
        if by_word and 1 < len(words) <= MOST_WORDS:
            for word in dict.fromkeys(words):
                rest = " ".join(one for one in words if one != word)
                found.append(Without(name, word, encoder.encode({**features, name: rest})))
            continue
        other = encoder.encode({**features, name: None})
        numbers = other.values if other.n_numbers == whole.n_numbers else whole.values
        found.append(Without(name, value, _shared(whole, numbers, other)))
    return found


def typical_row(row: EncodedRow) -> EncodedRow:
    """The row in which no feature says anything."""
    return row._replace(indices=row.indices[: row.n_numbers], values=np.zeros(row.n_numbers))


def _names(encoder: Encoder, features: Mapping[str, Any], whole: EncodedRow) -> list[str]:
    """The features that a row is made of, those that the context lacks included."""
    if encoder.features is not None:
        return list(encoder.features)
    lacking = encoder.known.numbers if whole.n_numbers else ()
    return list(dict.fromkeys([*features, *map(whole_of, lacking)]))


def _shared(whole: EncodedRow, numbers: Any, other: EncodedRow) -> EncodedRow:
    """The words that both rows have, with these numbers in front."""
    n = whole.n_numbers
    kept = np.isin(whole.indices[n:], other.indices[other.n_numbers :])
    indices = np.append(whole.indices[:n], whole.indices[n:][kept])
    return whole._replace(indices=indices, values=np.append(numbers[:n], whole.values[n:][kept]))
