"""Dicts, rows of data frames and texts as rows for an oracle, scaled and hashed as they come."""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from graphcb.checks import as_count
from graphcb.contexts.declared import DeclaredFeatures
from graphcb.contexts.encoded import EncodedRow
from graphcb.contexts.foreseen import Foreseen
from graphcb.contexts.noted import NotedFeatures
from graphcb.contexts.scaling import Floats, NumberScales
from graphcb.contexts.values import KINDS, passes
from graphcb.describing import describe
from graphcb.loaded import Count, Instance, Learned, Made

Known = TypeVar("Known", DeclaredFeatures, NotedFeatures, NumberScales)


class Encoder:
    """Turns contexts as people have them into rows that an oracle takes.

    A context is a dict (dicts may hold dicts), a row of a data frame, a named tuple or a text.
    A value is a number, a text, a time, a list of texts or of numbers (such as an embedding), or
    missing: None, NaN, "" or "n/a". Infinity is refused. Dense rows, sparse rows and pairs
    (indices, values) pass through unchanged.

    Numbers are brought to one scale: standard deviations from the mean so far, or ranks as far as
    tails are heavy. Categories and words are hashed to 2**bits places, so new ones need no
    preparation. A missing number becomes 0, the typical value, and each missing value leaves
    a mark that it is missing.

    `features` gives the kind of each feature: "number", "category", "text" or "time", with "?"
    appended where values may be missing. All other features of a context are ignored. Without
    `features`, every feature of a context is used. A text of four words or more is then read word
    by word, a string that is a number is one, as long as nine in ten strings of its feature are,
    and a date or time, or a string in ISO 8601, becomes hour, weekday, month and trend. Numbers
    that most contexts lack, such as counts of words, are then 0 where they are not given.

    A row is an `EncodedRow`, which every oracle reads; `pair()` gives its (indices, values).

    `encode` changes nothing. It scales a context as if it were counted; `learn` counts it.

    >>> encoder = Encoder({"amount": "number?", "age": "number"})
    >>> for amount in (10.0, 30.0, None):
    ...     encoder.learn({"amount": amount, "age": 40})
    >>> encoder.encode({"amount": 40.0, "age": 40}).pair()
    (array([2, 3, 1]), array([0.6172134 , 0.        , 0.57735027]))
    >>> encoder.missing
    {'amount': 1}
    >>> encoder = Encoder()
    >>> encoder.encode({"country": "DE", "device": "phone"}).indices
    array([ 94181, 186859])
    """

    learned = Learned(features=Instance(dict, None), bits=Count(1, 30), known=Made())

    def __init__(self, features: Mapping[str, str] | None = None, *, bits: int = 18) -> None:
        if not 1 <= as_count("bits", bits) <= 30:
            raise ValueError(f"`bits` must be between 1 and 30, got {bits}")
        self.features = None if features is None else _as_kinds(features)
        self.bits = bits
        self.known: Any  # DeclaredFeatures or NotedFeatures, which read contexts differently
        if self.features is None:
            self.known = NotedFeatures(bits)
        else:
            self.known = DeclaredFeatures(self.features, bits)
        self._foreseen = Foreseen()

    __repr__ = describe

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each feature, declared or noted as they came."""
        return dict(self.known.kinds)

    @property
    def missing(self) -> dict[str, int]:
        """How often each feature was missing, where it was."""
        return {name: count for name, count in self.known.missing.items() if count}

    @property
    def is_dense(self) -> bool:
        """Whether all features are declared to be numbers."""
        return isinstance(self.known, DeclaredFeatures) and not self.known.words

    @property
    def n_features(self) -> int | None:
        """How many features a row has, None if that is not limited."""
        return self.known.n_features if isinstance(self.known, DeclaredFeatures) else None

    def encode(self, context: Any) -> Any:
        """The row of a context, an `EncodedRow`; the encoder does not change."""
        if passes(context):
            return context
        foreseen = self._foreseen.get(id(context))
        if foreseen is not None:
            return foreseen[1]
        return self.known.encode(self.known.read(context))

    def foresee(self, contexts: Sequence[Any]) -> list[Any]:
        """The rows of contexts that are about to be encoded, which must not change meanwhile.

        Together they cost less. They are the same, and are forgotten with the next context counted.
        """
        rows = self.encode_each(contexts)
        self._foreseen.keep(contexts, rows)
        return rows

    def encode_each(self, contexts: Sequence[Any]) -> list[Any]:
        """`encode` for several contexts, which takes less time if all have the same features."""
        usual = self.known.encode_usual(contexts) if contexts else None
        return usual or [self.encode(context) for context in contexts]

    def learn(self, context: Any) -> None:
        """Count a context: the scale of its numbers, its missing values, its new features."""
        self.taken(context)[1]()

    def taken(self, context: Any) -> tuple[Any, Callable[[], None]]:
        """The row of a context, and what counts it, to be called before any other context is."""
        if passes(context):
            return context, _nothing
        read = self.known.read(context)
        return self.known.encode(read), partial(self._count, read)

    def after(self, context: Any) -> "Encoder":
        """The encoder that has counted one more context, which `encode` took; this one stays."""
        if passes(context):
            return self
        following = copy.copy(self)
        following.known, following._foreseen = _apart(self.known), Foreseen()
        following.known.count(following.known.read(context))
        return following

    def odd_values(self) -> dict[str, float]:
        """For each number that has one, the value that looks like a code for missing.

        Such a value came more than once, and is far outside of all others: -999, 999999.
        """
        names = list(self.known.numbers)
        return {names[place]: value for place, value in self.known.scales.codes().items()}

    def encode_columns(self, numbers: Floats, words: Sequence[Sequence[Any]]) -> list[EncodedRow]:
        """Encode and learn many rows, one after the other, given as columns.

        `numbers` (n, d) holds the declared numbers, NaN where one is missing, and is
        overwritten; `words` holds the columns of the other features. The result is what `encode`
        and `learn` give row by row.
        """
        if not isinstance(self.known, DeclaredFeatures):
            raise ValueError("`encode_columns` must have declared features: Encoder({...})")
        self._foreseen.clear()
        return self.known.encode_columns(numbers, words)

    def _count(self, read: Any) -> None:
        self._foreseen.clear()
        self.known.count(read)


def _nothing() -> None:
    """A row for an oracle has nothing to count."""


def _apart(known: Known) -> Known:
    """A copy that counts on its own."""
    twin = copy.copy(known)
    for name, value in vars(known).items():
        if isinstance(value, NumberScales):
            vars(twin)[name] = _apart(value)
        elif isinstance(value, dict | np.ndarray):
            vars(twin)[name] = value.copy()
    return twin


def _as_kinds(features: Mapping[str, str]) -> dict[str, str]:
    for name, kind in features.items():
        if str(kind).removesuffix("?") not in KINDS:
            raise ValueError(
                f"`features[{name!r}]` must be one of {', '.join(KINDS)}, with ? appended where "
                f"values may be missing; got {kind!r}"
            )
    return dict(features)
