import csv
import os
from dataclasses import replace

import numpy as np
import pytest
from studies.bakeoff.ratios import compare
from studies.bakeoff.study import NAMES, parse, read
from studies.bakeoff.tables import markdown
from studies.prepared import facts, prepare
from studies.streams import load_stream

from graphcb.cli import main
from graphcb.datasets import DataNotFoundError
from graphcb.experiments.curves import Setting
from graphcb.experiments.reproduction import finish
from graphcb.experiments.store import Store

needs_data = pytest.mark.skipif(
    "GRAPHCB_DATA" not in os.environ, reason="GRAPHCB_DATA is not set: real data is not here"
)
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
name = "greedy"
agent = "greedy"
oracle = "logistic"
learning_rate = [4, 1]
[[contenders]]
name = "greedy"
agent = "greedy"
oracle = "ridge"
learning_rate = [1]
[streams]
"made/bandit" = { file = "generated", kind = "label", graph = "bandit", rows = 60, drop = ["word"] }
"made/review" = { file = "generated", kind = "review", price = 0.3, rows = 60 }
"""


def small():
    return parse("small", TEXT, "small.toml")


def test_the_bake_off_of_the_package():
    whole = read("bakeoff")
    assert len(whole.streams) == 43
    kinds = {name.rpartition("/")[2] for name in whole.streams}
    assert kinds == {
        "bandit", "review", "cops", "cycle", "approve", "stock", "audit", "cascade"
    }  # fmt: skip
    quick = whole.made_quick()
    assert all(spec["file"] == "generated" for spec in quick.streams.values())
    assert not any(one.is_peer for one in quick.contenders)
    assert quick.n_seeds == 1
    assert {setting.line for setting in quick.settings()} == set(quick.streams)


def test_tables_that_were_unseen_are_other_ones():
    chosen, unseen = read("bakeoff"), read("unseen")
    assert len(unseen.streams) == 45
    files = [{spec["file"] for spec in one.streams.values()} for one in (chosen, unseen)]
    assert not files[0] & files[1]
    assert all(spec["yardstick"] > 0 for one in (chosen, unseen) for spec in one.streams.values())
    ours = [[c for c in one.contenders if c.oracle == "default"] for one in (chosen, unseen)]
    assert ours[0] == ours[1]


@pytest.mark.parametrize("name", ["greedy", "epsilon-greedy", "SquareCB.G", "Thompson"])
def test_others_explore_with_our_oracle(name):
    more = f'[[contenders]]\nname = "other"\nagent = "{name}"\noracle = "default"\nc = [0.5]\n'
    bake = parse("small", TEXT.replace("[streams]", f"{more}[streams]"), "small.toml")
    curve = bake.play(Setting("other, default", "made/review", 0.0, 0.5, 0))
    assert 0.0 < curve.mean_loss[0] < 1.0
    again = bake.play(Setting("other, default", "made/review", 0.0, 0.5, 0))
    assert again.mean_loss == curve.mean_loss


def test_all_tables_and_streams_that_drift_have_the_same_contenders():
    parts = [read(name) for name in NAMES]
    assert [len(one.streams) for one in parts] == [43, 45, 16]
    assert parts[0].contenders == parts[1].contenders == parts[2].contenders
    assert {"vowpalwabbit", "coba", "river", "mabwiser", "skyline", "Thompson"} <= {
        one.agent for one in parts[2].contenders
    }
    held = parts[2].with_our_oracle().contenders
    assert {one.agent for one in held} == {
        *("default", "constant", "greedy", "epsilon-greedy", "SquareCB.G", "Thompson", "skyline")
    }
    assert all(one.oracle == "default" for one in held if one.agent in ("greedy", "SquareCB.G"))


def test_ridge_plays_only_columns_of_numbers():
    settings = small().settings()
    assert len(settings) == 2 * (5 + 4)
    ridge = {setting.line for setting in settings if setting.agent == "greedy, ridge"}
    assert ridge == {"made/bandit"}
    assert facts(small().streams["made/review"]).has_words


def test_other_packages_play_only_bandit_feedback(monkeypatch):
    more = TEXT.replace("[streams]", '[[contenders]]\nname = "peer"\nagent = "river"\n[streams]')
    bake = parse("small", more, "small.toml")
    monkeypatch.setattr("studies.bakeoff.contenders.installed", lambda package: "river 1")
    assert {s.line for s in bake.settings() if s.agent == "peer"} == {"made/bandit"}
    assert bake.left_out == ()
    monkeypatch.setattr("studies.bakeoff.contenders.installed", lambda package: None)
    assert not [s for s in bake.settings() if s.agent == "peer"]
    assert bake.left_out == ("peer",)


def test_the_first_values_are_the_default():
    defaults = [s for s in small().settings() if small().is_default(s) and s.seed == 0]
    assert {(s.agent, s.learning_rate) for s in defaults} == {
        ("ours", 0.0),
        ("best constant action", 0.0),
        ("greedy, logistic", 4.0),
    }


def test_the_default_is_that_of_graphcb_run(tmp_path, capsys):
    spec = small().streams["made/review"]
    stream = load_stream(spec, seed=1)
    names = [f"loss_{action}" for action in stream.actions]
    with (tmp_path / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*stream.feature_names, *names])
        writer.writerows(
            [*cells, *row]
            for cells, row in zip(stream.features, stream.losses.tolist(), strict=True)
        )
    np.savetxt(tmp_path / "graph.csv", stream.graph.matrix, delimiter=",", fmt="%g")
    arguments = ["--losses", ",".join(names), "--loss-range", "0,1", "--seed", "1"]
    graph = ["--graph", str(tmp_path / "graph.csv")]
    assert main(["run", str(tmp_path / "data.csv"), *arguments, *graph]) == 0
    curve = small().play(Setting("ours", "made/review", 0.0, 0.0, 1))
    assert f"average loss         = {curve.mean_loss[0]:.6g}" in capsys.readouterr().out
    assert curve.rounds.tolist() == [60]


def test_the_constant_action_is_the_best_one():
    losses = prepare(small().streams["made/review"], 0).pieces[0].losses
    curve = small().play(Setting("best constant action", "made/review", 0.0, 0.0, 0))
    assert curve.mean_loss[0] == pytest.approx(losses.mean(axis=0).min())


def test_an_interrupted_bake_off_continues(tmp_path):
    store, made = Store(tmp_path / "runs.jsonl", "1"), []
    finish(replace(small(), n_seeds=1), store, on_run=made.append)
    assert len(made) == 9
    curves = finish(small(), store, on_run=made.append)
    assert [curve.setting for curve in curves] == small().settings()
    assert len(made) == 18


def test_kept_runs_of_others_stand_while_our_learner_changes(tmp_path, monkeypatch):
    store, made = Store(tmp_path / "runs.jsonl", "1"), []
    one = replace(small(), n_seeds=1)
    finish(one, store)
    monkeypatch.setattr("studies.bakeoff.study.code_of_learners", lambda: "changed")
    finish(one, store, on_run=made.append)
    assert {curve.setting.agent for curve in made} == {"ours"}
    assert len(made) == len(one.streams)


def test_who_learns_with_another_oracle_may_have_fewer_seeds(tmp_path):
    one = small().with_seeds(2, 1)
    seeds = {}
    for setting in one.settings():
        seeds.setdefault(setting.agent.partition(",")[0], set()).add(setting.seed)
    assert seeds == {"ours": {0, 1}, "best constant action": {0, 1}, "greedy": {0}}
    curves = finish(one, Store(tmp_path / "runs.jsonl", "1"))
    ranking, first = compare(one, curves), compare(*only_first(one, curves))
    assert (ranking.n_seeds, ranking.n_paired) == (2, 1)
    assert ranking.ours.ratios == first.ours.ratios  # who has fewer seeds is compared on these
    assert all(len(score.losses) == 2 for score in ranking.ours.scores.values())
    assert "Seeds: 2. Who learns with another oracle has 1" in markdown(ranking, one)
    assert "another oracle has" not in markdown(first, one)


def only_first(one, curves):
    return one.with_seeds(1), [curve for curve in curves if curve.setting.seed == 0]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('title = "small"', "", "small.toml: must have 'title'"),
        ("seeds = 2", "seeds = 2\nspeed = 3", "must not have speed, which is not a setting"),
        ('agent = "constant"', 'agent = "clever"', "`contenders.agent` must be one of constant"),
        ('oracle = "ridge"', 'oracle = "forest"', "`contenders.oracle` must be one of"),
        ('oracle = "ridge"', 'oracle = "logistic"', "got 'greedy, logistic' twice"),
        ('agent = "default"', 'agent = "greedy"', 'one contender must have agent = "default"'),
        ('agent = "default"', 'agent = "default"\nage = 3', "unexpected keyword argument 'age'"),
        ("seeds = 2", "seeds = ", "small.toml: Invalid value"),
    ],
)
def test_a_bad_settings_file_is_refused(old, new, text):
    with pytest.raises(ValueError, match=text):
        parse("small", TEXT.replace(old, new, 1), "small.toml")


def test_absent_data_is_named(monkeypatch):
    from studies.prepared import _facts
    from studies.streams import read_table

    read_table.cache_clear()
    _facts.cache_clear()
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    with pytest.raises(DataNotFoundError, match=r"streams/australian\.csv\.gz"):
        read("bakeoff").settings()


@needs_data
def test_every_stream_is_there_and_observable():
    whole = read("bakeoff")
    for name, spec in whole.streams.items():
        stream = load_stream(spec, seed=0)
        assert stream.graph.observability != "unobservable", name
        assert stream.losses.min() >= 0.0
        assert stream.losses.max() <= stream.largest_loss
    assert sum(facts(spec).is_bandit for spec in whole.streams.values()) == 16
