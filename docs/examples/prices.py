"""Prices: what to ask for an advertising slot, when what is paid is seen only if it sells.

A price is posted. If the buyer's limit is at least that, the slot sells at the price, and the limit
becomes known. If not, all that is known is that no higher price would have sold either. So a price
shows what it and every higher price would have earned, and perhaps nothing of lower ones. The
loss is the share of the largest price that was not earned. The contexts are the predicted click
rate and what the last three slots that sold were worth.

Greedy starts at the lowest price, which shows everything, and is level with us.

    python docs/examples/prices.py [figure.png]

Uses 20,000 real auctions from GRAPHCB_DATA, in their order, or generated ones if that is not set.
"""

import os
import sys
from pathlib import Path

import numpy as np
from contest import contest, draw, final

from graphcb import InformationDirected, graphs

PRICES = np.linspace(20.0, 300.0, 15)


def read(path: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Predicted click rates and the buyers' limits of real auctions."""
    table = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=n)
    return table[:, 2], table[:, 1]


def generate(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The same, generated: limits grow with the click rate and drift with the hour."""
    rng = np.random.default_rng(0)
    rates = rng.lognormal(-6.5, 0.8, size=n)
    usual = 60.0 + 25000.0 * rates + 30.0 * np.sin(2 * np.pi * np.arange(n) / 2000)
    return rates, np.maximum(usual * rng.lognormal(0.0, 0.4, size=n), 1.0)


def main(figure: Path | None = None, n_seeds: int = 3) -> dict[str, float]:
    path = Path(os.environ.get("GRAPHCB_DATA", "")) / "streams" / "auctions.csv.gz"
    source = "real auctions" if path.is_file() else "generated auctions"
    rates, limits = read(path, 20_000) if path.is_file() else generate(6000)
    before = np.concatenate(([limits[0]] * 3, limits))[: len(limits) + 2]
    recent = np.convolve(before, np.ones(3) / 3.0, mode="valid")
    contexts = np.column_stack((rates, np.log(rates), recent))
    earned = np.where(limits[:, None] >= PRICES, PRICES, 0.0)
    losses = 1.0 - earned / PRICES[-1]
    graph, alone = graphs.posted_price(len(PRICES)), graphs.bandit(len(PRICES))
    print(f"{len(limits):,} {source}, {n_seeds} seeds; {InformationDirected().explain(graph)}")
    names = tuple(f"{price:.0f}" for price in PRICES)
    curves = contest(contexts, losses, graph, alone, names, n_seeds=n_seeds, shuffle=False)
    draw(curves, f"Prices: {source}", figure)
    return final(curves)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
