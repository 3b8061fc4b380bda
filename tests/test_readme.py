"""README is short, its program runs as printed, and its commands exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEVIATION = 0.09  # of what the program earns, from seed to seed
(PROGRAM,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_it_is_one_and_a_half_screens():
    assert len(README.splitlines()) <= 90


def test_the_program_runs_as_printed_and_prints_what_is_said(tmp_path):
    assert len(PROGRAM.splitlines()) <= 20
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ,
    )
    (said,) = re.findall(r"It prints `(.*?)`", README)
    assert re.sub(r"-?[\d.]+", "#", said) == re.sub(r"-?[\d.]+", "#", done.stdout.strip())
    earned, today = (float(text.split()[-1]) for text in (said, done.stdout))
    assert abs(earned - today) < 4.0 * 2.0**0.5 * DEVIATION


def test_the_make_commands_exist():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert set(re.findall(r"\bmake ([\w-]+)", README)) <= set(targets)


def test_ci_calls_the_test_command():
    assert "make test" in README
    assert "\nmake test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
