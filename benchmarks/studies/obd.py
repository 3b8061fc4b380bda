"""Real ground truth: two policies of one shop campaign, each judged on the other one's log.

The Open Bandit Dataset (Saito, Aihara, Matsutani and Narita, 2021) has the men's campaign by a
policy that shows one of 34 items uniformly at random, and by Thompson sampling, in the same week.
What is true of a policy is the click rate of its own log, which has an interval of its own.

The random policy is judged on Thompson sampling's log by the probabilities in that log. For the
other way the file has no probabilities: Thompson sampling's, on the rows of the random log, are
taken to be the shares of items that it showed in each position in that week. This assumes that
its choice does not depend on the user, as in this dataset, and that click rates did not drift
within the week while its probabilities did.
"""

import argparse
import csv
import gzip
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcb import evaluate_table
from graphcb.commands.panels import check_folder
from graphcb.datasets.location import find
from graphcb.evaluation import Estimate, Interval
from graphcb.figures.curves import save
from graphcb.files import atomic_write
from studies.results import PICTURES, Rows, markdown_table, print_rows

NAME = "obd"
ITEMS = [str(number) for number in range(34)]
LOGS = {"uniformly random": "random_men.csv.gz", "Thompson sampling": "bts_men.csv.gz"}


class Judgement(NamedTuple):
    """A policy judged on a log, and what it did on its own."""

    policy: str
    estimator: str
    estimate: Estimate
    effective_size: float
    is_best: bool
    truth: Estimate

    @property
    def error(self) -> float:
        """How far the estimate is from the click rate of the policy's own log."""
        return self.estimate.value - self.truth.value


def read_log(file: str) -> dict[str, list[Any]]:
    """Item, position, click and propensity of each row."""
    path = find("obd", file, "run another study")
    with gzip.open(path, "rt", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {
        "item": [row["item_id"] for row in rows],
        "position": [row["position"] for row in rows],
        "click": [float(row["click"]) for row in rows],
        "propensity": [float(row["propensity_score"]) for row in rows],
    }


def shares(log: dict[str, list[Any]]) -> dict[str, dict[str, float]]:
    """How often each item was shown in each position."""
    found = {}
    for position in sorted(set(log["position"])):
        chosen = [
            item
            for item, place in zip(log["item"], log["position"], strict=True)
            if place == position
        ]
        found[position] = {item: chosen.count(item) / len(chosen) for item in ITEMS}
    return found


def judgements() -> list[Judgement]:
    """Each policy on the other one's log, by every estimator."""
    logs = {policy: read_log(file) for policy, file in LOGS.items()}
    shown = shares(logs["Thompson sampling"])
    targets: dict[str, Any] = {
        "uniformly random": "uniform",
        "Thompson sampling": lambda row: shown[row["position"]],
    }
    found = []
    for policy, other in (tuple(LOGS), tuple(reversed(LOGS))):
        truth = _judge(logs[policy], "logged").estimate
        judged = _judge(logs[other], targets[policy])
        found += [
            Judgement(policy, name, one, judged.effective_size, name == judged.best, truth)
            for name, one in judged.estimates.items()
        ]
    return found


def _judge(log: dict[str, list[Any]], policy: Any) -> Any:
    found = evaluate_table(
        log,
        action="item",
        probability="propensity",
        reward="click",
        policy=policy,
        actions=ITEMS,
        value_range=(0.0, 1.0),
    )
    return found.policies[0]


HEAD = ("policy", "log", "estimator", "click rate", "95 % interval", "the truth: its own log",
        "error", "effective size")  # fmt: skip


def table(found: Sequence[Judgement]) -> Rows:
    """One row for each estimator; the one that is called best has a star."""
    body = []
    for one in found:
        (log,) = [name for name in LOGS if name != one.policy]
        body.append(
            (
                one.policy,
                log,
                one.estimator + "*" * one.is_best,
                f"{one.estimate.value:.4f}",
                _shown(one.estimate.interval),
                f"{one.truth.value:.4f} ({_shown(one.truth.interval)})",
                f"{one.error:+.4f}",
                f"{one.effective_size:.0f}",
            )
        )
    return Rows("obd: each policy, judged on the other one's log", HEAD, body)


def _shown(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.lower:.4f} to {interval.upper:.4f}"


def draw(found: Sequence[Judgement]) -> Figure:
    """Estimates with their intervals, on the band of the truth."""
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    for place, policy in enumerate(LOGS):
        axes = figure.add_subplot(1, 2, place + 1)
        own = [one for one in found if one.policy == policy]
        truth = own[0].truth
        if truth.interval is not None:
            axes.axvspan(*truth.interval, color="#c6dbef", zorder=0)
        axes.axvline(truth.value, color="#08519c")
        for row, one in enumerate(own):
            colour = "#e6550d" if one.is_best else "#636363"
            if one.estimate.interval is not None:
                axes.plot(one.estimate.interval, [row, row], color=colour)
            axes.plot([one.estimate.value], [row], "o", color=colour, markersize=5)
        axes.set_yticks(range(len(own)), [one.estimator for one in own], size=8)
        axes.set_ylim(len(own) - 0.5, -0.5)
        axes.set_title(f"{policy}, judged on the other log", size=9)
        axes.set_xlim(left=0.0)
        axes.set_xlabel("clicks per item shown")
        axes.grid(alpha=0.3, axis="x")
    handles = [
        Line2D([], [], color="#08519c", label="its own log, with the 95 % interval of that"),
        Line2D([], [], color="#e6550d", marker="o", label="best"),
        Line2D([], [], color="#636363", marker="o", label="other estimators"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def run(options: argparse.Namespace) -> None:
    """Judge, print, and write a report and a picture."""
    endings = {**dict.fromkeys(PICTURES, "picture"), ".md": "report"}
    check_folder(options, [(NAME, endings)])
    found = judgements()
    rows = table(found)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / NAME
    with atomic_write(path.with_suffix(".md"), text=True) as file:
        file.write(f"# {rows.title}\n\n{markdown_table(rows.head, rows.body)}\n")
    for kind in PICTURES:
        save(draw(found), path.with_suffix(kind))
    print_rows([rows])
    print(f"figure: {path}.png, .pdf   report: .md")
