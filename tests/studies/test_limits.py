from dataclasses import replace

import numpy as np
import pytest
from studies.limits import study as limits
from studies.limits.study import (
    ALONE,
    BASELINE,
    BUDGETED,
    CONSERVATIVE,
    EPSILON_GREEDY,
    FREE,
    GREEDY,
    MIX,
    OURS,
    costs_of,
    measure_ratio,
    measure_spending,
    read,
)
from studies.prepared import prepare

from graphcb.agents.pacing import Account
from graphcb.experiments.curves import Setting
from graphcb.experiments.reproduction import finish
from graphcb.experiments.store import Store
from graphcb.graphs import FeedbackGraph

STREAM = "generated/review"


def small():
    return read().made_quick().with_seeds(1)


def test_every_run_is_named_once():
    study = read().made_quick()
    settings = study.settings()
    assert len(settings) == len(set(settings)) == 2 * (1 + 5 * 2) + 2 * (2 + 1)
    assert {s.agent for s in settings} == {FREE, *BUDGETED, ALONE, BASELINE, CONSERVATIVE}
    assert study.n_rounds_of(settings[0]) == 400
    assert study.with_seeds(3).budgets.seeds == study.with_seeds(3).baselines.seeds == 3
    assert len({Store.key(Store("", "1"), study.identity(s)) for s in settings}) == len(settings)


def test_streams_that_rules_were_chosen_on_are_marked_and_others_are_there():
    study = read()
    assert set(study.chosen_on) < {*study.budgets.streams, *study.baselines.streams}
    assert study.budgets.values == [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    assert study.baselines.values == [0.05, 0.1, 0.2]


@pytest.mark.parametrize("agent", [OURS, GREEDY, EPSILON_GREEDY])
def test_a_budget_is_kept_to_in_every_round(agent):
    curve = small().play(Setting(agent, STREAM, 0.0, 0.05, 0))
    assert curve.measured["beyond_band"] <= 0.0
    assert curve.measured["spent"] <= (0.05 * 400 + 2) / 400
    assert curve.rounds.tolist() == [400]


def test_without_a_budget_more_is_spent():
    curve = small().play(Setting(FREE, STREAM, 0.0, 0.0, 0))
    assert curve.measured["spent"] > 0.2
    assert set(curve.measured) == {"spent"}


def test_the_best_mix_spends_no_more_than_the_budget():
    study = small()
    curve = study.play(Setting(MIX, STREAM, 0.0, 0.2, 0))
    losses = np.concatenate([p.losses for p in prepare(study.budgets.streams[STREAM], 0).pieces])
    means = losses.mean(axis=0)
    assert curve.measured["spent"] == pytest.approx(0.2)
    assert curve.mean_loss[0] == pytest.approx(0.2 * 0.3 + 0.8 * means[:3].min())


def test_what_the_runs_say_of_spending():
    paid = np.array([1.0] * 8 + [0.0] * 12)
    measured = measure_spending(paid, 0.25)
    assert measured["spent"] == 0.4
    assert measured["ahead"] == 8 - 0.25 * 8
    worst = max(
        paid[:t].sum() - 0.25 * t - Account(accrued=0.25 * t, unit=1.0).band for t in range(1, 21)
    )
    assert measured["beyond_band"] == pytest.approx(worst)
    assert worst > 0.0


def test_what_the_runs_say_of_a_ratio():
    losses, theirs = np.array([0.0, 1.0, 0.5]), np.array([0.0, 0.5, 0.5])
    measured = measure_ratio(losses, theirs, 0.1)
    assert measured["largest_ratio"] == 1.5
    assert measured["room"] == pytest.approx(0.55 - 1.0)
    assert measure_ratio(losses, theirs, 1.5)["room"] == 0.0  # in the first round
    assert np.isnan(measure_ratio(losses[:1], theirs[:1], 0.1)["largest_ratio"])


def test_beside_the_baseline():
    study = small()
    baseline = study.play(Setting(BASELINE, STREAM, 0.0, 0.0, 0))
    assert baseline.mean_loss == pytest.approx(np.full(200, 0.3))
    curve = study.play(Setting(CONSERVATIVE, STREAM, 0.0, 0.1, 0))
    assert curve.rounds.tolist() == baseline.rounds.tolist()
    assert curve.measured["room"] >= 0.0
    assert 0.0 < curve.measured["deviations"] < 1.0
    assert study.play(Setting(ALONE, STREAM, 0.0, 0.0, 0)).measured["deviations"] == 1.0


def test_costs_of_models_lie_between_the_cheapest_and_the_dearest(monkeypatch):
    from studies.streams import Table

    rows = (("3", "1", "5"), ("5", "3", "7"))
    table = Table(("cost_a", "cost_b", "cost_c"), rows, "made")
    monkeypatch.setattr(limits, "read_table", lambda file: table)
    spec = {"file": "made", "kind": "route", "models": ["a", "b", "c"]}
    assert costs_of(spec, FeedbackGraph(np.eye(3))).tolist() == [0.5, 0.0, 1.0]
    approve = FeedbackGraph(np.array([[1.0, 1.0], [0.0, 0.0]]))
    assert costs_of({"kind": "approve"}, approve).tolist() == [1.0, 0.0]


def test_a_finished_study_is_read_back_with_what_was_measured(tmp_path):
    study = small()
    study = replace(study, budgets=replace(study.budgets, values=[0.2]))
    store, made = Store(tmp_path / "runs.jsonl", "1"), []
    first = finish(study, store, on_run=made.append)
    second = finish(study, store, on_run=made.append)
    assert len(made) == len(first) == 6 + 3
    assert [one.measured for one in first] == [one.measured for one in second]
