import numpy as np
import pytest
from scipy.sparse import csr_array

from graphcb import Encoder
from graphcb.oracles import DefaultOracle, ForecastingOracle, default
from graphcb.oracles.blends import FULL_UP_TO, Blend, affords_full, n_pairs
from graphcb.oracles.features import DenseFeatures, SparseFeatures
from graphcb.saving import from_bytes, to_bytes


def dense_rounds(n, d=4, n_actions=3, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(d, n_actions))
    for _ in range(n):
        x = rng.normal(size=d)
        seen = np.flatnonzero(rng.random(n_actions) < 0.6)
        yield (
            x,
            seen,
            (rng.random(n_actions) < 1.0 / (1.0 + np.exp(-2.0 * x @ weights)))[seen] * 1.0,
        )


def sparse_rounds(n, n_words=40, n_actions=3, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        words = np.sort(rng.choice(n_words, size=5, replace=False))
        seen = np.flatnonzero(rng.random(n_actions) < 0.6)
        yield (words, np.ones(5)), seen, ((words[0] + seen) % 3 == 0) * 1.0


def trained(rounds, n_actions=3):
    oracle = DefaultOracle(n_actions)
    for x, seen, losses in rounds:
        oracle.update(x, seen, losses)
    return oracle


def squared_error(oracle, rounds):
    """Mean squared error of the predictions, each made before its loss is learned."""
    errors = []
    for x, seen, losses in rounds:
        errors.extend((oracle.predict(x, seen) - losses) ** 2)
        oracle.update(x, seen, losses)
    return np.array(errors)


def test_predicts_before_it_has_learned():
    oracle = DefaultOracle(3)
    for context in ([1e6, -3.0], ([5, 10**12], [1.0, 2.0]), csr_array(np.eye(4)[[0]])):
        assert oracle.predict(context).tolist() == [0.5, 0.5, 0.5]
        assert oracle.predict(context, [2]).tolist() == [0.5]
    assert isinstance(oracle, ForecastingOracle)
    assert oracle.forecast([1.0]).counts.tolist() == [0.0, 0.0, 0.0]
    assert repr(oracle) == "DefaultOracle(3)"


@pytest.mark.parametrize("context", [[1.0, 2.0], csr_array(np.array([[0.0, 1.0, 2.0]]))])
def test_decisions_before_the_first_feedback_share_one_model_nothing_changes(context, monkeypatch):
    made = []
    monkeypatch.setattr(default, "Blend", lambda *sizes: made.append(sizes) or Blend(*sizes))
    default._unlearned.cache_clear()
    one, other = DefaultOracle(3), DefaultOracle(3)
    first = one.forecast(context)
    for oracle in (one, other, one):
        oracle.predict(context)
    assert len(made) == 1
    assert one.blend is None
    one.update(context, [0, 1], [1.0, 0.0])
    assert other.blend is None
    for before, after in zip(first, other.forecast(context), strict=True):
        np.testing.assert_array_equal(before, after)


def test_units_of_dense_features_do_not_matter():
    units, zeros = np.array([1e6, 1e-6, 3.0, 0.02]), np.array([-5e6, 2e-6, 100.0, 0.0])
    plain, other = DefaultOracle(3), DefaultOracle(3)
    for x, seen, losses in dense_rounds(300):
        assert other.predict(units * x + zeros) == pytest.approx(plain.predict(x), rel=1e-6)
        plain.update(x, seen, losses)
        other.update(units * x + zeros, seen, losses)


@pytest.mark.parametrize("factor", [1e-6, 0.3, 1.0 / 7.0])
def test_the_length_of_sparse_rows_does_not_matter(factor):
    plain, other = DefaultOracle(3), DefaultOracle(3)
    for (words, values), seen, losses in sparse_rounds(100):
        shorter = (words, factor * values)
        assert other.predict(shorter) == pytest.approx(plain.predict((words, values)), rel=1e-9)
        plain.update((words, values), seen, losses)
        other.update(shorter, seen, losses)


def test_sparse_rows_have_no_width():
    oracle = DefaultOracle(2)
    oracle.update(csr_array(np.eye(4)[[0]]), [0], [1.0])
    oracle.update(csr_array(np.eye(9)[[8]]), [0], [0.0])  # a new feature, and no error
    assert oracle.predict(csr_array(np.eye(4)[[0]]))[0] > 0.5 > oracle.predict(([8], [1.0]))[0]


def test_counts_of_any_size_are_like_flags():
    plain, other = DefaultOracle(3), DefaultOracle(3)
    for (words, values), seen, losses in sparse_rounds(100):
        plain.update((words, values), seen, losses)
        other.update((words, 1000.0 * values), seen, losses)
        assert other.predict((words, 1000.0 * values)) == pytest.approx(
            plain.predict((words, values)), rel=1e-9
        )


@pytest.mark.parametrize("tail", [0, 70, 300])
def test_features_of_any_scale_never_diverge(tail):
    rng = np.random.default_rng(0)
    oracle, scale = DefaultOracle(2), np.append([1e6, 1e-6, 1.0], 10.0 ** rng.uniform(-9, 9, tail))
    for t in range(200):
        x = scale * rng.standard_cauchy(scale.size) * (1.0 if t % 50 else 1e6)
        oracle.update(x, [0, 1], [float(x[0] > 0), 0.2])
        forecast = oracle.forecast(x)
        assert np.isfinite(np.concatenate(forecast[:4])).all()
        assert ((forecast.losses >= 0.0) & (forecast.losses <= 1.0)).all()


@pytest.mark.parametrize("largest", [1e50, np.finfo(float).max])
def test_the_largest_floats_do_no_harm(largest):
    if largest > 1e50:
        oracle = DefaultOracle(1)
        for context in ([largest, 1.0], ([3, 9], [1.0, -largest])):
            with pytest.raises(ValueError, match=r"`context` must be at most 1e\+50 in size"):
                oracle.update(context, [0], [1.0])
        assert oracle.blend is None
        return
    oracle = DefaultOracle(1)
    for x in ([largest, 1.0], [-largest, 0.0], [1.0, 1.0], [5e-324, 0.0]):
        oracle.update(x, [0], [1.0])
        assert np.isfinite(oracle.predict(x)).all()
    words = DefaultOracle(1)
    for values in ([largest, 1.0], [-largest, 5e-324]):
        words.update(([3, 9], values), [0], [1.0])
        assert np.isfinite(words.predict(([3, 9], values))).all()


def test_a_feature_that_never_varies_says_nothing():
    with_constant, without = DefaultOracle(3), DenseFeatures(2)
    for x, seen, losses in dense_rounds(50):
        with_constant.update(np.append(x, 1e9 + 0.1), seen, losses)
        assert np.isfinite(with_constant.predict(np.append(x, 1e9 + 0.1))).all()
    for value in (1.0, 2.0, 3.0):
        without.learn(np.array([value, 0.1]))
        assert without.scale(np.array([value, 0.1]))[1] == 0.0


def test_few_sparse_features_have_a_full_covariance_and_many_a_diagonal_one():
    oracle = DefaultOracle(2)
    for word in range(FULL_UP_TO):
        oracle.update(([word], [1.0]), [0], [float(word % 2)])
        assert oracle.blend.straight != []
    before = oracle.blend.paired[0].predict(np.zeros(oracle.blend.paired[0].n_features))
    oracle.update(([10**9], [1.0]), [0], [1.0])
    assert oracle.blend.straight == []
    assert oracle.blend.features.n_places == FULL_UP_TO + 2
    assert before.tolist() == [0.5, 0.5]
    low, high = (oracle.predict(([word], [1.0]), [0])[0] for word in (4, 5))
    assert low < 0.4 < 0.6 < high  # the diagonal one learned along


def test_what_does_not_fit_has_a_diagonal_covariance_at_once():
    assert affords_full(25, 200)
    assert not affords_full(26, 200)
    for n_actions, width, has_full in ((1000, 100, False), (2, 300, False), (2, 100, True)):
        oracle = DefaultOracle(n_actions)
        oracle.update(np.arange(width), [0], [1.0])
        assert (oracle.blend.straight != []) == has_full
        assert oracle.blend.paired[0].n_features == width + 1
    oracle = DefaultOracle(2)
    oracle.update(np.arange(64.0), [0], [1.0])
    assert oracle.blend.paired[0].n_features == 65 + n_pairs(64)
    assert oracle.blend.straight[0].n_features == 65
    assert not affords_full(5_000_000, 1)
    sparse = DefaultOracle(1000)
    sparse.update((np.arange(70), np.ones(70)), [0], [1.0])
    assert sparse.blend.straight == []
    oracle = DefaultOracle(1000)
    for x, seen, losses in dense_rounds(5, d=100):
        oracle.update(x, seen, losses)
        assert np.isfinite(oracle.predict(x)).all()


def test_a_covariance_that_fits_is_kept():
    n_words = 30
    assert affords_full(1000, n_words + 1)
    assert not affords_full(1000, 2 * n_words)
    oracle = DefaultOracle(1000)
    oracle.update((np.arange(n_words), np.ones(n_words)), [0], [1.0])
    assert oracle.blend.straight != []


@pytest.mark.parametrize("rounds", [dense_rounds, sparse_rounds])
def test_grow_keeps_what_was_learned(rounds):
    oracle, contexts = trained(rounds(80)), [x for x, _, _ in rounds(5, seed=1)]
    before = [oracle.forecast(x) for x in contexts]
    oracle.grow(5)
    oracle.grow(2)  # never shrinks
    assert oracle.n_actions == 5
    for x, old in zip(contexts, before, strict=True):
        new = oracle.forecast(x)
        assert new.losses[:3].tolist() == old.losses.tolist()
        assert new.deviations[:3].tolist() == old.deviations.tolist()
        assert new.losses[3:].tolist() == [0.5, 0.5]
        assert new.counts[3:].tolist() == [0.0, 0.0]
        assert (new.deviations[3:] > old.deviations.min()).all()
    oracle.update(contexts[0], [4], [1.0])
    assert oracle.predict(contexts[0])[4] > 0.6


@pytest.mark.parametrize("rounds", [dense_rounds, sparse_rounds])
def test_saved_and_loaded_continues_bit_for_bit(rounds):
    oracle = trained(rounds(60))
    twin = from_bytes(to_bytes(oracle), where="test")
    for x, seen, losses in rounds(40, seed=1):
        assert twin.predict(x).tolist() == oracle.predict(x).tolist()
        for one in (oracle, twin):
            one.update(x, seen, losses)
    assert to_bytes(twin) == to_bytes(oracle)


def test_predictions_and_contexts_are_left_alone():
    oracle = trained(dense_rounds(20))
    x, seen, losses = np.arange(4.0), np.array([0, 1]), np.array([0.0, 1.0])
    before = to_bytes(oracle)
    oracle.predict(x)
    assert to_bytes(oracle) == before
    oracle.update(x, seen, losses)
    assert (x.tolist(), seen.tolist(), losses.tolist()) == ([0, 1, 2, 3], [0, 1], [0, 1])


DENSE, SPARSE = np.arange(4.0), ([1, 2], [1.0, 1.0])


@pytest.mark.parametrize(
    ("rounds", "call", "error", "text"),
    [
        (dense_rounds, (np.ones(3), [0], [0.5]), ValueError, r"must have shape \(4,\).*got \(3,\)"),
        (dense_rounds, (SPARSE, [0], [0.5]), ValueError, "got a sparse row; use one oracle for"),
        (sparse_rounds, (DENSE, [0], [0.5]), ValueError, "must be a sparse row, .*got a ndarray"),
        (dense_rounds, ([1, 2, np.inf, 0], [0], [0.5]), ValueError, "finite, got inf at index 2"),
        (sparse_rounds, (([7], [np.nan]), [0], [0.5]), ValueError, "finite, got nan at index 7"),
        (sparse_rounds, (([-1], [1.0]), [0], [0.5]), IndexError, "got -1 at position 0"),
        (sparse_rounds, (([1, 2], [1.0]), [0], [0.5]), ValueError, "as many indices as values"),
        (dense_rounds, (DENSE, [0], [1.01]), ValueError, "`losses` must .*loss_range.*1.01"),
        (sparse_rounds, (SPARSE, [0], [-0.1]), ValueError, "`losses` must .*loss_range.*-0.1"),
        (dense_rounds, (DENSE, [0], [np.nan]), ValueError, "`losses` must be finite, got nan"),
        (dense_rounds, (DENSE, [3], [0.5]), IndexError, "must be between 0 and 2 .*, got 3"),
        (sparse_rounds, (SPARSE, [-1], [0.5]), IndexError, "must be between 0 and 2 .*, got -1"),
        (dense_rounds, (DENSE, [1, 1], [0, 0]), ValueError, "must be distinct, got 1 again"),
        (dense_rounds, (DENSE, [1], [0, 0]), ValueError, r"`losses` must have shape \(1,\)"),
    ],
)
def test_bad_input_changes_nothing(rounds, call, error, text):
    oracle = trained(rounds(30))
    before = to_bytes(oracle)
    with pytest.raises(error, match=text):
        oracle.update(*call)
    assert to_bytes(oracle) == before


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (([[1.0, 2.0]], [0], [0.5]), "must be a row of numbers or a sparse row, got shape"),
        (([], [0], [0.5]), r"must be a row of numbers or a sparse row, got shape \(0,\)"),
        (([1.0, np.nan], [0], [0.5]), "must be finite, got nan at index 1"),
        (([1.0], [0], [2.0]), "`losses` must .*loss_range"),
    ],
)
def test_a_bad_first_context_leaves_the_kind_open(call, error):
    oracle = DefaultOracle(2)
    before = to_bytes(oracle)
    with pytest.raises(ValueError, match=error):
        oracle.update(*call)
    assert to_bytes(oracle) == before
    oracle.update(SPARSE, [0], [0.5])


def test_a_round_that_reveals_nothing_teaches_no_loss():
    for rounds, x in ((dense_rounds, DENSE), (sparse_rounds, SPARSE)):
        oracle = trained(rounds(30))
        before = oracle.forecast(x).counts
        oracle.update(x, [], [])
        assert oracle.forecast(x).counts.tolist() == before.tolist()


def xor_rounds(n):
    rng = np.random.default_rng(0)
    for _ in range(n):
        x = rng.normal(size=3)
        yield x, np.array([0]), np.array([float(x[0] * x[1] > 0.0)])


def test_learns_a_product_that_a_linear_member_cannot():
    oracle = DefaultOracle(1)
    errors = squared_error(oracle, xor_rounds(1500))
    assert errors[500:].mean() < 0.1  # a coin has 0.25
    assert oracle.blend.log_weights[1:].max() == 0.0
    assert oracle.blend.log_weights[0].max() < -50.0


def test_costs_little_more_than_the_linear_member_where_the_world_is_linear():
    alone = DefaultOracle(3)
    alone.update(np.zeros(10), [], [])
    alone.blend.log_weights[:] = -1e200
    alone.blend.log_weights[0, 0] = 0.0
    errors = squared_error(DefaultOracle(3), dense_rounds(1000, d=10))
    linear = squared_error(alone, dense_rounds(1000, d=10))
    assert errors.mean() < 1.02 * linear.mean()


def test_losses_in_another_range_are_only_other_units():
    plain, wide = DefaultOracle(3), DefaultOracle(3, loss_range=(10.0, 30.0))
    for x, seen, losses in dense_rounds(100):
        assert wide.predict(x) == pytest.approx(10.0 + 20.0 * plain.predict(x), rel=1e-9)
        plain.update(x, seen, losses)
        wide.update(x, seen, 10.0 + 20.0 * losses)
    assert wide.forecast(DENSE).span == 20.0
    assert wide.forecast(DENSE).deviations == pytest.approx(
        20.0 * plain.forecast(DENSE).deviations, rel=1e-6
    )


def test_dense_features_are_scaled_and_clipped():
    features = DenseFeatures(2)
    assert features.scale(np.array([5.0, 7.0]))[:2].tolist() == [0.0, 0.0]
    seen = np.random.default_rng(0).normal([100.0, -1.0], [10.0, 0.1], size=(500, 2))
    for x in seen:
        features.learn(x)
    row = features.scale(np.array([110.0, -1e9])) * np.sqrt(3.0)
    counted = np.append(seen[:, 0], 110.0)
    assert row[0] == pytest.approx((110.0 - counted.mean()) / counted.std(), rel=1e-9)
    assert row[1] == -4.0
    assert row[2] == pytest.approx(np.sqrt(10.0))


def test_sparse_features_have_places_in_order_of_appearance():
    features = SparseFeatures()
    for key in (10**15, 3, 2**61, 3):
        features.learn((np.array([key]), np.array([2.0])))
    assert features.n_places == 4
    (places, values), novelty = features.scale((np.array([3, 99]), np.array([2.0, 1.0])))
    assert places.tolist() == [0, 2]
    assert values[1] == pytest.approx(np.sqrt(0.5))
    assert novelty == pytest.approx(0.5)


def test_many_sparse_features_are_all_found_again():
    features, rng = SparseFeatures(), np.random.default_rng(0)
    keys = np.unique(rng.integers(0, 2**62, size=3000))
    for part in np.array_split(keys, 50):
        features.learn((part, np.ones(part.size)))
    (places, _), novelty = features.scale((keys, np.ones(keys.size)))
    assert places.tolist() == list(range(keys.size + 1))
    assert novelty == 0.0


@pytest.mark.parametrize("context", ["free prize", {"income": 3.0}, None])
def test_what_is_no_row_is_named(context):
    with pytest.raises(
        TypeError, match=r"`context` must be a row of numbers.*graphcb.Encoder turns"
    ):
        DefaultOracle(2).predict(context)


def test_sparse_values_are_shares_of_the_largest_seen():
    features = SparseFeatures()
    features.learn((np.array([3, 4]), np.array([10.0, 1.0])))
    (places, values), novelty = features.scale((np.array([3, 4, 9]), np.array([5.0, 1.0, 7.0])))
    assert places.tolist() == [0, 1, 2]
    norm = np.sqrt(0.5**2 + 1.0 + 1.0)
    np.testing.assert_allclose(values[1:], [0.5 / norm, 1.0 / norm])
    assert novelty == pytest.approx(1.0 / norm**2)  # a value never seen counts as 1 at most


def ring_rounds(n, *, swapped_from=None):
    """One of two actions is right inside a circle, the other outside; or the other way round."""
    rng = np.random.default_rng(0)
    for t in range(n):
        x = rng.normal(size=2)
        is_inside = (x @ x < 1.4) != (swapped_from is not None and t >= swapped_from)
        yield x, np.array([0, 1]), np.array([float(not is_inside), float(is_inside)])


def test_waves_bend_where_products_cannot():
    rng = np.random.default_rng(0)
    oracle = DefaultOracle(1)
    rows = [rng.uniform(-3.0, 3.0, size=2) for _ in range(2000)]
    stripes = [(x, np.array([0]), np.array([float(np.sin(3.0 * x[0]) > 0.0)])) for x in rows]
    errors = squared_error(oracle, stripes)
    assert errors[-500:].mean() < 0.12  # a coin has 0.25, products 0.24
    assert oracle.blend.log_weights[2].max() == 0.0
    assert oracle.blend.log_weights[:2].max() < -20.0


def test_what_no_longer_holds_is_forgotten():
    errors = squared_error(DefaultOracle(2), ring_rounds(2400, swapped_from=1200))
    before, after = errors[1000:1200].mean(), errors[1400:].mean()
    assert before < 0.06
    assert after < 0.09  # one that never forgets has 0.5


def test_still_worlds_lose_little_by_members_that_forget():
    alone = DefaultOracle(2)
    alone.update(np.zeros(2), [], [])
    alone.blend.log_weights[:, 1:] = -1e200
    kept = squared_error(alone, ring_rounds(1500)).mean()
    assert squared_error(DefaultOracle(2), ring_rounds(1500)).mean() < 1.05 * kept


def test_waves_are_left_out_where_they_would_be_dear():
    for n_actions, n_features, n_waves in ((2, 5, 48), (10, 20, 48), (60, 20, 28), (200, 20, 0)):
        oracle = DefaultOracle(n_actions)
        oracle.update(np.ones(n_features), [0], [1.0])
        assert oracle.blend.n_waves == len(oracle.blend.waved) * n_waves / 3
        oracle.grow(200)
        oracle.update(np.zeros(n_features), [199], [0.0])
        assert oracle.blend.waved == []
        assert oracle.predict(np.ones(n_features)).shape == (200,)


def test_many_words_do_not_forget_and_are_learned():
    oracle = DefaultOracle(3)
    for n in range(3):
        indices = np.arange(n * 150_000, (n + 1) * 150_000, 1)
        oracle.update((indices, np.ones(indices.size)), [0, 1, 2], [0.0, 0.5, 1.0])
    assert [len(oracle.blend.straight), len(oracle.blend.paired)] == [0, 1]
    assert from_bytes(to_bytes(oracle), where="here").predict(([3], [1.0]))[0] < 0.5


def encoded_rounds(n, seed=0):
    encoder, rng = Encoder(), np.random.default_rng(seed)
    for _ in range(n):
        context = {"x": rng.normal(), "y": rng.normal(), "word": str(rng.choice(["a", "b"]))}
        encoder.learn(context)
        yield encoder.encode(context), np.arange(3), rng.random(3).round()


@pytest.mark.parametrize("rounds", [dense_rounds, sparse_rounds, encoded_rounds])
def test_forecasts_that_are_foreseen_are_the_same_bits_until_something_is_learned(rounds):
    oracle, contexts = trained(rounds(200)), [x for x, _, _ in rounds(20, seed=1)]
    before = [oracle.forecast(x) for x in contexts]
    oracle.foresee(contexts)
    for x, expected in zip(contexts, before, strict=True):
        found = oracle.forecast(x)
        assert [np.asarray(part).tobytes() for part in found] == [
            np.asarray(part).tobytes() for part in expected
        ]
        assert oracle.predict(x).tobytes() == expected.losses.tobytes()
        assert oracle.predict(x, [2, 0]).tolist() == pytest.approx(expected.losses[[2, 0]].tolist())
    oracle.update(contexts[1], [0, 1, 2], [1.0, 1.0, 0.0])
    assert oracle.forecast(contexts[1]).losses.tolist() != before[1].losses.tolist()
    oracle.foresee(contexts)
    oracle.grow(4)
    assert oracle.forecast(contexts[0]).losses.size == 4
    oracle.foresee(contexts)
    expected = oracle.forecast(contexts[0]).losses
    oracle.take([1, 0, 2, 3])
    assert oracle.forecast(contexts[0]).losses.tolist() == expected[[1, 0, 2, 3]].tolist()


def test_nothing_is_foreseen_before_something_is_learned():
    oracle, contexts = DefaultOracle(2), [np.ones(3), np.zeros(3)]
    oracle.foresee(contexts)
    assert oracle.predict(contexts[0]).tolist() == [0.5, 0.5]


def test_many_contexts_and_actions_are_foreseen_as_far_as_there_is_room(monkeypatch):
    monkeypatch.setattr(default, "FORESEEN", 7)
    oracle, contexts = trained(dense_rounds(50)), [x for x, _, _ in dense_rounds(5, seed=1)]
    oracle.foresee(contexts)
    assert list(oracle._foreseen) == [id(x) for x in contexts[:2]]
    monkeypatch.setattr(default, "FORESEEN", 2)
    oracle.update(contexts[0], [0], [1.0])
    oracle.foresee(contexts)
    assert not oracle._foreseen
