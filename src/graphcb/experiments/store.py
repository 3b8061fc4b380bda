"""An append-only file of results: one line of JSON for each finished run."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphcb.experiments.curves import Curve, Seconds, Setting
from graphcb.files import lock


class Store:
    """A file of finished runs, each with everything that defines it.

    Runs are keyed by their identity, so runs with other settings, data or versions of the package
    can share the file and never mix. Only complete lines count: a line left half-written by a
    killed process is dropped when the file is next opened for writing.
    """

    def __init__(self, path: Path, version: str) -> None:
        self.path = path
        self.version = version

    def read(self) -> dict[str, Curve]:
        """The finished runs by the key of their identity."""
        if not self.path.exists():
            return {}
        *lines, _ = self.path.read_text(encoding="utf-8").split("\n")
        return dict(self._read_line(number, line) for number, line in enumerate(lines, start=1))

    def about(self, identity: dict[str, Any]) -> dict[str, Any]:
        """What is stored of a run besides its results."""
        return {**identity, "version": self.version}

    def key(self, identity: dict[str, Any]) -> str:
        """What distinguishes one run from another."""
        return json.dumps(self.about(identity), sort_keys=True)

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """Open the file to add runs; one writer at a time."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            if not lock(file.fileno()):
                raise ValueError(
                    f"{self.path} is being written by another process; wait for it, or use "
                    "another --out"
                )
            _drop_torn_line(file)
            yield Writer(file, self)

    def _read_line(self, number: int, line: str) -> tuple[str, Curve]:
        try:
            row = json.loads(line)
            about = row["run"]
            own = {name: about[name] for name in Setting._fields if name != "draw_seed"}
            setting = Setting(**own, draw_seed=about.get("draw_seed"))
            rounds = np.array(row["rounds"], dtype=np.int64)
            means, seconds = np.array(row["mean_loss"]), Seconds(*row["seconds"])
            curve = Curve(setting, rounds, means, seconds, row.get("measured"))
            return json.dumps(about, sort_keys=True), curve
        except (KeyError, TypeError, ValueError) as reason:
            raise ValueError(
                f"{self.path}, line {number}: must be a finished run, got {reason!r}; "
                "remove the line, and the run is repeated"
            ) from None


class Writer:
    """Adds finished runs to an open store."""

    def __init__(self, file: IO[bytes], store: Store) -> None:
        self._file = file
        self._store = store

    def add(self, identity: dict[str, Any], curve: Curve) -> None:
        """Write one run; it is on disk when this returns."""
        row = {
            "run": self._store.about(identity),
            "rounds": curve.rounds.tolist(),
            "mean_loss": curve.mean_loss.tolist(),
            "seconds": list(curve.seconds),
        }
        if curve.measured is not None:
            row["measured"] = dict(curve.measured)
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _drop_torn_line(file: IO[bytes]) -> None:
    """Remove what follows the last line break."""
    file.seek(0)
    whole = file.read().rfind(b"\n") + 1
    file.truncate(whole)
