import gzip
import io

import pytest

from graphcb.streams import Source
from graphcb.streams.source import FIRST_LOOK


@pytest.mark.parametrize(
    ("name", "format", "delimiter"),
    [
        ("a.csv", "csv", ","),
        ("a.tsv", "csv", "\t"),
        ("a.tsv.gz", "csv", "\t"),
        ("a.parquet", "parquet", ","),
        ("a.pq", "parquet", ","),
        ("a.svm", "libsvm", ","),
        ("a.libsvm.gz", "libsvm", ","),
        ("a.b.vw", "vw", ","),
        ("a.jsonl", "jsonl", ","),
        ("a.ndjson.gz", "jsonl", ","),
    ],
)
def test_the_name_says_the_format(tmp_path, name, format, delimiter):
    (tmp_path / name).touch()
    source = Source(str(tmp_path / name))
    assert (source.format, source.delimiter) == (format, delimiter)


def test_what_is_asked_for_goes_before_the_name(tmp_path):
    (tmp_path / "a.txt").touch()
    assert Source(str(tmp_path / "a.txt"), format="vw").format == "vw"
    with pytest.raises(ValueError, match=r"`DATA` must end in .csv, .tsv, .* or name its format"):
        Source(str(tmp_path / "a.txt"))
    with pytest.raises(
        ValueError, match="`--format` must be one of csv, parquet, libsvm, vw, jsonl;"
    ):
        Source(str(tmp_path / "a.txt"), format="xls")
    with pytest.raises(FileNotFoundError, match=r"`DATA` must be an existing file, got 'no.csv'"):
        Source("no.csv")


def test_delimiters(tmp_path):
    (tmp_path / "a.csv").touch()
    assert Source(str(tmp_path / "a.csv"), delimiter="\\t").delimiter == "\t"
    assert Source(str(tmp_path / "a.csv"), delimiter=";").delimiter == ";"
    for wrong in (";;", "", '"'):
        with pytest.raises(ValueError, match=r"`--delimiter` must be one character \(.t for a tab"):
            Source(str(tmp_path / "a.csv"), delimiter=wrong)


def test_gzipped_text_is_read_as_it_is(tmp_path):
    with gzip.open(tmp_path / "a.csv.gz", "wt", encoding="utf-8") as file:
        file.write("\ufeffé,b\n")
    assert list(Source(str(tmp_path / "a.csv.gz")).lines()) == ["é,b\n"]


def test_a_look_at_the_standard_input_takes_nothing_away():
    text = [f"{i}\n" for i in range(FIRST_LOOK + 5)]
    source = Source("-", stdin=io.StringIO("".join(text)))
    assert list(source.lines(first_look=True)) == text[:FIRST_LOOK]
    assert list(source.lines(first_look=True)) == text[:FIRST_LOOK]
    assert list(source.lines()) == text


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.csv", b"x,y\n\xff\xfe,1\n", "must be text in UTF-8"),
        ("a.csv.gz", b"not gzip", "must be a whole gzip file"),
        ("a.csv.gz", gzip.compress(b"x,y\n" * 1000, mtime=0)[:-9], "must be a whole gzip file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content, text):
    (tmp_path / name).write_bytes(content)
    source = Source(str(tmp_path / name))
    with pytest.raises(ValueError, match=f"{name}: {text}"), source.explained():
        list(source.lines())
