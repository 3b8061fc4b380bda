import gzip
import os

import numpy as np
import pytest

from graphcb.datasets import DataNotFoundError, generate_bakery, load_bakery
from graphcb.datasets.bakery import NAMES

needs_data = pytest.mark.skipif(
    "GRAPHCB_DATA" not in os.environ, reason="GRAPHCB_DATA is not set: real data is not here"
)
DAY = "2016-01-02,FRI,JAN,2016,1,0,0,2,101,11.9,2.1,0,0"


def write(folder, data, target="demand\n254.0\n"):
    (folder / "bakery").mkdir(exist_ok=True)
    with gzip.open(folder / "bakery" / "bakery_data.csv.gz", "wt") as file:
        file.write(data)
    with gzip.open(folder / "bakery" / "bakery_target.csv.gz", "wt") as file:
        file.write(target)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path))
    return tmp_path


@needs_data
def test_the_bakery_as_it_is():
    bakery = load_bakery()
    assert bakery.features.shape == (127_575, 13)
    assert bakery.features.dtype == np.float64
    assert bakery.demand.shape == (127_575,)
    assert np.isfinite(bakery.features).all()
    assert (bakery.demand >= 0).all()
    assert len(np.unique(bakery.features[:, bakery.names.index("store")])) == 35
    assert set(np.unique(bakery.features[:, bakery.names.index("weekday")])) == set(range(7))


def test_words_become_numbers_and_numbers_stay(folder):
    write(folder, ",".join(NAMES) + f"\n{DAY}\n")
    bakery = load_bakery()
    assert bakery.names == NAMES
    assert bakery.features.tolist() == [[16802, 4, 1, 2016, 1, 0, 0, 2, 101, 11.9, 2.1, 0, 0]]
    assert bakery.demand.tolist() == [254.0]


@pytest.mark.parametrize(
    ("data", "target", "text"),
    [
        ("a,b\n1,2\n", "demand\n1\n", "bakery_data.csv.gz: must have the columns date, weekday"),
        (
            ",".join(NAMES) + f"\n{DAY}\n{DAY.replace('FRI', 'FRIDAY')}\n",
            "demand\n1\n2\n",
            "line 3: must be a day of the bakery and its demand, got",
        ),
        (",".join(NAMES) + f"\n{DAY},7\n", "demand\n1\n", "must have date, .* got 14 in row 1"),
        (",".join(NAMES) + f"\n{DAY}\n{DAY}\n", "demand\n1\n", r"line 3: .* and None"),
        (",".join(NAMES) + f"\n{DAY}\n", "demand\n1\n2\n", r"line 3: .* got None and"),
        ("", "demand\n", "must be a gzipped CSV with a header"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(folder, data, target, text):
    write(folder, data, target)
    with pytest.raises(ValueError, match=text):
        load_bakery()


def test_where_it_is_absent_the_stand_in_is_named(folder, monkeypatch):
    with pytest.raises(
        DataNotFoundError, match=r"which does not contain bakery/bakery_data.csv.gz"
    ):
        load_bakery()
    monkeypatch.delenv("GRAPHCB_DATA")
    with pytest.raises(DataNotFoundError, match=r"or use generate_bakery\(n, rng\)"):
        load_bakery()


def test_the_stand_in_has_the_same_form_and_can_be_learned():
    bakery = generate_bakery(6000, np.random.default_rng(0))
    again = generate_bakery(6000, np.random.default_rng(0))
    np.testing.assert_array_equal(bakery.features, again.features)
    assert bakery.names == NAMES
    assert np.isfinite(bakery.features).all()
    days = bakery.features[:, 0].astype("datetime64[D]")
    np.testing.assert_array_equal(
        days.astype("datetime64[Y]").astype(int) + 1970, bakery.features[:, 3]
    )
    kind = bakery.features[:, 7] * 1000 + bakery.features[:, 8]
    means = {k: bakery.demand[kind == k].mean() for k in np.unique(kind)}
    assert len(means) == 12
    left = bakery.demand - np.array([means[k] for k in kind])
    assert left.var() < 0.4 * bakery.demand.var()
