import numpy as np
import pytest
from studies.unknown_graphs.hidden_graphs import HiddenGraphs

RNG = np.random.default_rng(0)


def off_linear(values, contexts):
    """How far the values are from linear in the contexts."""
    weights, *_ = np.linalg.lstsq(contexts, values, rcond=None)
    return np.abs(contexts @ weights - values).max()


def test_losses_and_log_odds_of_edges_are_linear_in_the_context():
    environment = HiddenGraphs(n_actions=4, n_rounds=500, own_density=0.5)
    drawn = environment.draw(np.random.default_rng(0))
    assert off_linear(drawn.means, drawn.contexts) < 1e-12
    p = drawn.edge_probabilities.reshape(500, -1)
    assert off_linear(np.log(p / (1.0 - p)), drawn.contexts) < 1e-10
    assert drawn.means.min() >= 0.1
    assert drawn.means.max() <= 0.6
    assert drawn.contexts.shape == (500, environment.n_features)


def test_edges_and_losses_come_as_often_as_their_probabilities_say():
    drawn = HiddenGraphs(n_actions=3, n_rounds=20_000).draw(np.random.default_rng(1))
    assert np.abs((drawn.edges - drawn.edge_probabilities).mean(axis=0)).max() < 0.02
    assert np.abs((drawn.losses - drawn.means).mean(axis=0)).max() < 0.02
    # Given the context, what is revealed says nothing about the losses.
    off_edges = (drawn.edges - drawn.edge_probabilities)[:, 0, 1]
    off_losses = (drawn.losses - drawn.means)[:, 1]
    assert abs((off_edges * off_losses).mean()) < 0.005


@pytest.mark.parametrize("density", [0.02, 0.3])
def test_density_is_the_probability_of_an_edge_in_a_middling_context(density):
    drawn = HiddenGraphs(n_actions=5, n_rounds=2000, density=density, own_density=0.5).draw(RNG)
    medians = np.median(drawn.edge_probabilities, axis=0)
    others = medians[~np.eye(5, dtype=bool)]
    assert np.median(others) == pytest.approx(density, rel=0.2)
    assert np.median(np.diag(medians)) == pytest.approx(0.5, rel=0.2)


def test_an_action_reveals_itself_always_unless_told_otherwise():
    drawn = HiddenGraphs(n_actions=3, n_rounds=200).draw(RNG)
    assert (drawn.edge_probabilities[:, range(3), range(3)] == 1.0).all()
    assert drawn.edges[:, range(3), range(3)].all()


def test_scouts_are_dear_and_alone_in_revealing_anything():
    environment = HiddenGraphs(n_actions=6, n_rounds=3000, n_scouts=2, density=0.1)
    drawn = environment.draw(np.random.default_rng(3))
    assert (drawn.means[:, :2] == 0.75).all()
    assert drawn.means[:, 2:].max() <= 0.6
    assert not drawn.edges[:, 2:].any()
    assert (drawn.edge_probabilities[:, 2:] == 0.0).all()
    # All edges of a scout go together, and where one scout sees, the other one does not.
    first, second = drawn.edge_probabilities[:, :2].transpose(1, 0, 2)
    assert (first == first[:, :1]).all()
    assert first.max() > 0.8
    assert (first[:, 0] * second[:, 0]).max() < 0.02


def test_each_action_is_the_best_in_its_part_of_the_circle():
    drawn = HiddenGraphs(n_actions=5, n_rounds=5000, n_scouts=1).draw(RNG)
    best = np.bincount(drawn.means.argmin(axis=1), minlength=5)
    assert best[0] == 0
    np.testing.assert_allclose(best[1:] / 5000, 0.25, atol=0.03)


@pytest.mark.parametrize("shown", ["row", "full"])
def test_the_rounds_are_those_drawn_and_the_loss_is_regret(shown):
    environment = HiddenGraphs(n_actions=4, n_rounds=30, shown=shown)
    drawn = environment.draw(np.random.default_rng(2))
    rounds = list(environment.rounds(np.random.default_rng(2)))
    assert len(rounds) == 30
    for t, round in enumerate(rounds):
        np.testing.assert_array_equal(round.context, drawn.contexts[t])
        np.testing.assert_array_equal(round.graph.matrix, drawn.edge_probabilities[t])
        seen = environment.reveal(round, 2, RNG)
        assert seen.actions.tolist() == drawn.edges[t, 2].nonzero()[0].tolist()
        np.testing.assert_array_equal(seen.losses, drawn.losses[t, seen.actions])
        assert environment.loss(round, 1) == drawn.means[t, 1] - drawn.means[t].min()
        if shown == "row":
            assert seen.graph is None
        else:
            np.testing.assert_array_equal(seen.graph.matrix, drawn.edges[t])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n_actions": 1}, "`n_actions` must be at least 2, got 1"),
        ({"n_rounds": 0}, "`n_rounds` must be at least 1, got 0"),
        ({"n_scouts": -1}, "`n_scouts` must be at least 0, got -1"),
        ({"n_scouts": 9}, "`n_scouts` must leave at least two actions .* got 9 of 10"),
        ({"density": 0.0}, r"`density` must be above 0 and below 1, got 0\.0"),
        ({"density": 1.0}, "`density` must be above 0 and below 1"),
        ({"own_density": 0.0}, "`own_density` must be above 0 and at most 1, got 0.0"),
        ({"own_density": 1.1}, "`own_density` must be above 0 and at most 1"),
        ({"steepness": -1.0}, "`steepness` must be between 0 and 100, got -1.0"),
        ({"steepness": float("nan")}, "`steepness` must be between 0 and 100, got nan"),
        ({"shown": "some"}, "`shown` must be one of row, full; got 'some'"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(ValueError, match=text):
        HiddenGraphs(**options)
