"""From sums over a table to estimates of its targets, and what these rest on."""

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from graphcb.checks import listed
from graphcb.estimates.comparing import Apart, difference
from graphcb.estimates.estimate import Conditions, Estimate, TargetEstimates
from graphcb.estimates.estimators import LEAST_FOR_MEANS, estimates, least_error_of, normal_around
from graphcb.estimates.moments import Moments
from graphcb.evaluation.estimating import LEAST_EXPLAINED
from graphcb.tables.asking import Question
from graphcb.tables.models import Outcomes
from graphcb.tables.result import JudgedPolicy, TableEvaluation, judged_of, plural
from graphcb.tables.surveying import Work
from graphcb.tables.tally import TOGETHER, TableTally
from graphcb.tables.targets import ONE
from graphcb.tables.weighing import EXPECTED_ONE, Weighing

Unseen = Literal["refuse", "bound"]


def conclude(
    work: Work, tally: TableTally, weighing: Weighing, asked: Conditions, unseen: Unseen
) -> TableEvaluation:
    """Estimates from the sums, and what they rest on."""
    question = work.question
    with_value = sum(count for _, count in tally.counts.values())
    if not np.isfinite(tally.low):
        raise ValueError(f"{work.table.name}: must have rows with a {question.unit}, got none in "
                         f"{tally.n:,} rows")  # fmt: skip
    span, rests_on = _span_of(tally, asked, question)
    expected = None
    if question.columns.probabilities:
        expected = [one / EXPECTED_ONE for one in tally.expected]
    asked = asked._replace(value_range=span, expected=expected)
    rests_on += _rests_on(work, tally, weighing)
    shares = [_unseen_share(work, tally, number, unseen) for number in range(tally.n_targets)]
    apart = asked._replace(expected=None)  # which is that of all slots together
    slots = {} if list(tally.moments) == [TOGETHER] else tally.moments
    calibration = None if weighing.propensities is None else weighing.propensities.calibration
    return TableEvaluation(
        question.unit,
        tally.n,
        tally.n - with_value if not question.columns.reveals else 0,
        span,
        asked.confidence,
        _judge(work, tally.together(), _robust(tally, None), asked, shares, weighing),
        {
            slot: _judge(work, slots[slot], _robust(tally, slot), apart, shares, weighing)
            for slot in sorted(slots)
        },
        {name: played for name, (played, _) in sorted(tally.counts.items())},
        tuple(rests_on),
        calibration,
    )


def _judge(
    work: Work,
    moments: Moments,
    robust: Moments | None,
    asked: Conditions,
    shares: list[float],
    weighing: Weighing,
) -> tuple[JudgedPolicy, ...]:
    found = estimates(moments, asked)
    if not weighing.are_known:  # intervals leave no room for the error of estimated weights
        found = [
            replace(one, estimates={k: _normal_only(v, weighing) for k, v in one.estimates.items()})
            for one in found
        ]
    if robust is not None and (outcomes := weighing.outcomes) is not None:
        found = [
            _with_robust(one, moments, robust, number, asked, outcomes)
            for number, one in enumerate(found)
        ]
    judged = []
    for number, (target, one) in enumerate(zip(work.question.targets, found, strict=True)):
        gain = None
        if number and shares[0] == 0.0 and shares[number] == 0.0:
            gain = _gain(moments, found, number, asked, weighing)
        span = asked.value_range or (0.0, 1.0)
        known = weighing.are_known
        judged.append(judged_of(target.name, one, shares[number], gain, span, known))
    return tuple(judged)


def _normal_only(one: Estimate, weighing: Weighing) -> Estimate:
    """Where estimated probabilities fail on rows that were held out, no interval would hold."""
    check = None if weighing.propensities is None else weighing.propensities.calibration
    normal = None if check is not None and check.fails else one.normal
    return one._replace(anytime=None, bernstein=None, normal=normal)


def _gain(
    moments: Moments,
    found: list[TargetEstimates],
    number: int,
    asked: Conditions,
    weighing: Weighing,
) -> Estimate | None:
    """By how much the mean of a target is larger than that of the first one."""
    how = None
    if weighing.graph is not None:  # weights of what several actions show do not say how often
        size = min(found[place].weights.effective_size for place in (0, number))
        how = Apart(1.0, size)
    gain = difference(moments, number, 0, asked, how)
    if gain is None or weighing.are_known:
        return gain
    return _normal_only(gain, weighing)


def _with_robust(
    found: TargetEstimates,
    moments: Moments,
    robust: Moments,
    number: int,
    asked: Conditions,
    outcomes: Outcomes,
) -> TargetEstimates:
    """With the doubly robust estimate, the mean of terms of weight 1."""
    n, sums = robust.n, robust.of(number)
    if not found.estimates or n < 2:
        return found
    mean = float(sums.x.sum()) / n
    error = math.sqrt(max(0.0, float(sums.xx.sum()) - n * mean * mean) / (n * (n - 1)))
    normal, size = None, found.weights.effective_size
    other = found.estimates["self-normalised"]
    if size >= LEAST_FOR_MEANS and other.normal is not None:
        # what the model does not explain is spread as the values are
        least = least_error_of(moments.of(number), other.value, size)
        wide = max(error, least * math.sqrt(1.0 - min(max(outcomes.explained, 0.0), 1.0)))
        normal = normal_around(mean, wide, size, asked)
    every = {**found.estimates, "doubly robust": Estimate(mean, error, normal, None)}
    # Choosing the narrowest interval would favour the luckiest.
    best = "doubly robust" if outcomes.explained > LEAST_EXPLAINED else found.best
    return replace(found, estimates=every, best=best)


def _robust(tally: TableTally, slot: str | None) -> Moments | None:
    if not tally.robust:
        return None
    return tally.together(robust=True) if slot is None else tally.robust[slot]


def _span_of(
    tally: TableTally, asked: Conditions, question: Question
) -> tuple[tuple[float, float], list[str]]:
    if asked.value_range is not None:
        return asked.value_range, []
    if tally.is_binary:
        return (0.0, 1.0), []
    low, high = tally.low, tally.high
    if low == high:
        raise ValueError(
            f"`value_range` must be given: all {plural(question.unit)} in the table are {low:g}, "
            "which does not show how far they may go"
        )
    name = question.columns.value or "values"
    text = (f"the range is what the column {name!r} spans, {low:g} to {high:g}: intervals hold "
            "for values within it; give the range if you know it")  # fmt: skip
    return (low, high), [text]


def _rests_on(work: Work, tally: TableTally, weighing: Weighing) -> list[str]:
    """What the estimates take for granted, in sentences."""
    question, found = work.question, []
    if weighing.propensities is not None:
        parts = weighing.propensities.linear.design.columns
        source = f"from {', '.join(parts)}" if parts else "as the shares of the actions"
        check = weighing.propensities.calibration
        text = (f"the probabilities were not in the table: estimated {source}, and the estimates "
                "are right only if actions were chosen by these alone; intervals leave out the "
                "error of the probabilities")  # fmt: skip
        if not parts:
            text = text.replace("by these alone", "at random")
        found.append(text)
        if check is not None:
            found.append(
                f"estimated probabilities on {check.n:,} rows that were held out: they miss the "
                f"shares that were played by {check.gap:.1%} ({check.chance:.1%} by chance); the "
                f"smallest of an action that was played is {check.smallest:.2g}"
            )
            found += check.warnings()
    if weighing.shares is not None:
        found.append(f"{plural(question.unit)} are missing in some rows: estimates take for "
                     "granted that whether one is missing depends on the action alone")  # fmt: skip
    if question.lists_actions and not work.named_actions:
        found.append(f"the actions are those that the table shows, {len(tally.counts):,} of them")
    return found


def _unseen_share(work: Work, tally: TableTally, number: int, unseen: Unseen) -> float:
    """The share of a target's play that could not have been seen."""
    target = work.question.targets[number]
    if work.question.columns.probabilities:
        return float(tally.unseen[number] / (ONE * tally.n))
    never = {
        name: share
        for name, share in tally.plays[number].items()
        if share and tally.counts.get(name, [0, 0])[1] == 0
    }
    if never and unseen == "refuse":
        name = min(never)
        raise ValueError(
            f"{work.table.name}: `policy` {target.name!r} plays {name!r}, of which the table has "
            f"no row with a {work.question.unit}; it has {listed(sorted(tally.counts))}. Check the "
            "name, or allow it (unseen='bound', --unseen bound): its share is then not known, and "
            "bounds are given instead of an estimate"
        )
    return sum(never.values()) / (ONE * tally.n)
