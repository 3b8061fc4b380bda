import numpy as np
import pytest
from scipy.sparse import csr_array

from graphcb.oracles import BayesianLogistic, ForecastingOracle
from graphcb.oracles.posterior import certainty, mean_shares
from graphcb.saving import from_bytes, to_bytes


class PlainFilter:
    """Matching moments, written out for one action."""

    def __init__(self, n_features, *, diagonal):
        self.weights, self.covariance = np.zeros(n_features), 10.0 * np.eye(n_features)
        self.diagonal = diagonal

    def predict(self, x):
        spread = x @ self.covariance @ x
        return 1.0 / (1.0 + np.exp(-(x @ self.weights) / np.sqrt(1.0 + np.pi * spread / 8.0)))

    def deviation(self, x, dispersion):
        spread, mean = x @ self.covariance @ x, self.predict(x)
        unknown = 1.0 - 1.0 / np.sqrt(1.0 + 2.0 * mean * (1.0 - mean) * spread)
        return np.sqrt(min(dispersion, 1.0) * mean * (1.0 - mean) * unknown)

    def learn(self, x, loss):
        along, share = self.covariance @ x, self.predict(x)
        scale = 1.0 / np.sqrt(1.0 + np.pi * (x @ along) / 8.0)
        self.weights = self.weights + along * scale * (loss - share)
        shrink = scale**2 * share * (1.0 - share)
        covariance = self.covariance - shrink * np.outer(along, along)
        self.covariance = np.diag(np.diag(covariance)) if self.diagonal else covariance


def rounds(n, d, seed=0):
    """Contexts of norm 1, the actions revealed of three, and their losses."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        x = rng.normal(size=d)
        seen = np.flatnonzero(rng.random(3) < 0.6)
        yield x / np.linalg.norm(x), seen, rng.random(seen.size)


def trained(covariance="full", n=50, **options):
    oracle = BayesianLogistic(3, 4, covariance=covariance, **options)
    for x, seen, losses in rounds(n, 4):
        oracle.update(x, seen, losses)
    return oracle


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_matches_the_moments_of_the_posterior_of_a_coin(covariance):
    oracle = BayesianLogistic(3, 4, covariance=covariance)
    plain = [PlainFilter(4, diagonal=covariance == "diagonal") for _ in range(3)]
    squares, counts = np.full(3, 2.0), np.zeros(3)
    for x, seen, losses in rounds(300, 4):
        predicted = np.array([one.predict(x) for one in plain])
        deviations = [one.deviation(x, squares[a] / (2 + counts[a])) for a, one in enumerate(plain)]
        forecast = oracle.forecast(x)
        assert forecast.losses == pytest.approx(predicted, rel=1e-9)
        assert forecast.deviations == pytest.approx(np.array(deviations), rel=1e-7)
        assert forecast.counts.tolist() == counts.tolist()
        oracle.update(x, seen, losses)
        for a, loss in zip(seen, losses, strict=True):
            coin = max(predicted[a] * (1.0 - predicted[a]), 1e-3)
            squares[a] += (loss - predicted[a]) ** 2 / coin
            counts[a] += 1
            plain[a].learn(x, loss)
    assert counts.min() > 100


@pytest.mark.parametrize("score", [0.0, -1.0, -4.0])
@pytest.mark.parametrize("spread", [0.01, 1.0, 20.0])
def test_the_deviation_is_that_of_the_mean_loss(score, spread):
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    shares = 1.0 / (1.0 + np.exp(-(score + np.sqrt(spread) * nodes)))
    mean = np.average(shares, weights=weights)
    variance = np.average((shares - mean) ** 2, weights=weights)
    predicted = mean_shares(np.array([score]), np.array([spread]))
    deviations, _ = certainty(predicted, np.array([spread]), np.ones(1))
    assert deviations[0] == pytest.approx(np.sqrt(variance), rel=0.06)


@pytest.mark.parametrize(("n", "slope"), [(10, 2.0), (100, 2.0), (400, 2.0), (100, 0.5)])
def test_one_deviation_is_one_deviation(n, slope):
    """In a world as the model has it, losses are off by as much as their deviations say."""
    rng, d, off, expected = np.random.default_rng(0), 3, [], []
    for _ in range(40):
        truth, oracle = slope * rng.normal(size=d), BayesianLogistic(1, d)
        for x in rng.normal(size=(n, d)):
            oracle.update(x, [0], [float(rng.random() < 1.0 / (1.0 + np.exp(-x @ truth)))])
        for x in rng.normal(size=(10, d)):
            f = oracle.forecast(x)
            off.append(1.0 / (1.0 + np.exp(-x @ truth)) - f.losses[0])
            expected.append(f.deviations[0])
    assert 0.75 < np.linalg.norm(off) / np.linalg.norm(expected) < 1.3


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_dense_and_sparse_contexts_are_the_same(covariance):
    rng = np.random.default_rng(1)
    dense, pairs, rows = (BayesianLogistic(2, 6, covariance=covariance) for _ in range(3))
    for _ in range(60):
        x = rng.normal(size=6) * (rng.random(6) < 0.5)
        places = np.flatnonzero(x)
        forms = ((dense, x), (pairs, (places, x[places])), (rows, csr_array(x[None])))
        answers = np.array([oracle.predict(form) for oracle, form in forms])
        assert answers[1:] == pytest.approx(answers[[0, 0]], rel=1e-12)
        for oracle, form in forms:
            oracle.update(form, [0], [float(x[0] > 0)])


def test_forecast_is_what_was_documented():
    oracle = trained(loss_range=(-1.0, 3.0))
    assert isinstance(oracle, ForecastingOracle)
    forecast = oracle.forecast(np.eye(4)[0], [2, 0])
    assert forecast.losses.tolist() == oracle.predict(np.eye(4)[0], [2, 0]).tolist()
    assert forecast.span == 4.0
    assert forecast.counts.tolist() == oracle.counts[[2, 0]].tolist()
    assert np.all((forecast.losses > -1.0) & (forecast.losses < 3.0))


def test_the_loss_range_is_only_a_change_of_units():
    plain, wide = BayesianLogistic(3, 4), BayesianLogistic(3, 4, loss_range=(-2.0, 6.0))
    for x, seen, losses in rounds(50, 4):
        assert wide.predict(x) == pytest.approx(-2.0 + 8.0 * plain.predict(x), rel=1e-12)
        plain.update(x, seen, losses)
        wide.update(x, seen, -2.0 + 8.0 * losses)
    sure, wider = plain.forecast(np.eye(4)[0]), wide.forecast(np.eye(4)[0])
    assert wider.deviations == pytest.approx(8.0 * sure.deviations, rel=1e-12)
    assert wider.gains == pytest.approx(sure.gains, rel=1e-12)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_is_surer_the_more_it_has_seen(covariance):
    oracle, x = BayesianLogistic(2, 2, covariance=covariance), np.array([1.0, 0.0])
    before = oracle.forecast(x)
    for loss in (0.0, 1.0) * 20:
        oracle.update(x, [0], [loss])
    after = oracle.forecast(x)
    assert after.deviations[0] < 0.3 * before.deviations[0]
    assert after.gains[0] < 0.1 * before.gains[0]
    assert after.deviations[1] == before.deviations[1]
    assert after.losses[0] == pytest.approx(0.5, abs=0.02)


def test_certainty_at_its_ends():
    shares, ones = np.array([0.2, 0.2]), np.ones(2)
    deviations, gains = certainty(shares, np.array([0.0, 1e12]), ones)
    assert (deviations[0], gains[0]) == (0.0, 0.0)
    assert deviations[1] == pytest.approx(0.4, rel=1e-5)  # of a coin
    assert mean_shares(np.array([3.0, 3.0]), np.array([0.0, 1e12])) == pytest.approx(
        [1.0 / (1.0 + np.exp(-3.0)), 0.5], rel=1e-5
    )


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_grow_keeps_what_was_learned(covariance):
    oracle = trained(covariance)
    x, fresh = np.array([0.5, -0.5, 0.5, 0.5]), BayesianLogistic(1, 4, covariance=covariance)
    before = oracle.forecast(x)
    oracle.grow(5, 6)
    wider = np.append(x, [0.0, 0.0])
    after = oracle.forecast(wider)
    for old, new in zip(before[:4], after[:4], strict=True):
        assert new[:3].tolist() == old.tolist()
    assert after.losses[3:].tolist() == [0.5, 0.5]
    assert after.deviations[3:] == pytest.approx(fresh.forecast(x).deviations[[0, 0]], rel=1e-12)
    oracle.update(wider, [4], [1.0])
    assert oracle.predict(wider)[4] > 0.5


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_saved_and_loaded_continues_bit_for_bit(covariance):
    oracle = trained(covariance)
    twin = from_bytes(to_bytes(oracle), where="test")
    for x, seen, losses in rounds(30, 4, seed=2):
        assert twin.predict(x).tolist() == oracle.predict(x).tolist()
        for one in (oracle, twin):
            one.update(x, seen, losses)
    assert to_bytes(twin) == to_bytes(oracle)


def test_certain_losses_stay_finite():
    oracle, x = BayesianLogistic(2, 2), np.array([1.0, 0.0])
    for _ in range(3000):
        oracle.update(x, [0, 1], [0.0, 1.0])
    low, high = oracle.predict(x)
    assert 0.0 <= low < 0.01
    assert 0.99 < high <= 1.0
    assert np.isfinite(np.concatenate(oracle.forecast(x)[:4])).all()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (([1.0], [0], [0.5]), ValueError, r"`context` must have shape \(4,\) to match n_features"),
        (([1.0, 0, np.nan, 0], [0], [0.5]), ValueError, "must be finite, got nan at index 2"),
        ((([7], [1.0]), [0], [0.5]), IndexError, "indices between 0 and 3, got 7 at position 0"),
        ((np.eye(4)[0], [3], [0.5]), IndexError, "`actions` must be between 0 and 2 .*, got 3"),
        ((np.eye(4)[0], [0, 0], [0.5, 0.5]), ValueError, "`actions` must be distinct, got 0"),
        ((np.eye(4)[0], [0], [1.5]), ValueError, "`losses` must .*loss_range.*1.5"),
        ((np.eye(4)[0], [0], [np.inf]), ValueError, "`losses` must be finite, got inf"),
        ((np.eye(4)[0], [0], []), ValueError, r"`losses` must have shape \(1,\)"),
    ],
)
def test_bad_input_changes_nothing(call, error, text):
    oracle = trained()
    before = to_bytes(oracle)
    with pytest.raises(error, match=text):
        oracle.update(*call)
    assert to_bytes(oracle) == before


def test_bad_settings():
    with pytest.raises(ValueError, match="`covariance` must be one of full, diagonal; got 'ful'"):
        BayesianLogistic(2, 2, covariance="ful")
    with pytest.raises(ValueError, match="`prior_variance` must be a positive finite number"):
        BayesianLogistic(2, 2, prior_variance=0.0)
    with pytest.raises(ValueError, match="`loss_range` must"):
        BayesianLogistic(2, 2, loss_range=(1.0, 0.0))
