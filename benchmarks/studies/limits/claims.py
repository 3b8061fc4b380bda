"""Claims about limits on real streams, judged from the runs."""

from collections.abc import Iterable, Sequence

import numpy as np

from graphcb.experiments.claims import Verdict
from graphcb.experiments.curves import Curve
from studies.limits.study import (
    ALONE,
    BASELINE,
    CLIPPED,
    CONSERVATIVE,
    EPSILON_GREEDY,
    GREEDY,
    OURS,
    LimitsStudy,
)

HELD = (OURS, EPSILON_GREEDY, GREEDY)
WITHIN = 0.01  # of the budget, at the end
ROUNDING = 1e-9


class LimitRuns:
    """The runs of a study by agent, stream and value."""

    def __init__(self, study: LimitsStudy, curves: Sequence[Curve]) -> None:
        self.study = study
        self.curves = curves

    def of(self, agent: str, stream: str | None = None, value: float | None = None) -> list[Curve]:
        """The runs of an agent, in the order of their seeds."""
        return [
            one
            for one in self.curves
            if one.setting.agent == agent
            and stream in (None, one.setting.line)
            and value in (None, one.setting.c)
        ]

    def loss(self, agent: str, stream: str, value: float) -> float:
        """The mean loss at the end over all seeds."""
        return float(np.mean([one.mean_loss[-1] for one in self.of(agent, stream, value)]))

    def mean_loss(self, agent: str, streams: Iterable[str], value: float) -> float:
        """The mean over streams."""
        return float(np.mean([self.loss(agent, stream, value) for stream in streams]))


def measured(curve: Curve, name: str) -> float:
    """One of the numbers that were measured in a run."""
    return float((curve.measured or {})[name])


def miss(curve: Curve) -> float:
    """What was spent at the end above the budget, in costly actions; negative below it."""
    return float(curve.rounds[-1]) * (measured(curve, "spent") - curve.setting.c)


def is_kept(curve: Curve) -> bool:
    """Whether what was spent is within 1 % of the budget, or one costly action."""
    return abs(miss(curve)) <= _allowed(curve)


def _allowed(curve: Curve) -> float:
    return max(1.0, WITHIN * curve.setting.c * float(curve.rounds[-1])) + ROUNDING


def groups(study: LimitsStudy) -> dict[str, list[str]]:
    """The streams with budgets: those on which the rules were chosen, and the others."""
    chosen = [name for name in study.budgets.streams if name in study.chosen_on]
    unseen = [name for name in study.budgets.streams if name not in study.chosen_on]
    found = {"unseen streams": unseen, "streams the rules were chosen on": chosen}
    return {name: streams for name, streams in found.items() if streams}


def check(runs: LimitRuns) -> list[Verdict]:
    """All claims."""
    verdicts = [_band(runs), _not_above(runs), _spent(runs), _clipped(runs)]
    for name, streams in groups(runs.study).items():
        verdicts += [_lower(runs, rival, name, streams) for rival in (CLIPPED, *HELD[1:])]
    verdicts += [_below_line(runs, epsilon) for epsilon in runs.study.baselines.values]
    return [*verdicts, _alone(runs), _gains(runs)]


def _band(runs: LimitRuns) -> Verdict:
    held = [one for agent in HELD for one in runs.of(agent)]
    worst = max(measured(one, "beyond_band") for one in held)
    n_rounds = sum(int(one.rounds[-1]) for one in held)
    return Verdict(
        "budgets: spending is never ahead by more than the band, in any round of any run",
        f"{len(held)} runs, {n_rounds:,} rounds; the closest is {-worst:.4f} costly actions below",
        worst <= ROUNDING,
    )


def _not_above(runs: LimitRuns) -> Verdict:
    ours = runs.of(OURS)
    kept = [miss(one) <= _allowed(one) for one in ours]
    return Verdict(
        "InformationDirected: at the end at most 1 % above the budget, or one costly action",
        f"{sum(kept)} of {len(kept)} runs; the most is {max(map(miss, ours)):.2f} costly actions",
        all(kept),
    )


def _spent(runs: LimitRuns) -> Verdict:
    bound = [one for one in runs.of(OURS) if measured(one, "price") > 0.0]
    kept = [is_kept(one) for one in bound]
    least = min(map(miss, bound), default=0.0)
    return Verdict(
        "InformationDirected: where the budget has a price at the end, spent within 1 %, or one "
        "costly action",
        f"{sum(kept)} of {len(kept)} runs; the least is {least:.2f} costly actions",
        all(kept),
    )


def _clipped(runs: LimitRuns) -> Verdict:
    beyond = [measured(one, "beyond_band") for one in runs.of(CLIPPED)]
    return Verdict(
        "clip and renormalise is ahead by more than the band in some round",
        f"in {sum(b > ROUNDING for b in beyond)} of {len(beyond)} runs; by up to "
        f"{max(beyond):.1f} costly actions",
        max(beyond) > ROUNDING,
    )


def _lower(runs: LimitRuns, rival: str, group: str, streams: Sequence[str]) -> Verdict:
    pairs = [
        (runs.mean_loss(OURS, streams, value), runs.mean_loss(rival, streams, value))
        for value in runs.study.budgets.values
    ]
    single = [
        runs.loss(OURS, stream, value) < runs.loss(rival, stream, value)
        for stream in streams
        for value in runs.study.budgets.values
    ]
    shown = ", ".join(f"{ours:.3f}/{other:.3f}" for ours, other in pairs)
    return Verdict(
        f"{group}: mean loss of InformationDirected below {rival} at every budget",
        f"{shown}; on single streams {sum(single)} of {len(single)}",
        all(ours < other for ours, other in pairs),
    )


def _below_line(runs: LimitRuns, epsilon: float) -> Verdict:
    found = runs.of(CONSERVATIVE, value=epsilon)
    return Verdict(
        f"Conservative, epsilon = {epsilon:g}: never above {1.0 + epsilon:g} times the baseline, "
        "in any round of any run",
        f"{len(found)} runs; largest ratio "
        f"{max(measured(one, 'largest_ratio') for one in found):.4f}",
        all(measured(one, "room") >= -ROUNDING for one in found),
    )


def _alone(runs: LimitRuns) -> Verdict:
    line = 1.0 + max(runs.study.baselines.values)
    ratios = [measured(one, "largest_ratio") for one in runs.of(ALONE)]
    return Verdict(
        f"the agent alone is above {line:g} times the baseline at some time after it has lost 1",
        f"in {sum(r > line for r in ratios)} of {len(ratios)} runs; largest ratio "
        f"{max(ratios):.2f}",
        max(ratios) > line,
    )


def _gains(runs: LimitRuns) -> Verdict:
    pairs = [
        (stream, value, runs.loss(CONSERVATIVE, stream, value), runs.loss(BASELINE, stream, 0.0))
        for stream in runs.study.baselines.streams
        for value in runs.study.baselines.values
    ]
    above = [f"{s} at {v:g}" for s, v, ours, theirs in pairs if ours >= theirs]
    return Verdict(
        "Conservative ends below the baseline on every stream",
        f"{len(pairs) - len(above)} of {len(pairs)}" + (f"; not {', '.join(above)}" * bool(above)),
        not above,
    )
