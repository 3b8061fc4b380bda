"""Alarms that the world has changed: how often in streams that stand still, how late in others.

    python benchmarks/alarm.py [--quick] [--seeds N] [--jobs N] [--only TEXT] [--picture FILE]

Streams are those of the bake-off, of `unseen.toml` and of `drift.toml`, played by the default as
dicts, so that features are watched as well. Those that stand still are shuffled. Without
`GRAPHCB_DATA`, or with --quick, they are generated. With --picture, the loss and the alarms of one
stream are drawn instead: electricity prices in the order of time.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from doors import dicts
from joblib import Parallel, delayed
from measure import part_arguments, print_table
from studies.bakeoff import study as bakeoff
from studies.streams import load_stream

from graphcb import Learner, Problem
from graphcb.estimates.stillness import Alarm
from graphcb.problems.alarms import alarms_of
from graphcb.rounds import learn_revealed, play_round

FIRST_SEED = 11  # no setting was chosen on this or later ones
LOOK_EVERY = 20  # decisions
SHOWN = "elec2/bandit"
# Where a planted change begins, as a share of the stream.
BEGINS = {"swap": 1 / 2, "slide": 1 / 3, "return": 1 / 4}
GENERATED = {
    "generated/bandit": {"file": "generated", "kind": "label", "graph": "bandit", "rows": 300},
    "generated/swap": {
        "file": "generated", "kind": "label", "graph": "full", "rows": 800, "drift": "swap",
    },
}  # fmt: skip


class Run(NamedTuple):
    """Losses of all decisions, and every alarm that was seen, in the order in which it was."""

    losses: list[float]
    alarms: list[Alarm]

    def first(self, kind: str) -> Alarm | None:
        """The first alarm of an action, or of a feature."""
        some = [alarm for alarm in self.alarms if alarm.kind == kind]
        return min(some, key=lambda alarm: alarm.raised, default=None)


def play(spec: Mapping[str, Any], seed: int) -> Run:
    """The default on a stream."""
    stream = load_stream(spec, seed)
    names, matrix = list(stream.actions), stream.graph.matrix
    edges = [[names[i], names[j]] for i, j in np.argwhere(matrix)]
    learner = Learner(Problem(names, reveals={"edges": edges}, range=(0.0, stream.largest_loss)))
    uniforms = np.random.default_rng(seed).random(len(stream.losses))
    lost, seen = [], dict[tuple[str, str, int], Alarm]()
    for t, context in enumerate(dicts(stream)):
        played = play_round(learner, context, stream.graph, names, uniforms[t])
        lost.append(float(stream.losses[t, played.action]))
        shown = np.flatnonzero(matrix[played.action])
        learn_revealed(learner, played, [names[j] for j in shown], stream.losses[t, shown])
        if (t + 1) % LOOK_EVERY == 0 or t + 1 == len(stream.losses):
            seen |= {(one.kind, one.name, one.raised): one for one in alarms_of(learner)}
    return Run(lost, list(seen.values()))


def still_and_drifting(*, quick: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Streams without and with a change; rows in the order of time may have one."""
    if quick:
        return {"generated/bandit": GENERATED["generated/bandit"]}, {
            "generated/swap": GENERATED["generated/swap"]
        }
    many = {**bakeoff.read(bakeoff.NAME).streams, **bakeoff.read("unseen").streams}
    still = {name: spec for name, spec in many.items() if spec.get("shuffle", True)}
    return still, dict(bakeoff.read("drift").streams)


def in_still_streams(runs: Mapping[tuple[str, int], Run]) -> None:
    """Print how many streams raised an alarm."""
    rows = []
    for kind, what in (("action", "losses of actions"), ("feature", "values of features")):
        raised = [f"{name} (seed {seed})" for (name, seed), run in runs.items() if run.first(kind)]
        rows.append((what, len(runs), len(raised), ", ".join(raised) or "-"))
    any_of = sum(bool(run.alarms) for run in runs.values())
    rows.append(("**either**", len(runs), any_of, f"{any_of / max(1, len(runs)):.1%}; asked: 1 %"))
    print_table(("watched", "still streams", "with an alarm", "which"), rows)


def in_drifting_streams(runs: Mapping[str, tuple[Mapping[str, Any], Run]]) -> None:
    """Print when alarms were raised, beside the change where it was planted."""
    rows = []
    for name, (spec, run) in runs.items():
        planted = int(BEGINS[spec["drift"]] * len(run.losses)) if "drift" in spec else None
        action, feature = run.first("action"), run.first("feature")
        rows.append(
            (
                name,
                f"{len(run.losses):,}",
                "-" if planted is None else f"{planted:,}",
                "-" if action is None else f"{action.since:,}",
                "-" if action is None else f"{action.raised:,}",
                "-" if action is None or planted is None else f"{action.raised - planted:,}",
                "-" if feature is None else f"{feature.raised:,} ({feature.name})",
            )
        )
    print_table(
        ("stream", "decisions", "planted at", "since", "raised at", "delay", "first feature"), rows
    )


def draw(run: Run, name: str, path: Path) -> None:
    """The loss over the last 500 decisions, and since when and until when alarms were on."""
    from matplotlib.figure import Figure

    from graphcb.figures.curves import save
    from graphcb.figures.lines import OTHERS

    figure = Figure(figsize=(8.0, 5.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    window, losses = 500, np.array(run.losses)
    sums = np.cumsum(np.insert(losses, 0, 0.0))
    ends = np.arange(window, losses.size + 1)
    above.plot(ends, (sums[ends] - sums[ends - window]) / window, lw=0.8, color="black")
    above.set(ylabel=f"mean loss of the last {window}", ylim=(0.0, None))
    above.set_title(f"{name}: one run of {losses.size:,} decisions")
    above.grid(alpha=0.3)
    things = sorted({(alarm.kind, alarm.name) for alarm in run.alarms}, reverse=True)
    colours = {"action": OTHERS[1], "feature": OTHERS[0]}
    for alarm in run.alarms:
        place = things.index((alarm.kind, alarm.name))
        end = losses.size if alarm.over is None else alarm.over
        left = alarm.since
        below.barh(place, end - left, left=left, color=colours[alarm.kind], height=0.6)
        below.plot(alarm.raised, place, "k|", ms=7)
    what = {"action": "losses of", "feature": "values of"}
    below.set_yticks(range(len(things)), [f"{what[kind]} {name}" for kind, name in things])
    for tick, (kind, _) in zip(below.get_yticklabels(), things, strict=True):
        tick.set(color=colours[kind], fontsize=8)
    below.set(xlabel="decisions", xlim=(0, losses.size))
    below.xaxis.set_major_formatter("{x:,.0f}")
    below.set_title("looked different from and until; a tick: when this was known", size=9)
    save(figure, path, scripts=[Path(__file__)])


def main() -> None:
    """Print the tables, or draw."""
    given = part_arguments(
        __doc__,
        ("--seeds", {"type": int, "default": 2, "help": "of streams that stand still"}),
        ("--jobs", {"type": int, "default": os.cpu_count()}),
        ("--only", {"default": "", "help": "streams whose name has this text"}),
        ("--picture", {"type": Path, "metavar": "FILE"}),
    )
    quick = given.quick or "GRAPHCB_DATA" not in os.environ
    still, drifting = still_and_drifting(quick=quick)
    if given.picture is not None:
        name = "generated/swap" if quick else SHOWN
        draw(play(drifting[name], FIRST_SEED), name, given.picture)
        return
    seeds = range(FIRST_SEED, FIRST_SEED + given.seeds)
    wanted = [name for name in still if given.only in name]
    work = [(still[name], name, seed) for name in wanted for seed in seeds]
    changed = [(spec, name, FIRST_SEED) for name, spec in drifting.items() if given.only in name]
    found = Parallel(n_jobs=given.jobs)(
        delayed(play)(spec, seed) for spec, _, seed in (*work, *changed)
    )
    n = len(work)
    in_still_streams(
        {(name, seed): run for (_, name, seed), run in zip(work, found[:n], strict=True)}
    )
    in_drifting_streams(
        {name: (spec, run) for (spec, name, _), run in zip(changed, found[n:], strict=True)}
    )


if __name__ == "__main__":
    main()
