from dataclasses import replace

import pytest
from studies.limits.claims import LimitRuns, check, measured
from studies.limits.study import CONSERVATIVE, FREE, OURS, read
from studies.limits.tables import called, markdown, run_table

STREAM = "generated/review"


@pytest.fixture(scope="module")
def runs():
    study = replace(read().made_quick().with_seeds(1), chosen_on=[STREAM])
    return LimitRuns(study, [study.play(setting) for setting in study.settings()])


def test_the_report_has_claims_and_tables(runs):
    text = markdown(runs)
    assert text.startswith("Streams: 1 with budgets (1 seeds), 1 with baselines (1 seeds).")
    for verdict in check(runs):
        answer = "holds" if verdict.holds else "**does not hold**"
        assert f"| {verdict.text} | {verdict.measured} | {answer} |" in text
    losses = " | ".join(f"{runs.loss(OURS, STREAM, value):.3f}" for value in (0.05, 0.2))
    assert f"| generated/review* | {OURS} | {losses} |" in text
    (free,) = runs.of(FREE)
    assert f"no budget: spends {100 * measured(free, 'spent'):.0f} %" in text
    loss = runs.loss(CONSERVATIVE, STREAM, 0.1)
    assert f"| generated/review* | Conservative, epsilon = 0.1 | {loss:.4f} | " in text


def test_streams_that_rules_were_chosen_on_have_a_star(runs):
    assert called(runs.study, STREAM) == "generated/review*"
    assert called(replace(runs.study, chosen_on=[]), STREAM) == STREAM


def test_the_table_has_a_line_for_each_run(runs):
    table = run_table(runs.curves)
    rows = [dict(zip(table.head, row, strict=True)) for row in table.body]
    assert len(rows) == len(runs.curves) == 14
    assert rows[1]["agent"] == OURS
    assert rows[1]["beyond_band"] == measured(runs.curves[1], "beyond_band")
    assert rows[0]["beyond_band"] == ""  # no budget
