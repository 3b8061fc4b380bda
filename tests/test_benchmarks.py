"""Every part of the benchmarks runs, and the report replaces just the part that was run."""

import contextlib
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "service")]
import measure  # noqa: E402
import paced  # noqa: E402
import report  # noqa: E402
from faults import sabotage, server  # noqa: E402

NEEDS = {"peers": ("clarabel", "threadpoolctl"), "learning": ("sklearn",)}
NEED_WRK = {"service", "deciders"}


@pytest.mark.slow
@pytest.mark.parametrize("part", report.PARTS, ids=lambda part: part.name)
def test_part_prints_a_table(part):
    for package in NEEDS.get(part.name, ()):
        pytest.importorskip(package)
    if part.name in NEED_WRK and shutil.which("wrk") is None:
        pytest.skip("wrk is not installed")
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


@pytest.mark.slow
def test_the_campaign_notices_each_planted_fault():
    """A dropped commit, a name used twice, a check left out: each part finds its own."""
    if not sabotage.is_possible():
        pytest.skip("no gcc, make or Linux here to compile the interposer")
    if (reason := server.why_not()) is not None:
        pytest.skip(reason)
    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "campaign.py", "--only", "plants"],
        capture_output=True,
        text=True,
        env={**os.environ, **dict.fromkeys(report.THREADS, "1")},
    )
    assert done.returncode == 0, done.stdout
    assert "never" not in done.stdout
    parts = {line.split("|")[1].strip() for line in done.stdout.splitlines() if "|" in line}
    assert {"kills", "disks", "interrupts", "damage", "postgresql", "confusion", "extreme"} < parts


def part_named(name):
    return next(part for part in report.PARTS if part.name == name)


def test_report_replaces_one_section():
    first = report.merge("", part_named("scale"), "a table\n", 1.4)
    second = report.merge(first, part_named("solver"), "another\n", 2.0)
    third = report.merge(second, part_named("scale"), "a newer table\n", 3.0)
    assert "a newer table" in third
    assert "a table" not in third
    assert "another" in third
    assert re.search(
        r"`make bench-scale`, 3 s; version \d+\.\d+\.\d+\w* of \d{4}-\d\d-\d\d\.", third
    )


def test_a_section_says_how_busy_other_programs_were():
    said = report.merge("", part_named("scale"), "a table\n", 3.0, 0.66)
    assert f"Other programs used 0.7 of {os.cpu_count()} cores meanwhile." in said
    assert "Other programs" not in report.merge("", part_named("scale"), "a table\n", 3.0)


@pytest.mark.skipif(sys.platform != "linux", reason="counted by Linux alone")
def test_the_work_of_a_part_is_not_that_of_others(monkeypatch):
    before, (user, system, *of_parts) = report.work_of_others(), os.times()[:4]
    mine = (user, system, of_parts[0] + 1e6, of_parts[1])
    monkeypatch.setattr(os, "times", lambda: (*mine, 0.0))
    assert report.work_of_others() == pytest.approx(before - 1e6, abs=1e4)


def test_how_long_parts_will_take_is_what_they_took():
    text = report.merge("", part_named("scale"), "a table\n", 100.0)
    text = report.merge(text, part_named("solver"), "another\n", 50.0, options="--seeds 1")
    assert '`make bench-solver OPTIONS="--seeds 1"`, 50 s; version' in text
    assert report.how_long(text, ["scale", "solver"]).startswith("this will take about 2 minutes")
    assert report.how_long(text, ["scale", "hops"]).endswith("and 1 that never ran: hops")
    assert report.how_long(text, ["hops"]).endswith("not known yet: hops never ran")


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


def test_options_are_for_one_part(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["report.py", "scale", "solver", "--options", "--seeds 1"])
    with pytest.raises(SystemExit):
        report.main()
    assert "--options are for one part" in capsys.readouterr().err


def test_results_are_of_parts_that_exist_and_have_their_plots():
    text = report.RESULTS.read_text(encoding="utf-8")
    sections = re.findall(r"<!-- begin (\S+) -->", text)
    assert sections
    assert set(sections) <= {part.name for part in report.PARTS}
    for plot in re.findall(r"\]\((plots/\S+\.png)\)", text):
        assert (BENCHMARKS / plot).exists()


MARK = "\u2020"  # of numbers on data that settings were chosen on


def test_all_parts_are_of_one_version_and_say_so():
    text = report.RESULTS.read_text(encoding="utf-8")
    sections = re.findall(r"<!-- begin (\S+) -->\n## .*\n\n(.*)\n", text)
    said = {
        name: re.search(r"; version (\S+) of \d{4}-\d\d-\d\d\.", line) for name, line in sections
    }
    versions = {name: found[1] for name, found in said.items() if found}
    assert {part.name for part in report.PARTS} == set(versions)
    assert set(versions.values()) == {report.__version__}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12.0, "12.0 s"), (1.23e-3, "1.23 ms"), (999e-6, "999 us"), (4.5e-8, "45.0 ns")],
)
def test_times_in_words(seconds, words):
    assert measure.in_words(seconds) == words


@pytest.mark.parametrize(
    ("number", "text"),
    [(1.0, "1.00"), (45.678, "45.7"), (999.4, "999"), (999.7, "1,000"), (123456.0, "123,000")],
)
def test_three_digits(number, text):
    assert measure.three_digits(number) == text


def test_exponent_of_a_power():
    sizes = [10, 100, 1000]
    assert measure.exponent(sizes, [3.0 * n**1.5 for n in sizes]) == pytest.approx(1.5)


def test_spread_is_median_and_quartiles():
    assert measure.spread([4.0, 1.0, 2.0, 5.0, 3.0]) == (3.0, 2.0, 4.0)


def test_requests_are_evenly_spaced():
    assert paced.schedule(4.0, 1.5) == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1.0), (0.5, 50.0), (0.99, 99.0), (0.991, 100.0), (1.0, 100.0)]
)
def test_a_quantile_is_a_value_that_occurred(share, value):
    assert paced.quantile([float(n) for n in range(100, 0, -1)], share) == value


def test_an_answer_is_read_once_it_is_whole():
    answer = b'HTTP/1.1 404 Not Found\r\ncontent-type: x\r\nContent-Length: 8\r\n\r\n{"a": 1}'
    assert paced.read_answer(answer) == (404, b'{"a": 1}')
    assert all(paced.read_answer(answer[:end]) is None for end in range(len(answer)))


def test_a_delay_counts_for_the_requests_that_waited():
    """32 connections, 33 requests due at once: the last waits for an answer to another."""
    answers = []

    def serve(listener):
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(listener.accept()[0]) for _ in range(32)]
            for stream in streams:
                stream.recv(1000)
            for stream in [*streams, None]:
                if stream is None:
                    stream = streams[0]
                    answers.append(stream.recv(1000))
                stream.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        sent = paced.send(address, [paced.as_request("/", str(n)) for n in range(33)], [0.0] * 33)
        thread.join()
    assert answers[0].endswith(b"\r\n\r\n32")
    assert sent[32].latency > sent[32].late >= min(one.latency for one in sent[:32])
    assert [one.body for one in sent] == [b"{}"] * 33


def test_timed_stops_after_a_long_call():
    assert len(measure.timed(lambda: None, 5)) == 5
    assert len(measure.timed(lambda: None, 5, at_most=-1.0)) == 0


def test_rivals_are_named_where_absent(monkeypatch):
    monkeypatch.setattr(report, "PACKAGES", ("numpy", "no-such-package"))
    assert "Not installed, and skipped: no-such-package." in report.header()


def test_the_readme_claims_what_was_measured():
    import seen

    results = report.RESULTS.read_text(encoding="utf-8")
    found = {row[0]: row for row in seen.rows(results)}
    readme, numbers = (
        " ".join((BENCHMARKS.parent / name).read_text(encoding="utf-8").replace("*", "").split())
        for name in ("README.md", "docs/numbers.md")
    )
    for name, is_marked in (
        ("real streams, chosen on since 0.4.0 \u2020", True),
        ("real streams, never chosen on", False),
        ("beside the best of all contenders \u2020", True),
    ):
        mean, between = str(found[name][3]).split(" ", 1)
        said = f"{float(mean):.2f}{MARK if is_marked else ''} {between}"
        assert said in readme
        assert said in numbers
        assert re.search(rf"\b{found[name][1]} (real )?streams", readme)
        assert f"worst {str(found[name][4]).split()[0]}" in numbers
    for name in (
        "real streams, chosen on for 0.4.0 alone \u2020",
        "streams that drift, chosen on \u2020",
        "streams that drift, the others",
    ):
        mean, between = str(found[name][3]).split(" ", 1)
        assert f"{float(mean):.2f}{MARK} {between}" in numbers


def section(name):
    text = report.RESULTS.read_text(encoding="utf-8")
    return text.partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0]


def row(text, first):
    """The cells after the first of the first row that begins like this."""
    found = re.search(rf"^\| {re.escape(first)} \|(.*)\|$", text, re.MULTILINE)
    return [cell.strip() for cell in found[1].split("|")]


def test_the_page_of_numbers_says_what_the_bake_off_measured():
    """Who has what of the best, which part of it is oracle, and what is left to gain."""
    page = (BENCHMARKS.parent / "docs" / "numbers.md").read_text(encoding="utf-8")
    bullets = [" ".join(one.split()) for one in page.split("\n- ")]
    bakeoff = section("bakeoff")
    (nothing_set,) = (one for one in bullets if one.startswith("**Nothing set"))
    for name in ("SquareCB.G", "epsilon-greedy", "greedy", "coba VowpalSquarecbLearner",
                 "river LinUCBDisjoint", "Vowpal Wabbit --squarecb", "SquareCB.G, our oracle",
                 "epsilon-greedy, our oracle"):  # fmt: skip
        assert f"{float(row(bakeoff, f'{name}, default')[1]):.2f}{MARK}" in nothing_set, name
    for name in ("greedy, our oracle", "Thompson sampling, our oracle"):
        assert f"{float(row(bakeoff, name)[1]):.2f}{MARK}" in nothing_set, name
    (split,) = (one for one in bullets if one.startswith("**Oracle or exploration"))
    margins = bakeoff.partition("| rival | all |")[2]
    for name in ("greedy", "epsilon-greedy", "SquareCB.G"):
        (cells,) = re.findall(rf"^\| {name} \| (\S+) = (\S+) x (\S+) \|", margins, re.MULTILINE)
        assert all(f"{factor}{MARK}" in split for factor in cells), name
    (left,) = (one for one in bullets if one.startswith("**How much is left"))
    skylines = bakeoff.partition("| feedback | streams | constant |")[2].partition("\n\n")[0]
    for kind in ("bandit", "review", "cops", "cycle"):
        assert f"{row(skylines, kind)[-1]}{MARK}" in left, kind
    unseen = section("unseen").partition("| feedback | streams | constant |")[2]
    assert f"and {row(unseen.partition(chr(10) * 2)[0], 'the others')[-1]} in all" in left
    (drift,) = (one for one in bullets if one.startswith("**Streams that drift"))
    for name in ("all", "all, greedy, our oracle", "all, SquareCB.G, our oracle, c = 32",
                 "all, Thompson sampling, our oracle"):  # fmt: skip
        yardsticks = section("drift").partition("| streams | number | mean |")[2]
        mean = float(row(yardsticks.partition("\n\n")[0], name)[1])
        assert f"{mean:.2f}{MARK}" in drift, name
