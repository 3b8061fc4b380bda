import numpy as np
import pytest

from graphcb.contexts import Encoder
from graphcb.contexts.neutral import rows_without, typical_row


def learned(features=None):
    encoder = Encoder(features)
    for k in range(20):
        encoder.learn({"amount": float(k), "country": "DE" if k % 2 else "FR", "age": 3.0 + k % 5})
    return encoder


DECLARED = {"amount": "number", "country": "category", "age": "number?"}


@pytest.mark.parametrize("features", [None, DECLARED])
def test_one_feature_says_nothing_and_the_others_stay(features):
    encoder, context = learned(features), {"amount": 15.0, "country": "DE", "age": 4.0}
    whole = encoder.encode(context)
    rows = {one.name: one for one in rows_without(encoder, context)}
    assert list(rows) == ["amount", "country", "age"]
    assert [one.value for one in rows.values()] == [15.0, "DE", 4.0]
    np.testing.assert_array_equal(rows["country"].row.values, whole.values[:2])
    for place, name in ((0, "amount"), (1, "age")):
        expected = whole.values.copy()
        expected[place] = 0.0
        np.testing.assert_array_equal(rows[name].row.values, expected)
        np.testing.assert_array_equal(rows[name].row.indices, whole.indices)


@pytest.mark.parametrize("features", [None, {**DECLARED, "country": "category?"}])
@pytest.mark.parametrize("lacks", ["age", "country"])
def test_what_is_missing_leaves_its_mark_out(features, lacks):
    encoder = learned(features)
    context = {"amount": 15.0, "country": "DE", "age": 4.0, lacks: None}
    whole = encoder.encode(context)
    (without,) = [one for one in rows_without(encoder, context) if one.name == lacks]
    assert without.value is None
    assert without.row.indices.size == whole.indices.size - 1
    np.testing.assert_array_equal(
        without.row.values[: whole.n_numbers], whole.values[: whole.n_numbers]
    )


def test_a_number_that_is_not_there_is_named():
    encoder = learned()
    names = [one.name for one in rows_without(encoder, {"amount": 3.0, "country": "DE"})]
    assert names == ["amount", "country", "age"]


def test_the_words_of_a_text_one_by_one():
    encoder = Encoder({"text": "text"})
    found = rows_without(encoder, {"text": "cheap cheap pills today"})
    assert [one.value for one in found] == ["cheap", "pills", "today"]
    for one, rest in zip(
        found, ("pills today", "cheap cheap today", "cheap cheap pills"), strict=True
    ):
        np.testing.assert_array_equal(one.row.indices, encoder.encode({"text": rest}).indices)
    assert len(rows_without(encoder, {"text": " ".join(map(str, range(100)))})) == 1


def test_a_time_is_one_feature():
    encoder = Encoder()
    for hour in range(5):
        encoder.learn({"when": f"2024-05-01 1{hour}:00", "x": 1.0 + hour})
    rows = rows_without(encoder, {"when": "2024-05-01 12:00", "x": 3.0})
    assert [one.name for one in rows] == ["when", "x"]
    assert not rows[0].row.values[:7].any() or rows[0].row.indices.size == rows[0].row.n_numbers


def test_rows_of_numbers_have_no_names():
    assert rows_without(Encoder(), np.ones(3)) == []


def test_a_typical_row_says_nothing():
    row = typical_row(learned().encode({"amount": 15.0, "country": "DE", "age": 4.0}))
    assert (row.n_numbers, row.values.tolist()) == (2, [0.0, 0.0])
