"""What the study of limits found: a report, a table of runs, two figures, and what holds."""

from collections.abc import Sequence
from pathlib import Path

from graphcb.experiments.curves import Curve
from studies.limits import figure
from studies.limits.claims import LimitRuns, check
from studies.limits.study import LimitsStudy
from studies.limits.tables import baseline_table, budget_table, markdown, run_table
from studies.results import Results, Rows

FIGURES = ("", "-baseline")


def results(study: LimitsStudy, curves: Sequence[Curve]) -> Results:
    """Both tables are printed, with the claims below them."""
    runs = LimitRuns(study, curves)
    return Results(
        markdown(runs),
        run_table(curves),
        {"": figure.draw_budgets(runs), "-baseline": figure.draw_ratios(runs)},
        [
            Rows(f"{study.name}: mean loss by budget", *budget_table(runs)),
            Rows(f"{study.name}: beside the baseline", *baseline_table(runs)),
        ],
        [
            f"{'holds' if one.holds else 'DOES NOT HOLD'}: {one.text} ({one.measured})"
            for one in check(runs)
        ],
        [Path(figure.__file__)],
    )
