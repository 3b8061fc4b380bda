"""Where the spread between seeds comes from: the order of the data, or the draws of actions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphcb.experiments.curves import Curve, Setting, Summary
from graphcb.experiments.experiment import Experiment
from graphcb.experiments.lines import CONSTANT


class Spread(NamedTuple):
    """Standard deviations of the final loss: between orders of the data, and between draws."""

    order: float
    draws: float


def repeats(experiment: Experiment, summaries: Sequence[Summary]) -> list[Setting]:
    """The best setting of each line with every seed of the data and every seed of the draws.

    Those with equal seeds are runs of the panel.
    """
    seeds = range(experiment.n_seeds)
    return [
        Setting(s.agent, s.line, s.learning_rate, s.c, seed, None if draws == seed else draws)
        for s in summaries
        if s.agent != CONSTANT
        for seed in seeds
        for draws in seeds
    ]


def spreads(curves: Sequence[Curve]) -> dict[tuple[str, str], Spread]:
    """The two parts of the spread, by agent and line; needs two seeds or more of each kind."""
    finals: dict[tuple[str, str], dict[int, list[float]]] = {}
    for curve in curves:
        setting = curve.setting
        orders = finals.setdefault((setting.agent, setting.line), {})
        orders.setdefault(setting.seed, []).append(float(curve.mean_loss[-1]))
    return {line: _parts(np.array(list(orders.values()))) for line, orders in finals.items()}


def _parts(losses: Any) -> Spread:
    """Components of variance: one row for each order, one column for each seed of the draws.

    Draws vary within a row. The means of the rows vary by the order and, as there are finitely
    many columns, a little by the draws too; that part is taken off.
    """
    within = float(losses.var(axis=1, ddof=1).mean())
    between = float(losses.mean(axis=1).var(ddof=1)) - within / losses.shape[1]
    return Spread(max(0.0, between) ** 0.5, within**0.5)
