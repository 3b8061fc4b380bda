import numpy as np
import pytest

from graphcb import graphs
from graphcb.environments import RecordedDemand

CONTEXTS = np.arange(6.0).reshape(3, 2)
DEMANDS = np.array([0.0, 0.5, 1.0])


def test_rounds_come_as_recorded_whatever_the_stream():
    environment = RecordedDemand(CONTEXTS, DEMANDS, levels=3)
    assert (environment.n_rounds, environment.n_features) == (3, 2)
    for seed in (0, 1):
        rounds = list(environment.rounds(np.random.default_rng(seed)))
        np.testing.assert_array_equal([r.context for r in rounds], CONTEXTS)
        assert [r.hidden for r in rounds] == DEMANDS.tolist()
        assert rounds[0].graph == graphs.inventory(3)


def test_a_level_shows_what_every_lower_one_would_have_cost():
    environment = RecordedDemand(CONTEXTS, DEMANDS, levels=3, holding_cost=2.0, backorder_cost=4.0)
    round = list(environment.rounds(np.random.default_rng(0)))[1]
    seen = environment.reveal(round, 2, np.random.default_rng(0))
    assert seen.actions.tolist() == [0.0, 0.5, 1.0]
    assert seen.losses.tolist() == [2.0, 0.0, 1.0]
    assert [environment.loss(round, a) for a in range(3)] == [2.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((CONTEXTS[0], DEMANDS), r"must have shape \(n, n_features\)"),
        ((CONTEXTS, DEMANDS[:2]), r"and `demands` \(n,\), got \(3, 2\) and \(2,\)"),
        ((CONTEXTS, 2.0 * DEMANDS), r"must be in \[0, 1\], got 2.0 at index 2; divide them by"),
        ((CONTEXTS, np.array([0.0, np.nan, 1.0])), "got nan at index 1"),
        ((CONTEXTS, DEMANDS, 1), "`levels` must be at least 2, got 1"),
        ((CONTEXTS, DEMANDS, 3, -1.0), "`holding_cost` must be a positive finite number"),
    ],
)
def test_bad_records(arguments, text):
    with pytest.raises(ValueError, match=text):
        RecordedDemand(*arguments)
