"""Bid in first-price auctions: what a bid reveals is known only once it has won or lost."""

import numpy as np

import graphcb
from graphcb import datasets, graph_oracles, oracles

BIDS = np.linspace(0.0, 300.0, 16)
VALUE_OF_CLICK = 50_000.0
KNOTS = np.linspace(0.0, 300.0, 8)  # between them the oracle takes losses as straight lines


def load(rng: np.random.Generator) -> datasets.Auctions:
    try:
        return datasets.load_auctions()
    except datasets.DataNotFoundError:
        return datasets.generate_auctions(6000, rng)


def main(n: int = 60_000) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    auctions = load(rng)
    values = np.minimum(VALUE_OF_CLICK * auctions.predicted_click_rate[:n], BIDS[-1])
    agent = graphcb.SquareCBUG(
        oracles.OnlineRidge(len(BIDS), len(KNOTS)),
        graph_oracles.Thresholds(BIDS, kind="bids", n_features=len(KNOTS)),
        gamma=graphcb.SquareRoot(c=64.0, alpha=1.0),
    )
    earned, of_each = 0.0, np.zeros(len(BIDS))
    for value, price in zip(values, auctions.market_price, strict=False):
        context = np.maximum(0.0, 1.0 - np.abs(value - KNOTS) / KNOTS[1])
        bid = graphcb.draw(agent.act(context), rng)
        profits = np.where(price <= BIDS, value - BIDS, 0.0)
        won = BIDS[bid] >= price  # then only higher bids are known to win, at a higher price
        seen = np.arange(bid if won else 0, len(BIDS))
        agent.learn(context, bid, seen, (1.0 - profits[seen] / 300.0) / 2.0)
        earned, of_each = earned + profits[bid], of_each + profits
    return earned / len(values), of_each.max() / len(values)


if __name__ == "__main__":
    learned, constant = main()
    print(f"{learned:.1f} per auction; the best constant bid earns {constant:.1f}")
