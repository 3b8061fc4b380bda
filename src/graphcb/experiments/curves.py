"""Learning curves of many runs, and their summary: best settings, means, deviations."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.experiments.trace import Trace

Floats = NDArray[np.float64]


class Setting(NamedTuple):
    """What defines one run. `line` names the curve it belongs to, such as "K = 101"."""

    agent: str
    line: str
    learning_rate: float
    c: float
    seed: int


class Seconds(NamedTuple):
    """How long a run took: in the oracle, in the exploration, and in total."""

    oracle: float = 0.0
    exploration: float = 0.0
    total: float = 0.0


class Curve(NamedTuple):
    """Progressive validation loss of one run at some rounds."""

    setting: Setting
    rounds: NDArray[np.int64]
    mean_loss: Floats
    seconds: Seconds = Seconds()


class Summary(NamedTuple):
    """The best setting of one agent on one line, over all seeds.

    `mean` and `deviation` are those of the final loss; `mean_curve` and `deviation_curve`
    those at each of `rounds`. `at_grid_end` names the parameters whose best value is the first
    or last of those tried.
    """

    agent: str
    line: str
    learning_rate: float
    c: float
    n_seeds: int
    mean: float
    deviation: float
    at_grid_end: tuple[str, ...]
    rounds: NDArray[np.int64]
    mean_curve: Floats
    deviation_curve: Floats


def record(setting: Setting, trace: Trace, seconds: float, n_points: int = 100) -> Curve:
    """Keep `n_points` equally spaced rounds of a run, the last one included."""
    ends = np.linspace(0, trace.losses.size, n_points + 1)[1:]
    rounds = np.unique(np.ceil(ends).astype(np.int64))
    spent = Seconds(trace.seconds[0], trace.seconds[1], seconds)
    return Curve(setting, rounds, trace.mean_losses[rounds - 1], spent)


def summarise(curves: Iterable[Curve]) -> list[Summary]:
    """Best learning rate and c of each agent and line, by the mean final loss over seeds."""
    groups: dict[tuple[str, str], list[Curve]] = {}  # in the order of their first run
    for curve in curves:
        groups.setdefault((curve.setting.agent, curve.setting.line), []).append(curve)
    return [_best(agent, line, group) for (agent, line), group in groups.items()]


def _best(agent: str, line: str, curves: Sequence[Curve]) -> Summary:
    by_parameters: dict[tuple[float, float], list[Curve]] = {}
    for curve in curves:
        parameters = curve.setting.learning_rate, curve.setting.c
        by_parameters.setdefault(parameters, []).append(curve)
    final = {key: np.mean([c.mean_loss[-1] for c in runs]) for key, runs in by_parameters.items()}
    best = min(final, key=lambda key: final[key])
    losses = np.stack([curve.mean_loss for curve in by_parameters[best]])
    deviations = losses.std(axis=0, ddof=1) if len(losses) > 1 else np.zeros(losses.shape[1])
    return Summary(
        agent=agent,
        line=line,
        learning_rate=best[0],
        c=best[1],
        n_seeds=len(losses),
        mean=float(losses[:, -1].mean()),
        deviation=float(deviations[-1]),
        at_grid_end=_at_grid_end(best, by_parameters),
        rounds=curves[0].rounds,
        mean_curve=losses.mean(axis=0),
        deviation_curve=deviations,
    )


def _at_grid_end(
    best: tuple[float, float], tried: Mapping[tuple[float, float], object]
) -> tuple[str, ...]:
    columns = zip(("learning_rate", "c"), best, zip(*tried, strict=True), strict=True)
    return tuple(
        name
        for name, value, values in columns
        if len(set(values)) > 1 and value in (min(values), max(values))
    )


def write_csv(runs: Sequence[tuple[Mapping[str, Any], Curve]], path: Path) -> None:
    """One line for each recorded round of each run, with everything that defines the run."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*runs[0][0], "round", "mean_loss"])
        for about, curve in runs:
            cells = [json.dumps(v) if isinstance(v, dict) else v for v in about.values()]
            points = zip(curve.rounds.tolist(), curve.mean_loss.tolist(), strict=True)
            writer.writerows((*cells, t, loss) for t, loss in points)
