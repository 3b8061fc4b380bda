"""How often 95 % intervals hold the truth: many logs of each setting, in a few runs.

Like a panel it is data, the settings file `coverage`. A run is a `Setting` whose `line` is the
name of the setting and whose `seed` is that of its logs. What is counted is `measured`.
"""

import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from graphcb.experiments.curves import Curve, Seconds, Setting
from studies.coverage.counting import Counts
from studies.coverage.judging import DECISIONS, JUDGES
from studies.results import SETTINGS

NAME = "coverage"


@dataclass(frozen=True)
class CoverageStudy:
    """`logs` of each of the `settings`, as many `together` in a run, one of them with `looks`."""

    name: str
    title: str
    logs: int
    together: int
    looks: int
    settings_of: Mapping[str, Mapping[str, Any]]
    quick: Mapping[str, Any]

    def made_quick(self) -> "CoverageStudy":
        """A few logs of each setting."""
        return replace(self, **self.quick)

    def with_seeds(self, n_seeds: int) -> "CoverageStudy":
        """With as many runs of each setting."""
        return replace(self, logs=n_seeds * self.together)

    def settings(self) -> list[Setting]:
        """Every run, one seed after the other."""
        found = [
            Setting(settings["of"], name, 0.0, 0.0, seed)
            for name, settings in self.settings_of.items()
            for seed in range(-(-min(self.logs, settings.get("logs", self.logs)) // self.together))
        ]
        return sorted(found, key=lambda one: one.seed)

    def n_rounds_of(self, setting: Setting) -> int:
        """How many decisions are simulated."""
        decisions = self.settings_of[setting.line].get("decisions", DECISIONS)
        return self.together * int(decisions)

    def identity(self, setting: Setting) -> dict[str, Any]:
        """Everything that defines a run."""
        return {
            "experiment": self.name,
            **setting.as_dict(),
            "settings": dict(self.settings_of[setting.line]),
            "together": self.together,
            "looks": self.looks,
        }

    def play(self, setting: Setting) -> Curve:
        """One run; its curve has no losses, only what was counted."""
        settings = self.settings_of[setting.line]
        start, counts, n = time.perf_counter(), Counts(), 0
        for log in range(self.together):
            rng = np.random.default_rng([setting.seed, log, crc32(setting.line.encode())])
            n += JUDGES[settings["of"]](settings, rng, 0 if log else self.looks, counts)
        seconds = Seconds(total=time.perf_counter() - start)
        return Curve(setting, np.array([n]), np.array([0.0]), seconds, counts.counts)


def read() -> CoverageStudy:
    """The study.

    >>> read().logs
    500
    """
    table = tomllib.loads((SETTINGS / f"{NAME}.toml").read_text(encoding="utf-8"))
    settings = {name: {"name": name, **one} for name, one in table.pop("settings").items()}
    return CoverageStudy(name=NAME, settings_of=settings, **table)
