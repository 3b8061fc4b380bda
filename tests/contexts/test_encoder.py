"""Contexts as people have them: what each becomes, what is refused, and what is kept."""

from collections import namedtuple
from collections.abc import Mapping
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import graphcb
from graphcb.contexts import Encoder
from graphcb.contexts.encoded import EncodedRow, EncodedRows
from graphcb.hashing import place_of, word_places
from graphcb.saving import from_bytes, to_bytes

KINDS = {"amount": "number?", "age": "number", "country": "category", "note": "text?"}
ROWS = [
    {"amount": 10.0, "age": 31, "country": "DE", "note": "please call"},
    {"amount": None, "age": 42, "country": "fr", "note": "win a free prize"},
    {"amount": 15.5, "age": 27, "country": None},
    {"amount": float("nan"), "age": 35.5, "country": "DE", "note": "n/a"},
    {"amount": 12, "age": True, "country": "New York", "note": "call"},
]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def learned(encoder, rows=ROWS):
    for row in rows:
        encoder.learn(row)
    return encoder


def test_numbers_are_deviations_from_the_mean_with_the_context_counted():
    encoder = learned(Encoder({"x": "number"}), [{"x": 1.0}, {"x": 4.0}])
    row = encoder.encode({"x": 7})
    seen = np.array([1.0, 4.0, 7.0])
    np.testing.assert_allclose(row.values, [(7 - 4) / seen.std()])
    np.testing.assert_allclose(row.pair()[1], np.sqrt(0.5) * np.append(row.values, 1.0))
    assert encoder.n_features == 2
    assert encoder.is_dense


def test_a_dense_row_marks_what_is_missing():
    encoder = learned(
        Encoder({"x": "number?", "y": "number"}), [{"x": 1, "y": 2}, {"x": 3, "y": 5}]
    )
    row = encoder.encode({"y": 5})
    assert row.values[0] == 0.0
    assert (row.indices.tolist(), row.values[2]) == ([2, 3, 0], 1.0)
    assert encoder.encode({"x": 2.0}).indices.tolist() == [2, 3]  # no mark for y
    assert encoder.n_features == 4


def test_categories_are_hashed_whole_and_texts_by_word():
    encoder = Encoder({"city": "category", "note": "text"}, bits=10)
    indices, values = encoder.encode({"city": "New York", "note": "free prize"}).pair()
    words = word_places("free prize", 1024, prefix="note=")
    assert indices.tolist() == [place_of("city=new york", 1024), *words, 1024]
    np.testing.assert_allclose(np.linalg.norm(values), 1.0)
    row = encoder.encode({"city": 7.0, "note": ""})
    assert row.indices.tolist() == [place_of("city=7", 1024), place_of("note is missing", 1024)]


def test_a_list_is_several_categories():
    encoder = Encoder({"tags": "category"})
    row = encoder.encode({"tags": ["jazz", "Live"]})
    places = sorted(place_of(f"tags={tag}", 2**18) for tag in ("jazz", "live"))
    assert row.indices.tolist() == places
    np.testing.assert_allclose(row.values, np.sqrt(0.5))
    assert encoder.encode({"tags": []}).indices.tolist() == []


@pytest.mark.parametrize("features", [KINDS, None, {"amount": "number", "age": "number?"}])
def test_encode_changes_nothing_and_learn_is_replayed_bit_for_bit(features):
    one, other = Encoder(features), Encoder(features)
    for row in ROWS * 3:
        before = to_bytes(one)
        first = one.encode(row)
        assert same(first, one.encode(row))
        assert to_bytes(one) == before
        one.learn(row)
        assert same(first, other.encode(row))
        other.learn(row)
        other = from_bytes(to_bytes(other), where="here")
    assert to_bytes(one) == to_bytes(other)


@pytest.mark.parametrize("features", [None, {"a": "number", "b": "number?"}])
def test_the_shortcut_for_known_numbers_gives_what_the_long_way_gives(features):
    values = [1.0, 4, -2.5, 3, float("nan"), 10**20, True, 7.0, None, 0]
    short, long = Encoder(features), Encoder(features)
    for value in values:
        row = {"a": value, "b": 2.0}
        assert same(short.encode(row), long.encode(Frozen(row)))
        short.learn(row)
        long.learn(Frozen(row))
    assert to_bytes(short) == to_bytes(long)
    with pytest.raises(ValueError, match="must be"):
        short.encode({"a": 10**400, "b": 2.0})
    with pytest.raises(ValueError, match="must be"):
        short.encode({"a": np.inf, "b": 2.0})


number = st.none() | st.floats(-1e6, 1e6)
word = st.none() | st.sampled_from(["red", "Blue", "dark red", "", 3, ["a", "b"]])
rows_strategy = st.lists(st.tuples(number, number, word, word), max_size=12)


@given(rows_strategy, st.integers(0, 12), st.booleans())
def test_columns_give_what_rows_one_by_one_give(rows, cut, dense):
    names = ("a", "b") if dense else ("a", "b", "c", "d")
    kinds = dict(zip(names, ("number?", "number", "category", "text"), strict=False))
    one, many = Encoder(kinds), Encoder(kinds)
    expected = []
    for row in rows:
        context = dict(zip(names, row, strict=False))
        expected.append(one.encode(context))
        one.learn(context)
    got = []
    for piece in (rows[:cut], rows[cut:]):
        numbers = np.array([row[:2] for row in piece], dtype=np.float64).reshape(len(piece), 2)
        words = [] if dense else [[row[2] for row in piece], [row[3] for row in piece]]
        got += list(many.encode_columns(numbers, words))
    assert all(same(a, b) for a, b in zip(expected, got, strict=True))
    assert to_bytes(one) == to_bytes(many)


def test_missing_values_are_counted():
    assert learned(Encoder(KINDS)).missing == {"amount": 2, "country": 1, "note": 2}
    assert learned(Encoder()).missing == {"amount": 2, "country": 1, "note": 1}


def test_without_kinds_every_feature_is_used_and_noted():
    encoder = learned(Encoder(bits=10))
    assert encoder.kinds == {
        "amount": "number",
        "age": "number",
        "country": "category",
        "note": "text",
    }
    assert encoder.n_features is None
    row = encoder.encode({"age": 27, "note": "free call", "new": 5.0, "amount": None})
    words = word_places("free call", 1024, prefix="note=")
    mark = place_of("amount is missing", 1024)
    assert row.indices.tolist() == [1025, 1026, 1027, *words, mark]
    assert row.values[[0, 2]].tolist() == [0.0, 0.0]  # a number never seen is the mean
    assert (row.n_numbers, row.constant) == (3, 1024)
    assert encoder.encode({"age": 27}).indices.tolist() == [1025, 1026, mark]


def test_a_number_where_a_word_was_and_the_reverse_are_welcome_without_kinds():
    encoder = learned(Encoder(bits=10), [{"zip": 10115.0}, {"zip": "SW1A"}, {"zip": 20095.0}])
    mark = place_of("zip is missing", 1024)  # as a number
    row = encoder.encode({"zip": "SW1A"})
    assert row.indices.tolist() == [1025, place_of("zip=sw1a", 1024), mark]
    assert encoder.encode({"zip": 10115.0}).indices.tolist() == [1025]


Row = namedtuple("Row", ["amount", "age", "country"])


class Series:
    """A row of a data frame, as far as it is asked."""

    def __init__(self, content):
        self.content = content
        self.shape = (len(content),)

    def to_dict(self):
        return self.content


class Frozen(Mapping):
    def __init__(self, content):
        self.content = content

    def __getitem__(self, name):
        return self.content[name]

    def __iter__(self):
        return iter(self.content)

    def __len__(self):
        return len(self.content)


def test_all_forms_of_a_row_are_the_same():
    content = {"amount": 10.0, "age": 31, "country": "DE"}
    for features in (KINDS, None):
        encoder = learned(Encoder(features))
        expected = encoder.encode(content)
        for row in (
            Row(**content),
            Series(content),
            Frozen(content),
            {"amount": np.float32(10.0), "age": np.int64(31), "country": np.str_("DE")},
            {"amount": Decimal(10), "age": 31.0, "country": " DE "},
        ):
            assert same(encoder.encode(row), expected)


def test_rows_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    for features in (KINDS, None):
        encoder = learned(Encoder(features))
        for i, row in enumerate(ROWS):
            full = {name: row.get(name) for name in KINDS}
            assert same(encoder.encode(frame.iloc[i]), encoder.encode(full))
    assert Encoder({"x": "number?"}).encode({"x": pandas.NA}).indices.tolist() == [2, 0]
    with pytest.raises(ValueError, match="must be one row, got a DataFrame of shape"):
        encoder.encode(frame)


def test_rows_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame([{**row, "age": float(row["age"])} for row in ROWS], strict=False)
    encoder = learned(Encoder(KINDS))
    for i, row in enumerate(ROWS):
        assert same(encoder.encode(frame.row(i, named=True)), encoder.encode(row))


def test_an_array_of_another_package_passes_unchanged():
    class Tensor:
        def __array__(self):
            return np.array([1.0])

    tensor = Tensor()
    assert Encoder().encode(tensor) is tensor


def test_a_number_written_as_text_is_a_number_where_it_is_declared():
    encoder = learned(Encoder(KINDS))
    assert same(encoder.encode({**ROWS[0], "age": " 31 "}), encoder.encode(ROWS[0]))


def test_dicts_in_dicts_and_lists_of_numbers_are_flat():
    nested = {"user": {"age": 3, "home": {"city": "Rome"}}, "size": [1.0, 2.0]}
    plain = {"user.age": 3, "user.home.city": "Rome", "size.0": 1.0, "size.1": 2.0}
    for features in (
        {"user.age": "number", "size.1": "number", "user.home.city": "category"},
        None,
    ):
        encoder = Encoder(features)
        encoder.learn(nested)
        assert same(encoder.encode(nested), encoder.encode(plain))
    assert list(encoder.kinds) == list(plain)


def test_a_text_alone_is_read_word_by_word():
    encoder = Encoder()
    assert same(encoder.encode("free prize"), encoder.encode({"text": "free prize"}))
    assert encoder.encode("free prize").indices.tolist() == word_places(
        "free prize", 2**18, prefix="text="
    )
    assert same(encoder.encode(None), encoder.encode({}))


def test_dates_are_categories():
    encoder = Encoder({"day": "category"})
    day = date(2026, 5, 1)
    assert same(encoder.encode({"day": day}), encoder.encode({"day": "2026-05-01"}))


@pytest.mark.parametrize("features", [KINDS, None])
def test_rows_pass_unchanged(features):
    encoder = Encoder(features)
    before = to_bytes(encoder)
    for row in (np.array([1.0]), [1.0, 2.0], ([3], [1.0]), csr_array([[0.0, 1.0]])):
        assert encoder.encode(row) is row
        encoder.learn(row)
    assert to_bytes(encoder) == before


@pytest.mark.parametrize(
    ("features", "context", "error", "text"),
    [
        (KINDS, {"age": float("inf")}, ValueError, r"`context\['age'\]` must be a finite number"),
        (None, {"age": -np.inf}, ValueError, r"`context\['age'\]` must be a finite number, got"),
        (KINDS, {"country": np.inf}, ValueError, r"`context\['country'\]` must be a finite number"),
        (KINDS, {"age": "old"}, ValueError, r"`context\['age'\]` must be a number, got 'old'"),
        (KINDS, {"age": np.datetime64("2026-05-01")}, ValueError, r"must be a number, got np"),
        (KINDS, {"age": 10**400}, ValueError, r"`context\['age'\]` must be a number, got 1000"),
        (KINDS, {"country": object()}, TypeError, r"`context\['country'\]` must be a number, a"),
        (None, {"country": b"DE"}, TypeError, r"a list of texts or None, got bytes"),
        (None, 3.5, TypeError, "`context` must be a dict or a row of a data frame, .* got float"),
        (KINDS, Series({}), ValueError, r"must be one row, got a Series of shape \(2, 2\)"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(features, context, error, text):
    if isinstance(context, Series):
        context.shape = (2, 2)
    encoder = learned(Encoder(features))
    before = to_bytes(encoder)
    with pytest.raises(error, match=text):
        encoder.encode(context)
    with pytest.raises(error, match=text):
        encoder.learn(context)
    assert to_bytes(encoder) == before


def test_settings_are_checked_and_shown():
    with pytest.raises(ValueError, match=r"`features\['x'\]` must be one of number, category,"):
        Encoder({"x": "numeric"})
    with pytest.raises(ValueError, match="`bits` must be between 1 and 30, got 31"):
        Encoder(bits=31)
    assert repr(Encoder({"x": "number?"}, bits=4)) == "Encoder({'x': 'number?'}, bits=4)"
    assert repr(learned(Encoder())) == "Encoder()"


def test_it_is_saved_with_what_holds_it(tmp_path):
    encoder = learned(Encoder(KINDS))
    graphcb.save(encoder, tmp_path / "e.npz")
    loaded = graphcb.load(tmp_path / "e.npz")
    assert same(loaded.encode(ROWS[0]), encoder.encode(ROWS[0]))


def test_a_context_without_any_of_the_known_numbers_has_a_mark_for_each():
    encoder = Encoder()
    encoder.learn({"x": 1.0, "y": 2.0})
    row = encoder.encode({})
    assert (row.n_numbers, row.indices.size, row.values.tolist()) == (2, 4, [0.0, 0.0, 1.0, 1.0])
    assert row.indices.tolist() == encoder.encode({"x": None, "y": None}).indices.tolist()


OWN = st.fixed_dictionaries(
    {
        "action": st.sampled_from(["first", "second", "7", "12345", "n/a", "a long name of it"]),
        "features.price": st.sampled_from([0.25, -3.0, 1e-9, 7, None, float("nan"), "3.5"]),
        "features.topic": st.sampled_from(["news", "sport", "", "12", "-.5", "2024-05-01", None]),
    }
)
PLAIN_OWN = {"action": "first", "features.price": 0.5, "features.topic": "news"}


@given(st.lists(OWN | st.just(PLAIN_OWN), max_size=5), st.lists(OWN, max_size=3))
@pytest.mark.filterwarnings("ignore:the feature")  # of odd values, once for each row
def test_several_are_encoded_as_one_by_one(rows, before):
    encoder = learned(Encoder(), [PLAIN_OWN, *before])
    one_by_one = [encoder.encode(row) for row in rows]
    for found, expected in zip(encoder.encode_each(rows), one_by_one, strict=True):
        assert (found.n_numbers, found.constant) == (expected.n_numbers, expected.constant)
        assert same(found[:2], expected[:2])
        assert found.values.tobytes() == expected.values.tobytes()


def test_rows_with_the_same_features_are_encoded_together(monkeypatch):
    encoder = learned(Encoder(), [PLAIN_OWN])
    expected = encoder.encode(PLAIN_OWN)
    monkeypatch.delattr(type(encoder.known), "encode")
    assert same(encoder.encode_each([PLAIN_OWN, PLAIN_OWN])[1][:2], expected[:2])
    with pytest.raises(AttributeError):
        encoder.encode_each([PLAIN_OWN, {**PLAIN_OWN, "features.topic": "12"}])


@given(st.lists(st.lists(st.floats(-9, 9), max_size=3), min_size=1), st.sampled_from([1.0, 0.5]))
def test_pairs_of_several_rows_are_those_of_each(numbers, word):
    rows = [
        EncodedRow(np.arange(len(own) + 2), np.array([*own, 1.0, word]), len(own), 99)
        for own in numbers
    ]
    found, pairs = EncodedRows.of(rows).pairs(), [row.pair() for row in rows]
    assert (found is None) == (word != 1.0)
    if found is not None:
        assert found[0].tolist() == [0, *np.cumsum([keys.size for keys, _ in pairs])]
        assert found[1].tobytes() == np.concatenate([keys for keys, _ in pairs]).tobytes()
        assert found[2].tobytes() == np.concatenate([values for _, values in pairs]).tobytes()


def test_a_word_whose_strings_have_become_numbers_is_not_encoded_as_a_word():
    numeral = {**PLAIN_OWN, "features.topic": "-.5"}
    encoder = learned(Encoder(), [PLAIN_OWN, *[numeral] * 9])
    expected = encoder.encode(numeral)
    assert expected.n_numbers == 2
    assert same(encoder.encode_each([numeral])[0][:2], expected[:2])
