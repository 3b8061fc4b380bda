"""Strings that are numbers, as rows of csv.DictReader have them."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphcb
from graphcb.contexts import Encoder
from graphcb.contexts.values import as_number, numeral, ungrouped, with_point
from graphcb.decisions import DecisionLog, replay
from graphcb.problems import Learner, Problem
from graphcb.saving import from_bytes, to_bytes


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one.pair(), other.pair(), strict=True))


@given(st.floats(-1e12, 1e12))
def test_what_python_writes_is_read_back(number):
    assert numeral(repr(number)) == number
    assert numeral(f" {number!r} ") == number


@pytest.mark.parametrize(
    "text", ["00501", "1_000", "inf", "nan", "", "-", "1e999", "0x1f", "12kB", "1,5", "٣"]
)
def test_codes_and_words_are_no_numerals(text):
    assert numeral(text) is None


def test_rows_of_a_csv_reader_are_encoded_as_numbers_are():
    rows = [(31.5, 4), (18.0, -2), (44.25, 0), (27.0, 11)]
    text = "age,size\n" + "".join(f"{age},{size}\n" for age, size in rows)
    strings, numbers = Encoder(), Encoder()
    for read, (age, size) in zip(csv.DictReader(io.StringIO(text)), rows, strict=True):
        assert same(strings.encode(read), numbers.encode({"age": age, "size": size}))
        strings.learn(read)
        numbers.learn({"age": age, "size": size})
    assert strings.kinds == {"age": "number", "size": "number"}


def test_a_word_after_numbers_is_warned_of_and_a_few_do_not_change_the_feature():
    encoder = Encoder()
    for n in range(20):
        encoder.learn({"x": str(n)})
    with pytest.warns(
        UserWarning,
        match="the feature 'x' was 20 times a string that is a number, and is a word now",
    ):
        encoder.learn({"x": "high"})
    assert encoder.encode({"x": "7"}).values.size == 1  # still a number, as one in 21 is a word
    encoder.learn({"x": "low"})
    encoder.learn({"x": "low"})
    words = encoder.encode({"x": "7"})  # 3 of 23 are words: a category, and the number is missing
    assert words.values.tolist() == [0.0, 1.0, 1.0]
    for n in range(10):
        encoder.learn({"x": str(n)})
    assert encoder.encode({"x": "7"}).values.size == 1


def test_words_before_numbers_stay_words_without_a_warning():
    encoder = Encoder()
    encoder.learn({"code": "A7"})
    encoder.learn({"code": "12"})
    assert encoder.kinds == {"code": "category"}
    encoder.learn({"note": "please call me back"})
    encoder.learn({"note": "12"})
    encoder.learn("7")
    assert encoder.kinds == {"code": "category", "note": "text", "text": "text"}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("33,6", "numbers with commas"),
        ("-1.204,50", "numbers with commas"),
        ("1,204.50", "numbers with commas"),
        ("31.12.2024", "dates"),
        ("12/31/24 6:30 PM", "dates"),
        ("2024/12/31", "dates"),
        ("01-05-2024 18:30", "dates"),
    ],
)
def test_numbers_and_dates_that_are_read_as_words_are_warned_of_until_counted(text, written):
    encoder = Encoder()
    with pytest.warns(UserWarning, match=f"the feature 'x' looks like {written}, which are read"):
        encoder.learn({"x": text})
    assert encoder.kinds == {"x": "category"}
    encoder.learn({"x": text})


@pytest.mark.parametrize("text", ["a,b", "1,2,3", "10.0.1.17", "1.2.30", "12-34-5678-9", "A7"])
def test_other_words_are_taken_as_they_are(text):
    Encoder().learn({"x": text})
    Encoder().learn({"text": "33,6"})
    Encoder({"x": "category"}).learn({"x": "33,6"})


def test_missing_values_decide_nothing():
    encoder = Encoder()
    for value in ("3", "n/a", "", "5"):
        encoder.learn({"x": value})
    assert encoder.kinds == {"x": "number"}
    assert encoder.missing == {"x": 2}


def test_what_was_seen_of_strings_is_kept_in_files():
    encoder = Encoder()
    for value in ("3", "4"):
        encoder.learn({"x": value})
    again = from_bytes(to_bytes(encoder), where="a test")
    assert again.known.numerals == {"x": 2}
    assert same(again.encode({"x": "5"}), encoder.encode({"x": 5.0}))


def test_a_policy_replays_strings_to_the_same_bits(tmp_path):
    problem = Problem(["a", "b"], range=(0, 1))
    path = tmp_path / "log.db"
    with graphcb.Policy(path, problem=problem, seed=0) as policy:
        for n in range(30):
            x = "none of it" if n == 25 else str(n % 7)
            decision = policy.decide({"x": x} if n != 25 else {"y": x})
            right = "a" if n % 7 > 3 else "b"
            losses = {decision.action: float(decision.action != right)}
            policy.feedback(decision.decision_id, losses)
        kept = to_bytes(policy.agent)
    with graphcb.Policy(path, problem=problem) as policy:
        assert to_bytes(policy.agent) == kept
    with DecisionLog(path) as log:
        assert to_bytes(replay(log).agent) == kept


def test_a_learner_does_as_well_on_strings_as_on_numbers():
    probabilities = []
    for kind in (float, str):
        learner = Learner(Problem(["a", "b"], range=(0, 100)))
        rng = np.random.default_rng(1)
        for _ in range(50):
            x, y = rng.normal(50, 20, size=2).round(2).tolist()
            context = {"x": kind(x), "y": kind(y)}
            p = learner.act(context)
            learner.learn(context, ["a", "b"], np.clip([x, y], 0, 100))
            probabilities.append(p)
    assert np.array_equal(probabilities[:50], probabilities[50:])


def test_commas_between_thousands_and_before_decimals():
    assert as_number("x", "1,234.5") == 1234.5
    assert ungrouped("1,23") == "1,23"
    assert [with_point(text) for text in ("1.234", "1 234,5", "-0,5", "1.23", "x,y")] == [
        "1234", "1234.5", "-0.5", "1.23", "x,y"
    ]  # fmt: skip
