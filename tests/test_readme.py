"""The programs in the README run as printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = re.findall(r"^(?:\.venv/bin/)?(graphcb .*|make .*)$", README, flags=re.MULTILINE)


def test_the_first_program_runs_as_printed_and_prints_what_is_said(tmp_path):
    first = PROGRAMS[0]
    assert len(first.splitlines()) <= 20
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", first],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ,
    )
    assert f"It prints `{done.stdout.strip()}`" in README


def test_the_other_programs_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for program in PROGRAMS[1:]:
        exec("import graphcb\n" + program, {})


def test_the_program_that_decides_and_the_commands_below_it(tmp_path, monkeypatch, capsys):
    from graphcb.cli import main

    monkeypatch.chdir(tmp_path)
    (program,) = [program for program in PROGRAMS if "Policy" in program]
    exec(program, {})
    decision, first, second = capsys.readouterr().out.splitlines()
    assert '"model_version": 0' in decision
    assert first == "counted"
    assert "this one changes nothing" in second
    commands = [c.split()[1:] for c in COMMANDS if "decisions.db" in c]
    assert [command[0] for command in commands] == ["replay", "log", "evaluate"]
    for command in commands:
        assert main(command) == 0


def test_your_own_data_can_be_followed_as_printed(tmp_path):
    section = README.split("## Your own data")[1].split("\n## ")[0]
    printed = re.findall(r"<!-- tested as printed -->\n```\n(.*?)```", section, flags=re.DOTALL)
    assert len(printed) == 2
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-e", "-c", "".join(printed)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ,
    )
    runs = done.stdout.split("finished run")[1:]
    said = re.search(r"at the end:\n\n```\n(.*?)```", section, flags=re.DOTALL)[1]
    assert runs[0].strip().startswith(said.strip())
    assert "average loss         = 0.359400" in runs[1]
    assert "the gap is gone: 0.359400" in " ".join(section.split())
    assert "5,000 examples so far" in done.stdout
    assert "examples             = 10,000" in runs[3]
    assert {"curve.png", "played.csv", "model.npz"} <= {path.name for path in tmp_path.iterdir()}


def test_make_targets_named_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [command.split()[1] for command in COMMANDS if command.startswith("make ")]
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_the_map_of_the_paper_names_tests_that_are_there():
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    table = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    named = re.findall(r"`((?:\w+/)+(?:test_\w+\.py)?)`", table)
    assert len(named) > 20
    for name in named:
        assert (ROOT / "tests" / name).exists(), name
