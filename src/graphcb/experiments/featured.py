"""Progressive validation where each row brings its own actions."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from graphcb.environments import Observation, Round
from graphcb.experiments.loop import Row, play, streams
from graphcb.files import FileError
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Learner
from graphcb.rounds.identifiers import pick
from graphcb.streams.rounds import RoundRow


class Sums(NamedTuple):
    """After some rows: their number, and sums of what was played and of playing at random."""

    n_rows: int = 0
    total: float = 0.0
    random: float = 0.0


class FeaturedRun:
    """A learner on its way through rows that bring their own actions, with draws and sums."""

    def __init__(self, learner: Learner, *, seed: int) -> None:
        self.learner = learner
        self.draws = streams(seed)[1]
        self.sums = Sums()

    def play(
        self, rows: Iterable[RoundRow], graph_of: Callable[[tuple[str, ...]], FeedbackGraph]
    ) -> Iterator[tuple[RoundRow, Row]]:
        """Play each row, and yield it with what happened; `sums` are those up to it."""
        current: list[RoundRow] = []

        def rounds() -> Iterator[Round]:
            for row in rows:
                current[:] = [row]
                yield Round(row.context, graph_of(tuple(row.actions)), row.actions, row.values)

        for played in play(self.learner, _Values(), rounds(), self.draws):
            row = current[0]
            n_rows, total, random = self.sums
            self.sums = Sums(n_rows + 1, total + played.loss, random + float(row.values.mean()))
            yield row, played

    def to_learner(self) -> Learner:
        """The learner, with what a later run needs to go on in its attribute `progress`."""
        draws = self.draws.bit_generator.state
        self.learner.progress = {"rounds": self.sums._asdict(), "draws": draws}
        return self.learner

    @classmethod
    def from_learner(cls, learner: Learner, where: str) -> "FeaturedRun":
        """The run that goes on bit for bit; `where` names the file in errors."""
        run, progress = cls(learner, seed=0), learner.progress or {}
        try:
            run.sums = Sums(**progress["rounds"])
            run.draws.bit_generator.state = progress["draws"]
        except (KeyError, TypeError, ValueError, OverflowError) as reason:
            raise FileError(
                f"{where}: must be a model of rows that bring their own actions, got {reason!r}"
            ) from None
        return run


class _Values:
    """The truth of such rows: their values, in the problem's units."""

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        revealed: Any = round.graph.draw_revealed(action, rng)
        return Observation(pick(round.actions, revealed), round.hidden[revealed])

    def loss(self, round: Round, action: int) -> float:
        return float(round.hidden[action])
