"""`graphcb serve --demo`: messages to deliver, block or review, and a client that sends them."""

import heapq
import http.client
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from graphcb.datasets import generate_messages, load_sms_spam
from graphcb.problems import Problem

PRICE = 0.2  # of a review; a mistake costs 1

PROBLEM = Problem(
    ["deliver", "block", "review"],
    reveals={"all": ["review"]},
    features={"text": "text"},
    name="demo: spam review",
    limits={"floors": {"review": 0.1}},
    budgets={"blocked": {"costs": {"block": 1}, "at_most": 0.2}},
    baseline={"action": "review", "loss": PRICE, "epsilon": 0.2},
)


class Message(NamedTuple):
    """A text, and the loss of each action on it."""

    text: str
    losses: dict[str, float]


def messages(seed: int = 0) -> Iterator[Message]:
    """The SMS spam collection in random order, or generated texts without it; never ends."""
    rng = np.random.default_rng(seed)
    if os.environ.get("GRAPHCB_DATA"):
        texts, is_spam = load_sms_spam()
    else:
        texts, is_spam = generate_messages(5000, rng)
    while True:
        for place in rng.permutation(len(texts)).tolist():
            spam = float(is_spam[place])
            yield Message(texts[place], {"deliver": spam, "block": 1.0 - spam, "review": PRICE})


class Simulator:
    """A client of the service: it sends messages, and a few seconds later what reviews found."""

    def __init__(self, address: str, *, per_second: float = 30.0, seed: int = 0) -> None:
        self._host, self._pause = urlsplit(address).netloc, 1.0 / per_second
        self._messages, self._rng = messages(seed), np.random.default_rng(seed)
        self._found: list[tuple[float, str, dict[str, float]]] = []  # reviews, by when they end
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="graphcb-demo", daemon=True)

    def start(self) -> None:
        """Send until stopped."""
        self._thread.start()

    def stop(self) -> None:
        """Send nothing more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _work(self) -> None:
        connection = http.client.HTTPConnection(self._host, timeout=10.0)
        due = time.monotonic()
        while not self._stopped.wait(max(0.0, due - time.monotonic())):
            due = max(due, time.monotonic() - 1.0) + self._pause
            try:
                self._step(connection)
            except (OSError, ValueError, http.client.HTTPException):  # the service starts, or stops
                connection.close()
                self._stopped.wait(0.5)
        connection.close()

    def _step(self, connection: http.client.HTTPConnection) -> None:
        now = time.monotonic()
        while self._found and self._found[0][0] <= now:
            _, name, losses = heapq.heappop(self._found)
            _post(connection, f"/v1/decisions/{name}/feedback", {"losses": losses})
        message = next(self._messages)
        made = _post(connection, "/v1/decisions", {"context": {"text": message.text}})
        if made.get("action") == "review" and self._rng.random() < 0.97:  # some get lost
            seconds = self._rng.lognormal(0.7, 0.6)
            heapq.heappush(self._found, (now + seconds, made["decision_id"], message.losses))


def _post(connection: http.client.HTTPConnection, path: str, content: Any) -> dict[str, Any]:
    connection.request("POST", path, json.dumps(content), {"Content-Type": "application/json"})
    answer: dict[str, Any] = json.loads(connection.getresponse().read())
    return answer
