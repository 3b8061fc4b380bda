"""`graphcb serve` and `graphcb serve-keys`, as one calls them."""

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog, Policy, Problem
from graphcb.cli import main
from graphcb.commands import opening as opening_of
from graphcb.commands.opening import say_what_is_lost
from graphcb.decisions import LogError, verify
from graphcb.decisions.replaying import rehearse
from graphcb.problems.wording import lost_without_explore
from graphcb.service.keys import Keys

GONE = (OSError, http.client.HTTPException)
PROBLEM = """\
[problem]
actions = ["approve", "review"]
explore = 0.01

[reveals]
family = "bandit"
"""


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    return path


class Process:
    """`graphcb serve` in a process of its own, on a free port."""

    def __init__(self, problem, *options):
        command = [sys.executable, "-m", "graphcb", "serve", problem, "--port", "0", *options]
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.greeting = self.process.stdout.readline()
        self.port = int(self.greeting.partition("127.0.0.1:")[2].partition(",")[0] or 0)

    def post(self, connection, path, content):
        connection.request("POST", path, json.dumps(content), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30.0)

    def end(self, sent):
        self.process.send_signal(sent)
        out, err = self.process.communicate(timeout=60.0)
        return self.process.returncode, out, err


def under_load(process, n_clients=4):
    """What clients were told until the service went away: decisions, and those with feedback."""
    decided, learned = [], []

    def client():
        connection = process.connect()
        with contextlib.closing(connection), contextlib.suppress(*GONE):
            while True:
                made = process.post(connection, "/v1/decisions", {"context": {"amount": 1.0}})
                if made[0] != 200:
                    return
                decided.append(made[1]["decision_id"])
                path = f"/v1/decisions/{made[1]['decision_id']}/feedback"
                losses = {"losses": {made[1]["action"]: 0.5}}
                if process.post(connection, path, losses)[0] != 200:
                    return
                learned.append(made[1]["decision_id"])

    clients = [threading.Thread(target=client) for _ in range(n_clients)]
    for one in clients:
        one.start()
    while len(learned) < 20 and any(one.is_alive() for one in clients):
        clients[0].join(0.01)
    return clients, decided, learned


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_what_was_answered_is_in_the_log_however_it_ends(problem, tmp_path, sent):
    process = Process(problem)
    clients, decided, learned = under_load(process)
    code, out, err = process.end(sent)
    for one in clients:
        one.join(30.0)
        assert not one.is_alive()
    assert len(learned) >= 20
    if sent != signal.SIGKILL:
        assert code == 0
        assert out == "graphcb: stopped; everything answered is in the log\n"
        assert err == ""
    assert verify(str(tmp_path / "problem.db")) == []
    with DecisionLog(tmp_path / "problem.db") as log:
        rows = {row.decision_id: row for row in log}
    assert set(decided) <= set(rows)
    assert all(rows[name].feedback is not None for name in learned)


@pytest.mark.slow
def test_on_sigterm_it_is_first_not_ready_and_still_answers(problem):
    process = Process(problem, "--leave", "1.5")

    def look(path):
        with contextlib.closing(process.connect()) as connection:
            connection.request("GET", path)
            return connection.getresponse().status

    with contextlib.closing(process.connect()) as connection:
        assert process.post(connection, "/v1/decisions", {})[0] == 200
    assert look("/readyz") == 200
    process.process.send_signal(signal.SIGTERM)
    seen = []
    with contextlib.suppress(*GONE), contextlib.closing(process.connect()) as connection:
        while True:
            made = process.post(connection, "/v1/decisions", {"context": {"amount": 1.0}})[0]
            seen.append((look("/readyz"), look("/livez"), made))
    assert (503, 200, 200) in seen
    assert process.process.wait(30.0) == 0
    process.process.communicate()


@pytest.mark.parametrize("explore", [0.0, 0.01])
def test_what_is_lost_without_explore_is_said_once(explore, tmp_path, capsys):
    problem = Problem(["approve", "review"], explore=explore)
    with Policy(tmp_path / "log.db", problem=problem) as policy:
        say_what_is_lost(policy)
    said = capsys.readouterr().out
    assert said == ("" if explore else f"graphcb: {lost_without_explore(problem)}\n")


@pytest.mark.slow
def test_a_service_says_where_it_is_and_continues_its_log(problem, tmp_path):
    log = tmp_path / "other.db"
    first = Process(problem, "--log", log)
    assert first.greeting == (
        f"graphcb: deciding at http://127.0.0.1:{first.port}, log {log} with 0 events\n"
    )
    with contextlib.closing(first.connect()) as connection:
        assert first.post(connection, "/v1/decisions", {})[0] == 200
    assert main(["serve", str(problem), "--port", str(first.port)]) == 2
    assert first.end(signal.SIGTERM)[0] == 0
    second = Process(problem, "--log", log)
    assert second.greeting.endswith(" with 1 events\n")
    assert second.end(signal.SIGTERM)[0] == 0


def test_refusals(problem, tmp_path, capsys):
    def refused(*options):
        assert main(["serve", str(problem), *map(str, options)]) == 2
        return capsys.readouterr().err

    assert refused("--host", "0.0.0.0") == (
        "graphcb: `--host` must be an address of this machine only, such as 127.0.0.1, unless "
        "there are keys, got '0.0.0.0'; make keys with graphcb serve-keys add, and pass their file "
        "to --keys\n"
    )
    assert refused("--keys", tmp_path / "none.json") == (
        f"graphcb: `--keys` must be a file with keys, got '{tmp_path / 'none.json'}', which has "
        "none; add one with graphcb serve-keys add\n"
    )
    assert refused("--rate", 0) == "graphcb: `--rate` must be above 0, got 0\n"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"graphcb: cannot listen on 127.0.0.1, port {port}: " in refused("--port", port)
    assert not (tmp_path / "problem.db").exists()


def test_why_it_does_not_start_is_in_its_log_too(problem, capsys):
    arguments = ["serve", str(problem), "--log", "/no/such/folder/x.db", "--port", "0"]
    assert main([*arguments, "--log-format", "json"]) == 2
    line = json.loads(capsys.readouterr().err)
    assert line["level"] == "error"
    assert "the file cannot be opened" in line["message"]


def test_keys_from_the_command_line(tmp_path, capsys):
    file = str(tmp_path / "keys.json")
    assert main(["serve-keys", "add", file, "shop"]) == 0
    secret = capsys.readouterr().out.strip()
    assert main(["serve-keys", "add", file, "page", "--scopes", "read"]) == 0
    assert Keys(file).find(secret).name == "shop"
    capsys.readouterr()
    assert main(["serve-keys", "list", file]) == 0
    assert capsys.readouterr().out == "shop: decide, feedback\npage: read\n"
    assert main(["serve-keys", "remove", file, "shop"]) == 0
    assert Keys(file).find(secret) is None
    assert main(["serve-keys", "list", str(tmp_path / "none.json")]) == 2
    assert "`file` must be an existing file of keys, got" in capsys.readouterr().err


def test_a_kill_leaves_at_most_5000_events_to_replay(problem, monkeypatch):
    from graphcb.decisions.records import newest_checkpoint
    from graphcb.service import health, server

    found = []

    def run(running, listener, *signals):
        policy = running.config.app.desk.policy
        for _ in range(5):
            policy.decide_many([{}] * 1000)
        with DecisionLog(policy.location) as log:
            found.append(newest_checkpoint(log.storage))

    monkeypatch.setattr(server, "run", run)
    assert health.run is not run  # which answers while the log is opened
    assert main(["serve", str(problem), "--port", "0", "--durability", "process-kill"]) == 0
    assert found == [5000]


@pytest.mark.slow
def test_a_trainer_that_waits_rehearses_once_there_is_something(server, monkeypatch, capsys):
    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    from argparse import Namespace

    from graphcb.decisions import Decider, Trainer

    url, opened, rehearsed = server.url("rehearsed"), [], []
    trainer = Trainer(url, problem=Problem(["a", "b"]), publish_every=1e-9)

    def opening():
        opened.append(len(rehearsed))
        if len(opened) == 3:
            with Decider(url) as decider:
                made = decider.decide(None)
                decider.feedback(made.decision_id, {made.action: 0.5})
            trainer.step()
        if len(opened) < 6:
            raise LogError("another policy is writing")
        return trainer

    def noted(log, n_events):
        rehearsed.append(rehearse(log, n_events))
        return rehearsed[-1]

    monkeypatch.setattr(opening_of, "rehearse", noted)
    given = Namespace(log=url, learn_only=True, decide_only=False)
    assert opening_of.wait_for(opening, given) is trainer
    assert rehearsed == [False, False, True]
    trainer.close()
    assert capsys.readouterr().out == "graphcb: waiting: another policy is writing\n"


@pytest.mark.parametrize(("problem", "is_over"), [(LogError(), False), (ArithmeticError(), True)])
def test_a_rehearsal_that_fails_keeps_nobody_from_waiting(problem, is_over, monkeypatch):
    def fails(location):
        raise problem

    monkeypatch.setattr(opening_of, "DecisionLog", fails)
    assert opening_of._rehearsed("postgresql://u@h/d") is is_over


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--decide-only"], "`--decide-only` must have --log postgresql://user@host/database"),
        (["--learn-only", "--log", "x.db"], "`--learn-only` must have --log postgresql://"),
        (["--decide-only", "--log", "mysql://u:secret@h/d"], "got 'mysql://u@h/d'"),
        (["--decide-only", "--log", "postgresql://u@h/d"], "must be given without a problem file"),
        (["--learn-only", "--demo"], "`--learn-only` must be given without --demo"),
    ],
)
def test_roles_that_make_no_sense(problem, capsys, options, said):
    assert main(["serve", str(problem), *options]) != 0
    assert said in capsys.readouterr().err
