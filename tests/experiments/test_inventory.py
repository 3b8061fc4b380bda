"""The first figure, short: what the demo shows must already be there after 2,000 rounds."""

from dataclasses import replace

import pytest

from graphcb.experiments.curves import summarise
from graphcb.experiments.inventory import EXPERIMENTS, claims
from graphcb.experiments.sweep import sweep


def shortened(name):
    return replace(
        EXPERIMENTS[name], learning_rates=(0.05,), cs=(4.0,), seeds=(0, 1), n_rounds=2000
    )


@pytest.fixture(scope="module")
def fixed():
    experiment = shortened("inventory-fixed")
    return summarise(sweep(experiment.play, experiment.settings()))


def test_squarecbg_is_flat_in_k_and_squarecb_is_not(fixed):
    graph = [s.mean for s in fixed if s.agent == "SquareCB.G"]
    plain = [s.mean for s in fixed if s.agent == "SquareCB"]
    assert max(graph) - min(graph) <= 0.002
    assert plain[0] + 0.005 < plain[1] < plain[2] - 0.002
    assert max(graph) + 0.01 < min(plain)
    assert [holds for _, _, holds in claims("inventory-fixed", fixed)] == [True, True, True]


def test_claims_that_do_not_hold_are_said(fixed):
    exchanged = [
        s._replace(agent="SquareCB" if s.agent == "SquareCB.G" else "SquareCB.G") for s in fixed
    ]
    assert [holds for _, _, holds in claims("inventory-fixed", exchanged)] == [False] * 3


def test_the_growing_grid_favours_squarecbg():
    experiment = shortened("inventory-adaptive")
    summaries = summarise(sweep(experiment.play, experiment.settings()))
    ((_, _, holds),) = claims("inventory-adaptive", summaries)
    assert summaries[0].mean + 0.005 < summaries[1].mean
    assert isinstance(holds, bool)


def test_settings_are_the_grids_of_the_paper():
    experiment = EXPERIMENTS["inventory-fixed"]
    settings = experiment.settings()
    assert len(settings) == len(set(settings)) == 6 * 5 * 6 * 8
    assert experiment.n_rounds == 10_000
    assert len(experiment.quick().settings()) == 6 * 3 * 2 * 4
    assert set(experiment.quick().settings()) < set(settings)
