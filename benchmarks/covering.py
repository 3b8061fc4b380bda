"""How often 95 % intervals hold the truth, over many simulated logs of many kinds.

    python benchmarks/covering.py [--seeds N] [--plots DIR] [--out DIR]

The same as `make study-coverage`, for the report. All cores are used, unlike in most other parts.
With `--seeds` there are as many runs of 50 logs of each setting, instead of ten.
Finished runs are kept in `--out` (default: a folder that is deleted at the end).
"""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from measure import part_arguments, save_plot
from studies.coverage.figure import draw
from studies.coverage.results import LEAST, by_setting, markdown
from studies.coverage.study import read

from graphcb import __version__
from graphcb.experiments.reproduction import finish
from graphcb.experiments.store import Store


def main() -> None:
    given = part_arguments(
        __doc__,
        ("--out", {"type": Path, "help": "folder that keeps the runs"}),
        ("--seeds", {"type": int, "help": "runs of 50 logs of each setting"}),
    )
    study = read() if given.seeds is None else read().with_seeds(given.seeds)
    if given.quick:
        study = replace(study.made_quick(), logs=2, together=2)
    with tempfile.TemporaryDirectory() as folder:
        store = Store((given.out or Path(folder)) / f"{study.name}.jsonl", __version__)
        curves = finish(study, store, n_jobs=os.cpu_count() or 1)
    found = by_setting(curves)
    print(markdown(study, found))
    if given.plots:
        save_plot(draw(study.title, found, LEAST), given.plots, "coverage", study.title)


if __name__ == "__main__":
    main()
