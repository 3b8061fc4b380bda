"""A first look at rows: kinds, odd values, missing ones."""

import numpy as np
import pytest

from graphcb.contexts import Encoder, look, look_at

NOTE = "please call me back"


def test_kinds_of_dicts():
    rows = [
        {"age": 31, "city": "Rome", "note": NOTE, "user": {"new": True}, "tags": ["a"]},
        {"age": "44", "city": " Oslo", "note": "", "user": {"new": None}, "tags": []},
    ]
    kinds = look(rows)
    assert kinds == {
        "age": "number",
        "city": "category",
        "note": "text?",
        "user.new": "number?",
        "tags": "category",
    }
    encoder = Encoder(kinds)
    for row in rows:
        encoder.encode(row)
        encoder.learn(row)


@pytest.mark.parametrize(
    ("n_odd", "kind", "odd"),
    [(0, "number", ()), (10, "number", tuple(range(10))), (11, "category", ())],
)
def test_a_tenth_of_odd_values_leaves_a_number_a_number(n_odd, kind, odd):
    values = ["12 kB"] * n_odd + ["1.5"] * (100 - n_odd) + [None, "n/a", "NaN"]
    found = look_at(values)
    assert (found.kind, found.odd, found.missing) == (kind, odd, 3)
    assert found.distinct == 1 + bool(n_odd)
    assert found.declared == f"{kind}?"


def test_an_array_is_a_column_of_numbers():
    found = look_at(np.array([1.0, np.nan, 1.0, 2.0]))
    assert (found.kind, found.missing, found.distinct, found.declared) == (
        "number",
        1,
        2,
        "number?",
    )
    assert look_at([]).declared == "number"
    assert look_at(["inf", "1"]).kind == "number"  # to be refused by name, not to become a word


def test_a_first_look_and_rows_as_they_come_agree_on_what_a_text_is():
    rows = [
        {"city": "New York", "band": "10-20", "note": NOTE},
        {"city": "Oslo", "band": "20-30", "note": "hi there"},
    ]
    declared, noted = Encoder(look(rows)), Encoder()
    for row in rows:
        noted.learn(row)
        found = noted.encode(row)
        assert set(found.indices) == set(declared.encode(row).indices)
    assert {name: kind.removesuffix("?") for name, kind in declared.kinds.items()} == noted.kinds
