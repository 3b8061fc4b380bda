"""Lists of numbers in a context, such as an embedding that the user brings."""

import numpy as np
import pytest

from graphcb import Encoder, Learner, Problem, load, save
from graphcb.contexts.values import flat
from graphcb.contexts.watched_features import WatchedFeatures
from graphcb.decisions.encoding import plain_context

SIZE = 24


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    words = ("call", "me", "back", "please", "refund")
    return [
        {"prompt": " ".join(rng.choice(words, size=5)), "embedding": rng.normal(size=SIZE).tolist(),
         "tokens": int(rng.integers(100))}
        for _ in range(n)
    ]  # fmt: skip


def one_by_one(row):
    """The same numbers under names of their own."""
    whole = {}
    for name, value in row.items():
        whole |= (
            {f"{name}.{i}": x for i, x in enumerate(value)}
            if type(value) is list
            else {name: value}
        )
    return whole


def same(one, other):
    return (
        one.n_numbers == other.n_numbers
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.values, other.values)
    )


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda x: np.array(x, dtype=np.float32)])
def test_a_list_of_numbers_is_read_as_its_numbers_are(kind):
    one, other = Encoder(), Encoder()
    for row in rows(30):
        if kind not in (list, tuple, np.array):
            row["embedding"] = np.array(row["embedding"], dtype=np.float32).tolist()
        given = row | {"embedding": kind(row["embedding"])}
        assert same(one.encode(given), other.encode(one_by_one(row)))
        one.learn(given)
        other.learn(one_by_one(row))
    assert one.kinds == other.kinds
    assert one.known.numbers == other.known.numbers
    assert one.known.vectors == {"embedding": SIZE}
    assert other.known.vectors == {}


def test_a_list_that_is_missing_leaves_one_mark_and_its_numbers_are_typical():
    encoder = Encoder()
    for row in rows(20):
        encoder.learn(row)
    whole, without = encoder.encode(rows(1)[0]), rows(1)[0]
    del without["embedding"]
    found = encoder.encode(without)
    assert found.n_numbers == whole.n_numbers == SIZE + 1
    assert (found.values[:SIZE] == 0.0).all()
    assert found.values[SIZE] == whole.values[SIZE]
    assert found.values.size == whole.values.size + 1
    assert same(found, encoder.encode(without | {"embedding": None})) or (
        sorted(found.indices) == sorted(encoder.encode(without | {"embedding": None}).indices)
    )
    assert encoder.encode({"prompt": "hello"}).values[: SIZE + 1].tolist() == [0.0] * (SIZE + 1)


def test_a_list_of_another_length_is_read_number_by_number():
    encoder = Encoder()
    for row in rows(20):
        encoder.learn(row)
    shorter = rows(1)[0]
    shorter["embedding"] = shorter["embedding"][:-1]
    known = encoder.encode(rows(1)[0])
    found = encoder.encode(shorter)
    assert found.values[: SIZE - 1].tolist() == known.values[: SIZE - 1].tolist()
    encoder.learn(shorter)
    longer = rows(1)[0]
    longer["embedding"] = [*longer["embedding"], 1.0]
    encoder.learn(longer)
    assert encoder.known.numbers[f"embedding.{SIZE}"] == SIZE + 1  # behind the tokens
    assert encoder.encode(rows(1)[0]).n_numbers == SIZE + 2


def test_numbers_too_large_to_calculate_with_are_named_and_nothing_changes():
    encoder = Encoder()
    row = rows(1)[0]
    row["embedding"][3] = float("inf")
    with pytest.raises(ValueError, match=r"`context\['embedding.3'\]` must be a finite number"):
        encoder.learn(row)
    assert encoder.known.n_rows == 0
    assert encoder.kinds == {}


def test_a_long_list_of_words_or_of_both_is_no_vector():
    words = ["a"] * 20
    assert flat({"tags": words}, whole_vectors=True) == {"tags": words}
    assert len(flat({"x": [1.0, *words]}, whole_vectors=True)) == 21
    assert len(flat({"x": [1.0] * 15}, whole_vectors=True)) == 15
    assert len(flat({"x": [[1.0] * 20] * 2}, whole_vectors=True)) == 2
    assert list(flat({"x": [1.0] * 16}, whole_vectors=True)) == ["x"]


def test_a_log_keeps_a_list_as_a_list_and_the_alarm_leaves_it_out():
    row = rows(1)[0]
    assert plain_context(row | {"embedding": np.array(row["embedding"])}) == row
    assert WatchedFeatures().after(row).names == ("prompt", "tokens")


def test_a_learner_with_an_embedding_is_saved_and_goes_on(tmp_path):
    learner = Learner(Problem(["small", "large"]))
    for i, row in enumerate(rows(30)):
        learner.learn(row, ["small", "large"], [float(row["embedding"][0] > 0.0), (i % 10) / 10.0])
    save(learner, tmp_path / "learner.npz")
    again = load(tmp_path / "learner.npz")
    for row in rows(5, seed=1):
        np.testing.assert_array_equal(learner.predict(row), again.predict(row))


def test_damaged_lists_are_refused():
    encoder = Encoder()
    encoder.learn(rows(1)[0])
    encoder.known.vectors["embedding"] = SIZE + 1
    with pytest.raises(ValueError, match="`vectors` must have their numbers side by side"):
        encoder.known.check_loaded()
