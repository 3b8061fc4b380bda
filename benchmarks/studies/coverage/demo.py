"""The demo of the service without its network: messages, and reviews that end a little later."""

import heapq
import tempfile
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from graphcb import Policy
from graphcb.decisions import LoggedDecision
from graphcb.service.demo import PROBLEM, messages
from studies.coverage.claiming import Means, claims_of
from studies.coverage.counting import Counts

RULE = "deliver"
PER_SECOND = 30.0


def judge_demo(
    settings: Mapping[str, Any], rng: np.random.Generator, looks: int, counts: Counts
) -> int:
    """One log of the demo, as all three places show it; nobody looks on the way."""
    n = int(settings["decisions"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demo.db"
        counts.add(claims_of(path, play_demo(path, n, int(rng.integers(2**31))), RULE))
    return n


def play_demo(path: Path, n: int, seed: int) -> Means:
    """Write a log as the client of the demo makes the service do; what is true of its messages."""
    rng, losses = np.random.default_rng(seed), {}
    ends: list[tuple[float, str, dict[str, float]]] = []
    with Policy(path, problem=PROBLEM, seed=seed, durability="process-kill") as policy:
        for place, message in enumerate(islice(messages(seed), n)):
            losses[message.text] = message.losses
            while ends and ends[0][0] <= place:
                _, name, found = heapq.heappop(ends)
                policy.feedback(name, found)
            made = policy.decide({"text": message.text})
            if made.action == "review" and rng.random() < 0.97:
                end = place + PER_SECOND * rng.lognormal(0.7, 0.6)
                heapq.heappush(ends, (end, made.decision_id, message.losses))

    def means(row: LoggedDecision) -> Mapping[str, float]:
        return losses[row.context["text"]]

    return means
