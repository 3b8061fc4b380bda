"""An experiment is data: a settings file says what is run, over which grid, and what is claimed."""

import math
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from graphcb.checks import as_one_of, first_twice, listed
from graphcb.environments import OffLinear
from graphcb.experiments import problems
from graphcb.experiments.claims import Claim
from graphcb.experiments.constant import best_constant
from graphcb.experiments.curves import Curve, Seconds, Setting, record
from graphcb.experiments.lines import CONSTANT, Grid, Line
from graphcb.experiments.trace import trace

FOLDER = "settings"
STUDIES = ("bakeoff", "limits", "unknown-graphs", "auctions")  # in benchmarks/studies
GRID = ("learning_rate", "c", "epsilon")
MEASURES = ("loss", "regret", "misspecification")


@dataclass(frozen=True)
class Experiment:
    """One panel. `quick` and `wide` hold what those modes change, `in_paper` its place there.

    `measure` says what its figure shows: the "loss" so far, the growth of "regret", or regret
    against "misspecification". `graphcb reproduce all` runs it if `in_all`. With `spread` the
    best settings are run again to tell the order of the data from the draws.
    """

    name: str
    title: str
    problem: Mapping[str, Any]
    lines: tuple[Line, ...]
    measure: str
    in_all: bool
    spread: bool
    grid: Grid
    n_seeds: int
    n_rounds: int | None
    claims: tuple[Claim, ...]
    in_paper: str | None
    quick: Mapping[str, Any]
    wide: Mapping[str, Any]

    def made_quick(self) -> "Experiment":
        """A small version on data that needs no download, as the settings file says."""
        grid = self.quick.get("grid", {})
        return replace(
            self,
            title=self.quick.get("title", self.title),
            problem=self.quick.get("problem", self.problem),
            grid=Grid(*(tuple(grid.get(name, ours)) for name, ours in self._grid().items())),
            n_seeds=self.quick.get("seeds", self.n_seeds),
            n_rounds=self.quick.get("n_rounds", self.n_rounds),
        )

    def widened(self) -> "Experiment":
        """With additional values beyond the ends of the grid."""
        values = [{*ours, *self.wide.get(name, ())} for name, ours in self._grid().items()]
        return replace(self, grid=Grid(*(tuple(sorted(some)) for some in values)))

    def _grid(self) -> dict[str, tuple[float, ...]]:
        """The grid by the names of a settings file."""
        return dict(zip(GRID, self.grid, strict=True))

    def settings(self) -> list[Setting]:
        """Every run of the panel."""
        return [
            Setting(line.agent, line.name, learning_rate, c, seed)
            for line in self.lines
            for learning_rate, c in product(*line.values(self.grid))
            for seed in range(self.n_seeds)
        ]

    def line(self, setting: Setting) -> Line:
        """The line that a run belongs to."""
        return next(
            line for line in self.lines if (line.agent, line.name) == (setting.agent, setting.line)
        )

    def problem_of(self, line: Line) -> problems.ExperimentProblem:
        """Where the rounds of a line come from; data is read once per process."""
        return problems.build({**self.problem, **line.options}, self.n_rounds)

    def n_rounds_of(self, setting: Setting) -> int:
        """How long a run is."""
        return self.problem_of(self.line(setting)).environment.n_rounds

    def scales(self) -> dict[str, tuple[str, float]]:
        """Of each line by its name, on a problem that is off: the graph, epsilon T sqrt(alpha)."""
        scales = {}
        for line in self.lines:
            environment = self.problem_of(line).environment
            if not isinstance(environment, OffLinear):
                raise ValueError('`measure = "misspecification"` needs the problem "off-linear"')
            graph, off = environment.graph, environment.off
            x = off * environment.n_rounds * math.sqrt(graph.independence_number())
            scales[line.name] = f"{line.options['graph']['family']}", x
        return scales

    def identity(self, setting: Setting) -> dict[str, Any]:
        """Everything that defines a run, data included: equal identities give equal results."""
        line = self.line(setting)
        problem = self.problem_of(line)
        return {
            "experiment": self.name,
            **setting.as_dict(),
            "alpha": line.alpha,
            "method": line.method,
            "problem": {**self.problem, **line.options},
            "n_rounds": self.n_rounds_of(setting),
            "data": problem.fingerprint,
        }

    def play(self, setting: Setting) -> Curve:
        """One run."""
        start = time.perf_counter()
        line = self.line(setting)
        problem = self.problem_of(line)
        environment, seed = problem.environment, setting.seed
        if line.agent == CONSTANT:
            losses, spent = best_constant(environment, seed=seed).losses, (0.0, 0.0)
        else:
            agent = line.build(problem, setting.learning_rate, setting.c)
            run = trace(agent, environment, seed=seed, draw_seed=setting.draw_seed)
            losses, spent = run.losses, run.seconds[:2]
        return record(setting, losses, Seconds(*spent, time.perf_counter() - start))


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """The experiments of the package, those of the paper first, in its order.

    >>> names()[:2]
    ('rcv1-graphs', 'rcv1-random')
    """
    files = resources.files(__package__).joinpath(FOLDER).iterdir()
    panels = [file.name for file in files if file.name.endswith(".toml")]
    found = [read(file.removesuffix(".toml")) for file in panels]
    return tuple(
        e.name for e in sorted(found, key=lambda e: (e.in_paper or "none", not e.in_all, e.name))
    )


def read(name: str) -> Experiment:
    """An experiment by its name, or from your own settings file.

    >>> read("rcv1-graphs").grid.cs
    (8.0, 16.0, 32.0, 64.0, 128.0)
    """
    if name.endswith(".toml"):
        return parse(Path(name).stem, Path(name).read_text(encoding="utf-8"), name)
    file = resources.files(__package__).joinpath(FOLDER, f"{name}.toml")
    if not file.is_file():
        here = f". In the repository, `make study-{name}` runs it" if name in STUDIES else ""
        raise ValueError(
            f"`FIGURE` must be one of {listed(names())}, all, or your own settings file (.toml); "
            f"got {name!r}{here}"
        )
    return parse(name, file.read_text(encoding="utf-8"), f"{name}.toml")


def parse(name: str, text: str, file: str) -> Experiment:
    """An experiment from the text of a settings file; `file` is named in errors."""
    try:
        table = tomllib.loads(text)
        grid = table.pop("grid")
        experiment = Experiment(
            name=name,
            title=table.pop("title"),
            problem=table.pop("problem"),
            lines=tuple(one for line in table.pop("lines") for one in _parse_lines(line)),
            measure=as_one_of("measure", table.pop("measure", "loss"), MEASURES),
            spread=table.pop("spread", False),
            in_all=table.pop("in_all", "in_paper" in table),
            grid=Grid(*(tuple(grid.pop(name, ())) for name in GRID)),
            n_seeds=table.pop("seeds"),
            n_rounds=table.pop("n_rounds", None),
            claims=tuple(Claim(**claim) for claim in table.pop("claims", [])),
            in_paper=table.pop("in_paper", None),
            quick=table.pop("quick", {}),
            wide=table.pop("wide", {}),
        )
    except KeyError as missing:
        raise ValueError(f"{file}: must have {missing}") from None
    except (TypeError, ValueError) as reason:
        raise ValueError(f"{file}: {reason}") from None
    if table or grid:
        unknown = listed([*table, *grid])
        raise ValueError(f"{file}: must not have {unknown}, which is not a setting")
    _check(experiment, file)
    return experiment


def _parse_lines(table: dict[str, Any]) -> list[Line]:
    """One line, or one for each agent of a list."""
    own = {key: table.pop(key) for key in ("name", "alpha", "method", "c") if key in table}
    agents = table.pop("agent")
    agents = [agents] if isinstance(agents, str) else agents
    return [Line(agent, **own, options=table) for agent in agents]


def _check(experiment: Experiment, file: str) -> None:
    labels = [line.label for line in experiment.lines]
    twice = first_twice(labels)
    if twice is not None:
        raise ValueError(f"{file}: each line must have its own name, got {twice!r} twice")
    for line in experiment.lines:
        if not all(line.values(experiment.grid)):
            raise ValueError(f"{file}: the grid must have values for each setting of {line.label}")
    for claim in experiment.claims:
        unknown = [label for label in claim.lines if label not in labels]
        if unknown:
            raise ValueError(f"{file}: a claim must be about lines of the file, got {unknown[0]!r}")
