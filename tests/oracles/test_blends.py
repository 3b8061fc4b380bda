"""Numbers, words and both in one context, and every door to them."""

import numpy as np
import pytest

from graphcb.contexts import EncodedRow, Encoder
from graphcb.oracles import DefaultOracle
from graphcb.oracles.blend_rows import PRODUCTS_UP_TO
from graphcb.oracles.blends import FULL_UP_TO, n_pairs
from graphcb.saving import from_bytes, to_bytes


def rounds(n, seed=0):
    """Two numbers whose product decides in one place, and what it does in the other."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        x, y = rng.normal(size=2).tolist()
        place = ("Rome", "Oslo")[int(rng.integers(2))]
        loss = float(x * y > 0.0) if place == "Rome" else 0.5
        yield {"x": x, "y": y, "place": place}, [0], [loss]


def played(oracle, encoder, contexts):
    """Squared errors of what is predicted before it is learned."""
    errors = []
    for context, actions, losses in contexts:
        row = encoder.encode(context)
        errors.append((oracle.predict(row, actions)[0] - losses[0]) ** 2)
        oracle.update(row, actions, losses)
        encoder.learn(context)
    return np.array(errors)


@pytest.mark.parametrize("features", [None, {"x": "number", "y": "number", "place": "category"}])
def test_numbers_beside_words_have_products(features):
    oracle = DefaultOracle(1)
    errors = played(oracle, Encoder(features), rounds(1500))
    assert errors[500:].mean() < 0.11  # 0.125 without products
    assert oracle.blend.n_numbers == 2
    assert oracle.blend.log_weights[1:].max() == 0.0  # products, or waves
    assert oracle.blend.log_weights[0].max() < -5.0


def test_dicts_tables_and_arrays_lead_to_the_same_learner():
    rng = np.random.default_rng(0)
    rows = np.column_stack((rng.normal(size=300), np.exp(2.0 * rng.normal(size=300))))
    losses = (rows[:, 0] > 0.0) * 1.0
    oracles = [DefaultOracle(2) for _ in range(4)]
    noted, declared = Encoder(), Encoder({"a": "number", "b": "number"})
    table = Encoder({"a": "number", "b": "number"}).encode_columns(rows.copy(), [])
    for row, encoded, loss in zip(rows, table, losses, strict=True):
        context = dict(zip("ab", row.tolist(), strict=True))
        contexts = [row, encoded, noted.encode(context), declared.encode(context)]
        answers = [o.predict(x) for o, x in zip(oracles, contexts, strict=True)]
        for answer in answers[1:]:
            np.testing.assert_allclose(answer, answers[0], rtol=1e-9)
        for oracle, x in zip(oracles, contexts, strict=True):
            oracle.update(x, [0], [loss])
        noted.learn(context)
        declared.learn(context)


def test_features_may_come_later_and_nothing_learned_is_lost():
    oracle, encoder = DefaultOracle(2), Encoder()
    played(oracle, encoder, rounds(300))
    row = encoder.encode({"x": 1.0, "y": 1.0, "place": "Rome"})
    before, weights = oracle.predict(row), oracle.blend.log_weights.copy()
    levels = oracle.blend.levels.copy()
    late = {"x": 1.0, "y": 1.0, "place": "Rome", "z": 5.0, "word": "new"}
    oracle.update(encoder.encode(late), [1], [0.5])
    encoder.learn(late)
    assert oracle.blend.n_numbers == 3
    assert oracle.blend.paired[0].n_features == oracle.blend.first_product + n_pairs(3)
    oracle.blend.log_weights = weights  # which the loss of action 1 has changed
    oracle.blend.levels = levels  # and the noise of all
    assert oracle.predict(row)[0] == pytest.approx(before[0], rel=1e-9)
    twin = from_bytes(to_bytes(oracle), where="here")
    for context, actions, losses in rounds(50, seed=1):
        x = encoder.encode(context)
        assert twin.predict(x).tolist() == oracle.predict(x).tolist()
        twin.update(x, actions, losses)
        oracle.update(x, actions, losses)
    assert to_bytes(twin) == to_bytes(oracle)


def test_many_numbers_have_no_products_and_counts_of_words_are_sparse():
    wide, encoder = DefaultOracle(1), Encoder()
    context = {f"x{i}": float(i % 7) for i in range(PRODUCTS_UP_TO + 40)}
    for _ in range(3):
        wide.update(encoder.encode(context), [0], [1.0])
        encoder.learn(context)
    assert encoder.encode(context).n_numbers == PRODUCTS_UP_TO + 40
    assert wide.blend.n_numbers == 0
    words, bags, rng = DefaultOracle(1), Encoder(), np.random.default_rng(0)
    errors = []
    for _ in range(1200):
        bag = {f"w{i}": 1.0 for i in rng.choice(400, size=6, replace=False).tolist()}
        loss = float(any(int(word[1:]) < 40 for word in bag))
        row = bags.encode(bag)
        errors.append((words.predict(row)[0] - loss) ** 2)
        words.update(row, [0], [loss])
        bags.learn(bag)
    assert row.n_numbers == 0
    assert row.indices.size == 6
    assert words.blend.straight == []
    assert words.blend.features.n_places > FULL_UP_TO
    assert np.mean(errors[-300:]) < 0.16  # a constant has 0.25


@pytest.mark.parametrize("kind", ["weights", "covariances"])
def test_what_is_not_finite_is_refused_before_a_new_word_has_a_place(kind):
    oracle, encoder = DefaultOracle(1), Encoder()
    played(oracle, encoder, rounds(30))
    getattr(oracle.blend.paired[0], kind)[:] = np.nan
    getattr(oracle.blend.straight[0], kind)[:] = np.nan
    before = to_bytes(oracle)
    with pytest.raises(ValueError, match="no longer finite"):
        oracle.update(encoder.encode({"x": 1.0, "y": 2.0, "place": "Nome"}), [0], [1.0])
    assert to_bytes(oracle) == before


def test_an_encoded_row_is_a_pair_of_norm_one_for_other_oracles():
    encoder = Encoder()
    for context, _, _ in rounds(200):
        encoder.learn(context)
    norms = [np.linalg.norm(encoder.encode(context).pair()[1]) for context, _, _ in rounds(200)]
    assert 0.85 < np.mean(norms) < 1.1
    row = EncodedRow(np.array([2]), np.array([3.0]), 1, 1)
    np.testing.assert_allclose(row.pair()[1], np.array([3.0, 1.0]) / np.sqrt(2.0))


def two_actions(oracle, n, seed, actions, flipped=False):
    """Let it learn losses of some of two actions, of which one number tells the better one."""
    rng = np.random.default_rng(seed)
    for x in rng.normal(size=(n, 3)):
        losses = np.array([x[0] > 0.0, x[0] <= 0.0]) != flipped
        oracle.update(x, actions, losses[actions].astype(float))


def test_in_a_changed_world_an_action_that_is_not_seen_becomes_unknown():
    oracle, x = DefaultOracle(2), np.array([1.0, 0.0, 0.0])
    two_actions(oracle, 300, 0, [0, 1])
    known = oracle.forecast(x)
    two_actions(oracle, 50, 1, [1], flipped=True)
    soon = oracle.forecast(x)
    two_actions(oracle, 500, 2, [1], flipped=True)
    later = oracle.forecast(x)
    assert known.losses[0] > soon.losses[0] > 0.7 > later.losses[0] > 0.45
    assert later.deviations[0] > 1.5 * known.deviations[0]
    before = oracle.blend.straight[2].weights[:, 0].copy()
    oracle.update(x, [0], [0.0])  # what was forgotten meanwhile is forgotten for good
    assert np.abs(oracle.blend.straight[2].weights[1:, 0]).max() < 0.5 * np.abs(before).max()
    assert oracle.predict(x)[0] < 0.4
    assert oracle.blend.ages.tolist() == [0.0, 0.5]


def test_in_a_still_world_an_action_that_is_not_seen_stays_known():
    oracle, x = DefaultOracle(2), np.array([1.0, 0.0, 0.0])
    two_actions(oracle, 300, 0, [0, 1])
    known = oracle.forecast(x)
    two_actions(oracle, 550, 1, [1])
    later = oracle.forecast(x)
    assert later.losses[0] > known.losses[0] - 0.05
    assert later.deviations[0] < 1.2 * known.deviations[0]
    assert oracle.blend.ages.tolist() == [275.0, 0.0]


def test_what_was_never_seen_is_worked_out_once_and_is_what_it_is_alone():
    """The last 20 of 60 actions were not there yet while the range shrank and grew."""
    rng, oracle = np.random.default_rng(0), DefaultOracle(40, loss_range=(0.0, 100.0))
    for _ in range(100):
        oracle.update(rng.normal(size=3), rng.permutation(5)[:2], 4.0 + rng.random(2))
    oracle.grow(60)
    x = rng.normal(size=3)
    together = np.array(oracle.forecast(x)[:4])
    alone = np.array([np.ravel(oracle.forecast(x, [a])[:4]) for a in range(60)]).T
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert len(np.unique(together, axis=1).T) == 5 + 1
