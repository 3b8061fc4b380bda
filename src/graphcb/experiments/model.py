"""A learner on its way through the user's file, and its way through a model file and on."""

from dataclasses import asdict
from typing import Any

import numpy as np

from graphcb.experiments.progressive import Player, Tally
from graphcb.files import FileError
from graphcb.loaded import Array, contents, rebuild
from graphcb.problems import Learner
from graphcb.streams import Columns, SparseExamples, TableExamples, Targets

Reading = TableExamples | SparseExamples


class Model:
    """A learner, how rows are read for it, the player that plays them, and the sums so far.

    The reading encodes many rows at once, with the learner's own encoder, and the player plays
    them with the agent inside the learner: the same as the learner would do row by row.
    """

    def __init__(self, learner: Learner, reading: Reading, *, seed: int) -> None:
        self.learner = learner
        self.reading = reading
        self.player = new_player(learner, reading, seed)
        self.tally = Tally(len(reading.targets.actions))
        if reading.encoder is not None:
            learner.encoder = reading.encoder

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
        if learner.progress is None or "rounds" in learner.progress:
            what = "no columns of a file" if learner.progress is None else "actions in each row"
            raise FileError(
                f"{where}: must be a model that `graphcb run --save` wrote for the columns of a "
                f"file, got a Learner that has {what}"
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
        n_actions, graph = len(self.reading.targets.actions), self.player.graph
        sizes = {self.tally.constants.size, n_actions if graph is None else graph.n_actions}
        if sizes != {n_actions} or self.player.loss_range != self.reading.targets.loss_range:
            raise ValueError(
                f"the sums, the graph and the losses must be those of {n_actions} actions"
            )
        columns = getattr(self.reading, "columns", None)
        if (graph is None) == (columns is None or columns.edges is None):
            raise ValueError("there must be a graph, or a column with one for each row")


def new_player(learner: Learner, reading: Reading, seed: int) -> Player:
    """A player for the agent inside the learner, which sees losses between 0 and 1."""
    problem = learner.problem
    graph = None if problem.reveals.each_round else problem.graph
    return Player(learner.agent, graph, seed=seed, loss_range=reading.targets.loss_range)


def features_of(reading: Reading) -> dict[str, str] | None:
    """The kinds of the features, if they have names."""
    return None if reading.encoder is None else reading.encoder.features


def _as_plain(reading: Reading) -> dict[str, Any]:
    """What is not in the learner, in plain values."""
    if isinstance(reading, TableExamples):
        return {"table": asdict(reading.columns)}
    return {name: getattr(reading, name) for name in ("format", "features", "largest")}


def _as_reading(learner: Learner, plain: dict[str, Any]) -> Reading:
    problem, encoder = learner.problem, learner.encoder
    targets = Targets(problem.actions, problem.range, rewards=problem.feedback == "rewards")
    if "table" in plain:
        columns, kinds = Columns(**plain["table"]), encoder.features or {}
        table = TableExamples(columns, targets, bits=encoder.bits, kinds=kinds)
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
