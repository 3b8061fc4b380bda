"""Reading a DSJSON log: lines per second of CPU time, by JSON library.

The lines have the size of those that Personalizer writes: a context of 10 features and 8 actions of
6 features each, about 1.7 kB. msgspec and orjson are timed where they are installed.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from measure import part_arguments, print_table

from graphcb.imports import import_log
from graphcb.imports.dsjson import read_dsjson
from graphcb.streams import BadRows


def event(rng: np.random.Generator, number: int) -> dict[str, Any]:
    """One decision among eight actions."""
    ranking = rng.permutation(np.arange(1, 9)).tolist()
    actions = [
        {
            "_tag": f"item {k}",
            "i": {"constant": 1, "id": f"item {k}"},
            "j": [{"price": round(float(rng.random()), 3), "genre": "jazz", "origin": "kenya"}],
        }
        for k in range(8)
    ]
    user = {f"feature {k}": round(float(rng.normal()), 3) for k in range(8)}
    return {
        "_label_cost": -float(rng.random() < 0.3),
        "_label_probability": 0.825,
        "_label_Action": ranking[0],
        "_labelIndex": ranking[0] - 1,
        "o": [{"v": 1.0, "EventId": f"{number:032x}", "ActionTaken": False}],
        "Timestamp": "2026-02-04T16:31:29.2460000Z",
        "Version": "1",
        "EventId": f"{number:032x}",
        "a": ranking,
        "c": {"User": [{**user, "weather": "Sunny", "device": "phone"}], "_multi": actions},
        "p": [0.825, *[0.025] * 7],
        "VWState": {"m": "ff0744c1aa494e1ab39ba0c78d048146/550c12cbd3aa47f09fbed3387fb9c6ec"},
    }


def libraries() -> dict[str, Callable[[str], Any]]:
    found: dict[str, Callable[[str], Any]] = {"json": json.loads}
    if find_spec("msgspec") is not None:
        import msgspec

        found["msgspec"] = msgspec.json.Decoder().decode
    if find_spec("orjson") is not None:
        import orjson

        found["orjson"] = orjson.loads
    return found


def main() -> int:
    options = part_arguments(__doc__)
    n_lines = 200 if options.quick else 20_000
    rng = np.random.default_rng(0)
    lines = [json.dumps(event(rng, number)) + "\n" for number in range(n_lines)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.json"
        path.write_text("".join(lines))
        ways = libraries()
        parsing: dict[str, list[float]] = {name: [] for name in ways}
        reading: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(5):  # in turn, as the machine is shared
            for name, parse in ways.items():
                start = time.process_time()
                for line in lines:
                    parse(line)
                middle = time.process_time()
                with path.open() as file:
                    for _decision in read_dsjson(file, BadRows("log.json"), parse=parse):
                        pass
                parsing[name].append(middle - start)
                reading[name].append(time.process_time() - middle)
        rows = [
            [name, *(f"{n_lines / statistics.median(t[name]):,.0f}" for t in (parsing, reading))]
            for name in ways
        ]
        print_table(["library", "lines/s of CPU, JSON alone", "lines/s of CPU, as decisions"], rows)
        start = time.process_time()
        import_log(path, Path(folder) / "log.db")
        seconds = time.process_time() - start
        size = path.stat().st_size / n_lines
        print(f"{size:,.0f} bytes per line. `graphcb log import`, which reads the file twice and "
              f"writes a log: {n_lines / seconds:,.0f} lines/s of CPU.\n")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
