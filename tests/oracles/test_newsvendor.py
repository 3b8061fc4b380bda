import numpy as np
import pytest

from graphcb.oracles import NewsvendorOGD

LEVELS = np.linspace(0.0, 1.0, 5)


def oracle(**changes):
    return NewsvendorOGD(**{"n_features": 2, "learning_rate": 0.1, **changes})


def test_predicts_the_cost_of_each_level_against_the_guess():
    model = oracle(holding_cost=0.25, backorder_cost=1.0, start=0.5)
    np.testing.assert_allclose(model.predict([0, 0], LEVELS), [0.5, 0.25, 0.0, 0.0625, 0.125])


def test_update_is_one_gradient_step_on_the_mean_squared_error():
    model, x, levels = oracle(start=0.4), np.array([0.3, -0.2]), LEVELS[:3]
    seen = np.array([0.9, 0.1, 0.2])

    def mean_squared_error(weights, intercept):
        probe = oracle(start=intercept)
        probe.weights = weights
        return ((probe.predict(x, levels) - seen) ** 2).mean()

    h = 1e-6
    zero = np.zeros(2)
    by_intercept = (mean_squared_error(zero, 0.4 + h) - mean_squared_error(zero, 0.4 - h)) / (2 * h)
    model.update(x, levels, seen)
    assert model.intercept == pytest.approx(0.4 - 0.1 * by_intercept, rel=1e-6)
    np.testing.assert_allclose(model.weights, -0.1 * by_intercept * x, rtol=1e-6)


def test_the_step_does_not_grow_with_the_number_of_levels():
    few, many = oracle(), oracle()
    few.update([0, 0], np.full(2, 0.5), np.full(2, 0.1))
    many.update([0, 0], np.full(500, 0.5), np.full(500, 0.1))
    assert few.intercept == pytest.approx(many.intercept)


def test_learns_a_linear_demand():
    rng = np.random.default_rng(0)
    model = oracle(learning_rate=0.2)
    for _ in range(4000):
        x = rng.normal(size=2)
        demand = 0.5 + x @ [0.1, -0.05]
        losses = np.where(demand < LEVELS, 0.25 * (LEVELS - demand), demand - LEVELS)
        model.update(x, LEVELS, losses)
    assert model.intercept == pytest.approx(0.5, abs=1e-3)
    np.testing.assert_allclose(model.weights, [0.1, -0.05], atol=1e-3)


def test_nothing_revealed_changes_nothing():
    model = oracle()
    model.update([1.0, 1.0], [], [])
    assert (model.weights == 0).all()
    assert model.intercept == 1.0


@pytest.mark.parametrize(
    ("context", "actions", "losses", "text"),
    [
        (
            [0.0],
            LEVELS,
            LEVELS,
            r"`context` must have shape \(2,\) .*got \(1,\)",
        ),
        ([0.0, np.nan], LEVELS, LEVELS, "`context` must be finite, got nan at index 1"),
        ([0.0, 0.0], None, LEVELS, r"agent.act\(context, graph, levels\)"),
        ([0.0, 0.0], [[0.5]], [[0.5]], r"must be a list of stock levels, got shape \(1, 1\)"),
        ([0.0, 0.0], LEVELS, [0.1], r"`losses` must have shape \(5,\), one per revealed level"),
        ([0.0, 0.0], [0.0, 0.5], [0.1, np.inf], "got level 0.5 with loss inf at index 1"),
        ([0.0, 0.0], [np.nan], [0.1], "got level nan with loss 0.1 at index 0"),
    ],
)
def test_bad_input_gets_an_error_and_changes_nothing(context, actions, losses, text):
    model = oracle()
    with pytest.raises(ValueError, match=text):
        model.update(context, actions, losses)
    assert (model.weights == 0).all()
    assert model.intercept == 1.0


def test_divergence_is_said_and_not_hidden():
    model = oracle(learning_rate=1e200)
    with pytest.raises(FloatingPointError, match="the steps diverge; lower learning_rate"):
        model.update([1e90, 0.0], [0.0], [0.5])
    assert (model.weights == 0).all()
    model.weights[:] = 1e250
    with pytest.raises(FloatingPointError, match="the steps diverge; lower learning_rate"):
        model.predict([1e90, 0.0], LEVELS)
    model = oracle(start=1e200)
    with pytest.raises(FloatingPointError, match="the steps diverge; lower learning_rate"):
        model.update([0.0, 0.0], [0.0, 1.0], [1e300, 1e308])
    assert model.intercept == 1e200


@pytest.mark.parametrize("name", ["learning_rate", "holding_cost", "backorder_cost"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be a positive finite number, got"):
        oracle(**{name: value})


def test_other_bad_parameters():
    with pytest.raises(ValueError, match="`n_features` must be at least 1, got 0"):
        oracle(n_features=0)
    with pytest.raises(ValueError, match="`start` must be finite, got nan"):
        oracle(start=float("nan"))
