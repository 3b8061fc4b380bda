"""What `graphcb run` prints: a table of progress as in Vowpal Wabbit and a summary, or JSON."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import SquareCBG
from graphcb.checks import listed
from graphcb.commands.closing import stop_printing
from graphcb.experiments.comparison import Comparison
from graphcb.experiments.progressive import Model, Played
from graphcb.streams import BadRows, Examples

Floats = NDArray[np.float64]


class Progress:
    """Prints as the options ask: with `--json` only the results, as one object.

    `is_unheard` becomes true when the reader of a pipe is gone and nothing else is wanted. If
    files are to be written, the run goes on in silence.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.is_json = options.json
        self.window: int | None = options.metric_window
        self.writes_files = any((options.save, options.predictions, options.plot))
        self.is_unheard = False
        self.windows: list[dict[str, Any]] = []

    def say(self, text: str = "") -> None:
        """Print one line, unless the results alone are wanted."""
        if not self.is_json:
            self._print(text)

    def _print(self, text: str) -> None:
        try:
            print(text, flush=True)
        except BrokenPipeError:  # as with `graphcb run ... | head`
            stop_printing()
            self.is_unheard = not self.writes_files

    def start(self, model: Model, path: Path | None) -> None:
        """What is known before the first row, and the head of the table; `path` if loaded."""
        actions, player = model.reading.targets.actions, model.player
        if path is not None:
            self.say(f"model: {path}, {model.tally.count:,} examples so far")
        else:
            self.say(f"{len(actions)} actions: {listed(actions)}")
            self.say(f"graph: {'one per row' if player.graph is None else repr(player.graph)}")
            if player.graph is not None and isinstance(player.agent, SquareCBG):
                self.say(f"SquareCB.G by {player.agent.explain(player.graph)}")
        what = "reward" if player.are_rewards else "loss"
        self.say()
        self.say("average  since            example          current          current  current")
        self.say(f"{what:<8} last             counter            label           action features")

    def add(
        self,
        model: Model,
        examples: Examples,
        played: Played,
        counts: NDArray[np.intp],
        totals: Floats,
    ) -> None:
        """A line for each example that ends a window; `totals` are sums of losses or rewards."""
        ends = counts & (counts - 1) if self.window is None else counts % self.window
        for row in np.flatnonzero(ends == 0).tolist():
            count, total, begin = int(counts[row]), float(totals[row]), model.tally.last_count
            since = model.tally.since_last(count, total)
            if self.is_json:
                self.windows.append({"from": begin + 1, "to": count, "mean": since})
            else:
                self.say(_line(model, examples, played, row, (count, total / count, since)))

    def finish(self, comparison: Comparison, bad_rows: BadRows, seconds: float) -> None:
        """The results, and the first of the rows that were skipped."""
        if self.is_json:
            self._print(json.dumps(self.results(comparison, bad_rows, seconds), indent=2))
            return
        what = "reward" if comparison.model.player.are_rewards else "loss"
        name, loss = comparison.best_constant
        self.say()
        self.say("finished run")
        self.say(f"examples             = {comparison.model.tally.count:,}")
        if bad_rows.skip:
            self.say(f"rows skipped         = {bad_rows.count:,}")
        means = comparison.means_by_seed
        spread = f" +- {_deviation(means):.6f} over {means.size} seeds" if means.size > 1 else ""
        self.say(f"{f'average {what}':<20} = {means.mean():.6f}{spread}")
        self.say(f"best constant action = {loss:.6f} ({name})")
        if comparison.full_information_loss is not None:
            self.say(f"full information     = {comparison.full_information_loss:.6f}")
        self.say(f"time                 = {seconds:.2f} s")
        for text in bad_rows.shown:
            self.say(f"skipped: {text}")
        if bad_rows.count > len(bad_rows.shown):
            self.say(f"skipped: {bad_rows.count - len(bad_rows.shown):,} more")

    def results(self, comparison: Comparison, bad_rows: BadRows, seconds: float) -> dict[str, Any]:
        """The object of `--json`."""
        model, means = comparison.model, comparison.means_by_seed
        what = "reward" if model.player.are_rewards else "loss"
        name, constant = comparison.best_constant
        graph = model.player.graph
        found = {
            "examples": model.tally.count,
            "rows_skipped": bad_rows.count,
            "skipped": bad_rows.shown,
            f"average_{what}": float(means.mean()),
            "deviation": _deviation(means) if means.size > 1 else None,
            "by_seed": means.tolist(),
            "best_constant_action": {"action": name, f"average_{what}": constant},
            "full_information": comparison.full_information_loss,
            "actions": list(model.reading.targets.actions),
            "graph": None if graph is None else repr(graph),
            "seconds": seconds,
        }
        return found if self.window is None else {**found, "windows": self.windows}


def _line(
    model: Model, examples: Examples, played: Played, row: int, numbers: tuple[int, float, float]
) -> str:
    count, mean, since = numbers
    actions, losses = model.reading.targets.actions, examples.losses[row]
    context = examples.contexts[row]
    values = context[1] if isinstance(context, tuple) else context
    best = losses.max() if model.player.are_rewards else losses.min()
    right = ",".join(actions[i] for i in np.flatnonzero(losses == best))
    return (
        f"{mean:<8.6f} {since:<8.6f} {count:>15} {_cut(right):>16} "
        f"{_cut(actions[played.actions[row]]):>16} {np.count_nonzero(values):>8}"
    )


def _deviation(means: Floats) -> float:
    return float(means.std(ddof=1))


def _cut(text: str) -> str:
    return text if len(text) <= 16 else text[:13] + "..."
