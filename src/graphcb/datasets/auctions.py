"""Advertising auctions: the price of the market, and how likely a click was thought to be."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count, listed
from graphcb.datasets.location import find
from graphcb.datasets.tables import read_csv

Floats = NDArray[np.float64]

NAMES = ("clicked", "market_price", "predicted_click_rate")
FILE = "auctions.csv.gz"
HIGHEST_PRICE = 300  # that bidders of these auctions were allowed


class Auctions(NamedTuple):
    """One entry per auction, in the order of time: all arrays have shape (n,).

    `market_price` is the highest bid of the others; `predicted_click_rate` was known before.
    """

    clicked: NDArray[np.bool_]
    market_price: Floats
    predicted_click_rate: Floats


def load_auctions() -> Auctions:
    """The 60,000 auctions from `GRAPHCB_DATA`/streams, in the order of time."""
    table = read_csv(find("streams", FILE, "use generate_auctions(n, rng)"))
    if table.names != NAMES:
        raise ValueError(f"{FILE}: must have the columns {listed(NAMES)}, got {table.names}")
    numbers = np.empty((len(table.rows), len(NAMES)))
    for line, row in enumerate(table.rows, start=2):
        try:
            numbers[line - 2] = [float(cell) for cell in row]
        except ValueError as reason:
            raise ValueError(f"{FILE}, line {line}: must be three numbers: {reason}") from None
    clicked, price, rate = numbers.T
    fits = np.isin(clicked, (0.0, 1.0)) & (price >= 0.0) & (price < np.inf)
    wrong = np.flatnonzero(~(fits & (rate >= 0.0) & (rate <= 1.0)))
    if wrong.size:
        raise ValueError(
            f"{FILE}, line {wrong[0] + 2}: must be 0 or 1, a price that is not negative, and a "
            f"rate between 0 and 1, got {listed(table.rows[wrong[0]])}"
        )
    return Auctions(clicked == 1.0, price.copy(), rate.copy())


def generate_auctions(n: int, rng: np.random.Generator) -> Auctions:
    """A stand-in in the same form: rates and prices as skewed as the real ones.

    An advertisement that is likely to be clicked is dearer: the price is log-normal around a
    median that grows with the square root of the rate.

    >>> auctions = generate_auctions(1000, np.random.default_rng(0))
    >>> float(np.median(auctions.market_price)), auctions.clicked.shape
    (37.0, (1000,))
    """
    size = as_count("n", n)
    rate = 0.003 * np.exp(0.42 * rng.standard_normal(size))
    median = 36.0 * np.sqrt(rate / 0.003)
    price = np.round(median * np.exp(1.1 * rng.standard_normal(size)))
    return Auctions(rng.random(size) < rate, np.clip(price, 1.0, HIGHEST_PRICE), rate)
