"""Learning curves of many runs, and their summary: best settings, means, where they spread."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.experiments.lines import CONSTANT

Floats = NDArray[np.float64]


class Setting(NamedTuple):
    """What defines one run. `line` names the curve it belongs to, such as "K = 101".

    `c` is the agent's own setting: the factor of gamma, or the epsilon of epsilon-greedy.
    `seed` is that of the world, and of the draws where `draw_seed` is None.
    """

    agent: str
    line: str
    learning_rate: float
    c: float
    seed: int
    draw_seed: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The fields by name; without `draw_seed` where it says nothing."""
        fields = self._asdict()
        if self.draw_seed is None:
            del fields["draw_seed"]
        return fields


class Seconds(NamedTuple):
    """How long a run took: in the oracle, in the exploration, and in total."""

    oracle: float = 0.0
    exploration: float = 0.0
    total: float = 0.0


class Curve(NamedTuple):
    """Progressive validation loss of one run at some rounds.

    `measured` is what else an experiment wants to know of a run, by name.
    """

    setting: Setting
    rounds: NDArray[np.int64]
    mean_loss: Floats
    seconds: Seconds = Seconds()
    measured: Mapping[str, float] | None = None


class Summary(NamedTuple):
    """The best setting of one agent on one line, over all seeds.

    `mean` and `deviation` are those of the final loss; `mean_curve` and `deviation_curve`
    those at each of `rounds`. `at_grid_end` names the parameters whose best value is the first
    or last of those tried. `runs` are the curves of the seeds, in their order, one per row.
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
    runs: Floats

    @property
    def finals(self) -> Floats:
        """The final losses of the seeds."""
        last: Floats = self.runs[:, -1]
        return last

    @property
    def regret_curve(self) -> Floats:
        """The sum of the losses at each of `rounds`: the regret where losses are regrets."""
        return self.rounds * self.mean_curve

    @property
    def slope(self) -> float:
        """Of the regret over the rounds on logarithmic axes, from round T / 32 to T.

        A straight line fitted by least squares to 16 points, about equally spaced there.
        """
        return self._slope_of(self.mean_curve)

    @property
    def slopes(self) -> Floats:
        """One value for each seed, for intervals of the slope: the pseudovalues of the jackknife.

        That of a seed is n times the slope less n - 1 times what it is without the seed. NaN for
        a single seed.
        """
        n = len(self.runs)
        if n == 1:
            return np.full(1, np.nan)
        without = [self._slope_of(np.delete(self.runs, i, axis=0).mean(axis=0)) for i in range(n)]
        return n * self.slope - (n - 1) * np.array(without)

    def _slope_of(self, mean_curve: Floats) -> float:
        last = self.rounds[-1]
        wanted = np.geomspace(last / 32.0, last, 16)
        points = np.unique(np.searchsorted(self.rounds, wanted * (1.0 - 1e-9)))
        regret = (self.rounds * mean_curve)[points]
        if points.size < 2 or not (regret > 0.0).all():
            return float("nan")
        return float(np.polyfit(np.log(self.rounds[points]), np.log(regret), 1)[0])


def record(setting: Setting, losses: Floats, seconds: Seconds, n_points: int = 100) -> Curve:
    """Keep `n_points` equally spaced rounds of a run with these losses, the last one included."""
    ends = np.linspace(0, losses.size, n_points + 1)[1:]
    rounds = np.unique(np.ceil(ends).astype(np.int64))
    means = np.cumsum(losses) / np.arange(1, losses.size + 1)
    return Curve(setting, rounds, means[rounds - 1], seconds)


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
    runs = sorted(by_parameters[best], key=lambda curve: curve.setting.seed)
    losses = np.stack([curve.mean_loss for curve in runs])
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
        runs=losses,
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


class Spread(NamedTuple):
    """Where the spread of the final loss between seeds comes from.

    Standard deviations: between orders of the data, and between draws of actions.
    """

    order: float
    draws: float


def repeats(summaries: Iterable[Summary]) -> list[Setting]:
    """The best setting of each line with every seed of the data and every seed of the draws.

    Those with equal seeds are runs of the panel.
    """
    return [
        Setting(s.agent, s.line, s.learning_rate, s.c, seed, None if draws == seed else draws)
        for s in summaries
        if s.agent != CONSTANT
        for seed in range(s.n_seeds)
        for draws in range(s.n_seeds)
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
