"""Numbers of any unit and with any tails on one scale, by what was seen of each so far.

A number becomes its distance from the mean in deviations (`standardising`), or its normal score:
the quantile of a normal distribution at its rank among a sample of the values seen. Scores care
neither for tails nor for codes such as -999, but bend what is straight. So a feature has scores
only as far as its values lie off a straight line when they are drawn against their scores, which
the squared correlation of the two says: 1 for a normal feature and for every one with two values,
0.95 for a uniform, 0.82 for an exponential and 0.3 for a lognormal one with a deviation of 2.

A unit may change on the way, from grams to kilograms. Then steps from value to value are ten times
as small or as large as they typically were, and stay so: the scale begins again, and what was
learned of a feature at one deviation holds in the new unit.

The sample is exact while it fills. Then the n-th value replaces one of its 512 values with
probability 512 / n, by a hash of n: nothing is random.
"""

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import LARGEST
from graphcb.compilation import compiled, inner, summed
from graphcb.hashing import mixed
from graphcb.loaded import MOST, Array, Count, Learned
from graphcb.standardising import CLIP, counted, standard_with

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

SAMPLE = 512  # values kept of each number,
KEPT = 2**19  # and of all of them together; at least
LEAST_SAMPLE = 16
FEW = 8  # values, before which nothing is said of tails
FAR = 6.0  # deviations: what is further off counts as if it were there
CROOKED, STRAIGHT = 0.6, 0.8  # squared correlations: scores alone below, deviations alone above
UNITS_APART = math.log(10.0)  # of steps from value to value, in one unit and in another
STEPS = 16.0  # of that kind begin a new unit, where each of another kind takes off
TAKEN_OFF = 3.0
REPEATED = 2  # times, for a value to be a code
_PLAIN_NUMBERS = {float, int}
MIDDLE = 0.02425  # of a normal distribution on each side: its quantiles need another formula
TRIMMED = 0.02  # of the sample at each end, moved to the next value for robust moments


class NumberScales:
    """The scale of each of `n_numbers` numbers; NaN stands for a missing one.

    >>> scales = NumberScales(1)
    >>> for x in (1.0, 4.0):
    ...     scales.count(np.array([x]))
    >>> scales.scale(np.array([7.0])).round(3)
    array([1.225])
    """

    learned = Learned(
        n_numbers=Count(),
        means=Array("n_numbers", least=-LARGEST, most=LARGEST),
        squares=Array("n_numbers", least=0.0),
        counts=Array("n_numbers", dtype=np.int64, least=0, most=MOST),
        samples=Array(
            lambda self: (self.n_numbers, _room(self.n_numbers)), least=-LARGEST, most=LARGEST
        ),
        shapes=Array("n_numbers", 3, least=-CLIP, most=2 * CLIP),
        ends=Array("n_numbers", 8, least=-LARGEST, most=LARGEST),
    )

    def __init__(self, n_numbers: int) -> None:
        self.n_numbers = n_numbers
        self.means = np.zeros(n_numbers)
        self.squares = np.zeros(n_numbers)  # sums of squared deviations
        self.counts = np.zeros(n_numbers, dtype=np.int64)
        self.samples = np.zeros((n_numbers, _room(n_numbers)))  # each row sorted as far as it fills
        self.shapes = np.tile([1.0, 0.0, 1.0], (n_numbers, 1))  # see `_measure`
        # The lowest, how often, the highest, how often; then the last, and what its steps say.
        self.ends = np.zeros((n_numbers, 8))

    def scale(self, row: Floats) -> Floats:
        """The row as if it were counted; 0, the typical value, where a number is missing."""
        scaled = np.empty(row.size)
        scale_row(row, *self.state(), scaled)
        return scaled

    def scale_each(self, rows: Floats) -> Floats:
        """Each row as if it alone were counted."""
        scaled = np.empty(rows.shape)
        _scale_each(rows, *self.state(), scaled)
        return scaled

    def count(self, row: Floats) -> None:
        """Count the numbers that are there."""
        count_row(row, *self.state(), self.ends)

    def scale_rows(self, rows: Floats) -> None:
        """Scale the rows in place, one after the other, and count each."""
        _scale_rows(rows, *self.state(), self.ends)

    def grow(self, n_numbers: int) -> None:
        """Make room for more numbers; what was seen stays."""
        wider = NumberScales(n_numbers)
        for name in ("means", "squares", "counts", "shapes", "ends"):
            vars(wider)[name][: self.n_numbers] = vars(self)[name]
        width = min(self.samples.shape[1], wider.samples.shape[1])
        wider.samples[: self.n_numbers, :width] = self.samples[:, :width]
        vars(self).update(vars(wider))

    def codes(self) -> dict[int, float]:
        """By number, the value that looks like a code for missing, where there is one."""
        found = {}
        for place, count in enumerate(self.counts.tolist()):
            low, low_times, high, high_times = self.ends[place, :4].tolist()
            values = self.samples[place, : min(count, self.samples.shape[1])]
            for end, times in ((low, low_times), (high, high_times)):
                if times >= REPEATED and is_far(end, values[values != end]):
                    found[place] = end
        return found

    def check_loaded(self) -> None:
        """Refuse samples that are not sorted."""
        for row, count in zip(self.samples, self.counts.tolist(), strict=True):
            if (np.diff(row[:count]) < 0.0).any():
                raise ValueError("`samples` must be sorted")

    def state(self) -> tuple[Floats, Floats, Counts, Floats, Floats]:
        """What the kernels work on."""
        return self.means, self.squares, self.counts, self.samples, self.shapes


def is_far(value: float, others: Floats) -> bool:
    """Whether a value lies so far off sorted ones that it can hardly be one of them.

    >>> is_far(-999.0, np.array([18.0, 31.0, 40.0, 40.0, 52.0, 67.0, 71.0, 80.0]))
    True
    """
    if others.size < FEW:
        return False
    trimmed = int(TRIMMED * others.size)
    spread = others[-1 - trimmed] - others[trimmed]
    nearest = min(abs(value - others[0]), abs(value - others[-1]))
    return bool(spread > 0.0 and nearest > 3.0 * spread)


def _room(n_numbers: int) -> int:
    """How many values are kept of each number."""
    return max(LEAST_SAMPLE, min(SAMPLE, KEPT // max(n_numbers, 1)))


def all_floats(context: dict[Any, Any]) -> Floats | None:
    """The values if all of them are plain numbers that can be learned from."""
    values = list(context.values())
    if not {*map(type, values)} <= _PLAIN_NUMBERS:
        return None
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        return None
    return numbers if are_within(numbers) else None


def as_table(contexts: Sequence[Any], names: list[str]) -> Floats | None:
    """The numbers of dicts that have just these features, in this order; None for any others.

    All of them must be plain numbers that can be learned from.
    """
    rows = []
    for context in contexts:
        if type(context) is not dict or list(context) != names:
            return None
        rows.append(list(context.values()))
    if not {*map(type, chain.from_iterable(rows))} <= _PLAIN_NUMBERS:
        return None
    try:
        numbers = np.array(rows, dtype=np.float64)
    except OverflowError:
        return None
    return numbers if are_within(numbers.ravel()) else None


@compiled
def are_within(row: Floats) -> bool:
    """Whether no number is missing or beyond LARGEST."""
    for j in range(row.size):
        if not abs(row[j]) <= LARGEST:
            return False
    return True


@compiled
def first_beyond(row: Floats) -> int:
    """Index of the first number beyond LARGEST, or -1; a missing one is none."""
    for j in range(row.size):
        if abs(row[j]) > LARGEST:
            return j
    return -1


@compiled
def scale_row(
    row: Floats,
    means: Floats,
    squares: Floats,
    counts: Counts,
    samples: Floats,
    shapes: Floats,
    scaled: Floats,
) -> None:
    """What `NumberScales.scale` makes of a row."""
    for i in range(row.size):
        scaled[i] = _scaled(row[i], means[i], squares[i], counts[i], samples[i], shapes[i])


@compiled
def _scale_each(
    rows: Floats,
    means: Floats,
    squares: Floats,
    counts: Counts,
    samples: Floats,
    shapes: Floats,
    scaled: Floats,
) -> None:
    for r in range(len(rows)):
        scale_row(rows[r], means, squares, counts, samples, shapes, scaled[r])


@compiled
def count_row(
    row: Floats,
    means: Floats,
    squares: Floats,
    counts: Counts,
    samples: Floats,
    shapes: Floats,
    ends: Floats,
) -> None:
    """What `NumberScales.count` does with a row."""
    for i in range(row.size):
        if row[i] == row[i]:
            if _has_new_unit(row[i], counts[i] == 0, ends[i]):
                means[i] = squares[i] = shapes[i, 1] = 0.0
                shapes[i, 0] = shapes[i, 2] = 1.0
                counts[i] = 0
            counts[i] += 1
            _note_ends(row[i], counts[i] == 1, ends[i])
            _count(row[i], i, means, squares, counts[i], samples[i], shapes[i])


@compiled
def _scale_rows(
    rows: Floats,
    means: Floats,
    squares: Floats,
    counts: Counts,
    samples: Floats,
    shapes: Floats,
    ends: Floats,
) -> None:
    row = np.empty(rows.shape[1])
    for r in range(rows.shape[0]):
        row[:] = rows[r]
        scale_row(row, means, squares, counts, samples, shapes, rows[r])
        count_row(row, means, squares, counts, samples, shapes, ends)


@inner
def _has_new_unit(x: float, is_first: bool, ends: Floats) -> bool:
    """Whether steps from value to value are of another unit than those before; notes this one.

    `ends` hold the last value, the mean logarithm of steps, their number, and the count of steps
    that are too large, or, below 0, of those that are too small.
    """
    step = 0.0 if is_first else abs(x - ends[4])
    ends[4] = x
    if step == 0.0:
        return False
    off = math.log(step) - ends[5]
    ends[6] += 1.0
    ends[5] += off / ends[6]
    side = 0.0
    if ends[6] > 2.0 * STEPS and abs(off) > UNITS_APART:
        side = 1.0 if off > 0.0 else -1.0
    if side * ends[7] >= 0.0 and side != 0.0:
        ends[7] += side
    elif ends[7] > 0.0:
        ends[7] = max(0.0, ends[7] - TAKEN_OFF)
    else:
        ends[7] = min(0.0, ends[7] + TAKEN_OFF)
    if abs(ends[7]) < STEPS:
        return False
    ends[5:] = 0.0
    return True


@inner
def _note_ends(x: float, is_first: bool, ends: Floats) -> None:
    if is_first or x < ends[0]:
        ends[0], ends[1] = x, 0.0
    if is_first or x > ends[2]:
        ends[2], ends[3] = x, 0.0
    ends[1] += x == ends[0]
    ends[3] += x == ends[2]


@inner
def _scaled(
    x: float, mean: float, squares: float, count: int, sample: Floats, shape: Floats
) -> float:
    """Deviations and scores, each as far as the shape says."""
    if x != x:
        return 0.0
    distance = standard_with(x, mean, squares, float(count))
    share = float(shape[0])
    if share == 1.0:
        return distance
    score = float((_normal(_rank(x, sample, min(count, sample.size))) - shape[1]) / shape[2])
    return share * distance + (1.0 - share) * min(CLIP, max(-CLIP, score))


@inner
def _rank(x: float, sample: Floats, size: int) -> float:
    """The rank of `x` among the sorted values, as a share above 0 and below 1.

    Equal values have the middle of their ranks; between two values it is interpolated.
    """
    below = np.searchsorted(sample[:size], x)
    upto = below
    if below < size and sample[below] == x:
        upto = np.searchsorted(sample[:size], x, side="right")
    if upto > below:
        return (below + 0.5 * (upto - below + 1.0)) / (size + 1.0)
    if below == 0 or below == size:
        return (0.5 if below == 0 else size + 0.5) / (size + 1.0)
    left, right = float(sample[below - 1]), float(sample[below])
    return (below + (x - left) / (right - left)) / (size + 1.0)


@inner
def _count(
    x: float, place: int, means: Floats, squares: Floats, count: int, sample: Floats, shape: Floats
) -> None:
    """Count `x`, the last of `count` values; now and then measure the shape again."""
    mean = means[place]
    deviation = math.sqrt(squares[place] / count)
    near = x
    if count > FEW and deviation > 0.0:
        near = min(mean + FAR * deviation, max(mean - FAR * deviation, x))
    means[place], squares[place] = counted(near, mean, squares[place], float(count))
    size = _keep(x, place, count, sample)
    step = 1
    while 16 * step <= count:
        step *= 2
    if count >= FEW and count % step == 0:  # 8 to 16 times while the count doubles
        mean, variance = _measure(sample[:size], shape)
        if variance > 0.0 and squares[place] > 4.0 * variance * count:  # an early outlier
            means[place], squares[place] = mean, variance * count


@inner
def _keep(x: float, place: int, count: int, sample: Floats) -> int:
    """Put `x` into the sorted sample if it is its turn; the size of the sample."""
    size = min(count - 1, sample.size)
    if size == sample.size:
        drawn = mixed(np.uint64(count) + np.uint64(place) * np.uint64(0x9E3779B97F4A7C15))
        if drawn % np.uint64(count) >= np.uint64(size):
            return size
        size -= 1
        for i in range(np.int64(mixed(drawn) % np.uint64(sample.size)), size):
            sample[i] = sample[i + 1]
    at = np.searchsorted(sample[:size], x)
    for i in range(size, at, -1):
        sample[i] = sample[i - 1]
    sample[at] = x
    return size + 1


@inner
def _measure(sample: Floats, shape: Floats) -> tuple[float, float]:
    """Fill the shape: the share of deviations, the mean of the scores, and their deviation.

    Returns mean and variance of the sample with its ends moved inwards.
    """
    size = sample.size
    trimmed = int(TRIMMED * size)
    low, high = sample[trimmed], sample[size - 1 - trimmed]
    offs, scores = np.empty(size), np.empty(size)
    mean = _clip(sample, low, high, offs)
    _score_ranks(scores)
    begin = 0
    while begin < size:  # equal values have the middle of their ranks
        end = begin + 1
        while end < size and sample[end] == sample[begin]:
            end += 1
        if end > begin + 1:
            scores[begin:end] = _normal((begin + 0.5 * (end - begin + 1.0)) / (size + 1.0))
        begin = end
    variance, score_mean, score_square, both = _moments(offs, scores)
    spread = score_square - score_mean * score_mean
    shape[0], shape[1], shape[2] = 1.0, 0.0, 1.0
    if variance > 0.0 and spread > 1e-6:
        straight = (both / math.sqrt(variance)) ** 2 / spread
        shape[0] = min(1.0, max(0.0, (straight - CROOKED) / (STRAIGHT - CROOKED)))
        shape[1], shape[2] = score_mean, math.sqrt(spread)
    return mean, variance


@summed
def _clip(sample: Floats, low: float, high: float, offs: Floats) -> float:
    """The mean of the values, moved to these ends; `offs` are their distances from it."""
    total = 0.0
    for i in range(sample.size):
        x = sample[i] if sample[i] > low else low
        offs[i] = x if x < high else high
        total += offs[i]
    mean: float = total / sample.size
    for i in range(sample.size):
        offs[i] -= mean
    return mean


@summed
def _moments(offs: Floats, scores: Floats) -> tuple[float, float, float, float]:
    """The means of offs^2, scores, scores^2 and offs * scores."""
    variance = mean = square = both = 0.0
    for i in range(offs.size):
        variance += offs[i] * offs[i]
        mean += scores[i]
        square += scores[i] * scores[i]
        both += offs[i] * scores[i]
    return variance / offs.size, mean / offs.size, square / offs.size, both / offs.size


@summed
def _score_ranks(scores: Floats) -> None:
    """Fill in the scores of ranks that are all different."""
    size, share = scores.size, 1.0 / (scores.size + 1.0)
    tail = min(int(MIDDLE / share) + 1, size // 2)
    for i in range(tail):
        scores[i] = _normal((i + 1.0) * share)
        scores[size - 1 - i] = -scores[i]
    for i in range(tail, size - tail):
        scores[i] = _middle((i + 1.0) * share - 0.5)


@inner
def _middle(q: float) -> float:
    r = q * q
    above = ((((-39.69683028665376 * r + 220.9460984245205) * r - 275.9285104469687) * r
              + 138.3577518672690) * r - 30.66479806614716) * r + 2.506628277459239  # fmt: skip
    below = ((((-54.47609879822406 * r + 161.5858368580409) * r - 155.6989798598866) * r
              + 66.80131188771972) * r - 13.28068155288572) * r + 1.0  # fmt: skip
    return q * above / below


@inner
def _normal(share: float) -> float:
    """The quantile of the standard normal distribution, to 1e-9 by Acklam's approximation."""
    if MIDDLE <= share <= 1.0 - MIDDLE:
        return _middle(share - 0.5)
    q = math.sqrt(-2.0 * math.log(min(share, 1.0 - share)))
    above = ((((-0.007784894002430293 * q - 0.3223964580411365) * q - 2.400758277161838) * q
              - 2.549732539343734) * q + 4.374664141464968) * q + 2.938163982698783  # fmt: skip
    below = (((0.007784695709041462 * q + 0.3224671290700398) * q + 2.445134137142996) * q
             + 3.754408661907416) * q + 1.0  # fmt: skip
    tail = above / below
    return tail if share < 0.5 else -tail
