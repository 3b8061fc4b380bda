from dataclasses import replace

import numpy as np
import pytest

from graphcb.experiments.curves import Curve, Setting, repeats, spreads, summarise
from graphcb.experiments.experiment import read
from graphcb.experiments.lines import Grid


def runs(order, draws, n=40, agent="a"):
    """Final losses of which the order and the draws make these standard deviations."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(n)
    by_order = order * normal / normal.std(ddof=1)
    return [
        Curve(
            Setting(agent, "x", 0.1, 1.0, seed, None if other == seed else other),
            np.array([10]),
            np.array([0.5 + by_order[seed] + draws * rng.standard_normal()]),
        )
        for seed in range(n)
        for other in range(n)
    ]


@pytest.mark.parametrize(("order", "draws"), [(0.02, 0.0), (0.0, 0.02), (0.02, 0.01)])
def test_the_parts_are_those_that_were_put_in(order, draws):
    found = spreads(runs(order, draws))["a", "x"]
    assert found.order == pytest.approx(order, abs=0.003)
    assert found.draws == pytest.approx(draws, abs=0.001)


def test_lines_are_kept_apart():
    found = spreads([*runs(0.02, 0.0), *runs(0.0, 0.02, agent="b")])
    assert found["a", "x"].order > 0.01 > found["b", "x"].order
    assert found["a", "x"].draws < 0.01 < found["b", "x"].draws


def test_repeats_share_the_runs_of_the_panel_and_greedy_depends_on_the_order_alone():
    panel = replace(
        read("rcv1-graphs").made_quick(),
        grid=Grid((4.0,), (8.0,), (0.1,)),
        n_seeds=2,
        n_rounds=60,
    )
    curves = [panel.play(setting) for setting in panel.settings()]
    settings = repeats(summarise(curves))
    assert len(settings) == len(set(settings)) == 9 * 4  # no constant action
    own = {repr(panel.identity(setting)) for setting in panel.settings()}
    shared = [setting for setting in settings if repr(panel.identity(setting)) in own]
    assert {setting.draw_seed for setting in shared} == {None}
    assert len(shared) == 9 * 2
    found = spreads([panel.play(setting) for setting in settings])
    assert found["greedy", "bandit"].draws == 0.0 < found["SquareCB.G", "bandit"].draws
