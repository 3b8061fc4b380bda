"""What is said of limits on real streams: the tables and the report."""

from collections.abc import Sequence

import numpy as np

from graphcb.experiments.curves import Curve
from studies.limits.claims import LimitRuns, check, measured
from studies.limits.study import (
    ALONE,
    BASELINE,
    BUDGETED,
    CONSERVATIVE,
    FREE,
    LimitsStudy,
)
from studies.results import Rows, markdown_table

FIELDS = ("spent", "ahead", "beyond_band", "price", "largest_ratio", "room", "deviations")


def budget_table(runs: LimitRuns) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and body: mean loss by stream, agent and budget."""
    values = runs.study.budgets.values
    body = []
    for stream in runs.study.budgets.streams:
        for agent in BUDGETED:
            losses = [f"{runs.loss(agent, stream, value):.3f}" for value in values]
            body.append((called(runs.study, stream), agent, *losses))
        free = f"{runs.loss(FREE, stream, 0.0):.3f}"
        spent = np.mean([measured(one, "spent") for one in runs.of(FREE, stream)])
        body.append(
            (
                called(runs.study, stream),
                f"{FREE}: spends {100.0 * spent:.0f} %",
                *[free] * len(values),
            )
        )
    return ("stream", "agent", *(f"{100.0 * value:g} %" for value in values)), body


def baseline_table(runs: LimitRuns) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and body: mean loss at the end, and the largest ratio at any time."""
    body: list[tuple[str, ...]] = []
    for stream in runs.study.baselines.streams:
        name = called(runs.study, stream)
        body.append((name, "baseline", f"{runs.loss(BASELINE, stream, 0.0):.4f}", "1", ""))
        for agent, value in (
            (ALONE, 0.0),
            *((CONSERVATIVE, v) for v in runs.study.baselines.values),
        ):
            found = runs.of(agent, stream, value)
            ratio = max(measured(one, "largest_ratio") for one in found)
            share = np.mean([measured(one, "deviations") for one in found])
            label = agent if agent == ALONE else f"Conservative, epsilon = {value:g}"
            loss = f"{runs.loss(agent, stream, value):.4f}"
            body.append((name, label, loss, f"{ratio:.3f}", f"{100.0 * share:.0f} %"))
    return ("stream", "agent", "mean loss", "largest ratio", "decided by the agent"), body


def called(study: LimitsStudy, stream: str) -> str:
    """The stream, with a star if the rules were chosen on it."""
    return stream + "*" * (stream in study.chosen_on)


def markdown(runs: LimitRuns) -> str:
    """The report: claims and both tables."""
    budgets, baselines = runs.study.budgets, runs.study.baselines
    claims = [
        (one.text, one.measured, "holds" if one.holds else "**does not hold**")
        for one in check(runs)
    ]
    parts = [
        f"Streams: {len(budgets.streams)} with budgets ({budgets.seeds} seeds), "
        f"{len(baselines.streams)} with baselines ({baselines.seeds} seeds). A star marks streams "
        "on which the rules were chosen.",
        markdown_table(("claim", "measured", ""), claims),
        "Mean loss by budget:",
        markdown_table(*budget_table(runs)),
        "Beside the baseline:",
        markdown_table(*baseline_table(runs)),
    ]
    return "\n\n".join(parts) + "\n"


def run_table(curves: Sequence[Curve]) -> Rows:
    """One line for each run, with everything that was measured."""
    body = []
    for one in curves:
        name, own = one.setting, one.measured or {}
        cells = (own.get(field, "") for field in FIELDS)
        end = int(one.rounds[-1]), float(one.mean_loss[-1])
        body.append((name.agent, name.line, name.c, name.seed, *cells, *end))
    head = ("agent", "stream", "value", "seed", *FIELDS, "round", "mean_loss")
    return Rows("runs", head, body)
