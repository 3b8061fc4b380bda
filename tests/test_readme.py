"""README is short, its program runs as printed, its commands exist, its links work elsewhere."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEVIATION = 0.09  # of what the program earns, from seed to seed
(PROGRAM,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_it_is_one_and_a_half_screens():
    assert len(README.splitlines()) <= 90


def run(program, folder):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=os.environ,
    )
    return done.stdout.strip()


def test_the_program_runs_as_printed_and_prints_what_is_said(tmp_path):
    assert len(PROGRAM.splitlines()) <= 20
    printed = run(PROGRAM, tmp_path)
    (said,) = re.findall(r"It prints `(.*?)`", README)
    assert re.sub(r"-?[\d.]+", "#", said) == re.sub(r"-?[\d.]+", "#", printed)
    earned, today = (float(text.split()[-1]) for text in (said, printed))
    assert abs(earned - today) < 4.0 * 2.0**0.5 * DEVIATION
    assert run(PROGRAM, tmp_path) == printed  # a second time as the first


def test_start_here_runs_in_the_same_folder_and_again(tmp_path):
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    (start,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    for program in (PROGRAM, start, PROGRAM, start):
        assert run(program, tmp_path)


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("graphcb_setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_on_a_package_index_links_are_absolute(build):
    text = build.readme(README, "https://example.org/graphcb")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) == len(re.findall(r"\]\(", README))
    for link in links:
        assert link.startswith("https://example.org/graphcb/")
        assert (ROOT / re.sub(r"^.*?/(?:blob|raw)/main/", "", link).partition("#")[0]).exists()
    urls = build.urls("https://example.org/graphcb")
    assert urls["Source"] == "https://example.org/graphcb"
    assert all(url.startswith("https://example.org/graphcb") for url in urls.values())


def test_without_an_address_no_link_is_broken(build):
    text = build.readme(README, "")
    assert re.findall(r"\]\([^)]*\)", text) == []
    assert "guardrails" in text
    assert build.urls("") == {}


def test_the_make_commands_exist():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert set(re.findall(r"\bmake ([\w-]+)", README)) <= set(targets)


def test_ci_calls_the_test_command():
    assert "make test" in README
    assert "\nmake test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
