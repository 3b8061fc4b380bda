"""`graphcb serve FOLDER`: many problems in one service."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog
from graphcb.cli import main
from graphcb.decisions import verify

PROBLEM = (
    '[problem]\nactions = ["approve", "review"]\nexplore = 0.01\n\n[reveals]\nfamily = "bandit"\n'
)
SECONDS = 60.0


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "problems"
    path.mkdir()
    for name in ("a", "b", "c", "d"):
        (path / f"{name}.toml").write_text(PROBLEM)
    return path


def until(is_true):
    end = time.monotonic() + SECONDS
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.05)


class Process:
    """`graphcb serve` for a folder, on a free port; its output goes to a file."""

    def __init__(self, folder, *options):
        command = [sys.executable, "-m", "graphcb", "serve", folder, "--port", "0", *options]
        self.out = folder.parent / f"out-{time.monotonic_ns()}"
        with self.out.open("w") as out:
            self.process = subprocess.Popen(
                list(map(str, command)), stdout=out, stderr=subprocess.STDOUT
            )
        until(lambda: "127.0.0.1:" in self.out.read_text())
        text = self.out.read_text().partition("127.0.0.1:")[2]
        self.port = int(text.partition(",")[0])

    def call(self, method, path, content=None):
        kind = {} if content is None else {"Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        with contextlib.closing(connection):
            connection.request(method, path, content and json.dumps(content), kind)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def decide(self, name):
        return self.call("POST", f"/v1/problems/{name}/decisions", {"context": {"x": 1.0}})

    def served(self):
        """The problems that are open here."""
        found = self.call("GET", "/v1/problems")[1]["problems"]
        return {one["name"] for one in found if one["state"] == "ok"}

    def end(self, sent=signal.SIGTERM):
        self.process.send_signal(sent)
        return self.process.wait(SECONDS)


@pytest.fixture
def run():
    """A function that starts a service; all are ended."""
    running = []
    yield lambda *given: running.append(Process(*given)) or running[-1]
    for one in running:
        one.process.kill()
        one.process.wait()


@pytest.mark.slow
def test_all_problems_of_a_folder_are_served_and_a_broken_one_is_named(folder, run):
    (folder / "b.toml").write_text("[problem]\nactions = 3\n")
    (folder / "serve.toml").write_text('[c]\nrate = 2\nlog = "elsewhere.db"\n')
    process = run(folder)
    until(lambda: process.served() == {"a", "c", "d"})
    assert [process.decide(name)[0] for name in "abcd"] == [200, 503, 200, 200]
    assert [process.decide("c")[0] for _ in range(3)][-1] == 429
    ready = process.call("GET", "/readyz")
    assert (ready[0], "not in order" in ready[1]["problems"]["b"]) == (200, True)
    (folder / "b.toml").write_text(PROBLEM)
    until(lambda: process.served() == {"a", "b", "c", "d"})
    assert process.end() == 0
    said = process.out.read_text()
    assert "problem b is not served: " in said
    assert "graphcb: stopped; everything answered is in the logs\n" in said
    assert "secret" not in said
    for log in ("a.db", "elsewhere.db", "d.db"):
        assert verify(str(folder / log)) == []
        with DecisionLog(folder / log) as one:
            assert one.n_decisions >= 1


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_two_learners_share_the_problems_and_one_takes_all(folder, run, server, how):
    server.execute(
        'DROP SCHEMA IF EXISTS "graphcb_a", "graphcb_b", "graphcb_c", "graphcb_d" CASCADE'
    )
    first = run(folder, "--learn-only", "--log", server.base)
    until(lambda: len(first.served()) == 4)
    second = run(folder, "--learn-only", "--log", server.base)
    until(lambda: len(first.served()) == len(second.served()) == 2)
    assert first.served() | second.served() == {"a", "b", "c", "d"}
    decider = run(folder, "--decide-only", "--log", server.base)
    until(lambda: len(decider.served()) == 4)
    assert [decider.decide(name)[0] for name in "abcd"] == [200] * 4
    first.process.send_signal(how)
    until(lambda: len(second.served()) == 4)
    assert [decider.decide(name)[0] for name in "abcd"] == [200] * 4
    until(lambda: all(_n_decisions(server, name) == 2 for name in "abcd"))
    if how == signal.SIGSTOP:
        os.kill(first.process.pid, signal.SIGCONT)
        until(lambda: len(first.served()) == len(second.served()) == 2)
    for one in (decider, second):
        assert one.end() == 0
    first.process.kill()
    first.process.wait()
    for name in "abcd":
        assert verify(_location(server, name)) == []


def _location(server, name):
    from graphcb.decisions.learners import in_schema

    return in_schema(server.base, f"graphcb_{name}")


def _n_decisions(server, name):
    with DecisionLog(_location(server, name)) as log:
        return log.n_decisions


def refusal(capsys, *arguments):
    assert main(["serve", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_a_folder_must_have_problems_whose_names_fit_into_a_path(tmp_path, capsys):
    assert "must be a folder with problem files (TOML), got" in refusal(capsys, tmp_path)
    (tmp_path / "two words.toml").write_text(PROBLEM)
    text = refusal(capsys, tmp_path)
    assert "must be called by at most 40 letters, digits, - and _" in text
    assert "'two words.toml'; rename it" in text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("[e]\nrate = 1", "must have tables for a, b, c, d alone, got 'e'"),
        ("a = 1", "must have tables for a, b, c, d alone, got 'a'"),
        ("[a]\nspeed = 1", "[a] must have some of log, keys, rate, largest_graph, got"),
        ("[a]\nrate = 0", "[a] `rate` must be a number above 0, got 0"),
        ("[a]\nlargest_graph = true", "[a] `largest_graph` must be a number above 0, got True"),
        ("[a]\nlog = 1", "[a] `log` must be a text, got 1"),
        ("[a", "serve.toml: must be TOML: "),
    ],
)
def test_the_folder_s_own_file_is_checked(folder, capsys, content, text):
    (folder / "serve.toml").write_text(content)
    assert text in refusal(capsys, folder)


def test_without_keys_for_all_problems_it_listens_on_this_machine_alone(folder, capsys):
    (folder / "serve.toml").write_text('[a]\nkeys = "keys.json"\n')
    text = refusal(capsys, folder, "--host", "0.0.0.0")
    assert "`--host` must be an address of this machine only" in text
