"""The options of `graphcb run`."""

import argparse
import csv
from pathlib import Path

from graphcb.commands.learner import AGENTS, ORACLES
from graphcb.commands.outputs import add_force
from graphcb.commands.ranges import add_loss_range


def add_columns(parser: argparse.ArgumentParser) -> None:
    """What is in the file."""
    group = parser.add_argument_group("what is in the file")
    group.add_argument("--label", metavar="COLUMN", help="the right action: loss 0, all others 1")
    group.add_argument(
        "--losses",
        type=names_in,
        metavar="COLUMNS",
        help="each action's losses in its own column; in all options that "
        "name columns, a pattern such as 'stock*' stands for several",
    )
    group.add_argument(
        "--rewards",
        type=names_in,
        metavar="COLUMNS",
        help="the same for rewards, of which larger ones are better",
    )
    group.add_argument(
        "--features",
        type=names_in,
        metavar="COLUMNS",
        help="columns to learn from (default: all others)",
    )
    group.add_argument(
        "--categorical",
        type=names_in,
        metavar="COLUMNS",
        help="features to treat as words although they look like numbers",
    )
    group.add_argument(
        "--edges",
        metavar="COLUMN",
        help="one graph per row, as 'a>a a>b b>b:0.5' (played>revealed:probability)",
    )
    group.add_argument(
        "--classes",
        type=names_in,
        metavar="LABELS",
        help="all labels, in the order of the graph's actions (default: those in the file, sorted)",
    )
    add_loss_range(group, default="those in the file")
    group.add_argument(
        "--bits", type=int, help="hash words and sparse features to 2^BITS places (default: 18)"
    )
    add_file(group)
    group.add_argument(
        "--shuffle",
        action="store_true",
        help="read the rows in a random order, decided by --seed; all rows are held in memory",
    )


def add_file(group: argparse._ActionsContainer) -> None:
    """How a file is read."""
    group.add_argument(
        "--format",
        metavar="FORMAT",
        help="csv, parquet, jsonl, libsvm or vw (default: by the file name)",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        help="between the cells of CSV, \\t for a tab (default: comma)",
    )
    group.add_argument(
        "--no-header", action="store_true", help="CSV without column names: they are 1, 2, ..."
    )
    group.add_argument("--encoding", help="of text, such as cp1252 or utf-16 (default: UTF-8)")
    group.add_argument(
        "--decimal",
        metavar="CHARACTER",
        help="what stands before the decimals in CSV, . or , (default: .); points between "
        "thousands are read with ','",
    )
    group.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="what to do with a row that cannot be used (default: %(default)s)",
    )


def add_learner(parser: argparse.ArgumentParser) -> None:
    """The learner."""
    group = parser.add_argument_group("the learner")
    group.add_argument(
        "--problem",
        type=Path,
        metavar="TOML",
        help="the problem in a file: actions, what they reveal, losses or rewards, features",
    )
    group.add_argument(
        "--graph", help="a family (bandit, cops-and-robbers, ...) or a file (default: bandit)"
    )
    group.add_argument(
        "--agent",
        help=f"{', '.join(AGENTS)} (default: information-directed, or squarecbg if its options "
        "are given or the oracle does not say how sure it is)",
    )
    group.add_argument("--oracle", help=f"default, {', '.join(ORACLES)} (default: default)")
    group.add_argument(
        "--learning-rate",
        type=float,
        metavar="RATE",
        help="of the oracle; without --oracle, of the logistic one",
    )
    group.add_argument(
        "--gamma",
        type=float,
        help="explore by SquareCB.G with this gamma; larger explores less (default: "
        "information-directed, without a gamma; SquareCB.G with an automatic one if the oracle "
        "does not say how sure it is)",
    )
    group.add_argument(
        "--regression-regret",
        type=float,
        metavar="R",
        help="with --gamma: a bound on the oracle's regression regret, in squared losses as shares "
        "of their range; the bound on regret is then a number",
    )
    group.add_argument("--method", help="of SquareCB.G: auto, closed-form or solver")
    group.add_argument("--seed", type=int, metavar="N", help="seed of the draws (default: 0)")
    group.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="play N times with draws of their own, and print the mean and the spread",
    )
    group.add_argument("--load", type=Path, metavar="MODEL", help="continue with a saved model")


def add_output(parser: argparse.ArgumentParser) -> None:
    """What is printed and written."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--metric-window",
        type=int,
        metavar="N",
        help="a line of progress for every N examples, with their mean (default: at 1, 2, 4, ...)",
    )
    group.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object with the results, and nothing else",
    )
    group.add_argument(
        "--save",
        type=Path,
        metavar="MODEL",
        help="the model, for --load, `graphcb predict`, `graphcb evaluate` and graphcb.load",
    )
    group.add_argument(
        "--predictions",
        type=Path,
        metavar="FILE",
        help="CSV with the line, the action and its probability for each row",
    )
    group.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="mean loss beside the best constant action and a full-information learner, "
        "as .png, .svg or .pdf",
    )
    add_force(group)


def names_in(text: str) -> tuple[str, ...]:
    """Names separated by commas; a name that contains a comma is quoted as in CSV."""
    return tuple(name.strip() for name in next(csv.reader([text])))
