"""Skylines: models that see all losses, and what is said of them beside the default."""

import numpy as np
import pytest
from studies.bakeoff.ratios import compare
from studies.bakeoff.study import parse, read
from studies.bakeoff.tables import beside_skylines, markdown, skyline_head
from studies.skyline import FIRST, MODELS, as_numbers, play_skyline
from studies.streams import load_stream

SPEC = {"file": "generated", "kind": "label", "graph": "bandit", "rows": 240}
TEXT = """
title = "small"
seeds = 2
[[contenders]]
name = "ours"
agent = "default"
[[contenders]]
name = "best constant action"
agent = "constant"
[[contenders]]
name = "boosted trees"
agent = "skyline"
learner = "trees"
[[contenders]]
name = "RBF machine"
agent = "skyline"
learner = "rbf"
[streams]
"made/bandit" = { file = "generated", kind = "label", graph = "bandit", rows = 150 }
"made/review" = { file = "generated", kind = "review", price = 0.3, rows = 150 }
"""

pytest.importorskip("sklearn")


@pytest.mark.parametrize("model", MODELS)
def test_learns_and_predicts_only_what_it_has_not_seen(model):
    stream = load_stream(SPEC, seed=0)
    played = play_skyline(SPEC, 0, model)
    assert played.shape == (240,)
    np.testing.assert_allclose(played[:FIRST], 2 / 3)  # uniform choice among three
    assert played[100:].mean() < 0.6 * stream.losses.mean(axis=0).min()
    shorter = play_skyline({**SPEC, "rows": 150}, 0, model)
    np.testing.assert_array_equal(shorter, played[:150])  # nothing is known of rows to come


def test_losses_of_many_forms_have_a_regression_for_each_action():
    spec = {"file": "generated", "kind": "stock", "target": "x1", "levels": 4, "over": 0.5}
    stream = load_stream({**spec, "rows": 300}, seed=0)
    assert len(np.unique(stream.losses, axis=0)) > 64
    played = play_skyline({**spec, "rows": 300, "drop": []}, 0, "rbf")
    assert np.isfinite(played).all()


def test_words_are_categories_and_texts_are_hashed():
    rows = [[str(i), "?" if i == 1 else "2.5", "ab"[i % 2], f"word{i} more"] for i in range(300)]
    table, categories = as_numbers(rows)
    assert table.shape == (300, 3 + 64)
    assert categories.tolist() == [False, False, True, *[False] * 64]
    assert np.isnan(table[1, 1])
    assert table[:3, 2].tolist() == [0.0, 1.0, 0.0]
    assert (table[:, 3:].sum(axis=1) == 2.0).all()


def test_a_skyline_is_no_rival_and_has_one_seed():
    bake = parse("small", TEXT, "small.toml")
    settings = bake.settings()
    assert sum(one.agent == "boosted trees" for one in settings) == 2
    assert not any(one.is_skyline for one in bake.made_quick().contenders)
    ranking = compare(bake, [bake.play(one) for one in settings])
    assert [one.name for one in ranking.standings] == ["ours", "best constant action"]
    assert {name for name, _ in ranking.best.values()} <= {"ours", "best constant action"}
    assert skyline_head(ranking)[4:6] == ("boosted trees", "RBF machine")
    rows = beside_skylines(ranking, bake)
    assert [row[:2] for row in rows] == [
        ("bandit", "1"), ("review", "1"), ("all", "2"), ("the others", "2")
    ]  # fmt: skip
    constant, ours, trees, rbf = map(float, rows[0][2:6])
    assert float(rows[0][6]) == pytest.approx((constant - ours) / (constant - trees), abs=0.01)
    best = min(trees, rbf)
    assert float(rows[0][7]) == pytest.approx((constant - ours) / (constant - best), abs=0.01)
    assert "share of the way from the best constant action" in markdown(ranking, bake)


def test_a_skyline_must_be_known():
    with pytest.raises(ValueError, match=r"small.toml: `contenders.learner` must be one of trees"):
        parse("small", TEXT.replace('"trees"', '"forest"'), "small.toml")


def test_streams_that_drift_name_their_halves():
    drift = read("drift")
    assert len(drift.streams) == 16
    assert sum(spec["chosen"] for spec in drift.streams.values()) == 8
    assert all(spec["yardstick"] > 0.0 for spec in drift.streams.values())
    ours = [one.agent for one in drift.contenders if one.oracle == "default"]
    assert {"greedy", "epsilon-greedy", "SquareCB.G", "Thompson"} == set(ours)
    assert {spec["drift"] for spec in drift.made_quick().streams.values()} == {"swap", "return"}
