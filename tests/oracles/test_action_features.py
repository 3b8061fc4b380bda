import copy

import numpy as np
import pytest
from scipy.sparse import csr_array

from graphcb import Encoder, InformationDirected, graphs, load, save
from graphcb.agents import Uniform
from graphcb.contexts import EncodedRow
from graphcb.oracles import ActionFeatureOracle
from graphcb.oracles.action_rows import fill_products
from graphcb.saving import to_bytes


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def trained(n_rounds=50, **settings):
    rng, oracle = np.random.default_rng(0), ActionFeatureOracle(**settings)
    for _ in range(n_rounds):
        x, rows = rng.normal(size=3), rng.normal(size=(4, 2))
        low, high = oracle.loss_range
        oracle.update(x, rows, low + (high - low) * sigmoid(rows @ [2.0, -1.0] + rows[:, 0] * x[0]))
    return oracle


def pairs(rows):
    return [(np.flatnonzero(row), row[row != 0.0]) for row in np.asarray(rows, dtype=float)]


@pytest.mark.parametrize("n_products", [6, 3])
def test_products_are_0_in_the_mean(n_products):
    """Squares are no second constant, which all actions would share."""
    rng, total, products = np.random.default_rng(0), np.zeros(n_products), np.empty(n_products)
    for row in rng.normal(size=(4000, 3)):
        fill_products(row, 1.0, products)
        total += products
    assert np.abs(total / 4000.0).max() < 0.03


class TestActionFeatureOracle:
    def test_learns_products_of_context_and_action(self):
        rng, oracle = np.random.default_rng(0), trained(500)
        errors = []
        for _ in range(50):
            x, rows = rng.normal(size=3), rng.normal(size=(4, 2))
            truth = sigmoid(rows @ [2.0, -1.0] + rows[:, 0] * x[0])
            errors.append(np.abs(oracle.predict(x, rows) - truth).mean())
        assert np.mean(errors) < 0.04

    @pytest.mark.parametrize(
        "truth",
        [
            lambda x, rows: 1.5 * rows[:, 0] * x[0] * x[1],
            lambda x, rows: 1.5 * rows[:, 0] * rows[:, 1],
            lambda x, rows: ((rows - x[:2]) ** 2).sum(1) - 2.0,
        ],
        ids=["products of the context", "products of the action", "ideal points"],
    )
    def test_learns_curves(self, truth):
        """Without products errors are 0.16, 0.18 and 0.22, about the spread of the losses."""
        rng, oracle, errors = np.random.default_rng(0), ActionFeatureOracle(), []
        for t in range(700):
            x, rows = rng.normal(size=3), rng.normal(size=(4, 2))
            losses = sigmoid(truth(x, rows))
            if t >= 650:
                errors.append(np.abs(oracle.predict(x, rows) - losses).mean())
            oracle.update(x, rows, losses)
        assert np.mean(errors) < 0.11

    @pytest.mark.parametrize(
        "odd", [lambda a: np.exp(2.0 * a), lambda a: np.where(a > 2.0, 1e6, a)]
    )
    def test_heavy_tails_and_codes_do_not_destroy_learning(self, odd):
        """Errors by mean and deviation alone were 0.15 and 0.24."""
        rng, oracle, errors = np.random.default_rng(0), ActionFeatureOracle(), []
        for t in range(500):
            x, rows = rng.normal(size=2), rng.normal(size=(4, 2))
            losses = sigmoid(1.5 * rows[:, 0] + rows[:, 1] * x[0])
            if t >= 450:
                errors.append(np.abs(oracle.predict(x, odd(rows)) - losses).mean())
            oracle.update(x, odd(rows), losses)
        assert np.mean(errors) < 0.06

    @pytest.mark.parametrize(("width", "expected"), [(2, 3), (10, 55), (11, 11), (55, 55), (56, 0)])
    def test_products_are_few(self, width, expected):
        oracle = ActionFeatureOracle()
        oracle.update(np.ones(2), np.ones((1, width)), [0.5])
        assert oracle.actions.n_products == expected
        assert oracle.posterior.n_products == expected + 3

    def test_numbers_of_encoded_rows_have_products(self):
        rng, oracle, errors = np.random.default_rng(0), ActionFeatureOracle(), []
        contexts, kinds = Encoder(), Encoder()
        for t in range(400):
            x, rows = rng.normal(size=2), rng.normal(size=(4, 2))
            losses = sigmoid(1.5 * rows[:, 0] * rows[:, 1] + 1.5 * rows[:, 0] * x[0] * x[1])
            context, actions = {"x": x[0], "y": x[1]}, [{"a": a, "b": b} for a, b in rows]
            row, encoded = contexts.encode(context), [kinds.encode(action) for action in actions]
            if t >= 350:
                errors.append(np.abs(oracle.predict(row, encoded) - losses).mean())
            oracle.update(row, encoded, losses)
            contexts.learn(context)
            for action in actions:
                kinds.learn(action)
        assert (oracle.n_numbers, oracle.actions.n_numbers) == (2, 2)
        assert np.mean(errors) < 0.08

    def test_the_constant_of_an_encoder_is_no_feature_of_actions(self):
        """Items are read as without it, alone, beside others or beside rows of another kind, and
        each counts as seen as often as its name was."""
        kinds, bare = Encoder(), ([7, 8], [0.6, 0.8])
        encoded = [kinds.encode({"item": name}) for name in ("a", "b", "c")]
        named = [(row.indices, np.ones(1)) for row in encoded]
        one, other = ActionFeatureOracle(), ActionFeatureOracle()
        for k in (0, 1, 1, 1):
            one.update([1.0, k], [encoded[k]], [0.25 * k])
            other.update([1.0, k], [named[k]], [0.25 * k])
        assert one.forecast([1.0, 0.5], encoded).counts.tolist() == [1.0, 3.0, 0.0]
        for ours, theirs in ((encoded, named), ([*encoded, bare], [*named, bare])):
            found, expected = one.forecast([1.0, 0.5], ours), other.forecast([1.0, 0.5], theirs)
            np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-12)
            np.testing.assert_allclose(found.deviations, expected.deviations, rtol=1e-12)

    def test_numbers_that_come_later_have_no_products(self):
        oracle, kinds = ActionFeatureOracle(), Encoder()
        oracle.update([1.0], [kinds.encode({"a": 1.0})], [0.5])
        kinds.learn({"a": 1.0})
        later = [kinds.encode({"a": 2.0, "b": 1.0}), kinds.encode({"word": "x"})]
        oracle.update([1.0], later, [0.5, 0.5])
        assert oracle.actions.n_products == 1
        assert np.isfinite(oracle.predict([1.0], later)).all()

    def test_the_members_are_weighed(self):
        """Products of the context win where they matter, and lose where they do not."""
        odds = []
        for curved in (False, True):
            rng, oracle = np.random.default_rng(0), ActionFeatureOracle()
            for _ in range(400):
                x, rows = rng.normal(size=3), rng.normal(size=(1, 2))
                z = 2.0 * rows[:, 0] * x[0] * (x[1] if curved else 1.0)
                oracle.update(x, rows, (rng.random(1) < sigmoid(z)).astype(float))
            odds.append(oracle.log_odds)
        assert odds[0] < 0.0 < 5.0 < odds[1]

    def test_wide_and_sparse_contexts_have_no_products(self):
        for context in (np.ones(65), ([0, 1], [1.0, 2.0])):
            oracle = ActionFeatureOracle()
            oracle.update(context, np.ones((1, 2)), [0.5])
            assert oracle.products is None
            assert oracle.predict(context, np.ones((1, 2)))[0] == 0.5

    def test_scales_do_not_matter(self):
        rng = np.random.default_rng(0)
        plain, scaled = ActionFeatureOracle(), ActionFeatureOracle()
        for _ in range(100):
            x, rows, losses = rng.normal(size=3), rng.normal(size=(4, 2)), rng.random(4)
            plain.update(x, rows, losses)
            scaled.update(1000.0 * x + 5.0, 0.001 * rows - 20.0, losses)
        x, rows = rng.normal(size=3), rng.normal(size=(4, 2))
        answers = scaled.predict(1000.0 * x + 5.0, 0.001 * rows - 20.0)
        np.testing.assert_allclose(answers, plain.predict(x, rows), rtol=1e-6)

    def test_lists_arrays_and_scipy_rows_are_the_same(self):
        dense, rows = trained(), np.random.default_rng(1).normal(size=(3, 2))
        x = np.ones(3)
        np.testing.assert_array_equal(dense.predict(x, rows.tolist()), dense.predict(x, rows))
        np.testing.assert_array_equal(dense.predict(x, list(rows)), dense.predict(x, rows))
        by_pairs, by_scipy = ActionFeatureOracle(), ActionFeatureOracle()
        for _ in range(5):
            by_pairs.update(x, pairs(np.eye(3)), [0.1, 0.5, 0.9])
            by_scipy.update(x, [csr_array(row[None]) for row in np.eye(3)], [0.1, 0.5, 0.9])
        np.testing.assert_array_equal(
            by_scipy.predict(x, [csr_array(np.eye(3)[[1]])]),
            by_pairs.predict(x, pairs(np.eye(3)))[1:2],
        )

    def test_losses_in_their_own_range(self):
        unit, wide = trained(), trained(loss_range=(-5.0, 15.0))
        x, rows = np.ones(3), np.random.default_rng(1).normal(size=(3, 2))
        one, other = unit.forecast(x, rows), wide.forecast(x, rows)
        np.testing.assert_allclose(other.losses, -5.0 + 20.0 * one.losses, rtol=1e-9)
        np.testing.assert_allclose(other.deviations, 20.0 * one.deviations, rtol=1e-9)
        assert other.span == 20.0
        with pytest.raises(ValueError, match=r"`losses` must lie in loss_range \(-5.0, 15.0\)"):
            wide.update(x, rows[:1], [16.0])

    def test_it_is_less_sure_of_what_it_has_not_seen(self):
        oracle, x = ActionFeatureOracle(), np.ones(2)
        for _ in range(20):
            oracle.update(x, pairs([[1, 1, 0], [1, 0, 0]]), [0.2, 0.3])
        forecast = oracle.forecast(x, [([0, 1], [1.0, 1.0]), ([0, 7], [1.0, 1.0]), ([8], [1.0])])
        assert (np.diff(forecast.deviations) > 0.0).all()
        assert (np.diff(forecast.gains) > 0.0).all()
        np.testing.assert_allclose(forecast.counts, [30.0, 20.0, 0.0])

    def test_an_action_without_features_is_the_constant(self):
        oracle = ActionFeatureOracle()
        empty = (np.empty(0, dtype=int), np.empty(0))
        for _ in range(30):
            oracle.update([1.0, 2.0], [empty], [0.9])
        forecast = oracle.forecast([1.0, 2.0], [empty])
        assert forecast.losses[0] > 0.75
        assert forecast.counts[0] == 30.0

    def test_no_action_has_no_forecast(self):
        assert trained().forecast(np.ones(3), []).losses.size == 0
        assert ActionFeatureOracle().predict(np.ones(3), np.empty((0, 2))).size == 0

    def test_sparse_contexts(self):
        rng, oracle = np.random.default_rng(0), ActionFeatureOracle()
        for _ in range(400):
            word, kind = int(rng.integers(3)), int(rng.integers(3))
            oracle.update(([10**9 + word], [1.0]), [([kind], [1.0])], [float(word != kind)])
        for word in range(3):
            predicted = oracle.predict(([10**9 + word], [1.0]), pairs(np.eye(3)))
            assert predicted.argmin() == word
            assert predicted[word] < 0.2

    def test_is_saved_without_code(self, tmp_path):
        oracle = trained()
        save(oracle, tmp_path / "oracle.npz")
        loaded = load(tmp_path / "oracle.npz")
        assert to_bytes(loaded) == to_bytes(oracle)
        for one in (oracle, loaded):
            one.update(np.ones(3), np.ones((1, 2)), [0.5])
        assert to_bytes(loaded) == to_bytes(oracle)


WRONG = [
    (np.ones(3), None, TypeError, "`actions` must be a list of rows of features.*got None"),
    (np.ones(3), "ab", TypeError, "got a str"),
    (np.ones(3), {"a": [1.0, 2.0]}, TypeError, "got a dict"),
    (np.ones(3), np.ones((2, 3)), ValueError, r"shape \(n_actions, 2\), one row .*got \(2, 3\)"),
    (np.ones(3), [[1.0, 2.0], [1.0]], TypeError, "`actions` must be an array of real numbers"),
    (np.ones(3), [[1.0, 2.0], [1.0, np.inf]], ValueError, "got inf at index 1, feature 1"),
    (np.ones(3), [[1.0, 2.0], ([0], [1.0])], ValueError, "got a sparse row at index 1"),
    (np.ones(2), np.ones((2, 2)), ValueError, r"`context` must have shape \(3,\)"),
    (([0], [1.0]), np.ones((2, 2)), ValueError, "got a sparse row; use one oracle"),
]
WRONG_SPARSE = [
    ([[1.0]], ValueError, "must be sparse rows, like those learned.*got a list at index 0"),
    ([([0], [1.0]), ([-1], [1.0])], IndexError, r"`actions` must have indices.*\(action 1\)"),
    ([([0], [np.nan])], ValueError, "`actions` must be finite, got nan at index 0, feature 0"),
    ([([0, 1], [1.0])], ValueError, r"as many indices as values.*\(action 0\)"),
]


@pytest.mark.parametrize(("context", "actions", "error", "text"), WRONG)
def test_wrong_rows_are_refused_and_change_nothing(context, actions, error, text):
    oracle = trained()
    before = to_bytes(oracle)
    with pytest.raises(error, match=text):
        oracle.predict(context, actions)
    with pytest.raises(error, match=text):
        oracle.update(context, actions, [0.5, 0.5] if actions is not None else [])
    assert to_bytes(oracle) == before


@pytest.mark.parametrize(("actions", "error", "text"), WRONG_SPARSE)
def test_wrong_sparse_rows_are_refused_and_change_nothing(actions, error, text):
    oracle = ActionFeatureOracle()
    oracle.update([1.0], [([0], [1.0])], [0.5])
    before = to_bytes(oracle)
    with pytest.raises(error, match=text):
        oracle.update([1.0], actions, [0.5] * len(actions))
    assert to_bytes(oracle) == before


@pytest.mark.parametrize(
    ("context", "text"), [("sunny", "got a str; graphcb.Encoder"), (None, "got a NoneType")]
)
def test_a_first_context_that_is_no_row_is_refused(context, text):
    with pytest.raises(TypeError, match=text):
        ActionFeatureOracle().predict(context, [[1.0]])


def test_a_first_context_of_a_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"got shape \(2, 2\)"):
        ActionFeatureOracle().predict(np.ones((2, 2)), [[1.0]])


def average_loss(agent, n_rounds, *, life, as_columns=False):
    """Items with three features, of which one is replaced every `life` rounds; ten contexts."""
    rng = np.random.default_rng(5)
    weights, items, names = rng.normal(size=(3, 4)), rng.normal(size=(8, 3)), np.arange(8)
    total = 0.0
    for t in range(n_rounds):
        if t % life == life - 1:
            k = rng.integers(8)
            items[k], names[k] = rng.normal(size=3), names.max() + 1
        x = rng.normal(size=4)
        losses = sigmoid(2.0 * items @ weights @ x)
        rows = [
            (np.array([0, 1, 2, 100 + n]), np.append(v, 1.0))
            for v, n in zip(items, names, strict=True)
        ]
        p = agent.act(x, graphs.bandit(8), names if as_columns else rows)
        played = rng.choice(8, p=p)
        seen = [names[played]] if as_columns else [rows[played]]
        agent.learn(x, seen, [float(rng.random() < losses[played])])
        total += losses[played]
    return total / n_rounds


def test_items_that_change_are_told_apart_by_their_features():
    with_features = average_loss(InformationDirected(ActionFeatureOracle()), 1000, life=20)
    by_name = average_loss(InformationDirected(), 1000, life=20, as_columns=True)
    by_chance = average_loss(Uniform(), 1000, life=20)
    assert with_features < 0.8 * by_name
    assert by_name < by_chance


def test_with_one_mark_per_action_it_is_close_to_the_default_oracle():
    rng, weights = np.random.default_rng(3), np.random.default_rng(4).normal(size=(5, 6))
    rounds = [(x, (sigmoid(3.0 * weights @ x) > rng.random(5)).astype(float))
              for x in rng.normal(size=(1500, 6))]  # fmt: skip
    marks, found = pairs(np.eye(5)), []
    for agent, actions in (
        (InformationDirected(ActionFeatureOracle()), marks),
        (InformationDirected(), np.arange(5)),
    ):
        total = 0.0
        for seed in range(3):
            learner, draws = copy.deepcopy(agent), np.random.default_rng(seed)
            for x, losses in rounds:
                played = draws.choice(5, p=learner.act(x, graphs.bandit(5), actions))
                learner.learn(x, [actions[played]], losses[[played]])
                total += losses[played]
        found.append(total / len(rounds) / 3)
    assert found[0] < found[1] + 0.02
    assert found[0] < 0.25


def test_a_copy_is_independent():
    oracle = trained()
    kept, before = copy.deepcopy(oracle), to_bytes(oracle)
    kept.update(np.ones(3), np.ones((1, 2)), [1.0])
    assert to_bytes(oracle) == before


@pytest.mark.parametrize("value", [0.0, 1e-200])
def test_items_with_next_to_nothing_beside_the_constant_are_finite(value):
    """The constant of an encoded row is left out, which is all of its norm."""
    oracle = ActionFeatureOracle()
    items = [EncodedRow(np.array([place]), np.array([value]), 0, 100) for place in (5, 6)]
    for loss in (0.0, 1.0, 0.0):
        oracle.update([1.0], items, [loss, 1.0 - loss])
        assert np.isfinite(np.concatenate(oracle.forecast([1.0], items)[:4])).all()
