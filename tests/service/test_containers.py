"""The page on containers, followed step by step with `engine` in place of a container engine."""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb.decisions import verify

from .engine import REPOSITORY, Engine
from .follower import FILES, LINES, Follower

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
from faults.server import Server, why_not

SERVICE = FILES["compose.yaml"].partition("  decide:\n")[2].partition("\nvolumes:")[0]
COMMAND = json.loads(re.search(r"^    command: (.*)$", SERVICE, re.MULTILINE)[1])


@pytest.fixture
def folder():
    # Not below pytest's own folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="graphcb-container-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
        for path in Path(name).rglob("*/"):
            if not path.is_symlink():
                path.chmod(0o755)


@pytest.fixture
def follower(folder):
    follower = Follower(folder)
    yield follower
    if follower.service is not None and follower.service.poll() is None:
        follower.service.kill()
        follower.service.communicate()


@pytest.mark.slow
def test_the_page_is_followed_line_by_line(follower, folder):
    """One test, as the image takes minutes to build; each step needs those before it."""
    check_what_is_printed(follower, [follower.follow(line) for line in LINES])
    check_rights(follower)
    check_keys(follower)
    before = follower.engine.files()
    follower.use_everything()
    follower.check_that_nothing_was_compiled()
    assert follower.engine.files() == before
    assert follower.engine.environment["NUMBA_CPU_NAME"] == "generic"
    follower.stop(["decide"])
    pytest.importorskip("psycopg", reason="all but PostgreSQL: needs the extra `postgres`")
    if (reason := why_not()) is not None:
        pytest.skip(f"all but PostgreSQL: {reason}")
    check_postgresql(follower, folder / "server")


def check_what_is_printed(follower, printed):
    assert len(follower.variables["KEY"]) == 43
    assert sum('"counted":true' in out for out in printed) == 1
    kept = json.loads(printed[-1])  # after a stop and a start
    assert kept["decision_id"] == follower.variables["ID"]
    assert kept["feedback"] == {"review": -5.0}
    assert verify(str(follower.engine.root / "data" / "backup.db")) == []


def check_rights(follower):
    """The service is not root, and cannot become it."""
    assert follower.engine.uid != 0
    status = Path(f"/proc/{follower.service.pid}/status")
    if os.getuid() == 0 and status.exists():
        said = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        assert said["Uid"].split() == 4 * [str(follower.engine.uid)]
        assert int(said["CapEff"], 16) in (0, 4)  # 4: to read this Python in the home of root
        assert said["NoNewPrivs"] == "1"


def check_keys(follower):
    """Only the service can read them, and the secret is not there."""
    file = follower.engine.root / "keys" / "keys.json"
    assert file.stat().st_uid == follower.engine.uid
    assert file.stat().st_mode & 0o777 == 0o600
    assert follower.variables["KEY"] not in file.read_text()


def check_postgresql(follower, folder):
    """The command of compose.yaml, with a server that asks for the password."""
    folder.mkdir()
    server = Server(folder)
    try:
        server.execute("ALTER USER graphcb PASSWORD 'a secret'")
        server.execute("CREATE DATABASE graphcb")
        with_password = "host graphcb graphcb 127.0.0.1/32 scram-sha-256\n"
        (folder / "data" / "pg_hba.conf").write_text(with_password)
        server.execute("SELECT pg_reload_conf()")
        address = COMMAND[COMMAND.index("--log") + 1]
        here = address.replace("@db/", f"@127.0.0.1:{server.port}/")
        follower.options.arguments = [here if one == address else one for one in COMMAND]
        follower.engine.mount(["decide-keys:/keys:ro"], ["/tmp"])
        decisions = []
        for _ in range(2):
            follower.start(["decide"], PGPASSWORD="a secret")
            for made in decisions:
                follower.call("GET", f"/v1/decisions/{made}")
            made = follower.call("POST", "/v1/decisions", {"context": {"amount": 30.0}})
            decisions.append(json.loads(made)["decision_id"])
            follower.check_that_nothing_was_compiled()
            follower.stop(["decide"])
    finally:
        server.stop()


def test_the_compose_file_is_as_careful_as_the_command():
    (run,) = [line for line in LINES if "--detach" in line]
    assert "-p 127.0.0.1:8000:8000 decide" in run
    assert "--tmpfs /tmp" in run
    for line in (
        'environment: {PGPASSWORD: "${PASSWORD:?}"}',
        'volumes: ["decide-keys:/keys:ro"]', 'ports: ["127.0.0.1:8000:8000"]',
        'user: "10001:10001"', "read_only: true", 'tmpfs: ["/tmp"]', 'cap_drop: ["ALL"]',
        'security_opt: ["no-new-privileges"]', "stop_grace_period: 30s",
    ):  # fmt: skip
        assert f"\n    {line}\n" in SERVICE
    said = json.loads(re.search(r"^CMD (.*)$", FILES["Containerfile"], re.M)[1])
    assert [one for one in COMMAND if one not in said] == ["postgresql://graphcb@db/graphcb"]


@pytest.mark.parametrize(
    ("instruction", "said"),
    [
        ("ADD x y", "no test follows ADD"),
        ("USER root", "not two numbers above 0: root"),
        ("USER 0:0", "not two numbers above 0: 0:0"),
        ("FROM python:3.9-slim", "graphcb is for Python"),
        ("FROM debian", "not a slim image of Python: debian"),
        ("RUN false", "RUN false"),
        ("HEALTHCHECK --retries=3 CMD []", "--retries=3"),
    ],
)
def test_what_is_not_followed_fails(tmp_path, instruction, said):
    with pytest.raises(AssertionError, match=re.escape(said)):
        Engine(tmp_path, tmp_path, 1).build(instruction)


def test_a_shell_between_the_engine_and_the_service_is_refused(tmp_path):
    with pytest.raises(json.JSONDecodeError):
        Engine(tmp_path, tmp_path, 1).build("ENTRYPOINT graphcb serve problem.toml")
