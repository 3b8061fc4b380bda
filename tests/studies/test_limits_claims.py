from dataclasses import replace

import numpy as np
import pytest
from studies.limits.claims import LimitRuns, check, groups, is_kept
from studies.limits.study import (
    ALONE,
    BASELINE,
    BUDGETED,
    CLIPPED,
    CONSERVATIVE,
    FREE,
    MIX,
    OURS,
    LimitsStudy,
    Part,
)

from graphcb.experiments.curves import Curve, Setting

BUDGETS = Part({"seen": {}, "unseen": {}}, [0.1, 0.5], 1)
STUDY = LimitsStudy("limits", "made", ["seen"], BUDGETS, Part({"unseen": {}}, [0.1], 1), {})


def made():
    """LimitRuns of which every claim holds."""
    ends = np.array([1000])
    curves = []
    for stream in BUDGETS.streams:
        curves.append(Curve(Setting(FREE, stream, 0.0, 0.0, 0), ends, np.array([0.1])))
        curves[-1] = curves[-1]._replace(measured={"spent": 0.7})
        for agent in BUDGETED:
            for value in BUDGETS.values:
                loss = np.array([0.2 if agent == OURS else 0.3])
                own = {"spent": value, "ahead": 2.0, "beyond_band": -0.5, "price": 1.0}
                if agent == CLIPPED:
                    own = {"spent": value, "ahead": 9.0, "beyond_band": 4.5}
                if agent == MIX:
                    own = {"spent": value}
                curve = Curve(Setting(agent, stream, 0.0, value, 0), ends, loss)
                curves.append(curve._replace(measured=own))
    rounds = np.array([500, 1000])
    curves.append(
        Curve(Setting(BASELINE, "unseen", 0.0, 0.0, 0), rounds, np.full(2, 0.4))._replace(
            measured={}
        )
    )
    for agent, value, ratio, room in ((ALONE, 0.0, 1.5, -5.0), (CONSERVATIVE, 0.1, 1.05, 0.01)):
        own = {"largest_ratio": ratio, "room": room, "deviations": 0.5}
        curve = Curve(Setting(agent, "unseen", 0.0, value, 0), rounds, np.array([0.5, 0.3]))
        curves.append(curve._replace(measured=own))
    return curves


def changed(curves, agent, **own):
    """The same runs, of which the last one of an agent has measured something else."""
    place = max(i for i, one in enumerate(curves) if one.setting.agent == agent)
    one = curves[place]
    loss = own.pop("loss", None)
    if loss is not None:
        one = one._replace(mean_loss=np.full(one.mean_loss.shape, loss))
    one = one._replace(measured={**one.measured, **own})
    return [*curves[:place], one, *curves[place + 1 :]]


def failing(curves):
    return [verdict.text for verdict in check(LimitRuns(STUDY, curves)) if not verdict.holds]


def test_all_hold():
    verdicts = check(LimitRuns(STUDY, made()))
    assert len(verdicts) == 4 + 2 * 3 + 1 + 2
    assert all(verdict.holds for verdict in verdicts)


@pytest.mark.parametrize(
    ("agent", "own", "text"),
    [
        ("Greedy(budgets=...)", {"beyond_band": 0.1}, "never ahead by more than the band"),
        (OURS, {"spent": 0.506, "price": 0.0}, "at most 1 % above the budget"),
        (OURS, {"spent": 0.494}, "where the budget has a price"),
        (OURS, {"loss": 0.5}, "unseen streams: mean loss of InformationDirected below clip"),
        (CONSERVATIVE, {"room": -0.01}, "epsilon = 0.1: never above 1.1 times the baseline"),
        (ALONE, {"largest_ratio": 1.05}, "the agent alone is above 1.1"),
        (CONSERVATIVE, {"loss": 0.41}, "ends below the baseline"),
    ],
)
def test_a_claim_that_does_not_hold_is_said(agent, own, text):
    assert any(text in said for said in failing(changed(made(), agent, **own)))


def test_a_clip_within_the_band_is_said():
    curves = [
        one._replace(measured={**one.measured, "beyond_band": -1.0})
        if one.setting.agent == CLIPPED
        else one
        for one in made()
    ]
    assert failing(curves) == ["clip and renormalise is ahead by more than the band in some round"]


def test_less_than_the_budget_is_no_miss_where_nothing_is_wanted():
    assert failing(changed(made(), OURS, spent=0.3, price=0.0)) == []


def test_a_tiny_budget_may_miss_by_one_dear_action():
    curve = Curve(Setting(OURS, "seen", 0.0, 0.01, 0), np.array([500]), np.array([0.1]))
    assert is_kept(curve._replace(measured={"spent": 6 / 500}))
    assert not is_kept(curve._replace(measured={"spent": 7 / 500}))
    assert is_kept(curve._replace(measured={"spent": 4 / 500}))


def test_streams_that_rules_were_chosen_on_stand_apart():
    assert groups(STUDY) == {
        "unseen streams": ["unseen"],
        "streams the rules were chosen on": ["seen"],
    }
    assert list(groups(replace(STUDY, chosen_on=[]))) == ["unseen streams"]
