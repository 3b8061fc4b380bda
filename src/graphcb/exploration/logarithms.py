"""Logarithms and powers of e as vector instructions, which those of `math` do not become.

With x = 2^k m and s = (m - 1) / (m + 1), log(x) = k log(2) + 2 (s + s^3 / 3 + s^5 / 5 + ...), where
m is between the roots of 1/2 and 2. With x = k log(2) + r, exp(x) - 1 = 2^k (exp(r) - 1) + 2^k - 1.
Both are right to three units in the last place. `log_of` takes numbers above 0, and `expm1` numbers
up to 700.
"""

import numpy as np

from graphcb.compilation import inlined

HIGH, LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # log(2), in two parts
PER_TWO = 1.4426950408889634  # 1 / log(2)
ROOT_OF_HALF = 0x3FE6A09E667F3BCD  # its bits
PLACES, OFFSET = 52, 1023  # of an exponent among the bits


@inlined
def log_of(x: float, beyond: float) -> float:
    """The logarithm of x; `beyond` is x - 1, which may be known to more places."""
    bits = np.float64(x).view(np.int64)
    k = (bits - ROOT_OF_HALF) >> PLACES
    m = np.int64(bits - (k << PLACES)).view(np.float64)
    s = (beyond if k == 0 else m - 1.0) / (2.0 + beyond if k == 0 else m + 1.0)
    z, power = s * s, float(k)
    series = 1 / 13.0 + z * (1 / 15.0 + z * (1 / 17.0 + z * (1 / 19.0 + z / 21.0)))
    series = 1 / 5.0 + z * (1 / 7.0 + z * (1 / 9.0 + z * (1 / 11.0 + z * series)))
    series = z * (1 / 3.0 + z * series)
    return power * HIGH + (2.0 * s + (2.0 * s * series + power * LOW))


@inlined
def expm1(x: float) -> float:
    """exp(x) - 1."""
    k = np.floor(x * PER_TWO + 0.5)
    r = (x - k * HIGH) - k * LOW
    series = 1 / 3628800.0 + r * (1 / 39916800.0 + r * (1 / 479001600.0 + r / 6227020800.0))
    series = 1 / 5040.0 + r * (1 / 40320.0 + r * (1 / 362880.0 + r * series))
    series = 1 / 24.0 + r * (1 / 120.0 + r * (1 / 720.0 + r * series))
    below = r + r * r * (0.5 + r * (1 / 6.0 + r * series))
    power = np.int64((np.int64(k) + OFFSET) << PLACES).view(np.float64)
    return float(power * below + (power - 1.0))
