"""What `graphcb run` prints: a table of progress as in Vowpal Wabbit and a summary, or JSON."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import InformationDirected, SquareCBG
from graphcb.checks import listed
from graphcb.commands.closing import stop_printing
from graphcb.commands.findings import Findings
from graphcb.commands.guardrail_facts import cost_of_limits, run_facts, run_results
from graphcb.commands.regret_bound import in_words, regret_bound
from graphcb.experiments.comparison import Comparison
from graphcb.experiments.model import Model
from graphcb.experiments.progressive import PlayedRows
from graphcb.problems import Problem
from graphcb.problems.guarded import innermost
from graphcb.problems.wording import guardrails_in_words
from graphcb.streams import BadRows, Examples, Report

Floats = NDArray[np.float64]


class Progress:
    """Prints as the options ask: with `--json` only the results, as one object.

    `is_unheard` becomes true when the reader of a pipe is gone and nothing else is wanted. If
    files are to be written, the run goes on in silence.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.is_json = options.json
        self.window: int | None = options.metric_window
        self.regression_regret: float | None = options.regression_regret
        self.writes_files = any((options.save, options.predictions, options.plot))
        self.is_unheard = False
        self.windows: list[dict[str, Any]] = []
        self.findings = Findings(Report(""))

    def say(self, text: str = "") -> None:
        """Print one line, unless the results alone are wanted."""
        if not self.is_json:
            self.show(text)

    def show(self, text: str) -> None:
        """Print in any case."""
        try:
            print(text, flush=True)
        except BrokenPipeError:  # as with `graphcb run ... | head`
            stop_printing()
            self.is_unheard = not self.writes_files

    def start(self, model: Model, path: Path | None) -> None:
        """What is known before the first row, and the head of the table; `path` if loaded."""
        actions, player = model.reading.targets.actions, model.player
        self.findings = Findings(model.reading.report)
        if path is not None:
            self.say(f"model: {path}, {model.tally.count:,} examples so far")
        else:
            for line in self.findings.at_first():
                self.say(line)
            self.say(f"{len(actions)} actions: {listed(actions)}")
            self.say(f"graph: {'one per row' if player.graph is None else repr(player.graph)}")
            learns, problem = innermost(player.agent), model.learner.problem
            facts: list[tuple[str, str]] = [*guardrails_in_words(problem)]
            if player.graph is not None and isinstance(learns, InformationDirected | SquareCBG):
                how = learns.explain(player.graph)
                # What rules add to it is in columns; the facts say it in names.
                has_rules = problem.limits is not None or problem.budgets
                self.say(how.partition("; ")[0] if has_rules else how)
                facts += cost_of_limits(problem)
            for name, text in facts:
                self.say(f"{name}: {text}")
        what = model.learner.problem.unit
        self.say()
        self.say("average  since            example          current          current  current")
        self.say(f"{what:<8} last             counter            label           action features")

    def add(
        self,
        model: Model,
        examples: Examples,
        played: PlayedRows,
        counts: NDArray[np.intp],
        totals: Floats,
    ) -> None:
        """A line for each example that ends a window; `totals` are sums of losses."""
        problem = model.learner.problem
        ends = counts & (counts - 1) if self.window is None else counts % self.window
        for row in np.flatnonzero(ends == 0).tolist():
            count, total, begin = int(counts[row]), float(totals[row]), model.tally.last_count
            since = in_units(problem, model.tally.since_last(count, total))
            mean = in_units(problem, total / count)
            if self.is_json:
                self.windows.append({"from": begin + 1, "to": count, "mean": since})
            else:
                self.say(_line(model, examples, played, row, (count, mean, since)))

    def finish(self, comparison: Comparison, bad_rows: BadRows, seconds: float) -> None:
        """The results, and the first of the rows that were skipped."""
        if self.is_json:
            self.show(json.dumps(self.results(comparison, bad_rows, seconds), indent=2))
            return
        problem = comparison.model.learner.problem
        name, constant = comparison.best_constant
        self.say()
        self.say("finished run")
        self.say(f"examples             = {comparison.model.tally.count:,}")
        if bad_rows.skip:
            self.say(f"rows skipped         = {bad_rows.count:,}")
        means = in_units(problem, comparison.means_by_seed)
        spread = f" +- {_deviation(means):.6f} over {means.size} seeds" if means.size > 1 else ""
        self.say(f"{f'average {problem.unit}':<20} = {means.mean():.6f}{spread}")
        self.say(f"best constant action = {in_units(problem, constant):.6f} ({name})")
        full = comparison.full_information_loss
        if full is not None:
            self.say(f"full information     = {in_units(problem, full):.6f}")
        bound = self._bound(comparison.model)
        if bound is not None:
            self.say(f"regret bound         = {in_words(bound)}")
        for label, text in run_facts(comparison.model.learner):
            self.say(f"{label:<20} = {text}")
        self.say(f"time                 = {seconds:.2f} s")
        for line in self.findings.in_the_end():
            self.say(line)
        self.skipped(bad_rows)

    def skipped(self, bad_rows: BadRows) -> None:
        """The first of the rows that were skipped."""
        for text in bad_rows.shown:
            self.say(f"skipped: {text}")
        if bad_rows.count > len(bad_rows.shown):
            self.say(f"skipped: {bad_rows.count - len(bad_rows.shown):,} more")

    def results(self, comparison: Comparison, bad_rows: BadRows, seconds: float) -> dict[str, Any]:
        """The object of `--json`."""
        model, problem = comparison.model, comparison.model.learner.problem
        means = in_units(problem, comparison.means_by_seed)
        name, constant = comparison.best_constant
        full, average = comparison.full_information_loss, f"average_{problem.unit}"
        graph = model.player.graph
        found = {
            "examples": model.tally.count,
            "rows_skipped": bad_rows.count,
            "skipped": bad_rows.shown,
            average: float(means.mean()),
            "deviation": _deviation(means) if means.size > 1 else None,
            "by_seed": means.tolist(),
            "best_constant_action": {"action": name, average: in_units(problem, constant)},
            "full_information": None if full is None else in_units(problem, full),
            "regret_bound": self._bound(model),
            "actions": list(model.reading.targets.actions),
            "graph": None if graph is None else repr(graph),
            **run_results(model.learner),
            **self.findings.as_json(),
            "seconds": seconds,
        }
        return found if self.window is None else {**found, "windows": self.windows}

    def _bound(self, model: Model) -> dict[str, Any] | None:
        return regret_bound(model.player.agent, model.player.loss_range, self.regression_regret)


def in_units(problem: Problem, losses: Any) -> Any:
    """Means of losses as a file of this problem has them: rewards are the highest minus a loss."""
    return problem.range[1] - losses if problem.feedback == "rewards" else losses


def _line(
    model: Model,
    examples: Examples,
    played: PlayedRows,
    row: int,
    numbers: tuple[int, float, float],
) -> str:
    count, mean, since = numbers
    actions, losses = model.reading.targets.actions, examples.losses[row]
    context = examples.contexts[row]
    values = context[1] if isinstance(context, tuple) else context
    best = ",".join(actions[i] for i in np.flatnonzero(losses == losses.min()))
    return (
        f"{mean:<8.6f} {since:<8.6f} {count:>15} {_cut(best):>16} "
        f"{_cut(actions[played.actions[row]]):>16} {np.count_nonzero(values):>8}"
    )


def _deviation(means: Floats) -> float:
    return float(means.std(ddof=1))


def _cut(text: str) -> str:
    return text if len(text) <= 16 else text[:13] + "..."
