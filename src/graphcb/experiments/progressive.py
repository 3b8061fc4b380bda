"""Progressive validation on a stream of examples, which can stop and go on another day."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent
from graphcb.experiments.loop import draw
from graphcb.graphs import FeedbackGraph
from graphcb.streams import Columns, Examples, SparseExamples, TableExamples, Targets

Floats = NDArray[np.float64]


class Played(NamedTuple):
    """What was played in each row of some examples, and what it cost in the file's units."""

    actions: NDArray[np.intp]
    probabilities: Floats
    losses: Floats


class Player:
    """An agent on its way through examples: its graph, its draws, and the sum of its losses.

    The agent sees losses as shares of `loss_range`. `graph` is that of all rounds; None where
    each row of the examples brings its own.
    """

    def __init__(
        self,
        agent: Agent,
        graph: FeedbackGraph | None,
        *,
        seed: int,
        loss_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.agent = agent
        self.graph = graph
        self.loss_range = loss_range
        # The second of two streams, as in `run`, where the first makes the world.
        self.draws = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1])

    def play(self, examples: Examples) -> Played:
        """One round a row: act, draw, see what the graph reveals, learn."""
        low, high = self.loss_range
        shares = (examples.losses - low) / (high - low)
        n_rows, n_actions = shares.shape
        actions = np.empty(n_rows, dtype=np.intp)
        probabilities = np.empty(n_rows)
        agent, draws, contexts = self.agent, self.draws, examples.contexts
        for row in range(n_rows):
            graph = self.graph if examples.graphs is None else examples.graphs[row]
            if graph is None:
                raise ValueError("`graph` must be given where the examples bring none")
            context, losses = contexts[row], shares[row]
            p = agent.act(context, graph)
            action = draw(p, n_actions, draws)
            revealed = graph.draw_revealed(action, draws)
            agent.learn(context, revealed, losses[revealed])
            actions[row] = action
            probabilities[row] = p[action]
        return Played(actions, probabilities, examples.losses[np.arange(n_rows), actions])

    def __getstate__(self) -> dict[str, Any]:
        graph = None if self.graph is None else self.graph.to_json()
        return {
            "agent": self.agent,
            "graph": graph,
            "loss_range": self.loss_range,
            "draws": self.draws.bit_generator.state,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.agent = state["agent"]
        self.graph = None if state["graph"] is None else FeedbackGraph.from_json(state["graph"])
        self.loss_range = state["loss_range"]
        self.draws = np.random.default_rng()
        self.draws.bit_generator.state = state["draws"]


class Tally:
    """Sums of losses over all rows so far: of what was played, and of each constant action.

    Rows are added one after the other, so the sums do not depend on how the rows were cut.
    """

    def __init__(self, n_actions: int) -> None:
        self.count = 0
        self.total = 0.0
        self.constants = np.zeros(n_actions)
        self.last_count = 0  # where the table of progress stood last
        self.last_total = 0.0

    def add(self, played: Played, losses: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Counts (n,), sums (n,) and sums of each constant action (n, K) after each row."""
        counts = self.count + 1 + np.arange(len(losses))
        totals = np.cumsum(np.append(self.total, played.losses))[1:]
        constants = np.cumsum(np.vstack((self.constants, losses)), axis=0)[1:]
        if len(losses):
            self.count, self.total = int(counts[-1]), float(totals[-1])
            self.constants = constants[-1].copy()
        return counts, totals, constants

    def since_last(self, count: int, total: float) -> float:
        """The mean loss since this was last asked."""
        mean = (total - self.last_total) / (count - self.last_count)
        self.last_count, self.last_total = count, total
        return mean


class Model:
    """All that goes into a model file: how rows are read, who plays, and the sums so far."""

    def __init__(self, reading: TableExamples | SparseExamples, player: Player) -> None:
        self.reading = reading
        self.player = player
        self.tally = Tally(len(reading.targets.actions))


CLASSES = (Model, Player, Tally, TableExamples, SparseExamples, Targets, Columns)


class Points:
    """Some points of curves of unknown length: at most 512, evenly spread.

    >>> points = Points()
    >>> points.add(np.arange(1, 2001), np.arange(2000.0)[:, None])
    >>> len(points.rounds), points.rounds[:2], points.rounds[-1]
    (500, [4, 8], 2000)
    """

    def __init__(self) -> None:
        self.every = 1
        self.rounds: list[int] = []
        self.values: list[Floats] = []

    def add(self, counts: NDArray[np.intp], values: Floats) -> None:
        """The values (n, m) after each of these rounds, which go on from the last ones."""
        while (counts[-1] if len(counts) else 0) // self.every > 512:
            self.every *= 2
            kept = [i for i, r in enumerate(self.rounds) if r % self.every == 0]
            self.rounds = [self.rounds[i] for i in kept]
            self.values = [self.values[i] for i in kept]
        for i in np.flatnonzero(counts % self.every == 0).tolist():
            self.rounds.append(int(counts[i]))
            self.values.append(values[i].copy())
