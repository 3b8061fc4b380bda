import csv

import numpy as np
import pytest

from graphcb.experiments.curves import Curve, Seconds, Setting, record, summarise, write_csv


def curve(agent, rate, c, seed, losses, line="K = 3"):
    return Curve(
        Setting(agent, line, rate, c, seed), np.arange(1, len(losses) + 1), np.array(losses)
    )


def test_the_best_setting_is_the_one_with_the_lowest_mean_final_loss():
    summary, other = summarise(
        [
            curve("a", 0.1, 1.0, 0, [0.9, 0.5]),
            curve("a", 0.1, 1.0, 1, [0.7, 0.1]),  # mean 0.3
            curve("a", 0.2, 1.0, 0, [0.5, 0.3]),
            curve("a", 0.2, 1.0, 1, [0.5, 0.2]),  # mean 0.25
            curve("b", 0.1, 1.0, 0, [0.5, 0.4]),
        ]
    )
    assert (summary.agent, summary.learning_rate, summary.n_seeds) == ("a", 0.2, 2)
    assert summary.mean == pytest.approx(0.25)
    assert summary.deviation == pytest.approx(np.std([0.3, 0.2], ddof=1))
    np.testing.assert_allclose(summary.mean_curve, [0.5, 0.25])
    assert summary.finals.tolist() == [0.3, 0.2]
    assert (other.agent, other.mean, other.deviation) == ("b", 0.4, 0.0)


def test_a_best_value_at_the_end_of_the_grid_is_said():
    runs = [
        curve("a", rate, c, 0, [abs(rate - 0.2) + c]) for rate in (0.1, 0.2, 0.3) for c in (1, 2)
    ]
    (summary,) = summarise(runs)
    assert (summary.learning_rate, summary.c) == (0.2, 1)
    assert summary.at_grid_end == ("c",)
    (alone,) = summarise(runs[:1])
    assert alone.at_grid_end == ()


def test_runs_may_come_in_any_order():
    runs = [curve(agent, 0.1, 1.0, seed, [seed]) for seed in (1, 0) for agent in ("b", "a")]
    assert [(s.agent, s.finals.tolist()) for s in summarise(runs)] == [("b", [0, 1]), ("a", [0, 1])]


def test_record_keeps_equally_spaced_rounds_and_the_last():
    setting = Setting("a", "x", 0.1, 1.0, 0)
    kept = record(setting, np.arange(1000.0), Seconds(1.0, 2.0, 9.0), n_points=10)
    assert kept.rounds.tolist() == [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]
    np.testing.assert_allclose(kept.mean_loss, (kept.rounds - 1) / 2)
    assert kept.seconds == (1.0, 2.0, 9.0)


def test_csv_has_one_line_a_run_and_round(tmp_path):
    about = {"seed": 7, "problem": {"kind": "x"}, "version": "1.0"}
    write_csv([(about, curve("a", 0.1, 2.0, 7, [0.5, 0.25]))], tmp_path / "t.csv")
    with (tmp_path / "t.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2
    assert lines[1] == {
        "seed": "7",
        "problem": '{"kind": "x"}',
        "version": "1.0",
        "round": "2",
        "mean_loss": "0.25",
    }


@pytest.mark.parametrize("power", [0.5, 2 / 3, 1.0])
def test_the_slope_is_the_power_of_the_late_regret(power):
    rounds = np.arange(100, 10_001, 100)
    early = np.where(rounds < 300, 5.0, 0.0)  # the first rounds do not count
    mean_loss = (rounds**power + early) / rounds
    (summary,) = summarise([Curve(Setting("a", "x", 0.0, 0.0, 0), rounds, mean_loss)])
    assert summary.slope == pytest.approx(power, abs=1e-9)
    np.testing.assert_allclose(summary.regret_curve, rounds**power + early)


def test_no_regret_has_no_slope():
    (summary,) = summarise([curve("a", 0.0, 0.0, 0, [0.0] * 100)])
    assert np.isnan(summary.slope)
