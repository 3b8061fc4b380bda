"""Whether the clock of this machine jumps while the service runs."""

import time
from collections.abc import Callable

JUMP = 5.0  # seconds; clocks that are put right by less are left alone


class WallClock:
    """Compares the clock by which decisions are stamped with one that cannot be set.

    A machine that was suspended jumps as well. `n_jumps` counts them; `last` is by how many
    seconds the clock jumped last, below 0 if it went back, and None if it never did.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self._steady = wall, steady
        self._ahead = wall() - steady()
        self.n_jumps = 0
        self.last: float | None = None

    def look(self) -> None:
        """Compare them now."""
        ahead = self._wall() - self._steady()
        jump, self._ahead = ahead - self._ahead, ahead
        if abs(jump) > JUMP:
            self.n_jumps, self.last = self.n_jumps + 1, jump
