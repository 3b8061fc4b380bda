"""Sums without rounding: numbers may be added in any order and in any parts, with the same bits.

A number m * 2^e, with m a whole number below 2^53, is added to digits of 32 bits, of which there
are enough for every finite double (Kulisch's long accumulator). Digits are kept as whole numbers
of 64 bits and can take 2^30 additions before they carry.
"""

import numpy as np
from numpy.typing import NDArray

from graphcb.compilation import inner

Digits = NDArray[np.int64]

N_DIGITS = 68  # of 32 bits: from 2^-1074 up to 2^1024, and what sums add to that
LOWEST = 1074  # the first digit counts units of 2^-LOWEST
MOST_ADDITIONS = 2**30


@inner
def add_exactly(digits: Digits, bits: int) -> None:
    """Add a finite double, given by its bits, to the digits of a sum."""
    exponent = (bits >> 52) & 0x7FF
    whole = bits & 0xFFFFFFFFFFFFF
    if exponent == 0:
        exponent = 1  # a number below 2^-1022 has no hidden bit
    else:
        whole |= 0x10000000000000
    place = exponent - 1
    first, shift = place >> 5, place & 31
    low = (whole & 0xFFFFFFFF) << shift  # below 2^63
    high = (whole >> 32) << shift  # below 2^52
    middle = (low >> 32) + (high & 0xFFFFFFFF)
    if bits < 0:
        digits[first] -= low & 0xFFFFFFFF
        digits[first + 1] -= middle
        digits[first + 2] -= high >> 32
    else:
        digits[first] += low & 0xFFFFFFFF
        digits[first + 1] += middle
        digits[first + 2] += high >> 32


def carry(digits: Digits) -> None:
    """Bring digits (..., N_DIGITS) into the range from 0 to 2^32, but for the last."""
    for place in range(N_DIGITS - 1):
        over = digits[..., place] >> 32
        digits[..., place] &= 0xFFFFFFFF
        digits[..., place + 1] += over


def rounded(digits: Digits) -> NDArray[np.float64]:
    """The sums, (...,) from (..., N_DIGITS), each rounded once.

    >>> sums = np.zeros((2, N_DIGITS), dtype=np.int64)
    >>> sums[0, 33] = 1 << 18
    >>> rounded(sums)
    array([1., 0.])
    """
    flat = digits.reshape(-1, N_DIGITS)
    found = np.zeros(flat.shape[0])
    for place in np.flatnonzero(flat.any(axis=1)):
        total = 0
        for digit in reversed(flat[place].tolist()):
            total = (total << 32) + digit
        found[place] = _as_float(total)
    return found.reshape(digits.shape[:-1])


def _as_float(total: int) -> float:
    try:
        return total / (1 << LOWEST)  # whole numbers are divided with one rounding
    except OverflowError:
        return float("inf") if total > 0 else float("-inf")
