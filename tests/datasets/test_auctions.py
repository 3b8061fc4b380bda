import gzip
import os

import numpy as np
import pytest

from graphcb.datasets import DataNotFoundError, generate_auctions, load_auctions

needs_data = pytest.mark.skipif(
    "GRAPHCB_DATA" not in os.environ, reason="GRAPHCB_DATA is not set: real data is not here"
)
HEADER = "clicked,market_price,predicted_click_rate\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path))
    (tmp_path / "streams").mkdir()
    return tmp_path / "streams"


def write(folder, text):
    with gzip.open(folder / "auctions.csv.gz", "wt") as file:
        file.write(text)


@needs_data
def test_the_auctions_as_they_are():
    auctions = load_auctions()
    assert [column.shape for column in auctions] == [(60_000,)] * 3
    assert 0.002 < auctions.clicked.mean() < 0.004
    assert auctions.market_price.min() > 0.0
    assert auctions.market_price.max() <= 300.0
    assert np.isfinite(auctions.predicted_click_rate).all()


def test_the_order_of_the_file_stays(folder):
    write(folder, HEADER + "0,70,2.5e-03\n1,6,0.004\n")
    auctions = load_auctions()
    assert auctions.clicked.tolist() == [False, True]
    assert auctions.market_price.tolist() == [70.0, 6.0]
    assert auctions.predicted_click_rate.tolist() == [0.0025, 0.004]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,c\n1,2,3\n", "must have the columns clicked, market_price, predicted_click_rate"),
        (HEADER + "0,70,0.1\n0,x,0.1\n", "line 3: must be three numbers: could not"),
        (HEADER + "2,70,0.1\n", "line 2: must be 0 or 1, a price .*, got 2, 70, 0.1"),
        (HEADER + "0,70,0.1\n0,-1,0.1\n", "line 3: .* got 0, -1, 0.1"),
        (HEADER + "0,inf,0.1\n", "line 2: .* got 0, inf, 0.1"),
        (HEADER + "0,70,nan\n", "line 2: .* got 0, 70, nan"),
        (HEADER + "0,70\n", "each row must have clicked, market_price"),
        ("", "must be a gzipped CSV with a header"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(folder, text, message):
    write(folder, text)
    with pytest.raises(ValueError, match=message):
        load_auctions()


def test_where_it_is_absent_the_stand_in_is_named(folder, monkeypatch):
    with pytest.raises(DataNotFoundError, match=r"which does not contain streams/auctions.csv.gz"):
        load_auctions()
    monkeypatch.delenv("GRAPHCB_DATA")
    with pytest.raises(DataNotFoundError, match=r"or use generate_auctions\(n, rng\)"):
        load_auctions()


def test_the_stand_in_has_the_same_form_and_dear_auctions_are_worth_more():
    auctions = generate_auctions(20_000, np.random.default_rng(0))
    again = generate_auctions(20_000, np.random.default_rng(0))
    for one, other in zip(auctions, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert auctions.clicked.dtype == np.bool_
    assert auctions.clicked.mean() == pytest.approx(auctions.predicted_click_rate.mean(), rel=0.2)
    assert auctions.market_price.min() >= 1.0
    assert auctions.market_price.max() <= 300.0
    rates, prices = np.log(auctions.predicted_click_rate), np.log(auctions.market_price)
    assert 0.1 < np.corrcoef(rates, prices)[0, 1] < 0.4
