"""What `graphcb run` prints: a table of progress as in Vowpal Wabbit and a summary, or JSON."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.agents import InformationDirected, SquareCBG
from graphcb.checks import listed
from graphcb.commands.findings import Findings
from graphcb.commands.guardrail_facts import cost_of_rules, run_facts, run_results
from graphcb.commands.outputs import stop_printing
from graphcb.commands.regret_bound import in_words, regret_bound
from graphcb.experiments.comparison import Comparison
from graphcb.experiments.model import Model
from graphcb.experiments.progressive import PlayedRows, Sums
from graphcb.graphs.structure import Floats
from graphcb.problems.guarded import innermost
from graphcb.problems.wording import guardrails_in_words
from graphcb.streams import BadRows, Examples, Report


class Progress:
    """Prints as the options ask: with `--json` only the results, as one object.

    `reader_is_gone` becomes true when the reader of a pipe is gone and nothing else is wanted. If
    files are to be written, the run goes on in silence.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.is_json = options.json
        self.window: int | None = options.metric_window
        self.regression_regret: float | None = options.regression_regret
        self.writes_files = any((options.save, options.predictions, options.plot))
        self.reader_is_gone = False
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
            self.reader_is_gone = not self.writes_files

    def start(self, model: Model, path: Path | None) -> None:
        """What is known before the first row, and the head of the table; `path` if loaded."""
        self.findings = Findings(model.reading.report, model.learner)
        if path is not None:
            self.say(f"model: {path}, {model.tally.count:,} examples so far")
        else:
            for line in (*self.findings.at_first(), *_facts(model)):
                self.say(line)
        unit = model.learner.problem.unit
        counted = "actions" if model.actions is None else "features"
        self.say()
        self.say("average  since            example          current          current  current")
        head = "last             counter            label           action"
        self.say(f"{unit:<8} {head} {counted:>8}")

    def add(self, model: Model, examples: Examples, played: PlayedRows, sums: Sums) -> None:
        """A line for each example that ends a window."""
        counts = sums.counts
        ends = counts & (counts - 1) if self.window is None else counts % self.window
        for row in np.flatnonzero(ends == 0).tolist():
            count, total, begin = int(counts[row]), float(sums.totals[row]), model.tally.last_count
            since = model.in_units(model.tally.since_last(count, total))
            mean = model.in_units(total / count)
            if self.is_json:
                self.windows.append({"from": begin + 1, "to": count, "mean": since})
            else:
                label, action, size = _described(model, examples, played, row)
                numbers = f"{mean:<8.6f} {since:<8.6f} {count:>15}"
                self.say(f"{numbers} {_cut(label):>16} {_cut(action):>16} {size:>8}")

    def finish(self, comparison: Comparison, bad_rows: BadRows, seconds: float) -> None:
        """The results, and the first of the rows that were skipped."""
        if self.is_json:
            self.show(json.dumps(self.results(comparison, bad_rows, seconds), indent=2))
            return
        model = comparison.model
        self.say()
        self.say("finished run")
        self.say(f"examples             = {model.tally.count:,}")
        if bad_rows.skip:
            self.say(f"rows skipped         = {bad_rows.count:,}")
        means = model.in_units(comparison.means_by_seed)
        spread = _spread(means) if means.size > 1 else ""
        average = f"average {model.learner.problem.unit}"
        self.say(f"{average:<20} = {means.mean():.6f}{spread}")
        if comparison.best_constant is not None:
            name, constant = comparison.best_constant
            self.say(f"best constant action = {model.in_units(constant):.6f} ({name})")
        if comparison.random_loss is not None:
            self.say(f"random actions       = {model.in_units(comparison.random_loss):.6f}")
        full = comparison.full_information_loss
        if full is not None:
            self.say(f"full information     = {model.in_units(full):.6f}")
        bound = self._bound(model)
        if bound is not None:
            self.say(f"regret bound         = {in_words(bound)}")
        for label, text in run_facts(model.learner):
            self.say(f"{label:<20} = {text}")
        self.say(f"time                 = {seconds:.2f} s")
        for line in (*self.findings.in_the_end(), *bad_rows.in_words()):
            self.say(line)

    def results(self, comparison: Comparison, bad_rows: BadRows, seconds: float) -> dict[str, Any]:
        """The object of `--json`."""
        model = comparison.model
        means, full = model.in_units(comparison.means_by_seed), comparison.full_information_loss
        average, graph = f"average_{model.learner.problem.unit}", model.player.graph
        found = {
            "examples": model.tally.count,
            "rows_skipped": bad_rows.count,
            "skipped": bad_rows.shown,
            average: float(means.mean()),
            "deviation": _deviation(means) if means.size > 1 else None,
            "by_seed": means.tolist(),
        }
        if comparison.best_constant is not None:
            name, constant = comparison.best_constant
            found["best_constant_action"] = {"action": name, average: model.in_units(constant)}
        if comparison.random_loss is not None:
            found["random_actions"] = model.in_units(comparison.random_loss)
        found |= {
            "full_information": None if full is None else model.in_units(full),
            "regret_bound": self._bound(model),
            "actions": None if model.actions is None else list(model.actions),
            "graph": None if graph is None else repr(graph),
            **run_results(model.learner),
            **self.findings.as_json(),
            "seconds": seconds,
        }
        return found if self.window is None else {**found, "windows": self.windows}

    def _bound(self, model: Model) -> dict[str, Any] | None:
        learner = model.learner
        return regret_bound(learner.agent, learner.problem.scale, self.regression_regret)


def _facts(model: Model) -> Iterator[str]:
    """The actions, the graph, how it is explored, and what must hold."""
    problem, graph, actions = model.learner.problem, model.player.graph, model.actions
    facts: list[tuple[str, str]] = [*guardrails_in_words(problem)]
    if actions is None:
        yield "actions: they come with each row"
        yield f"graph: {problem.reveals.shortest()}"
    else:
        yield f"{len(actions)} actions: {listed(actions)}"
        yield f"graph: {'one per row' if graph is None else repr(graph)}"
    learns = innermost(model.learner.agent)
    if graph is not None and isinstance(learns, InformationDirected | SquareCBG):
        how = learns.explain(graph if actions is None else problem.with_known(graph, actions))
        # What rules add to it is in columns; the facts say it in names.
        has_rules = problem.limits is not None or problem.budgets or problem.explore
        yield how.partition("; ")[0] if has_rules else how
        facts += cost_of_rules(problem)
    for name, text in facts:
        yield f"{name}: {text}"


def _described(
    model: Model, examples: Examples, played: PlayedRows, row: int
) -> tuple[str, str, int]:
    """The best actions of a row, the one that was played, and how many features it has.

    Where rows bring their own actions, how many of these it has.
    """
    names, context = model.names(examples, row), examples.contexts[row]
    best = ",".join(names[i] for i in model.best_of(examples, row))
    size = len(names)
    if model.actions is not None:
        values = context[1] if isinstance(context, tuple) else context
        size = int(np.count_nonzero(values))
    return best, names[played.actions[row]], size


def _spread(means: Floats) -> str:
    """How much the seeds differ.

    >>> _spread(np.array([0.1, 0.3])), _spread(np.array([0.1, 0.1]))
    (' +- 0.141421 over 2 seeds', ' with each of 2 seeds: no draw made a difference')
    """
    if means.min() == means.max():
        return f" with each of {means.size} seeds: no draw made a difference"
    return f" +- {_deviation(means):.6f} over {means.size} seeds"


def _deviation(means: Floats) -> float:
    return float(means.std(ddof=1))


def _cut(text: str) -> str:
    return text if len(text) <= 16 else text[:13] + "..."
