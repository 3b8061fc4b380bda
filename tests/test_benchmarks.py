"""Every part of the benchmarks runs, and the report replaces just the part that was run."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import report  # noqa: E402

NEEDS = {"peers": ("clarabel", "sklearn"), "learning": ("sklearn",), "solver": ("clarabel",)}


@pytest.mark.parametrize("part", report.PARTS, ids=lambda part: part.name)
def test_part_prints_a_table(part):
    for package in NEEDS.get(part.name, ()):
        pytest.importorskip(package)
    environment = {name: value for name, value in os.environ.items() if name != "GRAPHCB_DATA"}
    done = subprocess.run(
        [sys.executable, BENCHMARKS / part.script, *part.quick],
        capture_output=True,
        text=True,
        env={**environment, **dict.fromkeys(report.THREADS, "1")},
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert len(lines) > 2
    assert any(re.fullmatch(r"\|(-+:?\|)+", line) for line in lines)  # the line below the head


def part_named(name):
    return next(part for part in report.PARTS if part.name == name)


def test_report_replaces_one_section():
    first = report.merge("", part_named("scale"), "a table\n", 1.4)
    second = report.merge(first, part_named("solver"), "another\n", 2.0)
    third = report.merge(second, part_named("scale"), "a newer table\n", 3.0)
    assert "a newer table" in third
    assert "a table" not in third
    assert "another" in third
    assert "`make bench-scale`, 3 s." in third


def test_report_keeps_the_order_of_the_parts():
    text = ""
    for part in reversed(report.PARTS):
        text = report.merge(text, part, f"what {part.name} printed", 1.0)
    found = re.findall(r"<!-- begin (\S+) -->", text)
    assert found == [part.name for part in report.PARTS]


def test_header_names_no_host_and_no_path():
    header = report.header()
    assert "cores" in header
    assert not re.search(rf"\b{re.escape(platform.node())}\b", header)
    assert str(Path.home()) not in header
    assert not re.search(r"\d{4}-\d\d-\d\d", header)


def test_unknown_part_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["report.py", "nothing"])
    with pytest.raises(SystemExit):
        report.main()
    assert "no part is named nothing; there are peers" in capsys.readouterr().err


def test_results_are_of_parts_that_exist_and_have_their_plots():
    text = report.RESULTS.read_text(encoding="utf-8")
    sections = re.findall(r"<!-- begin (\S+) -->", text)
    assert sections
    assert set(sections) <= {part.name for part in report.PARTS}
    for plot in re.findall(r"\]\((plots/\S+\.png)\)", text):
        assert (BENCHMARKS / plot).exists()
