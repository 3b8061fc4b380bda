"""Two policies of one shop, each judged on the other one's log."""

import csv
import gzip
import os

import numpy as np
import pytest
from studies import obd
from studies.coverage.counting import holds
from study import main

ITEMS = obd.ITEMS


def write(folder, *, n=3000, seed=0):
    """Two small logs of a made-up campaign: items are the better, the larger their number."""
    rng = np.random.default_rng(seed)
    rates = np.linspace(0.02, 0.3, len(ITEMS))
    weights = np.linspace(1.0, 3.0, len(ITEMS))
    shares = {"random_men.csv.gz": np.full(34, 1 / 34), "bts_men.csv.gz": weights / weights.sum()}
    (folder / "obd").mkdir()
    for file, p in shares.items():
        with gzip.open(folder / "obd" / file, "wt", newline="") as lines:
            rows = csv.writer(lines)
            rows.writerow(["", "timestamp", "item_id", "position", "click", "propensity_score"])
            for number, item in enumerate(rng.choice(34, size=n, p=p)):
                click = int(rng.random() < rates[item])
                rows.writerow([number, "", item, 1 + number % 3, click, p[item]])
    return {"uniformly random": rates.mean(), "Thompson sampling": rates @ shares["bts_men.csv.gz"]}


def test_each_policy_is_judged_on_the_other_log(tmp_path, monkeypatch, capsys):
    truths = write(tmp_path)
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path))
    assert main(["obd", "--out", str(tmp_path / "out")]) == 0
    assert "each policy, judged on the other one's log" in capsys.readouterr().out
    for ending in (".md", ".png", ".pdf"):
        assert (tmp_path / "out" / f"obd{ending}").stat().st_size > 0
    found = obd.judgements()
    assert {one.policy for one in found} == set(truths)
    for one in found:
        assert holds(one.estimate.interval, truths[one.policy])
        assert holds(one.truth.interval, truths[one.policy])
        assert one.error == one.estimate.value - one.truth.value
    assert sum(one.is_best for one in found) == 2


def test_shares_are_those_of_each_position():
    log = {"item": ["0", "1", "0", "0"], "position": ["1", "1", "2", "1"]}
    found = obd.shares(log)
    assert found["1"]["0"] == pytest.approx(2 / 3)
    assert found["2"]["0"] == 1.0
    assert [sum(by_item.values()) for by_item in found.values()] == pytest.approx([1.0, 1.0])


def test_without_the_data_it_is_said_where_to_put_it(monkeypatch, capsys):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    assert main(["obd"]) == 2
    assert "set GRAPHCB_DATA to the folder that holds obd/random_men" in capsys.readouterr().err


@pytest.mark.skipif("GRAPHCB_DATA" not in os.environ, reason="GRAPHCB_DATA/obd is not here")
def test_the_truth_of_each_real_policy_is_within_its_interval():
    for one in obd.judgements():
        assert holds(one.estimate.interval, one.truth.value)
        assert abs(one.error) < 0.002
