"""What `graphcb run` prints: a table of progress as in Vowpal Wabbit, and a summary."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import SquareCBG
from graphcb.checks import listed
from graphcb.experiments.comparison import Comparison
from graphcb.experiments.progressive import Model, Played
from graphcb.streams import BadRows, Examples

Floats = NDArray[np.float64]


def print_start(model: Model, path: Path | None) -> None:
    """What is known before the first row, and the head of the table; `path` if it was loaded."""
    actions, player = model.reading.targets.actions, model.player
    if path is not None:
        print(f"model: {path}, {model.tally.count:,} examples so far")
    else:
        print(f"{len(actions)} actions: {listed(actions)}")
        print(f"graph: {'one per row' if player.graph is None else repr(player.graph)}")
        if player.graph is not None and isinstance(player.agent, SquareCBG):
            print(f"SquareCB.G by {player.agent.explain(player.graph)}")
    print()
    print("average  since            example          current          current  current")
    print("loss     last             counter            label           action features")


def print_progress(
    model: Model, examples: Examples, played: Played, counts: NDArray[np.intp], totals: Floats
) -> None:
    """A line for each example whose count is a power of two; `totals` are sums of losses."""
    actions = model.reading.targets.actions
    for row in np.flatnonzero(counts & (counts - 1) == 0).tolist():
        count, total, losses = int(counts[row]), float(totals[row]), examples.losses[row]
        context = examples.contexts[row]
        values = context[1] if isinstance(context, tuple) else context
        best = ",".join(actions[i] for i in np.flatnonzero(losses == losses.min()))
        print(
            f"{total / count:<8.6f} {model.tally.since_last(count, total):<8.6f} "
            f"{count:>15} {_cut(best):>16} {_cut(actions[played.actions[row]]):>16} "
            f"{np.count_nonzero(values):>8}"
        )


def print_summary(comparison: Comparison, bad_rows: BadRows, seconds: float) -> None:
    """The final losses, and the first of the rows that were skipped."""
    name, loss = comparison.best_constant
    print()
    print("finished run")
    print(f"examples             = {comparison.model.tally.count:,}")
    if bad_rows.skip:
        print(f"rows skipped         = {bad_rows.count:,}")
    print(f"average loss         = {comparison.mean_loss:.6f}")
    print(f"best constant action = {loss:.6f} ({name})")
    if comparison.full_information_loss is not None:
        print(f"full information     = {comparison.full_information_loss:.6f}")
    print(f"time                 = {seconds:.2f} s")
    for text in bad_rows.shown:
        print(f"skipped: {text}")
    if bad_rows.count > len(bad_rows.shown):
        print(f"skipped: {bad_rows.count - len(bad_rows.shown):,} more")


def save_figure(comparison: Comparison, path: Path, title: str) -> None:
    """Draw the learner beside the best constant action and the full-information learner."""
    from graphcb.figures.curves import draw_progress, save

    rounds, curves = comparison.curves()
    save(draw_progress(rounds, curves, title), path)
    print(f"figure: {path}")


def _cut(text: str) -> str:
    return text if len(text) <= 16 else text[:13] + "..."
