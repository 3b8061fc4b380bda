"""A bake-off: many learners on many streams, one mean loss for each run.

Like a panel it is data, a settings file with streams and contenders. A run is a `Setting` whose
`line` is the stream; what it keeps is a curve with a single point, the last round.
"""

import hashlib
import time
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import graphcb
from graphcb.checks import as_one_of, listed
from graphcb.experiments.curves import Curve, Seconds, Setting
from graphcb.experiments.progressive import Player
from studies.bakeoff.contenders import AGENTS, OURS, Contender
from studies.prepared import facts, prepare
from studies.results import SETTINGS
from studies.skyline import MODELS, play_skyline

NAME = "bakeoff"
NAMES = (NAME, "unseen", "drift")  # 43 and 45 tables, 16 streams that drift


def chosen_on(spec: Mapping[str, Any]) -> bool:
    """Whether the table of a stream is in the half on which settings were chosen since 0.4.0.

    Those of 0.4.0 itself were chosen on all streams of `bakeoff`, and on none of `unseen`. Streams
    that drift say it themselves.

    >>> chosen_on({"file": "ring.csv.gz"}), chosen_on({"file": "magic.csv.gz"})
    (True, False)
    """
    return bool(spec.get("chosen", crc32(spec["file"].encode()) % 2 == 0))


@lru_cache
def code_of_learners() -> str:
    """A name for the code of agents, exploration and oracles as it is."""
    package, hashed = Path(graphcb.__file__).parent, hashlib.sha256()
    for room in ("agents", "exploration", "oracles"):
        for path in sorted((package / room).rglob("*.py")):
            hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


@dataclass(frozen=True)
class BakeOff:
    """Contenders and streams; `quick` holds what that mode changes.

    `yardstick_is` says what the `yardstick` of its streams is, `seen_is` what was seen of them when
    settings were chosen. Who learns with another oracle has the first `rival_seeds` alone, if that
    is given.
    """

    name: str
    title: str
    streams: Mapping[str, Mapping[str, Any]]
    contenders: tuple[Contender, ...]
    n_seeds: int
    quick: Mapping[str, Any]
    yardstick_is: str = ""
    seen_is: str = ""
    rival_seeds: int | None = None

    def made_quick(self) -> "BakeOff":
        """A small version on data that needs no download, with graphcb's own learners alone."""
        own = [one for one in self.contenders if not one.is_peer and not one.is_skyline]
        return replace(
            self,
            title=self.quick.get("title", self.title),
            streams=self.quick.get("streams", self.streams),
            contenders=tuple(replace(c, learning_rate=c.learning_rate[:1]) for c in own),
            n_seeds=self.quick.get("seeds", self.n_seeds),
        )

    def with_our_oracle(self) -> "BakeOff":
        """With those alone that learn with our oracle, skylines and the best constant action."""
        kept = ("constant", "skyline")
        chosen = [one for one in self.contenders if one.is_ours or one.agent in kept]
        return replace(self, contenders=tuple(chosen))

    def with_seeds(self, n_seeds: int, rival_seeds: int | None = None) -> "BakeOff":
        """With as many seeds, and with as many of those who learn with another oracle."""
        return replace(self, n_seeds=n_seeds, rival_seeds=rival_seeds)

    def _n_seeds_of(self, contender: Contender) -> int:
        if contender.is_skyline:
            return 1
        if contender.is_ours or contender.agent == "constant" or self.rival_seeds is None:
            return self.n_seeds
        return min(self.n_seeds, self.rival_seeds)

    @property
    def present(self) -> tuple[Contender, ...]:
        """The contenders whose packages are installed."""
        return tuple(one for one in self.contenders if None not in one.versions)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the others."""
        return tuple(dict.fromkeys(c.name for c in self.contenders if c not in self.present))

    def settings(self) -> list[Setting]:
        """Every run, one seed after the other, so that a part of them is a smaller bake-off.

        A skyline has the first seed alone.
        """
        return [
            Setting(contender.label, stream, rate, c, seed)
            for seed in range(self.n_seeds)
            for stream, spec in self.streams.items()
            for contender in self.present
            if contender.takes(facts(spec)) and seed < self._n_seeds_of(contender)
            for rate in contender.learning_rate
            for c in contender.c
        ]

    def contender(self, setting: Setting) -> Contender:
        """The contender that a run belongs to."""
        return next(one for one in self.contenders if one.label == setting.agent)

    def is_default(self, setting: Setting) -> bool:
        """Whether this is the setting that its contender has if nobody chooses one."""
        contender = self.contender(setting)
        first = next(one for one in self.contenders if one.name == contender.name)
        return contender is first and (setting.learning_rate, setting.c) == (
            contender.learning_rate[0],
            contender.c[0],
        )

    def n_rounds_of(self, setting: Setting) -> int:
        """How long a run is."""
        return facts(self.streams[setting.line]).n_rounds

    def identity(self, setting: Setting) -> dict[str, Any]:
        """Everything that defines a run, data and other packages included.

        Of who learns with our oracle that is also the code of graphcb, so that kept runs of all
        others stand while it changes.
        """
        contender = asdict(self.contender(setting))
        spec = self.streams[setting.line]
        code = {"code": code_of_learners()} if self.contender(setting).is_ours else {}
        return {
            **code,
            "experiment": self.name,
            **setting.as_dict(),
            "contender": {k: v for k, v in contender.items() if k not in ("learning_rate", "c")},
            "packages": list(self.contender(setting).versions),
            "stream": dict(spec),
            "n_rounds": self.n_rounds_of(setting),
            "data": facts(spec).fingerprint,
        }

    def play(self, setting: Setting) -> Curve:
        """One run; its losses are in the units of the stream."""
        spec, contender = self.streams[setting.line], self.contender(setting)
        stream = prepare(spec, setting.seed)
        start = time.perf_counter()
        if contender.is_skyline:
            losses = play_skyline(spec, setting.seed, contender.learner)
        elif contender.agent == "constant":
            losses = np.concatenate([piece.losses for piece in stream.pieces])
            losses = losses[:, losses.mean(axis=0).argmin()]
        else:
            agent = AGENTS[contender.agent](contender, stream, setting)
            player = Player(agent, stream.graph, seed=setting.seed, loss_range=stream.loss_range)
            losses = np.concatenate([player.play(piece).losses for piece in stream.pieces])
        spent = Seconds(total=time.perf_counter() - start)
        return Curve(setting, np.array([len(losses)]), np.array([losses.mean()]), spent)


def read(name: str = NAME) -> BakeOff:
    """The bake-off of the repository, or one from your own settings file.

    >>> len(read().streams)
    43
    """
    path = Path(name) if name.endswith(".toml") else SETTINGS / f"{name}.toml"
    return parse(path.stem, path.read_text(encoding="utf-8"), path.name)


def parse(name: str, text: str, file: str) -> BakeOff:
    """A bake-off from the text of a settings file; `file` is named in errors."""
    try:
        table = tomllib.loads(text)
        result = BakeOff(
            name=name,
            title=table.pop("title"),
            streams=table.pop("streams"),
            contenders=_parse_contenders(table.pop("contenders")),
            n_seeds=table.pop("seeds"),
            quick=table.pop("quick", {}),
            yardstick_is=table.pop("yardstick_is", ""),
            seen_is=table.pop("seen_is", ""),
        )
    except KeyError as missing:
        raise ValueError(f"{file}: must have {missing}") from None
    except (TypeError, ValueError) as reason:
        raise ValueError(f"{file}: {reason}") from None
    if table:
        raise ValueError(f"{file}: must not have {listed(table)}, which is not a setting")
    labels = [one.label for one in result.contenders]
    twice = [label for i, label in enumerate(labels) if label in labels[:i]]
    if twice:
        raise ValueError(f"{file}: each contender must have its own name, got {twice[0]!r} twice")
    if [one.agent for one in result.contenders].count("default") != 1:
        raise ValueError(f'{file}: one contender must have agent = "default"')
    return result


def _parse_contenders(given: str | list[dict[str, Any]]) -> tuple[Contender, ...]:
    """Contenders that are listed, or those of the study with this name."""
    if isinstance(given, str):
        return read(given).contenders
    return tuple(_parse_contender(one) for one in given)


def _parse_contender(table: dict[str, Any]) -> Contender:
    as_one_of("contenders.agent", table.get("agent"), ("constant", "skyline", *AGENTS))
    if table["agent"] == "skyline":
        as_one_of("contenders.learner", table.get("learner"), tuple(MODELS))
    as_one_of("contenders.oracle", table.get("oracle", ""), ("", OURS, "logistic", "ridge"))
    for grid in ("learning_rate", "c"):
        if grid in table:
            table[grid] = tuple(float(value) for value in table[grid])
    return Contender(**table)
