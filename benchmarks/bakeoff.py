"""The default beside greedy, SquareCB, SquareCB.G and other packages on streams of real data.

    python benchmarks/bakeoff.py [--plots DIR] [--out DIR] [--study unseen] [--seeds N]

One part of `make study-bakeoff`, for the report; `unseen` has other tables, and those of `drift`
change. With `--our-oracle` nobody plays who learns otherwise, which takes minutes and not hours.
All cores are used, unlike in the other parts. Finished runs are kept in `--out` (default: a folder
that is deleted at the end): after a change of our learner only those with our oracle are played
again, so `--seeds 3 --rival-seeds 1 --out FOLDER` takes hours once and then minutes. Without
GRAPHCB_DATA/streams, the quick version on generated data.
"""

import os
import sys
import tempfile
from pathlib import Path

from measure import part_arguments, save_plot
from studies.bakeoff import study as bakeoff
from studies.bakeoff.figure import draw_bakeoff
from studies.bakeoff.ratios import compare
from studies.bakeoff.study import BakeOff
from studies.bakeoff.tables import markdown

from graphcb import __version__
from graphcb.datasets import DataNotFoundError
from graphcb.experiments.curves import Curve
from graphcb.experiments.reproduction import finish
from graphcb.experiments.store import Store

EVERY = 100  # runs between two lines of progress


def chosen(name: str, *, quick: bool) -> BakeOff:
    whole = bakeoff.read(name)
    if quick:
        return whole.made_quick()
    try:
        whole.settings()
    except DataNotFoundError as problem:
        print(f"The quick version on generated data: {problem}.\n")
        return whole.made_quick()
    return whole


def run(one: BakeOff, folder: Path) -> list[Curve]:
    done = 0
    total = len(one.settings())

    def count(curve: Curve) -> None:
        nonlocal done
        done += 1
        if done % EVERY == 0:
            print(f"{done} of {total}: {curve.setting.line}", file=sys.stderr, flush=True)

    store = Store(folder / f"{one.name}.jsonl", __version__)
    return finish(one, store, n_jobs=os.cpu_count() or 1, on_run=count)


def main() -> None:
    given = part_arguments(
        __doc__,
        ("--out", {"type": Path, "help": "folder that keeps the runs"}),
        ("--study", {"default": bakeoff.NAME, "help": "the settings file without .toml"}),
        ("--seeds", {"type": int, "help": "in place of those of the settings file"}),
        ("--rival-seeds", {"type": int, "help": "of who learns with another oracle"}),
        ("--our-oracle", {"action": "store_true", "help": "only who learns with our oracle"}),
    )
    one = chosen(given.study, quick=given.quick)
    if given.our_oracle:
        one = one.with_our_oracle()
    if given.seeds or given.rival_seeds:
        one = one.with_seeds(given.seeds or one.n_seeds, given.rival_seeds)
    with tempfile.TemporaryDirectory() as folder:
        ranking = compare(one, run(one, given.out or Path(folder)))
    print(markdown(ranking, one))
    if given.plots:
        save_plot(draw_bakeoff(ranking, one.title), given.plots, one.name, one.title)


if __name__ == "__main__":
    main()
