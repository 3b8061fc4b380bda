"""Run one of our own studies; it writes, keeps and resumes runs as `graphcb reproduce` does.

make study-bakeoff      # 88 tables and 16 streams that drift; or limits, unknown-graphs, auctions,
                        # coverage, obd, routing
make study-limits OPTIONS="--quick"     # a small version on data that needs no download
python benchmarks/study.py mine.toml    # a bake-off of your own
"""

import argparse
import sys
from collections.abc import Sequence

from studies import obd, routing
from studies.bakeoff import results as bakeoff
from studies.bakeoff.study import NAMES as BAKEOFFS
from studies.bakeoff.study import read as read_bakeoff
from studies.coverage import results as coverage
from studies.coverage.study import read as read_coverage
from studies.limits import results as limits
from studies.limits.study import read as read_limits
from studies.results import run_study
from studies.unknown_graphs import experiment as unknown_graphs

from graphcb.checks import as_one_of
from graphcb.commands.panels import reproduce_panels
from graphcb.commands.reproduce import add_run_options, as_asked, need_packages

NAMES = ("bakeoff", "limits", "coverage", "obd", "routing", *unknown_graphs.NAMES)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = f"{', '.join(NAMES)}, or the settings file (.toml) of a bake-off"
    parser.add_argument("study", metavar="STUDY", help=names)
    add_run_options(parser)
    options = parser.parse_args(arguments)
    try:
        run(options.study, options)
    except (ValueError, OSError) as mistake:
        print(f"study: {mistake}", file=sys.stderr)
        return 2
    return 0


def run(name: str, options: argparse.Namespace) -> None:
    need_packages(options)
    options.figures = [name]
    if name.endswith(".toml"):
        run_study(read_bakeoff(name), bakeoff.results, bakeoff.FIGURES, options)
    elif as_one_of("STUDY", name, NAMES) == "bakeoff":
        for part in BAKEOFFS:
            run_study(read_bakeoff(part), bakeoff.results, bakeoff.FIGURES, options)
    elif name == "limits":
        run_study(read_limits(), limits.results, limits.FIGURES, options)
    elif name == "coverage":
        run_study(read_coverage(), coverage.results, coverage.FIGURES, options)
    elif name == "obd":
        obd.run(options)
    elif name == "routing":
        routing.run(options)
    else:
        reproduce_panels([as_asked(unknown_graphs.read(name), options)], options)


if __name__ == "__main__":
    sys.exit(main())
