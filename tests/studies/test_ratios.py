import numpy as np
import pytest
from studies.bakeoff.ratios import compare
from studies.bakeoff.study import parse
from studies.bakeoff.tables import (
    beside_yardstick,
    grids,
    losses_to_others,
    margins,
    markdown,
    ratio_table,
    rows,
)

from graphcb.experiments.curves import Curve, Setting

TEXT = """
title = "made up"
seeds = 3
[[contenders]]
name = "constant"
agent = "constant"
[[contenders]]
name = "greedy"
agent = "greedy"
oracle = "logistic"
learning_rate = [4, 1]
[[contenders]]
name = "ours"
agent = "default"
[streams]
"a/bandit" = { file = "generated" }
"b/review" = { file = "generated" }
"""
BAKEOFF = parse("made-up", TEXT, "made-up.toml")


def curves(losses):
    """Runs with the losses of each seed by contender, rate and stream."""
    return [
        Curve(Setting(agent, stream, rate, 0.0, seed), np.array([100]), np.array([loss]))
        for (agent, rate, stream), found in losses.items()
        for seed, loss in enumerate(found)
    ]


LOSSES = {
    ("constant", 0.0, "a/bandit"): [0.4, 0.5, 0.6],
    ("constant", 0.0, "b/review"): [0.8, 0.8, 0.8],
    ("greedy, logistic", 4.0, "a/bandit"): [0.3, 0.4, 0.5],
    ("greedy, logistic", 1.0, "a/bandit"): [0.1, 0.1, 0.1],
    ("greedy, logistic", 4.0, "b/review"): [0.4, 0.4, 0.4],
    ("ours", 0.0, "a/bandit"): [0.2, 0.2, 0.2],
    ("ours", 0.0, "b/review"): [0.2, 0.4, 0.6],
}


@pytest.fixture(scope="module")
def ranking():
    return compare(BAKEOFF, curves(LOSSES))


def test_ratios_are_to_the_best_of_all(ranking):
    ours, constant, greedy, best = ranking.standings
    assert (ours.label, greedy.label, best.label) == (
        "ours",
        "greedy, default",
        "greedy, best of 2",
    )
    assert ours.ratios == pytest.approx({"a/bandit": 2.0, "b/review": 1.0})
    assert constant.ratios == pytest.approx({"a/bandit": 5.0, "b/review": 2.0})
    assert greedy.ratios["a/bandit"] == pytest.approx(4.0)
    assert best.ratios["a/bandit"] == pytest.approx(1.0)
    assert best.scores["a/bandit"].setting == "logistic 1"
    assert constant.geometric_mean == pytest.approx(np.sqrt(10))
    assert constant.worst == ("a/bandit", pytest.approx(5.0))
    assert constant.by_feedback() == pytest.approx({"bandit": 5.0, "review": 2.0})


def test_a_win_is_more_than_two_standard_errors(ranking):
    ours, constant, greedy, best = ranking.standings
    assert (ours.better, ours.worse) == ((), ())
    assert constant.worse == ("a/bandit", "b/review")
    assert (greedy.better, greedy.worse) == ((), ("a/bandit",))
    assert (best.better, best.worse) == (("a/bandit",), ())


def test_who_beats_us_is_named(ranking):
    text = "a/bandit, ours 0.2000: greedy, best of 2 (logistic 1) 0.1000"
    assert losses_to_others(ranking) == [text]
    assert text in markdown(ranking, BAKEOFF)
    assert rows(ranking)[-1] == ("greedy, best of 2", "2", "1.000", "1.414", "1.00", "1", "0")
    assert grids(BAKEOFF) == ["greedy: logistic 4; logistic 1"]


def test_one_seed_cannot_tell():
    single = compare(BAKEOFF, curves({key: found[:1] for key, found in LOSSES.items()}))
    assert not any(one.better or one.worse for one in single.standings)
    assert rows(single)[-1][-2:] == ("-", "-")
    assert "Nobody can tell with one seed." in markdown(single, BAKEOFF)


def test_no_loss_at_all_is_a_finite_ratio():
    zero = {**LOSSES, ("ours", 0.0, "a/bandit"): [0.0, 0.0, 0.0]}
    ranking = compare(BAKEOFF, curves(zero))
    assert ranking.ours.ratios["a/bandit"] == 1.0
    assert ranking.standings[-1].ratios["a/bandit"] == pytest.approx(0.1 / 0.01)


def test_the_table_has_every_stream(ranking):
    _, head, lines = ratio_table(ranking)
    assert head == ("contender", "choice", "stream", "setting", "mean_loss", "ratio")
    assert len(lines) == 8
    assert lines[0][:3] == ("ours", "", "a/bandit")


SAME = """
title = "made up"
seeds = 2
[[contenders]]
name = "ours"
agent = "default"
[[contenders]]
name = "best constant action"
agent = "constant"
[[contenders]]
name = "SquareCB.G, our oracle"
agent = "SquareCB.G"
oracle = "default"
c = [32, 8]
[streams]
"a/bandit" = { file = "ring.csv.gz", yardstick = 0.4 }
"b/review" = { file = "magic.csv.gz", yardstick = 0.1 }
"""


def test_exploration_with_our_oracle_is_compared_with_ours_setting_by_setting():
    bake = parse("made-up", SAME, "made-up.toml")
    found = {
        ("ours", 0.0): {"a/bandit": 0.2, "b/review": 0.11},
        ("best constant action", 0.0): {"a/bandit": 0.5, "b/review": 0.1},
        ("SquareCB.G, our oracle, default", 32.0): {"a/bandit": 0.4, "b/review": 0.11},
        ("SquareCB.G, our oracle, default", 8.0): {"a/bandit": 0.1, "b/review": 0.22},
    }
    ranking = compare(
        bake,
        [
            Curve(Setting(agent, stream, 0.0, c, seed), np.array([100]), np.array([loss]))
            for (agent, c), losses in found.items()
            for stream, loss in losses.items()
            for seed in range(2)
        ],
    )
    assert [one.label for one in ranking.same_oracle] == [
        "SquareCB.G, our oracle, c = 32",
        "SquareCB.G, our oracle, c = 8",
    ]
    first, second = (one.ratios for one in ranking.same_oracle)
    assert first == pytest.approx({"a/bandit": 2.0, "b/review": 1.0})
    assert second == pytest.approx({"a/bandit": 0.5, "b/review": 2.0})
    text = markdown(ranking, bake)
    assert "| SquareCB.G, our oracle, c = 8 | 1.000 | 2.00 | 1 | 1 | 0.500 | 2.000 |" in text
    assert beside_yardstick(ranking, bake) == [
        ("all", "2", "0.742", "1.10 (b/review)", "b/review"),
        ("chosen on †", "1", "0.500", "0.50 (a/bandit)", "none"),
        ("the others", "1", "1.100", "1.10 (b/review)", "b/review"),
        ("all, SquareCB.G, our oracle, c = 32", "2", "1.049", "1.10 (b/review)", "b/review"),
        ("all, SquareCB.G, our oracle, c = 8", "2", "0.742", "2.20 (b/review)", "b/review"),
    ]


def test_a_margin_is_oracle_times_exploration():
    ours = """[[contenders]]
name = "greedy, our oracle"
agent = "greedy"
oracle = "default"
[streams]"""
    bakeoff = parse("made-up", TEXT.replace("[streams]", ours), "made-up.toml")
    held = ("greedy, our oracle, default", 0.0)
    losses = {**LOSSES, (*held, "a/bandit"): [0.1] * 3, (*held, "b/review"): [0.8] * 3}
    found = compare(bakeoff, curves(losses))
    # Greedy has 0.4 and 0.4, 0.1 and 0.8 with our oracle, and we have 0.2 and 0.4.
    assert margins(found, ["bandit", "review"]) == [
        ("greedy", "1.41 = 1.41 x 1.00", "2.00 = 4.00 x 0.50", "1.00 = 0.50 x 2.00")
    ]
    assert "| greedy | 1.41 = 1.41 x 1.00 |" in markdown(found, bakeoff)


def test_no_margin_is_split_without_a_rival_that_has_our_oracle(ranking):
    assert margins(ranking, ["bandit"]) == []
    assert "is oracle" not in markdown(ranking, BAKEOFF)
