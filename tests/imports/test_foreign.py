import gzip
import os
from pathlib import Path

import pytest

from graphcb.imports import read_foreign
from graphcb.imports.foreign import format_of
from graphcb.streams import Source

LOGS = Path(os.environ.get("GRAPHCB_DATA", "no-data")) / "vw_logs"


def write(folder, text, name="log.txt"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("1:0:0.5 | x\n2:1:0.5 | y\n", "cb"),
        ("ca 1:0:0.5 | x\n", "cb"),
        ("\n1:0:0.5 | x\n2:1:0.5 | y\n\n", "cb"),
        ("shared | s\n0:1:0.5 | x\n| y\n", "cb_adf"),
        ("0:1:0.5 | x\n| y\n", "cb_adf"),
        ("0:1:1 | x\n\n0:1:1 | y\n", "cb_adf"),
        ('\n{"c": {}}\n', "dsjson"),
    ],
)
def test_the_format_is_found(tmp_path, text, format):
    assert format_of(Source(str(write(tmp_path, text)), format="vw")) == format


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "must have decisions, got an empty file"), ("a,b\n1,2\n", "must be DSJSON, or text of")],
)
def test_other_files_are_refused(tmp_path, text, reason):
    with pytest.raises(ValueError, match=reason):
        list(read_foreign(write(tmp_path, text)))


def test_a_format_that_is_unknown_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`format` must be one of cb, cb_adf, dsjson; got 'ccb'"):
        list(read_foreign(write(tmp_path, "1:0:1 | x\n"), format="ccb"))


def test_a_cb_file_without_labels_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must have lines `action:cost:probability"):
        list(read_foreign(write(tmp_path, "| x\n"), format="cb"))


def test_the_number_of_actions_may_be_given(tmp_path):
    path = write(tmp_path, "1:0:0.5 | x\n")
    assert list(next(read_foreign(path)).actions) == ["1"]
    assert list(next(read_foreign(path, n_actions=3)).actions) == ["1", "2", "3"]


def test_gzipped_files(tmp_path):
    path = tmp_path / "log.vw.gz"
    with gzip.open(path, "wt") as file:
        file.write("2:0:0.5 | x\n")
    assert next(read_foreign(path)).chosen == 1


def test_a_broken_gzip_file_is_named(tmp_path):
    path = tmp_path / "log.vw.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="must be a whole gzip file"):
        list(read_foreign(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be an existing file"):
        list(read_foreign(tmp_path / "none.vw"))


@pytest.mark.skipif(not LOGS.is_dir(), reason="GRAPHCB_DATA/vw_logs is not there")
class TestLogsOfOthers:
    def test_dsjson(self):
        found = list(read_foreign(LOGS / "dsjson_cb.json"))
        assert len(found) == 23
        assert set(found[0].actions) == {"Cappucino", "Cold brew", "Iced mocha", "Latte"}
        assert sum(one.cost for one in found) == -12.0
        assert all(one.probabilities[one.chosen] == pytest.approx(one.probability) for one in found)

    def test_cb(self):
        found = list(read_foreign(LOGS / "rcv1_raw_cb_small.vw.gz"))
        assert len(found) == 1000
        assert sum(one.chosen == 0 for one in found) == 504
        assert found[0].context["features"][:2] == ["tuesday", "year"]

    def test_cb_adf(self):
        found = list(read_foreign(LOGS / "cb_test.ldf"))
        assert [len(one.actions) for one in found] == [3, 2, 2]
        assert [one.chosen for one in found] == [0, 1, None]
