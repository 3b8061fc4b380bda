"""`graphcb reproduce`: the figures of the paper."""

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphcb.checks import as_count
from graphcb.commands.command import Commands
from graphcb.commands.outputs import add_force
from graphcb.commands.packages import need

if TYPE_CHECKING:
    from graphcb.experiments.experiment import Experiment


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "reproduce",
        help="reproduce a figure of the paper",
        description=(
            "Runs an experiment over its grid and seeds, prints what the paper claims and what "
            "was measured, and writes DIR/FIGURE.csv, .png and .pdf. Finished runs are kept in "
            "DIR/FIGURE.jsonl: start an interrupted command again, and it continues."
        ),
    )
    parser.add_argument(
        "figures",
        nargs="+",
        metavar="FIGURE",
        help="rcv1-graphs, rcv1-random, inventory-fixed, inventory-adaptive (of the paper), "
        "weak-feedback, misspecified (of its theory), all (these six), bakery, spam, or your own "
        "settings file (.toml)",
    )
    add_run_options(parser)
    parser.set_defaults(command=_reproduce)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how much is run, where, and by how many processes."""
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few settings and seeds, on data that needs no download",
    )
    parser.add_argument(
        "--wide", action="store_true", help="also try values beyond the ends of the paper's grid"
    )
    parser.add_argument(
        "--seeds", type=int, metavar="N", help="number of seeds (default: the experiment's own)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="folder of the results (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of processes (default: one per core)",
    )
    parser.add_argument(
        "--engine",
        default="joblib",
        help="joblib: local processes; ray: the cluster named by RAY_ADDRESS, or local workers "
        "(default: %(default)s)",
    )
    add_force(parser)


def _reproduce(options: argparse.Namespace) -> None:
    need_packages(options)
    from graphcb.commands.panels import reproduce_panels
    from graphcb.experiments import experiment as experiments

    chosen: list[Experiment] = []
    for name in options.figures:
        found = (
            [e for e in map(experiments.read, experiments.names()) if e.in_all]
            if name == "all"
            else [experiments.read(name)]
        )
        asked = [as_asked(e, options) for e in found]
        chosen += [one for one in asked if one not in chosen]
    reproduce_panels(chosen, options)


def need_packages(options: argparse.Namespace) -> None:
    """Refuse before any work if a package is missing."""
    for package in ("joblib", "matplotlib", "rich"):
        need(package, "`graphcb reproduce`")
    if options.engine == "ray":
        need("ray", "`--engine ray`")


def as_asked(experiment: "Experiment", options: argparse.Namespace) -> "Experiment":
    """The experiment as the options change it."""
    if options.quick:
        experiment = experiment.made_quick()
    if options.wide:
        experiment = experiment.widened()
    if options.seeds is not None:
        experiment = replace(experiment, n_seeds=as_count("--seeds", options.seeds))
    return experiment
