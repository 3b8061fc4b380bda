"""Progressive validation on a stream of examples, which can be interrupted and continued."""

from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent
from graphcb.environments import Observation, Round
from graphcb.experiments.loop import play, streams
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.structure import Floats
from graphcb.loaded import Array, Count, Learned, Number
from graphcb.rounds.identifiers import pick
from graphcb.streams import Examples


class PlayedRows(NamedTuple):
    """What was played in each row of some examples, and what it cost in the file's units."""

    actions: NDArray[np.intp]
    probabilities: Floats
    losses: Floats


class ExampleRounds:
    """Examples as an environment: one round per row, in order.

    The agent sees losses as shares of `loss_range`, or as they are if that is None; `loss` is in
    the file's units. `graph` is that of all rounds; None where each row brings its own.
    """

    def __init__(
        self,
        examples: Examples,
        graph: FeedbackGraph | None,
        loss_range: tuple[float, float] | None,
    ) -> None:
        if graph is None and examples.graphs is None:
            raise ValueError("`graph` must be given where the examples bring none")
        self.examples = examples
        self.graph = graph
        self.seen: Any = examples.losses
        if loss_range is not None:
            low, high = loss_range
            self.seen = (examples.losses - low) / (high - low)
        self.n_rounds = len(self.seen)

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """The rows; nothing is drawn."""
        graphs: Any = self.examples.graphs or repeat(self.graph, self.n_rounds)
        actions: Any = self.examples.actions or repeat(None)
        return map(Round, self.examples.contexts, graphs, actions, range(self.n_rounds))

    def reveal(self, round: Round, action: int, rng: np.random.Generator) -> Observation:
        """What the agent sees of the actions that the graph reveals."""
        revealed = round.graph.draw_revealed(action, rng)
        return Observation(pick(round.actions, revealed), self.seen[round.hidden][revealed])

    def loss(self, round: Round, action: int) -> float:
        """The loss of the action played, as in the file."""
        return float(self.examples.losses[round.hidden][action])


class Player:
    """An agent or a learner on its way through examples, with its graph and its draws.

    `graph` and `loss_range` as in `ExampleRounds`.
    """

    def __init__(
        self,
        agent: Agent,
        graph: FeedbackGraph | None,
        *,
        seed: int,
        loss_range: tuple[float, float] | None = (0.0, 1.0),
    ) -> None:
        self.agent = agent
        self.graph = graph
        self.loss_range = loss_range
        self.draws = streams(seed)[1]

    def play(self, examples: Examples) -> PlayedRows:
        """Play one round per row and learn from it."""
        environment = ExampleRounds(examples, self.graph, self.loss_range)
        rounds = environment.rounds(self.draws)
        rows = list(play(self.agent, environment, rounds, self.draws))
        return PlayedRows(
            np.array([row.action for row in rows], dtype=np.intp),
            np.array([row.probability for row in rows], dtype=np.float64),
            np.array([row.loss for row in rows], dtype=np.float64),
        )


class Sums(NamedTuple):
    """After each of some rows: how many there were, and sums (n,) and those of others (n, m)."""

    counts: NDArray[np.intp]
    totals: Floats
    others: Floats


class Tally:
    """Sums over all rows so far: of what was played, and of others that it is compared with.

    Rows are added one after the other, so the sums do not depend on how the file was split.
    """

    learned = Learned(
        count=Count(),
        total=Number(),
        others=Array("n_others"),
        last_count=Count(),
        last_total=Number(),
    )

    def __init__(self, n_others: int) -> None:
        self.n_others = n_others
        self.count = 0
        self.total = 0.0
        self.others = np.zeros(n_others)
        self.last_count = 0  # at the last line of the table of progress
        self.last_total = 0.0

    def add(self, played: PlayedRows, others: Floats) -> "Sums":
        """Count some rows; `others` (n, m) is what each of the others would have lost."""
        counts = self.count + 1 + np.arange(len(others))
        totals = np.cumsum(np.append(self.total, played.losses))[1:]
        sums = np.cumsum(np.vstack((self.others, others)), axis=0)[1:]
        if len(others):
            self.count, self.total = int(counts[-1]), float(totals[-1])
            self.others = sums[-1].copy()
        return Sums(counts, totals, sums)

    def since_last(self, count: int, total: float) -> float:
        """The mean loss since the last call."""
        mean = (total - self.last_total) / (count - self.last_count)
        self.last_count, self.last_total = count, total
        return mean

    def check_loaded(self) -> None:
        """Refuse a table of progress that is ahead of the rows."""
        if self.last_count > self.count:
            raise ValueError(f"`last_count` must be at most {self.count}, got {self.last_count}")
