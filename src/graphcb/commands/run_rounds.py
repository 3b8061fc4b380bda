"""`graphcb run` on JSON lines in which each row brings its own actions."""

import argparse
import csv
import json
import time
from contextlib import ExitStack
from typing import Any

from graphcb.commands.guardrail_facts import run_facts, run_results
from graphcb.commands.learner import build_agent, check_runs, seed_of
from graphcb.commands.outputs import PREDICTIONS
from graphcb.commands.progress import Progress
from graphcb.commands.regret_bound import check_regression_regret, in_words, regret_bound
from graphcb.experiments.featured import FeaturedRun
from graphcb.files import atomic_write
from graphcb.problems import Learner, Problem
from graphcb.problems.wording import guardrails_in_words
from graphcb.saving import load, save
from graphcb.streams import BadRows, Source
from graphcb.streams.rounds import outcome_of, read_rounds

NOT_HERE = ("label", "losses", "rewards", "features", "categorical", "edges", "classes", "bits",
            "oracle", "learning_rate", "seeds", "plot")  # fmt: skip
IN_MODEL = ("problem", "graph", "gamma", "method", "seed", "loss_range")


def run_rounds(source: Source, options: argparse.Namespace, bad_rows: BadRows) -> None:
    """Play all rows, print the results and write what is asked for."""
    for name in NOT_HERE:
        if getattr(options, name) is not None:
            raise ValueError(
                f"`--{name.replace('_', '-')}` must not be given with rows that bring their own "
                "actions and outcomes"
            )
    outcome = outcome_of(source)
    run = _new(source, outcome, options) if options.load is None else _loaded(options)
    learner, progress = run.learner, Progress(options)
    check_regression_regret(learner.agent, options.regression_regret)
    problem = learner.problem
    if (problem.feedback == "rewards") != (outcome == "rewards"):
        raise ValueError(f"{source.name}: must have {problem.feedback}, got {outcome}")
    if options.load is not None:
        progress.say(f"model: {options.load}, {run.sums.n_rows:,} examples so far")
    progress.say("actions: they come with each row")
    progress.say(f"graph: {problem.reveals.shortest()}")
    for name, text in guardrails_in_words(problem):
        progress.say(f"{name}: {text}")
    progress.say("")
    progress.say("average  since            example           action  actions")
    progress.say(f"{problem.unit:<8} last")
    start, before = time.perf_counter(), run.sums
    with ExitStack() as stack:
        writer: Any = None
        if options.predictions is not None:
            writer = csv.writer(
                stack.enter_context(atomic_write(options.predictions, text=True)),
                lineterminator="\n",
            )
            writer.writerow(PREDICTIONS.split(","))
        rows = read_rounds(source, outcome, bad_rows)
        for row, played in run.play(rows, problem.graph_for):
            action = list(row.actions)[played.action]
            if writer is not None:
                writer.writerow((row.line, action, played.probability))
            count = run.sums.n_rows
            if (count % progress.window if progress.window else count & (count - 1)) == 0:
                since = (run.sums.total - before.total) / (count - before.n_rows)
                window = {"from": before.n_rows + 1, "to": count, "mean": since}
                progress.windows.append(window)
                mean = run.sums.total / count
                progress.say(f"{mean:<8.6f} {since:<8.6f} {count:>15} {action[:16]:>16} "
                             f"{len(row.actions):>8}")  # fmt: skip
                before = run.sums
            if progress.is_unheard:
                return
        if run.sums.n_rows == 0:
            raise ValueError(
                f"{source.name}: must have at least one row that can be used, got none"
            )
    _finish(run, progress, bad_rows, time.perf_counter() - start)
    if options.save is not None:
        save(run.to_learner(), options.save)
        progress.say(f"model: {options.save}")
    if options.predictions is not None:
        progress.say(f"predictions: {options.predictions}")


def _new(source: Source, outcome: str, options: argparse.Namespace) -> FeaturedRun:
    if options.problem is not None:
        problem = Problem.read(options.problem)
        check_runs(problem, options.problem)
        for name in ("graph", "loss_range"):
            if getattr(options, name) is not None:
                raise ValueError(
                    f"`--{name.replace('_', '-')}` must not be given with --problem, which says it"
                )
    else:
        problem = Problem(
            "each round",
            reveals=options.graph or "bandit",
            feedback="rewards" if outcome == "rewards" else "losses",
            range=options.loss_range or _range(source, outcome),
        )
    return FeaturedRun(Learner(problem, build_agent(options)), seed=seed_of(options))


def _range(source: Source, outcome: str) -> tuple[float, float]:
    """The smallest and largest value of a first look."""
    if outcome == "label":
        return 0.0, 1.0
    low, high = float("inf"), float("-inf")
    for row in read_rounds(source, outcome, BadRows(source.name, skip=True), first_look=True):
        low, high = min(low, float(row.values.min())), max(high, float(row.values.max()))
    if low > high:
        raise ValueError(f"{source.name}: must have at least one row that can be used, got none")
    return (low, high) if low < high else (low, low + 1.0)


def _loaded(options: argparse.Namespace) -> FeaturedRun:
    for name in IN_MODEL:
        if getattr(options, name) is not None:
            raise ValueError(
                f"`--{name.replace('_', '-')}` must not be given with --load: "
                "the model keeps the options it was made with"
            )
    learner = load(options.load)
    if not isinstance(learner, Learner):
        raise ValueError(
            f"{options.load}: must be a model written by `graphcb run --save`, "
            f"got a {type(learner).__name__}"
        )
    return FeaturedRun.from_learner(learner, str(options.load))


def _finish(run: FeaturedRun, progress: Progress, bad_rows: BadRows, seconds: float) -> None:
    count, total, random = run.sums
    unit = run.learner.problem.unit
    bound = regret_bound(run.learner.agent, run.learner.problem.range, progress.regression_regret)
    if progress.is_json:
        found: dict[str, Any] = {
            "examples": count,
            "rows_skipped": bad_rows.count,
            "skipped": bad_rows.shown,
            f"average_{unit}": total / count,
            "random_actions": random / count,
            "regret_bound": bound,
            **run_results(run.learner),
            "seconds": seconds,
        }
        if progress.window is not None:
            found["windows"] = progress.windows
        progress.show(json.dumps(found, indent=2))
        return
    progress.say()
    progress.say("finished run")
    progress.say(f"examples             = {count:,}")
    if bad_rows.skip:
        progress.say(f"rows skipped         = {bad_rows.count:,}")
    progress.say(f"{f'average {unit}':<20} = {total / count:.6f}")
    progress.say(f"random actions       = {random / count:.6f}")
    if bound is not None:
        progress.say(f"regret bound         = {in_words(bound)}")
    for label, text in run_facts(run.learner):
        progress.say(f"{label:<20} = {text}")
    progress.say(f"time                 = {seconds:.2f} s")
    progress.skipped(bad_rows)
