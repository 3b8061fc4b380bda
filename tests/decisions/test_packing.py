"""Decisions take few bytes, and come back with every bit."""

import json
import re
import sqlite3
from contextlib import closing, suppress
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import DecisionLog, Policy, Problem, SquareCBG, Uniform, graphs
from graphcb.decisions import verify
from graphcb.decisions.packing import (
    compress,
    decompress,
    fill_shape,
    keys_of,
    pack_numbers,
    pack_probabilities,
    read_whole,
    shape_of,
    unpack_probabilities,
    whole,
)
from graphcb.files import FileError
from graphcb.oracles import LinearOGD

NUMBERS = st.sampled_from([0.0, -0.0, 1e-6, 1.0, 0.5, 5e-324, float("nan"), 1 / 3])


@given(st.lists(st.one_of(NUMBERS, st.floats()), min_size=1, max_size=400), st.data())
def test_probabilities_come_back_with_every_bit(values, data):
    action = data.draw(st.integers(0, len(values) - 1))
    content = np.array(values).tobytes()
    packed = pack_probabilities(content, action)
    assert unpack_probabilities(packed, action) == content
    assert len(packed) <= len(content) + 1
    assert packed == packed_slowly(np.array(values).view(np.int64).tolist(), action)


def packed_slowly(values, action):
    """The shortest of the three forms, as the docstring of `packing` says, by plain Python."""
    if values[action] == np.ones(1).view(np.int64)[0] and sum(map(bool, values)) == 1:
        return b"c" + whole(len(values))
    runs = [(value, len([*run])) for value, run in groupby(values)]
    places = {value: place for place, value in enumerate(dict.fromkeys(v for v, _ in runs))}
    width = 1 if len(values) < 256 else 2
    packed = bytes((ord("v"), width, min(len(places), 255)))
    packed += b"".join(value.to_bytes(8, "little", signed=True) for value in places)
    packed += bytes(places[value] % 256 for value, _ in runs)
    packed += b"".join(length.to_bytes(width, "little") for _, length in runs)
    if len(places) <= 255 and 4 * len(runs) < 3 * len(values) and len(packed) < 8 * len(values):
        return packed
    return b"d" + np.array(values).tobytes()


@pytest.mark.parametrize("n", [2, 10, 255, 256, 70_000])
def test_a_certain_decision_stores_one_number(n):
    certain = np.zeros(n)
    certain[n - 1] = 1.0
    packed = pack_probabilities(certain.tobytes(), n - 1)
    assert len(packed) <= 4
    assert unpack_probabilities(packed, n - 1) == certain.tobytes()
    some = np.full(n, 1e-6)
    some[n // 2] = 1.0 - (n - 1) * 1e-6
    packed = pack_probabilities(some.tobytes(), 0)
    assert len(packed) <= 3 + 16 + 3 * 5
    assert unpack_probabilities(packed, 0) == some.tobytes()


def test_more_than_255_values():
    some = np.repeat(np.arange(1.0, 301.0), 4)
    packed = pack_probabilities(some.tobytes(), 0)
    assert unpack_probabilities(packed, 0) == some.tobytes()


@given(st.integers(0, 2**70))
def test_whole_numbers(number):
    assert read_whole(b"x" + whole(number) + b"\xff", 1) == (number, 1 + len(whole(number)))


def test_what_is_no_number_or_text():
    with pytest.raises(ValueError, match="a number must end"):
        read_whole(b"\xff\xff", 0)
    with pytest.raises(ValueError, match="must begin with c, v or d, got b'x'"):
        unpack_probabilities(b"x", 0)
    with pytest.raises(ValueError, match="must be compressed by zlib"):
        decompress(b"\xff\xff\xff", b"keys")
    assert keys_of(b"[1, 2]") == keys_of(b"{") == b""


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.floats(), st.none()), max_size=5))
def test_texts_come_back(value):
    text = json.dumps(value).encode()
    assert decompress(compress(text, keys_of(text)), keys_of(text)) == text


@given(
    st.dictionaries(
        st.text(),
        st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
    ),
    st.sampled_from([None, (",", ":"), (" , ", "\t: ")]),
)
def test_numbers_come_back_as_they_were_written(value, separators):
    text = json.dumps(value, separators=separators).encode()
    shape = shape_of(text)
    packed = pack_numbers(text, shape)
    assert fill_shape(shape, packed) == text
    assert len(packed) < len(text)
    for other in (text[:-1], text + b" ", text.replace(b'"', b"'", 1), b""):
        assert pack_numbers(other, shape) is None


@given(st.lists(st.sampled_from(["0", "-", "1", ".", "0.", "e", "+", "7.25", "x", ""]), min_size=1))
def test_numbers_are_what_a_pattern_finds(pieces):
    """The digits of a text, and whether it has its shape at all, by a regular expression."""
    text = b'{"a": %s, "b": 2}' % "".join(pieces).encode()
    found = re.fullmatch(rb'{"a": (-?[0-9][-+.0-9e]*), "b": (-?[0-9][-+.0-9e]*)}', text)
    packed = pack_numbers(text, b'{"a": \0, "b": \0}')
    assert (packed is None) == (found is None)
    if found is not None:
        digits = b"".join(b"," + number for number in found.groups()).replace(b",0.", b"n")
        digits = digits.translate(bytes.maketrans(b".-e+,n", b"abcdef")).decode()
        assert packed == bytes.fromhex(digits + "e" * (len(digits) % 2))


@pytest.mark.parametrize(
    "text",
    [
        b"{}", b"[1, 2]", b"{", b'{"a": true}', b'{"a": 1, "b": "c"}', b'{"a": 1, "b": null}',
        b'{"a": [1]}', b'{"a": {"b": 1}}', b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": 1E5}',
        b'{"a": "b\\": 1, "}',
    ],
)  # fmt: skip
def test_a_text_that_is_not_an_object_of_numbers_has_no_shape(text):
    assert shape_of(text) == b""


def test_numbers_that_do_not_fit_their_shape():
    with pytest.raises(ValueError, match="a text must have 2 numbers, got 1"):
        fill_shape(shape_of(b'{"a": 1, "b": 2}'), pack_numbers(b'{"a": 1}', b'{"a": \0}'))


def test_contexts_of_numbers_store_their_digits(tmp_path):
    file = tmp_path / "log.db"
    made = [{f"f{j}": (k * j) % 7 / 7 for j in range(20)} for k in range(20)]
    made[7]["f3"] = None  # which is not a number
    made[9] = {"f0": 10**30, "f1": -2.5e-300}
    with Policy(file, problem=Problem(["a", "b"]), seed=1) as policy:
        play(policy, 20, made.__getitem__)
    kinds = b"".join(context[:1] for context, _, _ in stored(file))
    assert kinds[:7] == b"kkkkkkk"
    assert kinds.count(b"k") >= 17
    assert verify(file) == []
    with DecisionLog(file) as log:
        assert [row.context for row in log] == made


def test_a_log_whose_contexts_were_all_compressed_goes_on(tmp_path, monkeypatch):
    """As the logs of earlier versions are."""
    file = tmp_path / "log.db"
    with monkeypatch.context() as before:
        before.setattr("graphcb.decisions.stored_contents.shape_of", lambda text: b"")
        with Policy(file, problem=Problem(["a", "b"]), seed=1) as policy:
            play(policy, 5, lambda k: {f"f{j}": k / 7 + j for j in range(9)})
    with Policy(file) as policy:
        play(policy, 5, lambda k: {f"f{j}": k / 7 + j for j in range(9)})
    assert b"".join(context[:1] for context, _, _ in stored(file)[1:]) == b"zzzzkkkkk"
    assert verify(file) == []


def play(policy, n, contexts=lambda k: {"hour": k, "country": "de", "spent": k / 7}):
    for k in range(n):
        made = policy.decide(contexts(k))
        policy.feedback(made.decision_id, {made.action: 0.5})


def stored(file):
    with closing(sqlite3.connect(file)) as connection:
        sql = "SELECT context, actions, probabilities FROM graphcb_decisions ORDER BY position"
        return connection.execute(sql).fetchall()


def test_names_and_keys_are_stored_once(tmp_path):
    file = tmp_path / "log.db"
    names = [f"an action with a name {number}" for number in range(50)]
    with Policy(file, problem=Problem(names), seed=1) as policy:
        play(policy, 30)
    with Policy(file) as policy:  # what it did not write itself is found again
        play(policy, 5)
    rows = stored(file)
    assert [len(actions) for _, actions, _ in rows[1:]] == [2] * 34
    assert all(len(context) < 40 for context, _, _ in rows[1:])
    assert verify(file) == []
    with DecisionLog(file) as log:
        found = list(log)
        assert [row.context["hour"] for row in found] == [*range(30), *range(5)]
        assert found[17].context == {"hour": 17, "country": "de", "spent": 17 / 7}
        assert all(list(row.actions) == names for row in found)
        contents = log.storage.execute("SELECT content FROM graphcb_contents")
    assert not any(b"de" in content for (content,) in contents[:1])  # keys, and no value
    assert len(contents) == 2


def test_actions_of_one_round_alone_are_not_kept_for_others(tmp_path):
    file = tmp_path / "log.db"
    agent = SquareCBG(LinearOGD(1000, 1, learning_rate=0.1))
    rng = np.random.default_rng(0)
    with Policy(file, agent, seed=1) as policy:
        offered = [rng.choice(1000, size=5, replace=False).tolist() for _ in range(20)]
        for actions in offered:
            policy.decide([1.0], graphs.bandit(5), actions)
    with DecisionLog(file) as log:
        assert [row.actions.tolist() for row in log] == offered
        assert log.storage.execute("SELECT count(*) FROM graphcb_contents") == [(0,)]


def test_a_refused_call_takes_back_what_was_to_be_shared(tmp_path):
    file = tmp_path / "log.db"
    names = [f"an action with a name {number}" for number in range(50)]
    with Policy(file, problem=Problem(names), seed=1) as policy:
        for problem in (ValueError, LookupError, ValueError):
            with suppress(problem), policy.together() as together:
                together.decide({"hour": 1, "country": "de"})
                together.decide({"hour": 1, "country": "de"})
                together.store()
                raise problem
        play(policy, 5)
    assert verify(file) == []


def test_a_shared_content_that_is_damaged_or_missing(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=Problem([f"a name {number}" for number in range(50)])) as policy:
        play(policy, 5)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE graphcb_contents SET content = x'00' WHERE number = 1")
    assert "the checksum of graphcb_contents, number 1, does not match" in verify(file)[0]
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM graphcb_contents")
    with DecisionLog(file) as log, pytest.raises(FileError, match="damaged: content 1 is missing"):
        list(log)


def test_large_contexts_are_read_a_few_at_a_time(tmp_path, monkeypatch):
    from graphcb.decisions import records

    file = tmp_path / "log.db"
    with Policy(file, Uniform(), seed=1) as policy:
        for _ in range(10):
            policy.decide({"zeros": "0" * 100_000, "other": 1}, graphs.bandit(2))
    assert sum(len(context) for context, _, _ in stored(file)) < 20_000
    monkeypatch.setattr(records, "BYTES_AT_ONCE", 250_000)
    with DecisionLog(file) as log:
        groups = list(records._groups(range(1, 11), records._sizes(
            log.storage, records.DecisionRow, "WHERE position > ?", (0,)
        )))  # fmt: skip
        assert [len(group) for group in groups] == [2] * 5
        assert len(list(log)) == 10
