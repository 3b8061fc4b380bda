import numpy as np
import pytest

from graphcb.oracles import OnlineRidge


def test_is_the_forecaster_by_its_normal_equations():
    rng = np.random.default_rng(0)
    oracle, contexts, losses = OnlineRidge(2, 3, penalty=0.5), [], []
    for _ in range(30):
        x, loss = rng.normal(size=3), rng.normal()
        today = 0.5 * np.eye(3) + sum(np.outer(c, c) for c in [*contexts, x])
        moment = sum((c * y for c, y in zip(contexts, losses, strict=True)), np.zeros(3))
        expected = x @ np.linalg.solve(today, moment)
        assert oracle.predict(x, [1])[0] == pytest.approx(expected, rel=1e-8, abs=1e-12)
        oracle.update(x, [1], [loss])
        contexts.append(x)
        losses.append(loss)
    assert oracle.predict(rng.normal(size=3), [0]).tolist() == [0.0]  # never revealed


def test_regret_stays_within_its_logarithmic_bound():
    rng = np.random.default_rng(1)
    n_rounds, d = 2000, 5
    contexts = rng.uniform(-1, 1, size=(n_rounds, d))
    losses = np.clip(contexts @ rng.normal(size=d) + rng.normal(size=n_rounds), -1, 1)
    oracle, total = OnlineRidge(1, d), 0.0
    for x, loss in zip(contexts, losses, strict=True):
        total += (oracle.predict(x)[0] - loss) ** 2
        oracle.update(x, [0], [loss])
    weights = np.linalg.lstsq(contexts, losses, rcond=None)[0]
    best = ((contexts @ weights - losses) ** 2).sum()
    largest = (contexts**2).sum(axis=1).max()
    bound = weights @ weights + d * np.log(1 + n_rounds * largest / d)
    assert 0.0 < total - best <= bound


def test_bad_penalty():
    with pytest.raises(ValueError, match="`penalty` must be a positive finite number, got 0"):
        OnlineRidge(1, 1, penalty=0)


def test_the_forecast_has_the_leverage_and_the_variance_of_the_residuals():
    rng = np.random.default_rng(0)
    oracle, past = OnlineRidge(2, 3, penalty=2.0), []
    for _ in range(40):
        x, loss = rng.normal(size=3), rng.normal()
        past.append((x, loss, oracle.predict(x)[1]))
        oracle.update(x, [1], [loss])
    x = rng.normal(size=3)
    design = np.array([row for row, _, _ in past])
    leverage = x @ np.linalg.solve(2.0 * np.eye(3) + design.T @ design, x)
    forecast = oracle.forecast(x)
    np.testing.assert_array_equal(forecast.losses, oracle.predict(x))
    losses = np.array([loss for _, loss, _ in past])
    assert forecast.span == pytest.approx(np.ptp(losses))
    assert forecast.gains[1] == pytest.approx(np.log1p(leverage))
    squares, inverse = 0.0, np.eye(3) / 2.0
    for row, loss, predicted in past:
        squares += (loss - predicted) ** 2 / (1.0 + row @ inverse @ row)
        inverse = np.linalg.inv(np.linalg.inv(inverse) + np.outer(row, row))
    variance = (squares + 0.5 * forecast.span**2) / 42.0
    assert forecast.deviations[1] == pytest.approx(np.sqrt(variance * leverage))
    assert forecast.counts.tolist() == [0.0, 40.0]
    assert forecast.gains[0] == pytest.approx(np.log1p(x @ x / 2.0))


def test_before_anything_is_seen_it_is_unsure():
    forecast = OnlineRidge(2, 1).forecast([1.0])
    np.testing.assert_allclose(forecast.deviations, 0.5)
    assert forecast.span == 1.0
