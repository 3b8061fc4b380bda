"""A learner's score on the user's data, beside what it could be compared with."""

from collections.abc import Sequence

import numpy as np

from graphcb.agents import Agent
from graphcb.experiments.model import Model
from graphcb.experiments.progressive import PlayedRows, Player, Sums
from graphcb.graphs.families import full_information
from graphcb.graphs.structure import Floats
from graphcb.streams import Examples
from graphcb.thinning import Thinned


class Comparison:
    """Sums of losses: the model's, those it is compared with, and a full-information learner's.

    `rival` is an agent like the model's, for files of columns. It plays the same examples with
    the same draws, but sees the losses of all actions. `repeats` are players like the model's
    with draws of their own.
    """

    def __init__(
        self,
        model: Model,
        rival: Agent | None = None,
        *,
        seed: int = 0,
        repeats: Sequence[Player] = (),
    ) -> None:
        self.model = model
        self.rival: Player | None = None
        if rival is not None:
            graph = full_information(len(model.actions or ()))
            self.rival = Player(rival, graph, seed=seed, loss_range=model.player.loss_range)
        self.rival_total = 0.0
        self.repeats = repeats
        self.repeat_totals = np.zeros(len(repeats))
        self._points: Thinned[Floats] = Thinned(512)
        self._last = np.empty(0)  # the means after the last row, as in `_points`

    def add(self, examples: Examples, played: PlayedRows) -> Sums:
        """Count what the model played."""
        sums = self.model.add(examples, played)
        for i, player in enumerate(self.repeats):
            totals = np.cumsum(np.append(self.repeat_totals[i], player.play(examples).losses))
            self.repeat_totals[i] = totals[-1]
        if self.rival is not None and len(sums.counts):
            # It sees everything, whatever the graph of a row shows to others.
            losses = self.rival.play(examples._replace(graphs=None)).losses
            fulls = np.cumsum(np.append(self.rival_total, losses))[1:]
            self.rival_total = float(fulls[-1])
            means = np.column_stack((sums.totals, fulls, sums.others)) / sums.counts[:, None]
            for i in np.flatnonzero(sums.counts % self._points.every == 0).tolist():
                self._points.add(int(sums.counts[i]), means[i].copy())
            self._last = means[-1]
        return sums

    @property
    def means_by_seed(self) -> Floats:
        """The mean loss of the model and of each repeat of it."""
        totals = np.append(self.model.tally.total, self.repeat_totals)
        return totals / self.model.tally.count

    @property
    def best_constant(self) -> tuple[str, float] | None:
        """The name and the mean loss of the best constant action, if there are any."""
        tally, actions = self.model.tally, self.model.actions
        if actions is None:
            return None
        best = int(tally.others.argmin())
        return actions[best], float(tally.others[best] / tally.count)

    @property
    def random_loss(self) -> float | None:
        """The mean loss of actions at random, where each row brings its own."""
        tally = self.model.tally
        return None if self.model.actions else float(tally.others[0] / tally.count)

    @property
    def full_information_loss(self) -> float | None:
        """The mean loss of the rival, if there is one."""
        return None if self.rival is None else self.rival_total / self.model.tally.count

    def curves(self) -> tuple[list[int], dict[str, Floats]]:
        """Rounds, and the mean loss up to each of them by name, for a figure.

        The last point is that of the last row, so that a figure ends where the sums do.
        """
        rounds, rows = self._points.counts, list(self._points.values)
        if not rounds or rounds[-1] != self.model.tally.count:
            rounds.append(self.model.tally.count)
            rows.append(self._last)
        values = np.array(rows)
        best = int(self.model.tally.others.argmin())
        return rounds, {
            "SquareCB.G": values[:, 0],
            f"always {(self.model.actions or ())[best]}": values[:, 2 + best],
            "full information": values[:, 1],
        }
