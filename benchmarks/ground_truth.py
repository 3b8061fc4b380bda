"""Two policies of one shop campaign, each judged on the other one's log, beside the truth.

    python benchmarks/ground_truth.py [--plots DIR]

The same as `make study-obd`, for the report. Needs GRAPHCB_DATA/obd.
"""

from measure import part_arguments, save_plot
from studies.obd import draw, judgements, table
from studies.results import markdown_table

from graphcb.datasets import DataNotFoundError

ABOUT = """\
The men's campaign of the Open Bandit Dataset, 10,000 rows by each policy in the same week. A
policy's truth is the click rate of its own log. Thompson sampling's probabilities on the other
log's rows are the shares of items that it showed in each position in that week: this assumes that
they do not depend on the user, and that click rates did not drift within the week. The estimator
to show has a star.
"""


def main() -> None:
    given = part_arguments(__doc__)
    try:
        found = judgements()
    except DataNotFoundError as missing:
        print(f"| not run |\n|---|\n| {missing} |")
        return
    rows = table(found)
    print(ABOUT)
    print(markdown_table(rows.head, rows.body) + "\n")
    if given.plots:
        save_plot(draw(found), given.plots, "obd", rows.title)


if __name__ == "__main__":
    main()
