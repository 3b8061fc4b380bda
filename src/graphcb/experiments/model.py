"""A learner on its way through the user's file, and its way through a model file and on."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.experiments.progressive import PlayedRows, Player, Sums, Tally
from graphcb.files import FileError
from graphcb.loaded import Array, contents, rebuild
from graphcb.problems import Learner
from graphcb.problems.guarded import guarded
from graphcb.problems.knowing import Knowing
from graphcb.streams import (
    Columns,
    Examples,
    RoundExamples,
    SparseExamples,
    TableExamples,
    Targets,
)

ColumnReading = TableExamples | SparseExamples
Reading = ColumnReading | RoundExamples


class Model:
    """A learner, how rows are read for it, the player that plays them, and the sums so far.

    A reading of columns encodes many rows at once, with the learner's own encoder, and the player
    plays them with the agent inside the learner: the same as the learner would do row by row.
    Rows that bring their own actions are played by the learner itself, in the problem's units.
    What is played is compared with each constant action, or with actions at random.
    """

    def __init__(self, learner: Learner, reading: Reading, *, seed: int) -> None:
        self.learner = learner
        self.reading = reading
        self.player = self._player(learner, seed)
        self.tally = Tally(len(self.actions or ("random",)))
        if reading.encoder is not None:
            learner.encoder = reading.encoder

    @property
    def actions(self) -> tuple[str, ...] | None:
        """The names of the actions; None where each row brings its own."""
        return None if isinstance(self.reading, RoundExamples) else self.reading.targets.actions

    def names(self, examples: Examples, row: int) -> list[str]:
        """What the actions of a row are called."""
        return list(self.actions or (examples.actions or [])[row])

    def add(self, examples: Examples, played: PlayedRows) -> Sums:
        """Count what was played."""
        others = examples.losses
        if examples.actions is not None:
            others = np.array([[values.mean()] for values in others])
        return self.tally.add(played, others)

    def in_units(self, losses: Any) -> Any:
        """Means of losses as the file has them: rewards are the highest minus a loss."""
        problem = self.learner.problem
        if isinstance(self.reading, RoundExamples):  # they are as in the file
            return losses
        return problem.scale[1] - losses if problem.feedback == "rewards" else losses

    def best_of(self, examples: Examples, row: int) -> NDArray[np.intp]:
        """The actions of a row that cost least."""
        values = examples.losses[row]
        largest = examples.actions is not None and self.learner.problem.feedback == "rewards"
        return np.flatnonzero(values == (values.max() if largest else values.min()))

    def repeat(self, agent: Any, seed: int) -> Player:
        """A player like the model's, with another agent and draws of its own."""
        problem = self.learner.problem
        if isinstance(self.reading, RoundExamples):
            return self._player(Learner(problem, agent), seed)
        return self._player(guarded(agent, problem), seed)

    def _player(self, learner: Any, seed: int) -> Player:
        if isinstance(self.reading, RoundExamples):
            return Player(learner, None, seed=seed, loss_range=None)
        problem = self.learner.problem
        agent: Any = learner.agent if isinstance(learner, Learner) else learner
        agent = agent if problem.known is None else Knowing(agent, problem)
        graph = None if problem.reveals.each_round else problem.graph
        return Player(agent, graph, seed=seed, loss_range=self.reading.targets.loss_range)

    def to_learner(self) -> Learner:
        """The learner, with what a later run needs to go on in its attribute `progress`."""
        self.learner.progress = {
            "reading": _as_plain(self.reading),
            "draws": self.player.draws.bit_generator.state,
            "tally": contents(self.tally),
        }
        return self.learner

    @classmethod
    def from_learner(cls, learner: Learner, where: str) -> "Model":
        """The model that goes on bit for bit; `where` names the file in errors."""
        if learner.progress is None:
            raise FileError(
                f"{where}: must be a model that `graphcb run --save` wrote, got a Learner that "
                "has seen no file"
            )
        try:
            model = cls(learner, _as_reading(learner, learner.progress["reading"]), seed=0)
            model.player.draws.bit_generator.state = learner.progress["draws"]
            model.tally = rebuild(Tally, learner.progress["tally"])
            model._check_sizes()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as reason:
            raise FileError(f"{where}: damaged: {reason!r}") from None
        return model

    def _check_sizes(self) -> None:
        n_actions, graph = len(self.actions or ("random",)), self.player.graph
        sizes = {self.tally.others.size, n_actions if graph is None else graph.n_actions}
        if sizes != {n_actions}:
            raise ValueError(f"the sums and the graph must be those of {n_actions} actions")
        if isinstance(self.reading, RoundExamples):
            return
        has_edges = isinstance(self.reading, TableExamples) and self.reading.columns.edges
        if (graph is None) != bool(has_edges):
            raise ValueError("there must be a graph, or a column with one for each row")


def features_of(reading: ColumnReading) -> dict[str, str] | None:
    """The kinds of the features, if they have names."""
    return None if reading.encoder is None else reading.encoder.features


def _as_plain(reading: Reading) -> dict[str, Any]:
    """What is not in the learner, in plain values."""
    if isinstance(reading, RoundExamples):
        return {"rounds": reading.outcome}
    if isinstance(reading, TableExamples):
        return {"table": asdict(reading.columns)}
    return {name: getattr(reading, name) for name in ("format", "features", "largest")}


def _as_reading(learner: Learner, plain: dict[str, Any]) -> Reading:
    problem, encoder = learner.problem, learner.encoder
    if "rounds" in plain:
        return RoundExamples(plain["rounds"], problem.graph_for)
    targets = Targets(problem.actions, problem.scale, rewards=problem.feedback == "rewards")
    if "table" in plain:
        columns, kinds = Columns(**plain["table"]), encoder.features or encoder.kinds
        is_sparse, bits = encoder.features is None, encoder.bits
        table = TableExamples(columns, targets, bits=bits, kinds=kinds, sparse=is_sparse)
        if table.encoder.features != encoder.features:
            raise ValueError("the encoder must have the features of the columns")
        table.encoder = encoder
        return table
    largest, features = plain["largest"], plain["features"]
    bits = encoder.bits if features else largest.size.bit_length() - 1
    sparse = SparseExamples(plain["format"], targets, bits=bits, features=features)
    n_places, sparse.largest = sparse.largest.size, largest
    Array(n_places, least=0.0, most=np.finfo(float).max)(sparse, "largest")
    if sparse.encoder is not None:
        if sparse.encoder.features != encoder.features:
            raise ValueError("the encoder must have the features of the lines")
        sparse.encoder = encoder
    return sparse
