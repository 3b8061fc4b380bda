"""The same data gives the same contexts and the same loss in every format."""

import json

import numpy as np
import pytest

from graphcb.agents import InformationDirected
from graphcb.contexts import Encoder, look
from graphcb.experiments.progressive import Player
from graphcb.graphs import bandit
from graphcb.oracles import DefaultOracle
from graphcb.streams import BadRows, Examples, ReadOptions, Source, first_look

N_ROWS, N_NUMBERS, N_CLASSES = 300, 12, 3
NAMES = [f"x{i}" for i in range(N_NUMBERS)]


def numbers():
    """Numbers of very different scale, some of them zero, and a label that depends on them."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(N_ROWS, N_NUMBERS))
    y = np.argmax(x[:, :N_CLASSES] + 0.3 * rng.normal(size=(N_ROWS, N_CLASSES)), axis=1)
    x[:, 3:] *= rng.random((N_ROWS, N_NUMBERS - 3)) < 0.5
    x[0] += 1.0  # so that each feature is in the first line
    return x * 10.0 ** rng.integers(-3, 4, size=N_NUMBERS), [f"{k}" for k in y]


def write(path, x, y, words=()):
    """A file for each format that can say it, and its options."""
    rows = [dict(zip(NAMES, row, strict=True)) for row in x.tolist()]
    for row, cells in zip(rows, words, strict=False):
        row.update(cells)
    names = list(rows[0])
    table = [[*(row[name] for name in names), label] for row, label in zip(rows, y, strict=True)]
    lines = [",".join([*names, "label"])]
    lines += [",".join("" if v is None else str(v) for v in row) for row in table]
    (path / "d.csv").write_text("\n".join(lines))
    objects = [{"label": k, "context": row} for row, k in zip(rows, y, strict=True)]
    (path / "d.jsonl").write_text("\n".join(map(json.dumps, objects)))
    files = {"d.csv": {"label": "label"}, "d.jsonl": {"label": "label"}}
    if not words:
        cells = [
            " ".join(f"{{}}{i}:{v!r}" for i, v in enumerate(row, 1) if v != 0.0)
            for row in x.tolist()
        ]
        svm = [f"{k} {text.replace('{}', '')}" for k, text in zip(y, cells, strict=True)]
        (path / "d.svm").write_text("\n".join(svm))
        costs = [" ".join(f"{j}:{int(str(j) != k)}" for j in range(N_CLASSES)) for k in y]
        vw = [f"{c} | {t.replace('{}', 'x')}" for c, t in zip(costs, cells, strict=True)]
        (path / "d.vw").write_text("\n".join(vw))
        files |= {"d.svm": {}, "d.vw": {}}
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        return files, rows
    columns = {name: [row[name] for row in rows] for name in names}
    parquet.write_table(pyarrow.table({**columns, "label": y}), path / "d.parquet")
    return files | {"d.parquet": {"label": "label"}}, rows


def read(path, options):
    source = Source(str(path))
    reading = first_look(source, ReadOptions(**options))
    return reading, list(reading.read(source, BadRows(source.name)))


def played(pieces):
    player = Player(InformationDirected(DefaultOracle(N_CLASSES)), bandit(N_CLASSES), seed=3)
    return np.concatenate([player.play(examples).losses for examples in pieces])


def same_rows(one, other):
    for a, b in zip(one, other, strict=True):
        if isinstance(a, tuple):
            np.testing.assert_array_equal(a[0], b[0])
            np.testing.assert_array_equal(a[1], b[1])
        else:
            np.testing.assert_array_equal(a, b)


def one_by_one(rows, kinds, losses):
    """What dicts give that are encoded as they come."""
    encoder, contexts = Encoder(kinds), []
    for row in rows:
        contexts.append(encoder.encode(row))
        encoder.learn(row)
    return [Examples(contexts, losses, range(len(rows)))]


def check(files, rows, path):
    reading, expected = read(path / "d.csv", files.pop("d.csv"))
    (examples,) = expected
    losses = played(expected)
    for name, options in files.items():
        _, pieces = read(path / name, options)
        same_rows(pieces[0].contexts, examples.contexts)
        np.testing.assert_array_equal(pieces[0].losses, examples.losses)
        np.testing.assert_array_equal(played(pieces), losses)
    assert look(rows) == reading.encoder.kinds
    dicts = one_by_one(rows, reading.encoder.kinds, examples.losses)
    same_rows(dicts[0].contexts, examples.contexts)
    np.testing.assert_array_equal(played(dicts), losses)
    return reading, losses


def test_numbers(tmp_path):
    x, y = numbers()
    files, rows = write(tmp_path, x, y)
    reading, losses = check(files, rows, tmp_path)
    assert reading.encoder.is_dense
    assert losses[100:].mean() < 0.35  # chance is 0.67


@pytest.mark.parametrize("with_words", [False, True])
def test_missing_numbers_and_words(tmp_path, with_words):
    x, y = numbers()
    rng = np.random.default_rng(6)
    cities = ["Rome", "New York", "Oslo", None]
    cells = [{"x3": None} if i % 7 == 0 else {} for i in range(N_ROWS)]
    if with_words:
        for cell in cells:
            cell["city"] = cities[rng.integers(4)]
            cell["plan"] = "free" if rng.random() < 0.5 else "paid"
    files, rows = write(tmp_path, x, y, cells)
    reading, _ = check(files, rows, tmp_path)
    assert reading.encoder.is_dense is not with_words
    assert reading.encoder.kinds["x3"] == "number?"
    assert reading.encoder.missing["x3"] == 43
