"""What is said of a log in all three places, beside the truth."""

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.special import bdtrc

from graphcb import DecisionLog
from graphcb.decisions import LoggedDecision
from graphcb.evaluation import Estimate, Interval, constant, evaluate, logged, summarize
from studies.coverage.counting import Claim, Counts, claims
from studies.coverage.worlds import Floats

CHANCE = 1e-3
# The mean of what each action brings, by its name, given the context of a decision.
Means = Callable[[LoggedDecision], Mapping[str, float]]


def claims_of(path: Path, means: Means, rule: str) -> list[Claim]:
    """By `evaluate`, `log summary` and the page, of the policy and of one action for all.

    The truth is the mean over the decisions of the log of what each was expected to bring: the
    policy learned from earlier ones, so another log of it would have another mean.
    """
    with DecisionLog(path) as log:
        rows = list(log)
        own = float(np.mean([row.probabilities @ _in_order(means, row) for row in rows]))
        fixed = float(np.mean([means(row)[rule] for row in rows]))
        found = evaluate(log, logged)
        other = evaluate(log, constant(rule), against=logged)
        summed = summarize(log)
    shown = None
    if summed.mean is not None:
        shown = Estimate(summed.mean, float("nan"), summed.interval, None)
    return [
        *claims("logged", found, own),
        *claims("constant", other, fixed),
        Claim("difference", "with the graph", other.difference, fixed - own),
        Claim("logged", "log summary", shown, own),
        Claim("logged", "page", on_the_page(path), own),
    ]


def false_claims(paths: Iterable[Path], means: Means, rule: str) -> list[str]:
    """Intervals that miss the truth in more of these logs than chance has it; [] if all is well.

    An interval of 95 % misses it in one log of twenty. So many misses as are counted here, or
    more, would have a probability below `CHANCE`.
    """
    logs = Counts()
    for path in paths:
        logs.add(claims_of(path, means, rule))
    found = []
    for name in {name.rpartition(" | ")[0] for name in logs.counts}:
        given = logs.counts[f"{name} | given"]
        missed = given - logs.counts[f"{name} | held"]
        if missed > 0 and bdtrc(missed - 1.0, int(given), 0.05) < CHANCE:
            found.append(f"{name} misses the truth in {missed:g} of {given:g} logs")
    return sorted(found)


def _in_order(means: Means, row: LoggedDecision) -> Floats:
    found = means(row)
    return np.array([found[str(name)] for name in row.actions])


def on_the_page(path: Path) -> Estimate | None:
    """The mean of the policy and its interval, as the page of the service shows them.

    None without a mean, or without the extra `serve`.
    """
    if find_spec("msgspec") is None:
        return None
    from graphcb.service.units import Units
    from graphcb.service.watching import Watch

    with DecisionLog(path) as log:
        watch, n_events = Watch(str(path), log.versions), log.n_events
    while watch.position < n_events:
        watch.look()
        tally = watch.tally
    watch.close()
    if not tally.has_estimates:
        return None
    value = Units(tally.problem).value("policy", tally.judge.policy())
    if value.mean is None:
        return None
    return Estimate(value.mean, float("nan"), None, Interval(value.lower, value.upper))
