"""Draw the pictures of the documentation anew, each by the command that its page names.

    GRAPHCB_DATA=... python benchmarks/pictures.py [PICTURES ...] [--out DIR]

Without names all of them, which takes about 25 minutes on two cores. Finished runs are kept in
`--out` (default: a folder that is deleted at the end), so that a change of the drawing alone takes
seconds. Runs are known by the version of graphcb, not by its code: after a change of the learner,
start with an empty folder.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
STUDIES = "benchmarks/studies"
EXAMPLES = "docs/examples"
PAGE = ROOT / "docs" / "how-to" / "what-would-my-rule-have-earned.md"


class Drawn(NamedTuple):
    """Pictures of one `command` of Python, where OUT is the folder that it writes them to.

    `scripts` are the files beside `graphcb.figures` that draw them.
    """

    pictures: tuple[str, ...]
    command: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()


def study(name: str, *pictures: str, scripts: tuple[str, ...] = ()) -> Drawn:
    return Drawn(pictures or (name,), ("benchmarks/study.py", name, "--out", "OUT"), scripts)


def example(name: str, *pictures: str, scripts: tuple[str, ...] = ()) -> Drawn:
    script = f"{EXAMPLES}/{name}.py"
    found = tuple(f"tutorials/{picture}" for picture in pictures or (name,))
    return Drawn(found, (script, f"OUT/{name}.png"), (*scripts, script))


ALL = {
    "paper": Drawn(
        ("panels", "weak-feedback", "misspecified"),
        ("-m", "graphcb", "reproduce", "all", "--out", "OUT"),
    ),
    "limits": study(
        "limits", "limits", "limits-baseline", scripts=(f"{STUDIES}/limits/figure.py",)
    ),
    "unknown-graphs": study("unknown-graphs"),
    "auctions": study("auctions"),
    "routing": study("routing", scripts=(f"{STUDIES}/routing.py",)),
    "rules": Drawn(("rules",)),
    "when-the-world-changes": Drawn(
        ("when-the-world-changes",),
        ("benchmarks/alarm.py", "--picture", "OUT/when-the-world-changes.png"),
        ("benchmarks/alarm.py",),
    ),
    "llm_cascade": example("llm_cascade"),
    "prices": example("prices", scripts=(f"{EXAMPLES}/contest.py",)),
    "spam_review": example("spam_review", "spam_review-loans", "spam_review-messages"),
    "stock_levels": example("stock_levels"),
    "text_routing": example("text_routing", scripts=(f"{EXAMPLES}/contest.py",)),
    "service-page": Drawn(
        ("service-page",), ("benchmarks/service/picture.py", "OUT/service-page.png")
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PICTURES", help=f"any of {', '.join(ALL)}")
    parser.add_argument("--out", type=Path, help="folder that keeps the runs")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(ALL)):
        parser.error(f"no pictures are named {', '.join(unknown)}; there are {', '.join(ALL)}")
    with tempfile.TemporaryDirectory() as folder:
        out = (given.out or Path(folder)).absolute()
        out.mkdir(parents=True, exist_ok=True)
        for name in given.names or ALL:
            start = time.perf_counter()
            draw(name, out)
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def draw(name: str, out: Path) -> None:
    """Run the command, and put its pictures into the documentation."""
    environment = dict(os.environ)
    if data := os.environ.get("GRAPHCB_DATA"):
        environment["GRAPHCB_DATA"] = str(Path(data).absolute())
    for command in _of_the_page() if name == "rules" else [ALL[name].command]:
        filled = [
            str(ROOT / word) if word.endswith(".py") else word.replace("OUT", str(out))
            for word in command
        ]
        subprocess.run([sys.executable, *filled], cwd=out, env=environment, check=True)
    for picture in ALL[name].pictures:
        shutil.copyfile(out / f"{Path(picture).name}.png", IMAGES / f"{picture}.png")


def _of_the_page() -> list[tuple[str, ...]]:
    """The program that writes the table of the page, and the command that draws it."""
    text = PAGE.read_text(encoding="utf-8")
    program = re.search(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    command = re.search(r"^graphcb (evaluate .* --plot .*)$", text, re.MULTILINE)
    if program is None or command is None:
        raise ValueError(f"{PAGE} must have a program and a command with --plot")
    return [("-c", program[1]), ("-m", "graphcb", *shlex.split(command[1]))]


if __name__ == "__main__":
    main()
