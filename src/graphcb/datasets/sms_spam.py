"""Text messages labelled ham or spam."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count
from graphcb.datasets.location import find


class Messages(NamedTuple):
    """Texts, and which of them are spam."""

    texts: tuple[str, ...]
    is_spam: NDArray[np.bool_]


def load_sms_spam() -> Messages:
    """The SMS spam collection from `GRAPHCB_DATA`/sms_spam."""
    path = find("sms_spam", "SMSSpamCollection", "use generate_messages(n, rng)")
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t", 1) for line in lines if line.startswith(("ham\t", "spam\t"))]
    return Messages(
        tuple(text for _, text in pairs), np.array([kind == "spam" for kind, _ in pairs])
    )


def generate_messages(n: int, rng: np.random.Generator) -> Messages:
    """A stand-in: short texts of generated words, one in seven of them spam.

    >>> messages = generate_messages(100, np.random.default_rng(0))
    >>> len(messages.texts), int(messages.is_spam.sum())
    (100, 14)
    """
    size = as_count("n", n)
    is_spam = rng.random(size) < 1 / 7
    texts = []
    for spam in is_spam:
        common = rng.zipf(1.5, size=rng.integers(4, 15)) % 2000
        typical = rng.integers(0, 60, size=rng.integers(1, 4)) + (5000 if spam else 6000)
        texts.append(" ".join(f"w{word}" for word in [*common, *typical]))
    return Messages(tuple(texts), is_spam)
