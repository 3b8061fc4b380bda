"""`graphcb log import`: a log that another program wrote becomes a decision log."""

import argparse
from typing import Any

from graphcb.checks import listed
from graphcb.commands.ranges import add_loss_range

FORMATS = ("cb", "cb_adf", "dsjson")


def add_import(actions: Any) -> None:
    """Add the subcommand to those of `graphcb log`."""
    parser = actions.add_parser(
        "import", help="turn a log of Vowpal Wabbit (cb, cb_adf) or in DSJSON into a decision log"
    )
    parser.add_argument("file", metavar="VWFILE", help="the file to read; it may be gzipped")
    parser.add_argument("log", metavar="LOG", help="the new log: a file, or a postgresql:// URL")
    parser.add_argument(
        "--format", choices=FORMATS, help="the format of the file (default: by its first lines)"
    )
    parser.add_argument(
        "--actions",
        type=int,
        metavar="K",
        help="the number of actions of a cb file (default: the largest in it)",
    )
    add_loss_range(parser, default="0,1, or what is found if that is wider")
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="what to do with a line that cannot be read (default: %(default)s)",
    )
    parser.set_defaults(command=_import)


def _import(options: argparse.Namespace) -> None:
    from graphcb.imports import import_log

    report = import_log(
        options.file,
        options.log,
        format=options.format,
        n_actions=options.actions,
        value_range=options.loss_range,
        skip_odd=options.on_error == "skip",
    )
    problem = report.problem
    print(f"{report.n_decisions:,} decisions of the format {report.format}: {options.log}")
    names = listed(problem.actions) if problem.has_fixed_actions else "come with each round"
    print(f"actions: {names}")
    low, high = problem.range
    print(f"{problem.feedback} between {low:g} and {high:g}")
    if report.n_without_outcome:
        print(f"{report.n_without_outcome:,} decisions have no outcome")
    if report.n_without_choice:
        print(f"left out: {report.n_without_choice:,} without a chosen action")
    if report.n_odd:
        print(f"left out: {report.n_odd:,} lines that cannot be read, such as")
        print("\n".join(f"  {text}" for text in report.first_odd))
    if not report.all_probabilities:
        print(
            "the file has the probability of the chosen action alone: the rest is spread evenly "
            "over the others, and evaluation uses no estimate that depends on it"
        )
    if not report.has_times:
        print("the file has no times: the log has that of its import")
