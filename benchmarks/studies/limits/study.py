"""Limits on real streams: loss against budget, and losses beside those of a baseline over time.

Like a panel it is data, the settings file `limits`. A run is a `Setting` whose `line` is the
stream and whose `c` is the budget, or the epsilon of `Conservative`; 0 where there is none.
"""

import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent, Budget, Conservative, EpsilonGreedy, Greedy, InformationDirected
from graphcb.agents.pacing import Account
from graphcb.experiments.curves import Curve, Seconds, Setting, record
from graphcb.experiments.progressive import PlayedRows, Player
from graphcb.exploration import BoxAndRows
from graphcb.exploration.limited_choice import best_within
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import DefaultOracle
from studies.limits.clipping import ClipAndRenormalise
from studies.prepared import Prepared, facts, prepare
from studies.results import SETTINGS
from studies.streams import read_table

Floats = NDArray[np.float64]

NAME = "limits"

OURS = "InformationDirected(budgets=...)"
EPSILON_GREEDY = "EpsilonGreedy(budgets=...)"
GREEDY = "Greedy(budgets=...)"
CLIPPED = "clip and renormalise"
MIX = "best constant mix"
FREE = "InformationDirected(), no budget"
BUDGETED = (OURS, EPSILON_GREEDY, GREEDY, CLIPPED, MIX)

CONSERVATIVE = "Conservative"
ALONE = "InformationDirected() alone"
BASELINE = "baseline"

EPSILON = 0.1  # of epsilon-greedy
N_POINTS = 200  # of a curve over time


@dataclass(frozen=True)
class Part:
    """Streams, the budgets or epsilons that are tried on each, and the number of seeds."""

    streams: Mapping[str, Mapping[str, Any]]
    values: Sequence[float]
    seeds: int


@dataclass(frozen=True)
class LimitsStudy:
    """Both parts; `chosen_on` are streams that were looked at when the rules were chosen."""

    name: str
    title: str
    chosen_on: Sequence[str]
    budgets: Part
    baselines: Part
    quick: Mapping[str, Any]

    def made_quick(self) -> "LimitsStudy":
        """A small version on data that needs no download."""
        budgets, baselines = Part(**self.quick["budgets"]), Part(**self.quick["baselines"])
        return replace(self, title=self.quick["title"], budgets=budgets, baselines=baselines)

    def with_seeds(self, n_seeds: int) -> "LimitsStudy":
        """With as many seeds in both parts."""
        budgets, baselines = (
            replace(part, seeds=n_seeds) for part in (self.budgets, self.baselines)
        )
        return replace(self, budgets=budgets, baselines=baselines)

    def settings(self) -> list[Setting]:
        """Every run, one seed after the other."""
        found = []
        for seed in range(self.budgets.seeds):
            for stream in self.budgets.streams:
                found.append(Setting(FREE, stream, 0.0, 0.0, seed))
                for agent in BUDGETED:
                    found += [Setting(agent, stream, 0.0, v, seed) for v in self.budgets.values]
        for seed in range(self.baselines.seeds):
            for stream in self.baselines.streams:
                found += [Setting(agent, stream, 0.0, 0.0, seed) for agent in (BASELINE, ALONE)]
                values = self.baselines.values
                found += [Setting(CONSERVATIVE, stream, 0.0, v, seed) for v in values]
        return found

    def spec(self, setting: Setting) -> Mapping[str, Any]:
        """The description of the stream of a run."""
        has_budget = setting.agent in (FREE, *BUDGETED)
        return (self.budgets if has_budget else self.baselines).streams[setting.line]

    def n_rounds_of(self, setting: Setting) -> int:
        """How long a run is."""
        return facts(self.spec(setting)).n_rounds

    def identity(self, setting: Setting) -> dict[str, Any]:
        """Everything that defines a run, data included."""
        spec = self.spec(setting)
        return {
            "experiment": self.name,
            **setting.as_dict(),
            "stream": dict(spec),
            "n_rounds": self.n_rounds_of(setting),
            "data": facts(spec).fingerprint,
        }

    def play(self, setting: Setting) -> Curve:
        """One run."""
        stream = prepare(self.spec(setting), setting.seed)
        if setting.agent in (FREE, *BUDGETED):
            return _play_budget(setting, stream, costs_of(self.spec(setting), stream.graph))
        return _play_baseline(setting, stream, int(self.spec(setting)["baseline"]))


def read() -> LimitsStudy:
    """The study.

    >>> read().budgets.values
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    """
    table = tomllib.loads((SETTINGS / f"{NAME}.toml").read_text(encoding="utf-8"))
    budgets, baselines = Part(**table.pop("budgets")), Part(**table.pop("baselines"))
    return LimitsStudy(name=NAME, budgets=budgets, baselines=baselines, **table)


def costs_of(spec: Mapping[str, Any], graph: FeedbackGraph) -> Floats:
    """What each action spends: from 0 for the cheapest to 1 for the most expensive.

    That is 1 for the only action that reveals anything, or the mean cost of each model.
    """
    if spec["kind"] != "route":
        reveals: Floats = (graph.matrix.sum(axis=1) > 0.0).astype(np.float64)
        return reveals
    table = read_table(spec["file"])
    places = [table.names.index(f"cost_{model}") for model in spec["models"]]
    means = np.array([[float(row[j]) for j in places] for row in table.rows]).mean(axis=0)
    costs: Floats = (means - means.min()) / (means.max() - means.min())
    return costs


def _agent(setting: Setting, costs: Floats) -> Any:
    oracle = DefaultOracle(costs.size)
    if setting.agent == FREE:
        return InformationDirected(oracle)
    if setting.agent == CLIPPED:
        return ClipAndRenormalise(oracle, costs, setting.c)
    budgets = [Budget("costs", dict(enumerate(costs.tolist())), setting.c)]
    if setting.agent == OURS:
        return InformationDirected(oracle, budgets=budgets)
    if setting.agent == GREEDY:
        return Greedy(oracle, budgets=budgets)
    return EpsilonGreedy(oracle, epsilon=EPSILON, budgets=budgets)


def _play_budget(setting: Setting, stream: Prepared, costs: Floats) -> Curve:
    start = time.perf_counter()
    if setting.agent == MIX:
        losses = np.concatenate([piece.losses for piece in stream.pieces])
        zeros, ones = np.zeros(costs.size), np.ones(costs.size)
        box = BoxAndRows(zeros, ones, costs[None, :], np.array([setting.c]))
        mix = best_within(losses.mean(axis=0), box)
        mean, measured = float((losses @ mix).mean()), {"spent": float(costs @ mix)}
        n_rounds = len(losses)
    else:
        agent = _agent(setting, costs)
        played = _played(agent, stream, setting.seed)
        mean, n_rounds = float(played.losses.mean()), len(played.losses)
        measured = measure_spending(costs[played.actions], setting.c)
        if setting.agent in (OURS, GREEDY, EPSILON_GREEDY):
            measured["price"] = agent.rules.spending.accounts[0].price
    spent = Seconds(total=time.perf_counter() - start)
    return Curve(setting, np.array([n_rounds]), np.array([mean]), spent, measured)


def measure_spending(paid: Floats, rate: float) -> dict[str, float]:
    """What was spent per round, and by how much the band was exceeded at the worst time.

    `paid` is what each round cost, where the most expensive action costs 1. `ahead` is the most
    that spending was ahead of the allowance. This reads the draws, not the agent's own account.

    >>> measure_spending(np.ones(10), 0.5)["ahead"]
    5.0
    """
    spent, accrued = np.cumsum(paid), rate * np.arange(1, paid.size + 1)
    measured = {"spent": float(spent[-1]) / paid.size}
    if rate > 0.0:
        bands = [Account(accrued=a, unit=1.0).band for a in accrued.tolist()]
        measured["ahead"] = float((spent - accrued).max())
        measured["beyond_band"] = float((spent - accrued - bands).max())
    return measured


def _play_baseline(setting: Setting, stream: Prepared, place: int) -> Curve:
    start = time.perf_counter()
    baseline = place % stream.graph.n_actions
    theirs = np.concatenate([piece.losses[:, baseline] for piece in stream.pieces])
    losses, measured = theirs, {}
    if setting.agent != BASELINE:
        agent: Any = InformationDirected(DefaultOracle(stream.graph.n_actions))
        if setting.agent == CONSERVATIVE:
            agent = Conservative(agent, baseline, epsilon=setting.c)
        losses = _played(agent, stream, setting.seed).losses
        measured = measure_ratio(losses, theirs, setting.c)
        measured["deviations"] = getattr(agent, "n_deviations", losses.size) / losses.size
    seconds = Seconds(total=time.perf_counter() - start)
    return record(setting, losses, seconds, N_POINTS)._replace(measured=measured)


def measure_ratio(losses: Floats, theirs: Floats, epsilon: float) -> dict[str, float]:
    """The largest ratio of the running sums, and the least that was left below the line.

    `room` counts every round; the ratio says little before the baseline has lost 1, and is
    counted from there.

    >>> measure_ratio(np.array([0.0, 1.0, 0.5]), np.array([0.5, 0.5, 0.5]), 0.5)
    {'largest_ratio': 1.0, 'room': 0.5}
    """
    lost, allowed = np.cumsum(losses), np.cumsum(theirs)
    known = allowed >= 1.0
    ratio = float((lost[known] / allowed[known]).max()) if known.any() else float("nan")
    return {"largest_ratio": ratio, "room": float(((1.0 + epsilon) * allowed - lost).min())}


def _played(agent: Agent, stream: Prepared, seed: int) -> PlayedRows:
    player = Player(agent, stream.graph, seed=seed, loss_range=stream.loss_range)
    pieces = [player.play(piece) for piece in stream.pieces]
    return PlayedRows(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
