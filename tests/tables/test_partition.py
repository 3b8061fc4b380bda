"""The order of rows, the files they are in and the number of processes do not change a bit."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphcb import evaluate_table
from graphcb.estimates.moments import Moments
from graphcb.saving import from_bytes, to_bytes
from graphcb.tables import source
from graphcb.tables.tally import TableTally
from tests.tables.shop import shop

ASKED = {"action": "item", "reward": "click", "slot": "slot"}
KINDS = {
    "known": {"probability": "p", "policy": ["new", "uniform", "p_*"]},
    "estimated": {"features": ["x", "country"], "policy": ["new", "constant:b"]},
    "shares": {"probability": "shares", "actions": ["a", "b", "c", "d"], "policy": "uniform"},
}
TABLE = shop(600)
WHOLE = {kind: evaluate_table(TABLE, **ASKED, **more).to_dict() for kind, more in KINDS.items()}


def write_parts(folder, table, cuts, rows_of_a_group):
    ends = sorted({0, table.num_rows, *cuts})
    for number, (first, last) in enumerate(pairwise(ends)):
        part = table.slice(first, last - first)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=rows_of_a_group)


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(1, 599), max_size=3),
    rows_of_a_group=st.integers(20, 600),
    kind=st.sampled_from(sorted(KINDS)),
)
def test_order_and_files_change_nothing(tmp_path_factory, seed, cuts, rows_of_a_group, kind):
    folder = tmp_path_factory.mktemp("parts")
    order = np.random.default_rng(seed).permutation(TABLE.num_rows)
    write_parts(folder, TABLE.take(order), cuts, rows_of_a_group)
    found = evaluate_table(folder, **ASKED, **KINDS[kind])
    assert found.to_dict() == WHOLE[kind]


@pytest.mark.parametrize("kind", ["known", "estimated"])
def test_processes_change_nothing(tmp_path, kind):
    write_parts(tmp_path, TABLE, [100, 350], 600)
    found = evaluate_table(str(tmp_path / "*.parquet"), n_jobs=2, **ASKED, **KINDS[kind])
    assert found.to_dict() == WHOLE[kind]


def test_row_groups_are_pieces_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "ROWS_AT_LEAST", 100)
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=60)
    assert [piece.n_rows for piece in source.open_table(tmp_path).pieces] == [120] * 5
    found = evaluate_table(tmp_path, **ASKED, **KINDS["known"])
    assert found.to_dict() == WHOLE["known"]


def test_rows_that_repeat_each_other_are_fitted_together():
    """A hash cannot split them; they count as often as they came."""
    table = TABLE.select(["item", "click", "country"])
    asked = {"action": "item", "reward": "click", "policy": "constant:b"}
    mixed = table.take(np.random.default_rng(0).permutation(table.num_rows))
    found = evaluate_table(table, **asked)
    assert found.to_dict() == evaluate_table(mixed, **asked).to_dict()
    twice = evaluate_table(pa.concat_tables([table] * 2), **asked)
    value = found.policies[0].estimates["self-normalised"].value
    assert twice.policies[0].estimates["self-normalised"].value == pytest.approx(value, abs=0.003)


class KilledError(Exception):
    """Stands for a kill."""


def test_a_killed_run_is_continued(tmp_path):
    data, state = tmp_path / "data", tmp_path / "state"
    data.mkdir()
    write_parts(data, TABLE, [100, 350], 600)
    done = []

    def stop_after_two(n_rows):
        done.append(n_rows)
        if len(done) == 2:
            raise KilledError

    asked = {**ASKED, **KINDS["shares"], "resume": state}
    with pytest.raises(KilledError):
        evaluate_table(data, progress=stop_after_two, **asked)
    stored = sorted(path.stat().st_mtime_ns for path in state.iterdir())
    assert len(stored) == 2
    assert evaluate_table(data, **asked).to_dict() == WHOLE["shares"]
    assert sorted(path.stat().st_mtime_ns for path in state.iterdir())[:2] == stored


def test_a_file_that_changed_is_read_again(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    asked = {**ASKED, **KINDS["known"], "resume": tmp_path / "state"}
    first = evaluate_table(path, **asked)
    pq.write_table(TABLE.slice(0, 300), path)
    second = evaluate_table(path, **asked)
    assert (first.n_rows, second.n_rows) == (600, 300)


def test_another_question_is_not_answered_by_what_was_stored(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    asked = {**ASKED, "probability": "p", "resume": tmp_path / "state"}
    evaluate_table(path, policy="constant:a", **asked)
    found = evaluate_table(path, policy="constant:b", **asked)
    expected = evaluate_table(TABLE, policy="constant:b", **ASKED, probability="p")
    assert found.to_dict() == expected.to_dict()


def test_a_tally_is_stored_whole():
    tally = TableTally(2, 3)
    tally.counts, tally.unseen, tally.expected = {"a": [3, 2]}, [1, 2], [5, 6]
    tally.plays, tally.n, tally.low, tally.high = [{"a": 7}, {}], 3, 0.25, 0.5
    again = from_bytes(to_bytes(tally), where="", classes=(TableTally, Moments))
    for name in ("counts", "unseen", "expected", "plays", "n", "low", "high", "is_binary"):
        assert getattr(again, name) == getattr(tally, name)
    assert again.seen.shape == (3, 3)
