"""Whether the features of contexts are distributed as they were: bets on ranks.

A value has its rank among all that came before it, at random among those in the same cell. While
the world stands still, ranks are independent and uniform between 0 and 1, whatever the distribution
of the feature is. So a guess at the next rank, from how often the last 100 or 1,000 of them fell in
each eighth, is a fair bet.

The cells of a number lie between the eighths of its first 64 values, those of a word are 8 places
by its hash, and what is missing has a cell of its own. Counts of cells are all that is kept. "At
random" is by a hash of the number of the decision and the feature: nothing is drawn.
"""

import math
import zlib
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from graphcb.checks import LARGEST
from graphcb.compilation import compiled, inner
from graphcb.contexts.scaling import Floats, all_floats
from graphcb.contexts.values import flat, is_missing, is_number, passes
from graphcb.estimates.stillness import BETS, WIDTH, Alarm, alarms, check_known, settle
from graphcb.estimates.stillness import LARGEST as MOST_OWNED
from graphcb.hashing import mixed
from graphcb.loaded import Array, Count, Instance, Learned

WATCHED = 64  # features, the first that come
AT_ONCE = 32  # contexts whose bets are settled together, if nobody asks before
FIRST = 64  # values that say where the cells of a number are
CELLS = 8  # and one for missing values
EIGHTHS = 8
KEEPS = (0.99, 0.999)  # of how often ranks fell in an eighth, with each further one
EVEN = 4.0  # ranks that each guess starts from, spread evenly over the eighths
# Places of what is kept of a feature: values seen up to the first bet, numbers among them, these
# numbers (then the edges of cells), counts of cells, weights of eighths for each guess.
SEEN, NUMBERS, VALUES = 0, 1, 2
COUNTS = VALUES + FIRST
GUESSES = COUNTS + CELLS + 1
KEPT = GUESSES + BETS * EIGHTHS

# What was known before the bets that are open, and for each its values and which are words.
Open = tuple["WatchedFeatures", tuple[Any, ...]]


class WatchedFeatures:
    """What the bets on the ranks of features have shown so far.

    `declared` are the features to watch, up to 64 of them; without it, those of the contexts that
    come. Only features with names are watched, and numbers of dense rows; of a long list of
    numbers, such as an embedding, none is.

    >>> WatchedFeatures().after({"amount": 3.0}).names
    ('amount',)
    """

    learned = Learned(
        declared=Instance(tuple, None),
        n_rounds=Count(),
        names=Instance(tuple),
        known=Array(lambda self: (len(self.names), WIDTH), least=-MOST_OWNED, most=MOST_OWNED),
        kept=Array(lambda self: (len(self.names), KEPT), least=-LARGEST, most=LARGEST),
    )

    def __init__(self, declared: tuple[str, ...] | None = None) -> None:
        self.declared = declared
        self.n_rounds = 0
        self.names = () if declared is None else declared[:WATCHED]
        self.known = np.zeros((len(self.names), WIDTH))
        self.kept = np.zeros((len(self.names), KEPT))
        self._open: Open | None = None

    @cached_property
    def known(self) -> Floats:
        """What the bets on each feature have won."""
        return self._settle()[0]

    @cached_property
    def kept(self) -> Floats:
        """What is kept of each feature, in the places above."""
        return self._settle()[1]

    def alarms(self) -> list[Alarm]:
        """The features whose values looked different."""
        return alarms("feature", self.names, self.known, WATCHED)

    def after(self, context: Any) -> "WatchedFeatures":
        """What is known after one more context; this one stays, as copies of agents share it."""
        following = object.__new__(WatchedFeatures)
        following.declared, following.n_rounds = self.declared, self.n_rounds + 1
        following.names, *row = self._read(context)
        before, rows = self._open or (self, ())
        if len(following.names) > len(before.names) or len(rows) == AT_ONCE:
            self._settle()
            before, rows = self, ()
        following._open = before, (*rows, row)
        return following

    def _settle(self) -> tuple[Floats, Floats]:
        """Settle the bets that are open, which costs less for many together."""
        if self._open is None:
            return self.known, self.kept
        before, rows = self._open
        n_new = len(self.names) - len(before.names)
        known = np.append(before.known, np.zeros((n_new, WIDTH)), axis=0)
        kept = np.append(before.kept, np.zeros((n_new, KEPT)), axis=0)
        values, are_words = map(np.concatenate, zip(*rows, strict=True))
        _bet(values, are_words, known, kept, self.n_rounds - len(rows) + 1, len(rows))
        self.known, self.kept = known, kept
        self._open = None  # last, as another thread may ask at the same time
        return known, kept

    def check_loaded(self) -> None:
        """Refuse what could not have been seen."""
        if len(self.names) > WATCHED or not all(type(name) is str for name in self.names):
            raise ValueError(f"`names` must be at most {WATCHED} texts, got {len(self.names)}")
        if self.kept[:, [SEEN, NUMBERS]].max(initial=0.0) > FIRST:
            raise ValueError(f"`kept` must have at most {FIRST} first values")
        if self.kept[:, [SEEN, NUMBERS, *range(COUNTS, KEPT)]].min(initial=0.0) < 0.0:
            raise ValueError("`kept` must have counts of at least 0")
        check_known(self.known)

    def _read(self, context: Any) -> tuple[tuple[str, ...], Floats, Floats]:
        """Names with new ones, a value for each, NaN where it is missing, and 1 for words."""
        names, numbers = self.names, None
        if type(context) is dict and tuple(context) == names:
            numbers = all_floats(context)
        elif type(context) is np.ndarray and context.ndim == 1 and self.declared is None:
            given, row = _numbered(context.size), context[:WATCHED].astype(np.float64)
            if given[: len(names)] == names:
                names, numbers = given, row
            else:  # it is shorter than an earlier one, or contexts had names before
                context = dict(zip(given, row.tolist(), strict=True))
        if numbers is not None:
            return names, numbers, _zeros(len(names))
        found = {} if passes(context) else flat(context, whole_vectors=self.declared is None)
        if self.declared is None and len(names) < WATCHED:
            new = (x for x in found if x not in names and type(found[x]) is not np.ndarray)
            names = (*names, *new)[:WATCHED]
        values, is_word = np.full(len(names), np.nan), np.zeros(len(names))
        for place, name in enumerate(names):
            value: Any = found.get(name)
            if is_missing(value) or type(value) is np.ndarray:
                continue
            if is_number(value):
                values[place] = min(max(float(value), -LARGEST), LARGEST)
            else:
                values[place], is_word[place] = _cell_of(str(value)), 1.0
        return names, values, is_word


@lru_cache(maxsize=64)
def _numbered(n: int) -> tuple[str, ...]:
    """The names of the features of a dense row."""
    return tuple(map(str, range(min(n, WATCHED))))


@lru_cache(maxsize=64)
def _zeros(n: int) -> Floats:
    """Made once; never written to."""
    return np.zeros(n)


@lru_cache(maxsize=2**14)
def _cell_of(text: str) -> int:
    return zlib.crc32(text.encode(errors="replace")) % CELLS


@compiled
def _bet(
    values: Floats, are_words: Floats, known: Floats, kept: Floats, decision: int, n: int
) -> None:
    """Settle the bets on the ranks of the values of `n` contexts, and count them."""
    size = len(kept)
    for k in range(n):
        part = slice(k * size, (k + 1) * size)
        _bet_once(values[part], are_words[part], known, kept, decision + k)


@inner
def _bet_once(values: Floats, is_word: Floats, known: Floats, kept: Floats, decision: int) -> None:
    """Those of one context."""
    gains = np.zeros(BETS)
    for j in range(values.size):
        of = kept[j]
        is_number = is_word[j] == 0.0 and values[j] == values[j]
        if of[SEEN] < FIRST:
            of[SEEN] += 1.0
            if is_number:
                of[VALUES + int(of[NUMBERS])] = values[j]
                of[NUMBERS] += 1.0
            if of[SEEN] == FIRST:
                _find_edges(of)
            continue
        cell = CELLS
        if is_word[j] > 0.0:
            cell = int(values[j])
        elif is_number:
            cell = 0
            while cell < CELLS - 1 and values[j] > of[VALUES + cell]:
                cell += 1
        eighth = _eighth(of, cell, decision, j)
        for b in range(BETS):
            first, weight = GUESSES + b * EIGHTHS, EVEN
            for k in range(EIGHTHS):
                weight += of[first + k]
            gains[b] = math.log(EIGHTHS * (of[first + eighth] + EVEN / EIGHTHS) / weight)
            for k in range(EIGHTHS):
                of[first + k] *= KEEPS[b]
            of[first + eighth] += 1.0
        settle(known[j], gains, float(WATCHED), float(decision))


@inner
def _eighth(of: Floats, cell: int, decision: int, feature: int) -> int:
    """The eighth of the rank of a value in this cell, which is counted."""
    of[COUNTS + cell] += 1.0
    below, total = 0.0, 0.0
    for k in range(CELLS + 1):
        total += of[COUNTS + k]
        below += of[COUNTS + k] if k < cell else 0.0
    hashed = mixed(mixed(np.uint64(decision)) + np.uint64(feature)) >> np.uint64(11)
    rank = (below + float(hashed) * 2.0**-53 * of[COUNTS + cell]) / total
    return min(int(EIGHTHS * rank), EIGHTHS - 1)


@inner
def _find_edges(of: Floats) -> None:
    """The eighths of the first numbers, in their place; 0 if there are none."""
    size = int(of[NUMBERS])
    order = np.sort(of[VALUES : VALUES + size])
    for k in range(CELLS - 1):
        of[VALUES + k] = order[(k + 1) * size // CELLS] if size > 0 else 0.0
