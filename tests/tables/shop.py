"""A shop that played known probabilities, and what each policy earns in it."""

from typing import Any

import numpy as np
import pyarrow as pa

NAMES = np.array(["a", "b", "c", "d"])


def probabilities(x: Any, country: Any) -> Any:
    scores = np.stack([0.0 * x, 0.8 * x, -0.5 * x, 1.0 * (country == "de")], axis=1)
    shares = np.exp(scores)
    return 0.9 * shares / shares.sum(axis=1, keepdims=True) + 0.1 / 4.0


def mean_click(x: Any, action: Any) -> Any:
    return 0.2 + 0.1 * action + 0.1 * np.tanh(x) * (action - 1.5)


def shop(n: int, seed: int = 0) -> Any:
    """Rows with the probability of what was played, and those of all actions."""
    draws = np.random.default_rng(seed)
    x, country = draws.normal(size=n), draws.choice(["de", "fr"], n)
    shares = probabilities(x, country)
    played = (shares.cumsum(axis=1) < draws.random(n)[:, None]).sum(axis=1).clip(max=3)
    click = (draws.random(n) < mean_click(x, played)).astype(np.int64)
    return pa.table(
        {
            "item": NAMES[played],
            "p": shares[np.arange(n), played],
            "click": click,
            "x": x,
            "country": country,
            "new": NAMES[2 + (x > 0.0)],
            "slot": draws.integers(1, 4, n),
            "order": np.arange(n),
            **{f"p_{name}": shares[:, k] for k, name in enumerate(NAMES)},
            "shares": list(shares),
        }
    )


def truth_of_new(n: int = 1_000_000) -> float:
    x = np.random.default_rng(99).normal(size=n)
    return float(mean_click(x, 2 + (x > 0.0)).mean())
