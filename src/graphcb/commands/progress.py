"""What `graphcb run` prints and draws as it goes: the way Vowpal Wabbit users know it."""

from pathlib import Path
from typing import Any

import numpy as np

from graphcb.experiments.progressive import Model, Played, Player, Points
from graphcb.streams import Examples, Problems


class Report:
    """The table of progress at doubling counts, the summary, and the points of the figure."""

    def __init__(self, model: Model, rival: Player | None) -> None:
        self.model = model
        self.rival = rival
        self.rival_total = 0.0
        self.points = Points()
        print("average  since            example          current          current  current")
        print("loss     last             counter            label           action features")

    def add(self, examples: Examples, played: Played) -> None:
        """Print the rows of the table that fall into these examples."""
        tally = self.model.tally
        counts, totals, constants = tally.add(played, examples.losses)
        for row in np.flatnonzero(counts & (counts - 1) == 0).tolist():  # powers of two
            self._print(examples, played, row, int(counts[row]), float(totals[row]))
        if self.rival is not None and len(counts):
            full = self.rival.play(examples).losses
            fulls = np.cumsum(np.append(self.rival_total, full))[1:]
            self.rival_total = float(fulls[-1])
            sums = np.column_stack((totals, fulls, constants))
            self.points.add(counts, sums / counts[:, None])

    def finish(self, problems: Problems, seconds: float) -> None:
        """The summary."""
        tally, actions = self.model.tally, self.model.reading.targets.actions
        best = int(tally.constants.argmin())
        n_rows = tally.count
        print()
        print("finished run")
        print(f"examples             = {n_rows:,}")
        if problems.skip:
            print(f"rows skipped         = {problems.count:,}")
        print(f"average loss         = {tally.total / n_rows:.6f}")
        print(f"best constant action = {tally.constants[best] / n_rows:.6f} ({actions[best]})")
        if self.rival is not None:
            print(f"full information     = {self.rival_total / n_rows:.6f}")
        print(f"time                 = {seconds:.2f} s")
        for text in problems.shown:
            print(f"skipped: {text}")
        if problems.count > len(problems.shown):
            print(f"skipped: {problems.count - len(problems.shown):,} more")

    def draw(self, path: Path, name: str) -> None:
        """The curve beside the best constant action and the full-information learner."""
        from graphcb.figures.curves import save as save_figure
        from graphcb.figures.progress import draw_progress

        tally, actions = self.model.tally, self.model.reading.targets.actions
        best = int(tally.constants.argmin())
        values = np.array(self.points.values)
        curves = {
            "SquareCB.G": values[:, 0],
            f"always {actions[best]}": values[:, 2 + best],
            "full information": values[:, 1],
        }
        save_figure(draw_progress(self.points.rounds, curves, name), path)
        print(f"figure: {path}")

    def _print(
        self, examples: Examples, played: Played, row: int, count: int, total: float
    ) -> None:
        actions, losses = self.model.reading.targets.actions, examples.losses[row]
        context = examples.contexts[row]
        values = context[1] if isinstance(context, tuple) else context
        best = some([actions[i] for i in np.flatnonzero(losses == losses.min())], 3, ",")
        print(
            f"{total / count:<8.6f} {self.model.tally.since_last(count, total):<8.6f} "
            f"{count:>15} {_cut(best):>16} {_cut(actions[played.actions[row]]):>16} "
            f"{np.count_nonzero(values):>8}"
        )


def _cut(text: str) -> str:
    return text if len(text) <= 16 else text[:13] + "..."


def some(names: Any, at_most: int = 8, between: str = ", ") -> str:
    """The first few names."""
    return between.join(names[:at_most]) + (f"{between}..." if len(names) > at_most else "")
