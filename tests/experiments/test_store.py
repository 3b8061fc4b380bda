import json
from pathlib import Path

import numpy as np
import pytest

from graphcb.experiments.curves import Curve, Seconds, Setting
from graphcb.experiments.store import Store

SETTING = Setting("a", "x", 0.1, 2.0, 7)
CURVE = Curve(SETTING, np.array([1, 9]), np.array([0.1 + 0.2, 1 / 3]), Seconds(1.0, 2.0, 4.0))


def identity(**changes):
    return {**SETTING._asdict(), "data": "abc", **changes}


def test_a_run_comes_back_bit_for_bit(tmp_path):
    store = Store(tmp_path / "new" / "runs.jsonl", "1.0")
    assert store.read() == {}
    with store.writing() as writer:
        writer.add(identity(), CURVE)
    (found,) = Store(store.path, "1.0").read().items()
    key, curve = found
    assert key == store.key(identity())
    assert (curve.setting, curve.seconds) == (SETTING, CURVE.seconds)
    np.testing.assert_array_equal(curve.rounds, CURVE.rounds)
    np.testing.assert_array_equal(curve.mean_loss, CURVE.mean_loss)


def test_a_seed_of_the_draws_is_kept_and_an_earlier_file_has_none(tmp_path):
    store = Store(tmp_path / "runs.jsonl", "1.0")
    apart = SETTING._replace(draw_seed=3)
    assert "draw_seed" not in SETTING.as_dict()
    with store.writing() as writer:
        for setting in (SETTING, apart):
            writer.add(setting.as_dict(), CURVE._replace(setting=setting))
    found = store.read()
    assert [curve.setting for curve in found.values()] == [SETTING, apart]
    assert list(found) == [store.key(SETTING.as_dict()), store.key(apart.as_dict())]


def test_runs_of_other_settings_data_or_versions_never_mix(tmp_path):
    store = Store(tmp_path / "runs.jsonl", "1.0")
    with store.writing() as writer:
        writer.add(identity(), CURVE)
    for other in (identity(data="xyz"), identity(c=2.5), identity(seed=8)):
        assert store.key(other) not in store.read()
    assert Store(store.path, "1.1").key(identity()) not in store.read()


def test_what_a_killed_process_left_half_written_is_dropped(tmp_path):
    store = Store(tmp_path / "runs.jsonl", "1.0")
    for seed in (1, 2):
        with store.writing() as writer:
            writer.add(identity(seed=seed), CURVE)
    whole = store.path.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole)):
        store.path.write_bytes(whole[:end])
        assert list(store.read()) == [store.key(identity(seed=1))]
    with store.writing() as writer:
        writer.add(identity(seed=3), CURVE)
    assert list(store.read()) == [store.key(identity(seed=s)) for s in (1, 3)]


def test_a_damaged_line_is_named(tmp_path):
    store = Store(tmp_path / "runs.jsonl", "1.0")
    with store.writing() as writer:
        writer.add(identity(), CURVE)
    text = store.path.read_text()
    for damaged in ("{}\n", "not json\n", json.dumps({"run": {}}) + "\n"):
        store.path.write_text(text + damaged)
        with pytest.raises(ValueError, match=r"runs.jsonl, line 2: must be a finished run"):
            store.read()


def test_one_writer_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    store = Store(tmp_path / "runs.jsonl", "1.0")
    with (
        store.writing(),
        pytest.raises(ValueError, match="is being written by another process"),
        Store(store.path, "1.0").writing(),
    ):
        pass
    with store.writing() as writer:
        writer.add(identity(), CURVE)


def test_a_run_is_on_the_disk_when_add_returns(tmp_path):
    store = Store(tmp_path / "runs.jsonl", "1.0")
    with store.writing() as writer:
        writer.add(identity(), CURVE)
        assert Path(store.path).read_bytes().endswith(b"\n")
        assert len(store.read()) == 1
