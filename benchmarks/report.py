"""Run parts of the benchmarks, and put what they print into benchmarks/RESULTS.md.

    python benchmarks/report.py            # every part
    python benchmarks/report.py solver     # one of them; the other sections stay
    python benchmarks/report.py worlds --options="--others 2"    # which its section then says

A part is a script that prints Markdown to standard output, and how far it is to standard error.
Parts run one after the other, each in a process of its own with one thread. Where Linux counts the
work of all programs, a section says how many cores the others had meanwhile. A new part is a line
in PARTS.
"""

import argparse
import math
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from graphcb import __version__

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "cvxpy",
    "clarabel",
    "vowpalwabbit",
    "coba",
    "river",
    "mabwiser",
)


class Part(NamedTuple):
    """A section of the report: `script` with `arguments` prints it, with `quick` a tiny one.

    One that draws is given `--plots FOLDER`, and prints the line that shows each plot.
    """

    name: str
    title: str
    script: str
    arguments: tuple[str, ...] = ()
    quick: tuple[str, ...] = ("--quick",)
    draws: bool = False


PARTS = (
    Part("peers", "The convex program beside its peers", "peers.py", draws=True),
    Part("learning", "Learning beside its peers", "learning.py", draws=True),
    Part("bakeoff", "The default on real streams", "bakeoff.py", draws=True),
    Part(
        "unseen", "The default on streams of other tables", "bakeoff.py",
        ("--study", "unseen", "--our-oracle"), quick=("--quick", "--study", "unseen"),
    ),
    Part(
        "drift", "The default on streams that drift", "bakeoff.py",
        ("--study", "drift", "--our-oracle"), quick=("--quick", "--study", "drift"),
    ),
    Part("seen", "What was seen when settings were chosen", "seen.py"),
    Part("solver", "The solver and its limits", "solver.py"),
    Part(
        "fuzz", "The solver on random programs", "fuzz_solver.py",
        ("--programs", "100000", "--least-gamma", "1"),
    ),
    Part("limits", "The solver with limits", "limits.py"),
    Part("fuzz-limits", "The solver on random programs with limits", "fuzz_limits.py"),
    Part("rounds", "A whole round", "rounds.py"),
    Part("default", "The default learner, nothing set", "without_settings.py"),
    Part("alarm", "Alarms that the world has changed", "alarm.py"),
    Part("worlds", "Small worlds with a known answer", "worlds.py"),
    Part("doors", "Dicts through Policy beside a CSV file", "doors.py"),
    Part("slopes", "Weak feedback with twenty seeds", "slopes.py"),
    Part("gamma", "Gammas that need no graph number", "gamma.py", ("--short",)),
    Part("known", "Losses that need no feedback", "known.py"),
    Part("unknown-graphs", "Graphs that nobody knows beforehand", "unknown_graphs.py"),
    Part("certificate", "The regret certificate", "certificate.py"),
    Part("experiments", "The paper's experiments", "experiments.py"),
    Part("scale", "Scale", "scale.py", draws=True),
    Part("actions", "Actions with features", "actions.py"),
    Part("streams", "The user's own data", "streams.py"),
    Part("encoder", "A context as people have it", "encoder.py"),
    Part("dsjson", "Logs of other programs", "dsjson.py"),
    Part(
        "warm-start", "Learning from other programs' decisions", "warm_start.py",
        quick=("--rounds", "30", "--seeds", "2"),
    ),
    Part("export", "A table into a log, and a log into Parquet", "export.py"),
    Part("decisions", "Decisions per second", "decisions.py"),
    Part("explaining", "Why this decision: what an explanation costs", "explaining.py"),
    Part("hops", "The way of a decision through the files", "hops.py"),
    Part("service", "The decision service", "service/rates.py"),
    Part(
        "service-kinds", "The decision service on other problems", "service/rates.py",
        ("--kinds", "10,100,1000,limits,own10"), quick=("--quick", "--kinds", "10"),
    ),
    Part("service-memory", "The memory of the decision service", "service/memory.py"),
    Part("service-retention", "A million decisions removed under load", "service/retention.py"),
    Part("service-attacks", "Attacks on the decision service", "service/attacks.py"),
    Part("service-start", "The start of the decision service", "service/start.py"),
    Part("deciders", "Many deciders and one trainer", "service/deciders.py"),
    Part("deciders-kills", "Deciders and trainers killed under load", "service/kills.py"),
    Part(
        "faults", "Faults of every kind, made on purpose", "campaign.py",
        quick=("--quick", "--only", "faults"),
    ),
    Part(
        "evaluation", "Judging a policy on a log", "evaluation.py",
        quick=("--logs", "20", "--decisions", "100"),
    ),
    Part("covering", "95 % intervals that hold the truth", "covering.py", draws=True),
    Part("ground-truth", "Real policies on each other's logs", "ground_truth.py", draws=True),
    Part("explore", "Logs that can be judged", "explore.py"),
    Part("tables", "Tables of any size", "tables.py"),
    Part("baseline", "Never worse than the baseline", "baseline.py"),
    Part("foundation", "The foundation", "foundation.py"),
)  # fmt: skip


def main() -> int:
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes; print, write nothing")
    parser.add_argument("--options", default="", help="more arguments for the script of one part")
    given = parser.parse_args()
    unknown = sorted(set(given.parts) - set(names))
    if unknown:
        parser.error(f"no part is named {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = [part for part in PARTS if part.name in (given.parts or names)]
    if given.options and len(chosen) != 1:
        parser.error("--options are for one part")
    old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    if not given.quick:
        say(how_long(old, [part.name for part in chosen]))
    failed = []
    for number, part in enumerate(chosen, start=1):
        say(f"[{number}/{len(chosen)}] {part.name} ...")
        start, work = time.perf_counter(), work_of_others()
        text = run(part, quick=given.quick, options=given.options)
        seconds = time.perf_counter() - start
        others = (work_of_others() - work) / seconds
        say(f"[{number}/{len(chosen)}] {part.name}: {seconds:.0f} s")
        if text is None:
            failed.append(part.name)
        elif not given.quick:
            old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
            found = merge(old, part, text, seconds, others, given.options)
            RESULTS.write_text(found, encoding="utf-8")
    if failed:
        say(f"failed, their sections left as they were: {', '.join(failed)}")
    return 1 if failed else 0


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(part: Part, *, quick: bool, options: str = "") -> str | None:
    """What the part printed, shown as it comes; None if it failed."""
    more = [*(part.quick if quick else part.arguments), *shlex.split(options)]
    if part.draws and not quick:
        more += ["--plots", str(HERE / "plots")]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, str(HERE / part.script), *more]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
    ) as process:
        lines = []
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines) if process.returncode == 0 else None


def work_of_others() -> float:
    """Seconds of all cores since the machine started, without those of parts; NaN if unknown."""
    counted = Path("/proc/stat")
    if not counted.exists():
        return float("nan")
    first = counted.read_text(encoding="utf-8").splitlines()[0].split()
    user, nice, system = (int(ticks) for ticks in first[1:4])
    own = os.times()
    return (user + nice + system) / os.sysconf("SC_CLK_TCK") - sum(own[:4])


def merge(
    old: str,
    part: Part,
    text: str,
    seconds: float,
    others: float = float("nan"),
    options: str = "",
) -> str:
    """The report with this part's section replaced and all others as they were.

    Other programs had as many cores as `others` meanwhile, if that is known.
    """
    sections = dict(re.findall(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->", old, re.DOTALL))
    called = f"make bench-{part.name}" + (f' OPTIONS="{options}"' if options else "")
    command = f"`{called}`, {seconds:.0f} s; version {made_by()}."
    if not math.isnan(others):
        command += (
            f" Other programs used {max(others, 0.0):.1f} of {os.cpu_count()} cores meanwhile."
        )
    sections[part.name] = f"## {part.title}\n\n{command}\n\n{text.strip()}\n"
    known = [part.name for part in PARTS if part.name in sections]
    written = [f"<!-- begin {name} -->\n{sections[name]}<!-- end {name} -->\n" for name in known]
    return "\n".join([header(), *written])


def how_long(results: str, names: Sequence[str]) -> str:
    """What the parts took in their last runs."""
    took = dict(re.findall(r"^`make bench-([\w-]+).*?`[,;] (\d+) s\b", results, re.MULTILINE))
    minutes = sum(int(took.get(name, 0)) for name in names) / 60.0
    unknown = [name for name in names if name not in took]
    if len(unknown) == len(names):
        return f"how long this takes is not known yet: {', '.join(unknown)} never ran"
    more = f", and {len(unknown)} that never ran: {', '.join(unknown)}" if unknown else ""
    return f"this will take about {minutes:.0f} minutes, as the last time{more}"


def made_by() -> str:
    """The version of graphcb and the day of its last commit, or of today where there is no git."""
    asked = ["git", "-C", str(HERE), "show", "--no-patch", "--format=%cs", "HEAD"]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        found = datetime.now(UTC).date().isoformat()
    return f"{__version__} of {found}"


def header() -> str:
    """How to make the report anew, and on what it was made."""
    installed = [f"{name} {found}" for name in PACKAGES if (found := version_of(name))]
    absent = [name for name in PACKAGES if not version_of(name)]
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`, one part by `make bench-NAME`; the numbers are those of the last",
        "run of each part. A part is one process with one thread; what is compared in a row was",
        "measured in the same process. All that is drawn comes from fixed seeds. Constants of the",
        "default learner were chosen on all tables of *bakeoff*, for 0.4.0 or since, on half of",
        "those of *unseen* and of the streams of *drift*, and on RCV1. What other parts measure on",
        "these is of data that was seen.",
        "",
        f"- Machine: {machine()}.",
        f"- Python {platform.python_version()}, {', '.join(installed)}.",
    ]
    if absent:
        lines.append(f"- Not installed, and skipped: {', '.join(absent)}.")
    return "\n".join([*lines, ""])


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine() -> str:
    """Cores, processor, memory and system; no name."""
    facts = [f"{os.cpu_count()} cores"]
    information = Path("/proc/cpuinfo")
    if information.exists():
        model = re.search(r"model name\s*:\s*(.+)", information.read_text(encoding="utf-8"))
        facts.append(model.group(1).strip() if model else platform.machine())
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        facts.append(f"{size / 2**30:.0f} GiB")
    return ", ".join([*facts, f"{platform.system()} {platform.machine()}"])


if __name__ == "__main__":
    sys.exit(main())
