"""What a bake-off found: a report, a table of ratios, a figure, and who beats us."""

from collections.abc import Sequence

from graphcb.experiments.curves import Curve
from studies.bakeoff.figure import draw_bakeoff
from studies.bakeoff.ratios import compare
from studies.bakeoff.study import BakeOff
from studies.bakeoff.tables import HEAD, losses_to_others, markdown, ratio_table, rows
from studies.results import Results, Rows

FIGURES = ("",)


def results(bakeoff: BakeOff, curves: Sequence[Curve]) -> Results:
    """The main table is printed, with the streams on which we lose below it."""
    ranking = compare(bakeoff, curves)
    title = f"{bakeoff.name}: loss / loss of the best setting of all contenders in hindsight"
    beaten = losses_to_others(ranking)
    lines = ["beaten by more than two standard errors:"] * bool(beaten)
    lines += [f"  {text}" for text in beaten]
    if bakeoff.left_out:
        lines.append(f"left out, as not installed: {', '.join(bakeoff.left_out)}")
    return Results(
        markdown(ranking, bakeoff),
        ratio_table(ranking),
        {"": draw_bakeoff(ranking, bakeoff.title)},
        [Rows(title, HEAD, rows(ranking))],
        lines,
    )
