"""All runs of an experiment: finished ones from the store, the others run now."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from graphcb.experiments.curves import Curve, Setting
from graphcb.experiments.store import Store
from graphcb.experiments.sweep import Engine, sweep


class Runs(Protocol):
    """Runs that can be finished: those of a panel, or of a study. They are kept under its name."""

    @property
    def name(self) -> str:
        """The file of results has it."""
        ...

    def settings(self) -> list[Setting]:
        """Every run."""
        ...

    def n_rounds_of(self, setting: Setting) -> int:
        """How long a run is."""
        ...

    def identity(self, setting: Setting) -> dict[str, Any]:
        """Everything that defines a run."""
        ...

    def play(self, setting: Setting) -> Curve:
        """One run."""
        ...


def finish(
    experiment: Runs,
    store: Store,
    *,
    settings: Sequence[Setting] | None = None,
    n_jobs: int = 1,
    engine: Engine = "joblib",
    on_start: Callable[[list[Curve]], None] = lambda found: None,
    on_run: Callable[[Curve], None] = lambda curve: None,
) -> list[Curve]:
    """The curves of all settings, in their order; each new one is stored as soon as it is done.

    The settings are those of the experiment unless they are given.
    `on_start` is called with the runs that were found in the store, `on_run` with each new one.
    """
    settings = experiment.settings() if settings is None else settings
    identities = [experiment.identity(setting) for setting in settings]
    keys = [store.key(identity) for identity in identities]
    with store.writing() as writer:
        finished = store.read()
        todo = [i for i, key in enumerate(keys) if key not in finished]
        on_start([finished[key] for key in keys if key in finished])
        # First one run of each agent in this process: workers then find its compiled loop on disk.
        agents = [settings[i].agent for i in todo]
        first = [i for n, i in enumerate(todo) if settings[i].agent not in agents[:n]]
        rest = [i for i in todo if i not in first]
        for part, jobs in ((first, 1), (rest, n_jobs)):
            runs = sweep(
                experiment.play,
                [settings[i] for i in part],
                n_jobs=jobs,
                engine=engine if part is rest else "joblib",
            )
            for number, curve in runs:
                i = part[number]
                writer.add(identities[i], curve)
                finished[keys[i]] = curve
                on_run(curve)
    return [finished[key] for key in keys]
