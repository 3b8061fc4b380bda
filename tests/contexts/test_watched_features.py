"""Alarms of features: none while their distribution stays, whatever it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import load, save
from graphcb.contexts import watched_features
from graphcb.contexts.watched_features import (
    AT_ONCE,
    FIRST,
    NUMBERS,
    VALUES,
    WATCHED,
    WatchedFeatures,
)
from graphcb.estimates.stillness import WIDTH
from graphcb.problems import Learner, Problem


def _watched(contexts, declared=None):
    watched = WatchedFeatures(declared)
    for context in contexts:
        watched = watched.after(context)
    return watched


def _context(rng, later=False):
    return {
        "normal": float(rng.normal(loc=1.0 * later)),
        "heavy": float(np.exp(3.0 * rng.normal())),
        "few": int(rng.integers(3)),
        "gaps": None if rng.random() < 0.4 else float(rng.normal()),
        "word": str(rng.choice(["red", "green", "blue"], p=[0.2, 0.3, 0.5])),
        "always": 1.0,
    }


def test_features_that_stay_raise_no_alarm():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        assert _watched(_context(rng) for _ in range(1000)).alarms() == []


def test_only_the_feature_that_moved_is_named():
    rng = np.random.default_rng(0)
    (alarm,) = _watched(_context(rng, later=t >= 1000) for t in range(1300)).alarms()
    assert (alarm.kind, alarm.name) == ("feature", "normal")
    assert 900 <= alarm.since <= 1050 < alarm.raised <= 1200


@pytest.mark.parametrize(
    ("name", "later"), [("word", "violet"), ("gaps", None), ("few", 7), ("heavy", 1e9)]
)
def test_words_codes_and_gaps_are_noticed(name, later):
    rng = np.random.default_rng(1)
    contexts = [_context(rng) for _ in range(800)]
    for context in contexts[500:]:
        context[name] = later
    assert [one.name for one in _watched(contexts).alarms()] == [name]


def test_dense_rows_have_numbers_for_names():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(900, 3))
    rows[600:, 1] += 2.0
    assert [one.name for one in _watched(rows).alarms()] == ["1"]


@pytest.mark.parametrize("first", [np.ones(5), {"amount": 1.0, "a": 2.0, "b": 3.0}])
def test_rows_of_other_lengths_and_kinds_keep_what_is_known(first):
    watched = _watched([first] * 3 + [np.array([7.0, 8.0])])
    names = tuple(first) if type(first) is dict else ("0", "1", "2", "3", "4")
    assert watched.names == (*names, *(name for name in "01" if name not in names))
    place = watched.names.index("1")
    assert watched.kept[place, VALUES + int(watched.kept[place, NUMBERS]) - 1] == 8.0
    assert len(watched.kept) == len(watched.known) == len(watched.names)


def test_declared_features_alone_are_watched_and_no_more_than_64():
    assert _watched([{"a": 1.0, "b": 2.0}], ("b",)).names == ("b",)
    many = {f"f{i}": 1.0 for i in range(100)}
    assert len(_watched([many]).names) == WATCHED
    assert _watched([(np.array([1]), np.array([1.0]))]).names == ()


def test_bets_that_are_settled_together_come_to_the_same_bits():
    rng = np.random.default_rng(5)
    contexts = [_context(rng) for _ in range(FIRST + 3 * AT_ONCE + 5)]
    contexts[FIRST + 7] = {**contexts[FIRST + 7], "new": "word"}
    together, asked, forks = WatchedFeatures(), WatchedFeatures(), []
    for context in contexts:
        forks.append(together)
        together, asked = together.after(context), asked.after(context)
        assert asked.known.shape == (len(asked.names), WIDTH)
    assert together.names == asked.names
    assert together.kept.tobytes() == asked.kept.tobytes()
    assert together.known.tobytes() == asked.known.tobytes()
    again = forks[-1].after(contexts[-1])  # an earlier one, whose bets were open too
    assert again.kept.tobytes() == together.kept.tobytes()


def test_each_bet_has_the_number_of_its_decision(monkeypatch):
    made = []
    monkeypatch.setattr(watched_features, "_bet", lambda *given: made.append(given[-2:]))
    watched = _watched(({"x": float(n)} for n in range(AT_ONCE + 3)), ("x",))
    assert watched.known.shape == (1, WIDTH)
    assert made == [(1, AT_ONCE), (AT_ONCE + 1, 3)]
    assert watched.after({"x": 0.0}).kept.shape == watched.kept.shape
    assert made[2:] == [(AT_ONCE + 4, 1)]


def test_one_that_is_asked_for_the_next_stays_as_it_is():
    rng = np.random.default_rng(3)
    watched = _watched(_context(rng) for _ in range(FIRST + 10))
    known, kept = watched.known.tobytes(), watched.kept.tobytes()
    watched.after({"normal": 3.0, "new": 1.0})
    assert (watched.known.tobytes(), watched.kept.tobytes()) == (known, kept)
    assert "new" not in watched.names


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abc"),
            st.none() | st.integers(-(2**60), 2**60) | st.floats(-1e100, 1e100) | st.text(),
        ),
        max_size=40,
    )
)
def test_whatever_comes_stays_finite(contexts):
    watched = _watched(contexts * 4)
    assert np.isfinite(watched.known).all()
    assert np.isfinite(watched.kept).all()


def test_files_that_lie_are_refused(tmp_path):
    problem = Problem(["a", "b"], features={"x": "number"})

    def refused(change, text):
        learner = Learner(problem)
        change(learner.watched)
        save(learner, tmp_path / "learner.npz")
        with pytest.raises(ValueError, match=text):
            load(tmp_path / "learner.npz")

    refused(lambda one: one.kept.__setitem__((0, 0), 65.0), "`kept` must have at most 64 first")
    refused(lambda one: one.kept.__setitem__((0, 1), -1.0), "`kept` must have counts of at least")
    refused(lambda one: setattr(one, "names", (3,)), "`names` must be at most 64 texts, got 1")
    refused(lambda one: setattr(one, "declared", ("y",)), "watches other features than its problem")
