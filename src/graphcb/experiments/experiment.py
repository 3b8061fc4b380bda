"""An experiment is data: a settings file says what is run, over which grid, and what is claimed."""

import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from graphcb.agents import Agent, SquareCB, SquareCBG
from graphcb.checks import as_one_of, listed
from graphcb.environments import KnownLosses
from graphcb.experiments import problems
from graphcb.experiments.claims import Claim
from graphcb.experiments.curves import Curve, Setting, record
from graphcb.experiments.trace import trace
from graphcb.exploration import SquareRoot
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import Oracle

FOLDER = "settings"
NOT_A_PANEL = "bakeoff.toml"  # `graphcb.experiments.bakeoff` reads it


@dataclass(frozen=True)
class Line:
    """One curve of the figure: an agent, and how its problem differs from the panel's."""

    agent: str
    name: str
    alpha: float | str
    method: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One panel. `quick` and `wide` hold what those modes change, `in_paper` its place there."""

    name: str
    title: str
    problem: Mapping[str, Any]
    lines: tuple[Line, ...]
    learning_rates: tuple[float, ...]
    cs: tuple[float, ...]
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
            learning_rates=tuple(grid.get("learning_rate", self.learning_rates)),
            cs=tuple(grid.get("c", self.cs)),
            n_seeds=self.quick.get("seeds", self.n_seeds),
            n_rounds=self.quick.get("n_rounds", self.n_rounds),
        )

    def widened(self) -> "Experiment":
        """With additional values beyond the ends of the grid."""
        rates = {*self.learning_rates, *self.wide.get("learning_rate", ())}
        return replace(
            self,
            learning_rates=tuple(sorted(rates)),
            cs=tuple(sorted({*self.cs, *self.wide.get("c", ())})),
        )

    def settings(self) -> list[Setting]:
        """Every run of the panel."""
        return [
            Setting(line.agent, line.name, learning_rate, c, seed)
            for line in self.lines
            for learning_rate in self.learning_rates
            for c in self.cs
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

    def identity(self, setting: Setting) -> dict[str, Any]:
        """Everything that defines a run, data included: equal identities give equal results."""
        line = self.line(setting)
        problem = self.problem_of(line)
        return {
            "experiment": self.name,
            **setting._asdict(),
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
        schedule = SquareRoot(setting.c, _alpha(line.alpha, problem))
        agent = _agent(line, problem.oracle(setting.learning_rate), schedule)
        result = trace(agent, problem.environment, seed=setting.seed)
        return record(setting, result, time.perf_counter() - start)


def _alpha(alpha: Any, problem: problems.ExperimentProblem) -> Any:
    """A number or "n_actions" unchanged; for "independence_number", that of the graph."""
    if alpha != "independence_number":
        return alpha
    environment = problem.environment
    if not isinstance(environment, KnownLosses) or not isinstance(environment.graph, FeedbackGraph):
        raise ValueError('`alpha` must be a number or "n_actions" where the graph changes')
    return float(environment.graph.independence_number())


def _agent(line: Line, oracle: Oracle, schedule: SquareRoot) -> Agent:
    if as_one_of("lines.agent", line.agent, ("SquareCB.G", "SquareCB")) == "SquareCB":
        return SquareCB(oracle, gamma=schedule)
    return SquareCBG(oracle, gamma=schedule, method=line.method)  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """The experiments of the package, those of the paper first, in its order.

    >>> names()[:2]
    ('rcv1-graphs', 'rcv1-random')
    """
    files = resources.files(__package__).joinpath(FOLDER).iterdir()
    panels = [file.name for file in files if file.name.endswith(".toml")]
    found = [read(file.removesuffix(".toml")) for file in panels if file != NOT_A_PANEL]
    return tuple(e.name for e in sorted(found, key=lambda e: (e.in_paper or "none", e.name)))


def read(name: str) -> Experiment:
    """An experiment by its name, or from your own settings file.

    >>> read("rcv1-graphs").cs
    (8.0, 16.0, 32.0, 64.0, 128.0)
    """
    if name.endswith(".toml"):
        return parse(Path(name).stem, Path(name).read_text(encoding="utf-8"), name)
    file = resources.files(__package__).joinpath(FOLDER, f"{name}.toml")
    if not file.is_file():
        raise ValueError(
            f"`FIGURE` must be one of {listed(names())}, bakeoff, all, or your own settings file "
            f"(.toml); got {name!r}"
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
            lines=tuple(_parse_line(line) for line in table.pop("lines")),
            learning_rates=tuple(grid["learning_rate"]),
            cs=tuple(grid["c"]),
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
    if table:
        raise ValueError(f"{file}: must not have {listed(table)}, which is not a setting")
    _check(experiment, file)
    return experiment


def _parse_line(table: dict[str, Any]) -> Line:
    own = {key: table.pop(key) for key in ("agent", "name", "alpha", "method") if key in table}
    return Line(**own, options=table)


def _check(experiment: Experiment, file: str) -> None:
    labels = [f"{line.agent}, {line.name}" for line in experiment.lines]
    twice = {label for label in labels if labels.count(label) > 1}
    if twice:
        raise ValueError(f"{file}: each line must have its own name, got {min(twice)!r} twice")
    for claim in experiment.claims:
        unknown = [label for label in claim.lines if label not in labels]
        if unknown:
            raise ValueError(f"{file}: a claim must be about lines of the file, got {unknown[0]!r}")
