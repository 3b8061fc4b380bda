"""Dates and times as features, declared and not."""

import warnings
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb.contexts import Encoder, look, look_at
from graphcb.contexts.times import NUMBERS, WORDS, time_parts, with_times
from graphcb.problems import Learner, Problem
from graphcb.saving import from_bytes, to_bytes

WHEN = datetime(2024, 5, 1, 18, 30)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    "value",
    [
        WHEN,
        WHEN.isoformat(),
        "2024-05-01 18:30",
        " 2024-05-01T18:30:00Z".strip(),
        np.datetime64("2024-05-01T18:30", "ns"),
        WHEN.replace(tzinfo=UTC),
    ],
)
def test_every_way_to_write_a_moment_is_the_same_moment(value):
    assert time_parts(value) == time_parts(WHEN)


def test_a_pandas_timestamp_is_a_moment_and_nat_is_missing():
    pandas = pytest.importorskip("pandas")
    assert time_parts(pandas.Timestamp(WHEN)) == time_parts(WHEN)
    assert time_parts(pandas.NaT) is None
    assert Encoder({"when": "time?"}).encode({"when": pandas.NaT}).values[0] == 0.0


@pytest.mark.parametrize(
    "value",
    ["2024-13-01", "2024-05", "20240501", "12:99", "10 o'clock", "a", "", 5, 3.5, None, True],
)
def test_what_is_no_time_has_no_parts(value):
    assert time_parts(value) is None


def test_a_date_is_midnight_and_a_time_has_no_day():
    assert (
        time_parts(date(2024, 5, 1)) == time_parts("2024-05-01") == time_parts("2024-05-01 00:00")
    )
    numbers, words = time_parts(time(18, 30))
    assert np.isnan(numbers).tolist() == [True, False, False, True, True, True, True]
    assert words == ("18:00", None, None)
    assert set(with_times({"at": time(18, 30)})) == {"at: hour sine", "at: hour cosine", "at: hour"}


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)))
def test_angles_come_back_after_a_day_and_a_week(moment):
    numbers, words = time_parts(moment)
    assert len(numbers) == len(NUMBERS)
    assert len(words) == len(WORDS)
    for at in (1, 3, 5):
        assert numbers[at] ** 2 + numbers[at + 1] ** 2 == pytest.approx(1.0)
    later, called = time_parts(moment + timedelta(days=7))
    assert later[0] == pytest.approx(numbers[0] + 7.0)
    assert later[1:5] == pytest.approx(numbers[1:5], abs=1e-9)
    assert called[:2] == words[:2]


def test_a_time_that_is_declared_is_the_same_as_one_that_is_seen():
    declared, noted = Encoder({"when": "time"}), Encoder()
    for hour in range(5):
        row = {"when": WHEN + timedelta(hours=7 * hour)}
        declared.learn(row)
        noted.learn({"when": str(row["when"])})
    one, other = declared.encode({"when": WHEN}), noted.encode({"when": WHEN})
    assert same(one.pair(), other.pair())
    assert declared.kinds == {"when": "time"}
    assert not declared.is_dense


def test_a_missing_time_leaves_one_mark():
    for encoder in (Encoder({"when": "time?"}), Encoder()):
        encoder.learn({"when": WHEN})
        row = encoder.encode({"when": None})
        assert row.values.tolist() == [0.0] * len(NUMBERS) + [1.0]
        encoder.learn({"when": None})
        assert encoder.missing == {"when": 1}


def test_columns_of_times_are_encoded_as_rows_are():
    kinds = {"x": "number", "when": "time?", "city": "category"}
    one, other = Encoder(kinds), Encoder(kinds)
    cells = ["2024-05-01 18:30", "", "2024-05-03", "2024-06-01 07:00"]
    cities, numbers = ["Rome", "Oslo", "", "Rome"], np.arange(4.0)
    rows = one.encode_columns(numbers[:, None].copy(), [cells, cities])
    for row, x, when, city in zip(rows, numbers, cells, cities, strict=True):
        context = {"x": float(x), "when": when, "city": city}
        assert same(row.pair(), other.encode(context).pair())
        other.learn(context)
    assert one.missing == other.missing == {"when": 1, "city": 1}


def test_what_is_declared_a_time_has_to_be_one():
    with pytest.raises(ValueError, match=r"`context\['when'\]` must be a time: .* got 'soon'"):
        Encoder({"when": "time"}).encode({"when": "soon"})
    with pytest.raises(ValueError, match="got 5"):
        Encoder({"when": "time"}).learn({"when": 5})


def test_a_date_that_is_declared_a_category_is_one():
    row = Encoder({"day": "category"}).encode({"day": "2024-05-01"})
    assert row.values.tolist() == [1.0]


def test_a_look_finds_times():
    assert look([{"when": "2024-05-01"}, {"when": None}]) == {"when": "time?"}
    found = look_at(["2024-05-01"] * 19 + ["soon"])
    assert (found.kind, found.odd) == ("time", (19,))


def test_routing_by_the_time_of_day_is_learned_and_kept_in_a_file():
    rng = np.random.default_rng(0)
    learner = Learner(Problem(["day", "night"], range=(0, 1)))
    moment, wrong = WHEN, 0
    for n in range(400):
        moment += timedelta(hours=rng.exponential(7.0))
        context = {"when": moment, "noise": rng.normal()}
        right = "day" if 8 <= moment.hour < 18 else "night"
        played = rng.choice(["day", "night"], p=learner.act(context))
        learner.learn(context, [played], [float(played != right)])
        wrong += n >= 200 and played != right
    assert wrong <= 10  # a coin has 100
    again = from_bytes(to_bytes(learner), where="a test")
    expected = learner.predict({"when": WHEN})
    assert np.array_equal(again.predict({"when": WHEN}), expected)
    assert np.array_equal(learner.predict({"when": str(WHEN)}), expected)


def test_nothing_is_said_of_times():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = Encoder()
        encoder.learn({"when": "2024-05-01"})
        encoder.learn({"when": "later"})
