"""Tables that some other program wrote, with the probability of what it played or without.

A row has an age from 0 to 1 and a channel. The program plays each of three items by a logistic
model of both, and a click depends on both too: without its probabilities they must be estimated.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphcb import evaluate_table
from studies.coverage.counting import Claim, Counts
from studies.coverage.worlds import Floats

AGES = np.linspace(0.0, 1.0, 5)
CHANNELS = ("web", "shop")
ITEMS = ("a", "b", "c")


def judge_table(
    settings: Mapping[str, Any], rng: np.random.Generator, looks: int, counts: Counts
) -> int:
    """One table; the truth is the mean over all rows that could come. Nobody looks on the way."""
    n = int(settings["decisions"])
    ages, channels = rng.integers(len(AGES), size=n), rng.integers(2, size=n)
    logits = rng.normal(0.0, 1.0, (3, len(ITEMS)))  # by age, by channel, and of each item
    means = rng.uniform(0.1, 0.9, (len(AGES), 2, len(ITEMS)))
    kinds = AGES[:, None, None] * logits[0] + np.arange(2)[None, :, None] * logits[1] + logits[2]
    plays = np.exp(kinds) / np.exp(kinds).sum(axis=2, keepdims=True)
    rule = means.argmax(axis=2)  # looks at both, and is good
    p = plays[ages, channels]
    items = (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)
    table = {
        "age": AGES[ages],
        "channel": np.array(CHANNELS)[channels],
        "item": np.array(ITEMS)[items],
        "p": p[np.arange(n), items],
        "click": (rng.random(n) < means[ages, channels, items]).astype(np.float64),
        "rule": np.array(ITEMS)[rule[ages, channels]],
    }
    found = evaluate_table(
        table,
        action="item",
        reward="click",
        probability="p" if settings["known"] else None,
        features=["age", "channel"],
        policy=["constant:a", "rule"],
        value_range=(0.0, 1.0),
    )
    truths = {"constant:a": float(means[:, :, 0].mean()), "rule": _mean_of(means, rule)}
    for judged in found.policies:
        target = "constant" if judged.policy == "constant:a" else "another"
        every = {**judged.estimates, "best": judged.estimate}
        truth = truths[judged.policy]
        counts.add([Claim(target, name, one, truth) for name, one in every.items()])
        if judged.difference is not None:
            apart = truths["rule"] - truths["constant:a"]
            counts.add([Claim("difference", "best", judged.difference, apart)])
    return n


def _mean_of(means: Floats, rule: Any) -> float:
    return float(np.take_along_axis(means, rule[:, :, None], axis=2).mean())
