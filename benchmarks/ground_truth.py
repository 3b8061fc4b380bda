"""Two policies of one shop campaign, each judged on the other one's log, beside the truth.

    python benchmarks/ground_truth.py [--plots DIR]

The same as `make study-obd`, for the report. Needs GRAPHCB_DATA/obd.
"""

from measure import part_arguments, save_plot
from studies.obd import draw, judgements, table
from studies.results import markdown_table

from graphcb.datasets import DataNotFoundError


def main() -> None:
    given = part_arguments(__doc__)
    try:
        found = judgements()
    except DataNotFoundError as missing:
        print(f"| not run |\n|---|\n| {missing} |")
        return
    rows = table(found)
    print("The best estimator has a star. The effective size is that of the weights.\n")
    print(markdown_table(rows.head, rows.body))
    if given.plots:
        save_plot(draw(found), given.plots, "obd", rows.title)


if __name__ == "__main__":
    main()
