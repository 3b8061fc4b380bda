"""Looking at what trainers publish from outside, to see how long none was at work."""

import threading
import time
from contextlib import suppress
from itertools import pairwise

_LOOK = (
    "SELECT l.known_at, extract(epoch FROM clock_timestamp())::float8 - l.known_at, w.epoch "
    "FROM graphcb_trainer l, graphcb_writer w"
)


class Watcher(threading.Thread):
    """Looks at what trainers publish, and when; it connects again after an error."""

    def __init__(self, url: str) -> None:
        super().__init__(name="watcher", daemon=True)
        self._url, self._over = url, threading.Event()
        self.advances: list[float] = []
        self.writers: list[str] = []
        self.most_stale = 0.0

    def run(self) -> None:
        import psycopg

        known_at = -1.0
        while not self._over.is_set():
            with suppress(psycopg.Error), psycopg.connect(self._url, autocommit=True) as connection:
                while not self._over.wait(0.02):
                    now_known, staleness, writer = connection.execute(_LOOK).fetchone() or (
                        0,
                        0,
                        "",
                    )
                    if now_known > known_at:
                        known_at = now_known
                        self.advances.append(time.monotonic())
                    self.most_stale = max(self.most_stale, staleness)
                    if writer not in self.writers[-1:]:
                        self.writers.append(writer)
            self._over.wait(0.02)

    def stop(self) -> None:
        self._over.set()
        self.join()

    def gaps(self, away: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """How long from one advance to the next, without the server's absence, and since when."""
        return [
            ((end - at) - sum(max(0.0, min(end, up) - max(at, down)) for down, up in away), at)
            for at, end in pairwise(self.advances)
        ]
