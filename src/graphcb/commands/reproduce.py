"""`graphcb reproduce`: the figures of the paper."""

import argparse
import os
from dataclasses import replace

from graphcb.checks import as_count
from graphcb.commands.options import Commands, add_command, add_options
from graphcb.commands.outputs import FORCE
from graphcb.commands.packages import need
from graphcb.commands.panels import reproduce_panels
from graphcb.experiments import experiment as experiments
from graphcb.experiments.experiment import Experiment

ENGINE = {
    "--engine ENGINE=joblib": "joblib: local processes; ray: the cluster named by RAY_ADDRESS, or "
    "local workers (default: %(default)s)",
}
FIGURES = {
    "FIGURE ...": "rcv1-graphs, rcv1-random, inventory-fixed, inventory-adaptive (of the paper), "
    "weak-feedback, misspecified (of its theory), all (these six), bakery, spam, or your own "
    "settings file (.toml)",
}
OPTIONS = {
    "--quick": "few settings and seeds, on data that needs no download",
    "--wide": "also try values beyond the ends of the paper's grid",
    "--seeds N": "number of seeds (default: the experiment's own)",
    "--out DIR=results": "folder of the results (default: %(default)s)",
    f"--jobs N={os.cpu_count() or 1}": "number of processes (default: one per core)",
    **ENGINE,
    **FORCE,
}


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "reproduce",
        "reproduce a figure of the paper",
        _reproduce,
        FIGURES,
        description="Runs an experiment over its grid and seeds, prints what the paper claims and "
        "what was measured, and writes DIR/FIGURE.csv, .png and .pdf. Finished runs are kept in "
        "DIR/FIGURE.jsonl: start an interrupted command again, and it continues.",
    )
    add_run_options(parser)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how much is run, where, and by how many processes."""
    add_options(parser, OPTIONS)


def _reproduce(options: argparse.Namespace) -> None:
    need_packages(options)
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


def as_asked(experiment: Experiment, options: argparse.Namespace) -> Experiment:
    """The experiment as the options change it."""
    if options.quick:
        experiment = experiment.made_quick()
    if options.wide:
        experiment = experiment.widened()
    if options.seeds is not None:
        experiment = replace(experiment, n_seeds=as_count("--seeds", options.seeds))
    return experiment
