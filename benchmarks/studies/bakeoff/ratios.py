"""Who won a bake-off: losses as ratios to the best setting of all contenders in hindsight."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.experiments.curves import Curve, Setting
from studies.bakeoff.contenders import OURS
from studies.bakeoff.study import BakeOff

Floats = NDArray[np.float64]

ERRORS = 2.0  # standard errors by which a win must exceed chance


class Score(NamedTuple):
    """The mean loss of one setting on one stream: one number per seed."""

    setting: str
    losses: Floats

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(self.losses.mean())

    def first(self, n_seeds: int) -> "Score":
        """Of the first seeds."""
        return self._replace(losses=self.losses[:n_seeds])


class Standing(NamedTuple):
    """A contender at its default, or with the best setting of its grid on each stream.

    `ratios` are to the best setting of all contenders on that stream. `better` and `worse` name
    the streams on which its loss differs from that of graphcb's default by more than two standard
    errors of the paired difference over seeds.
    """

    name: str
    choice: str  # "default", "best of n", or empty if there is one setting
    scores: Mapping[str, Score]
    ratios: Mapping[str, float]
    better: tuple[str, ...]
    worse: tuple[str, ...]

    @property
    def label(self) -> str:
        """The name, and which setting was chosen if there was a choice."""
        return f"{self.name}, {self.choice}" if self.choice else self.name

    @property
    def is_default(self) -> bool:
        """Whether nobody chose the setting."""
        return self.choice in ("", "default")

    @property
    def geometric_mean(self) -> float:
        """Of all ratios."""
        return geometric_mean(self.ratios.values())

    @property
    def worst(self) -> tuple[str, float]:
        """The stream with the largest ratio, and that ratio."""
        stream = max(self.ratios, key=lambda name: self.ratios[name])
        return stream, self.ratios[stream]

    def by_feedback(self) -> dict[str, float]:
        """The geometric mean for each kind of feedback, the last part of a stream's name."""
        groups: dict[str, list[float]] = {}
        for stream, ratio in self.ratios.items():
            groups.setdefault(feedback(stream), []).append(ratio)
        return {kind: geometric_mean(ratios) for kind, ratios in groups.items()}


class Ranking(NamedTuple):
    """All standings, that of graphcb's default first, and the best of all on each stream.

    `same_oracle` are those that explore otherwise with the default's oracle, setting by setting;
    their ratios are to the default's losses. `skylines` see all losses, and are in no other place.
    The ratios of `standings` are over the first `n_paired` seeds, which all have.
    """

    standings: tuple[Standing, ...]
    best: Mapping[str, tuple[str, Score]]  # name of the contender and its score
    same_oracle: tuple[Standing, ...]
    skylines: Mapping[str, Mapping[str, Score]] = MappingProxyType({})  # by name and stream
    n_paired: int = 1

    @property
    def n_seeds(self) -> int:
        """The number of seeds; with one, nobody can tell a win from chance."""
        return min(len(score.losses) for score in self.ours.scores.values())

    @property
    def ours(self) -> Standing:
        """The standing of graphcb's default."""
        return self.standings[0]


def feedback(stream: str) -> str:
    """The kind of feedback in the name of a stream, which may say more behind it.

    >>> feedback("optdigits/cops slide")
    'cops'
    """
    return stream.rpartition("/")[2].split()[0]


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean.

    >>> round(geometric_mean([0.5, 2.0]), 6)
    1.0
    """
    return float(np.exp(np.mean(np.log(list(ratios)))))


def compare(bakeoff: BakeOff, curves: Iterable[Curve]) -> Ranking:
    """The standings of finished runs."""
    scores, floors = _scores(bakeoff, curves)
    skylines = {
        one.name: {stream: grid[0] for stream, grid in scores.pop(one.name).items()}
        for one in bakeoff.contenders
        if one.is_skyline and one.name in scores
    }
    every = [score for grids in scores.values() for grid in grids.values() for score in grid]
    n_paired = min(len(score.losses) for score in every)
    best = {
        stream: min(
            (
                (name, score.first(n_paired))
                for name, grids in scores.items()
                for score in grids.get(stream, ())
            ),
            key=lambda found: found[1].mean,
        )
        for stream in floors
    }
    ours = next(one.name for one in bakeoff.contenders if one.agent == "default")
    reference = {stream: grid[0] for stream, grid in scores[ours].items()}

    def standing(
        name: str, choice: str, chosen: dict[str, Score], to: dict[str, Score], n_seeds: int
    ) -> Standing:
        paired = {stream: score.first(n_seeds) for stream, score in chosen.items()}
        ratios = {
            stream: max(score.mean, floors[stream])
            / max(to[stream].first(n_seeds).mean, floors[stream])
            for stream, score in paired.items()
        }
        signs = {
            stream: _sign(score, reference[stream].first(n_seeds))
            for stream, score in paired.items()
        }
        better = tuple(stream for stream, sign in signs.items() if sign < 0)
        worse = tuple(stream for stream, sign in signs.items() if sign > 0)
        return Standing(name, choice, chosen, ratios, better, worse)

    yardstick = {stream: score for stream, (_, score) in best.items()}
    standings = [
        standing(name, choice, chosen, yardstick, n_paired)
        for name in sorted(scores, key=lambda name: name != ours)
        for choice, chosen in _choices(scores[name]).items()
    ]
    held = dict.fromkeys(one.name for one in bakeoff.contenders if one.oracle == OURS)
    same_oracle = [
        standing(
            name,
            settings[0].setting,
            dict(zip(grids, settings, strict=True)),
            reference,
            bakeoff.n_seeds,
        )
        for name, grids in scores.items()
        if name in held
        for settings in zip(*grids.values(), strict=True)
    ]
    return Ranking(tuple(standings), best, tuple(same_oracle), skylines, n_paired)


def _choices(grids: Mapping[str, list[Score]]) -> dict[str, dict[str, Score]]:
    """The scores by stream, at the default and with the best setting of each grid in hindsight."""
    default = {stream: grid[0] for stream, grid in grids.items()}
    n_settings = max(map(len, grids.values()))
    if n_settings == 1:
        return {"": default}
    best = {stream: min(grid, key=lambda score: score.mean) for stream, grid in grids.items()}
    return {"default": default, f"best of {n_settings}": best}


def _scores(
    bakeoff: BakeOff, curves: Iterable[Curve]
) -> tuple[dict[str, dict[str, list[Score]]], dict[str, float]]:
    """Scores by contender and stream, the default first; and the smallest loss that counts.

    Losses below one unit in all rounds together count as one unit, so that no ratio is infinite.
    """
    losses: dict[tuple[str, str], dict[Setting, list[float]]] = {}
    floors: dict[str, float] = {}
    for curve in sorted(curves, key=lambda curve: curve.setting.seed):
        setting = curve.setting
        floors[setting.line] = 1.0 / int(curve.rounds[-1])
        group = losses.setdefault((bakeoff.contender(setting).name, setting.line), {})
        group.setdefault(setting._replace(seed=0), []).append(float(curve.mean_loss[-1]))
    scores: dict[str, dict[str, list[Score]]] = {}
    for (name, stream), group in losses.items():
        grid = sorted(group, key=lambda setting: not bakeoff.is_default(setting))
        scores.setdefault(name, {})[stream] = [
            Score(bakeoff.contender(setting).written(setting), np.array(group[setting]))
            for setting in grid
        ]
    return scores, floors


def _sign(score: Score, reference: Score) -> int:
    """-1 or 1 where the losses differ by more than two standard errors, else 0."""
    difference = score.losses - reference.losses
    if len(difference) < 2:
        return 0
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    mean = float(difference.mean())
    return int(np.sign(mean)) if abs(mean) > ERRORS * error else 0
