"""The page on containers, followed step by step with `engine` in place of a container engine."""

import contextlib
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb.decisions import verify

from .engine import REPOSITORY, Engine

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
from faults.server import Server, why_not

PAGE = (REPOSITORY / "docs" / "how-to" / "containers.md").read_text(encoding="utf-8")
FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BASH = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILES = dict(FILE.findall(PAGE))
LINES = "".join(BASH.findall(PAGE)).replace("\\\n", " ").splitlines()
HARDENED = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Follower:
    """Does what the page says, line by line."""

    def __init__(self, folder):
        context = folder / "context"
        context.mkdir()
        for name, text in FILES.items():
            (context / name).write_text(text, encoding="utf-8")
        shutil.copyfile(REPOSITORY / "constraints.txt", context / "constraints.txt")
        self.engine = Engine(folder, context, free_port())
        self.variables = {}
        self.service = self.options = None

    def follow(self, line):
        """What a line prints."""
        if assignment := re.fullmatch(r"([A-Z]+)=\$\((.*)\)", line):
            self.variables[assignment[1]] = self.follow(assignment[2]).strip()
            return ""
        if line.startswith("curl "):
            return self.curl(line)
        docker, verb, *words = shlex.split(line)
        assert docker == "docker", f"no test follows {line!r}"
        return getattr(self, verb)(words) or ""

    def build(self, words):
        assert words == ["--file", "Containerfile", "--tag", "decide", "."]
        self.engine.build(FILES["Containerfile"])

    def run(self, words):
        options = self.engine.options(words)
        assert set(HARDENED) <= set(words)
        assert options.image == "decide"
        assert options.user == self.engine.user
        self.engine.mount(options.volume, options.tmpfs)
        if options.detach:
            self.options = options
            self.start([options.name])
            return ""
        process = self.engine.start([*self.engine.entrypoint, *options.arguments])
        return self.finish(process)

    def start(self, words, **more):
        assert words == [self.options.name]
        command = self.options.arguments or self.engine.command
        self.service = self.engine.start([*self.engine.entrypoint, *command], **more)
        for _ in range(300):
            check = self.engine.start(self.engine.health)
            check.communicate()
            if check.returncode == 0:
                return
            if self.service.poll() is not None:
                break
            time.sleep(0.2)
        self.service.kill()
        pytest.fail(f"not healthy: {self.service.communicate()}")

    def exec(self, words):
        assert words[0] == self.options.name
        return self.finish(self.engine.start(words[1:]))

    def stop(self, words):
        """Stop in an orderly way: within the time of the page, with nothing on stderr."""
        assert words == [self.options.name]
        self.service.send_signal(getattr(signal, self.engine.stop_signal))
        out, err = self.service.communicate(timeout=int(self.options.stop_timeout))
        assert (self.service.returncode, err) == (0, "")
        assert out.endswith("graphcb: stopped; what was answered is in the log\n")

    def finish(self, process):
        out, err = process.communicate(timeout=120.0)
        assert (process.returncode, err) == (0, "")
        return out

    def curl(self, line):
        if shutil.which("curl") is None:
            pytest.skip("needs curl")
        line = line.replace(":8000/", f":{self.engine.port}/")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line.replace("curl -s ", "curl -sS --fail ")],
            env={"PATH": os.environ["PATH"], **self.variables}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def call(self, method, path, content=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.engine.port, timeout=60.0)
        headers = {"Authorization": f"Bearer {self.variables['KEY']}"}
        headers |= {"Content-Type": "application/json"} if content is not None else {}
        with contextlib.closing(connection):
            connection.request(method, path, content and json.dumps(content), headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            return answer.read()

    def use_everything(self):
        """Decisions by closed forms and by the solver, feedback, and all that can be read."""
        for reveals in ({"own": True}, [[1, 0], [1, 1]], [[1.0, 0.5], [0.25, 1.0]]):
            rounds = [{"context": {"amount": x}, "reveals": reveals} for x in (30.0, 900.0)]
            made = json.loads(self.call("POST", "/v1/decisions", {"decisions": rounds}))
            for one in made["decisions"]:
                path = f"/v1/decisions/{one['decision_id']}"
                self.call("POST", f"{path}/feedback", {"rewards": {one["action"]: 2.0}})
        for path in ("/v1/problem", "/v1/status", "/v1/live", "/metrics", "/", "/openapi.json"):
            self.call("GET", path)

    def machine_code(self):
        """What the image has, and what the container has: by name, the content."""
        beside = "usr/lib/*/site-packages/graphcb/__pycache__/compiled"
        used = f"tmp/graphcb-{self.engine.uid}"
        return [
            {
                str(file.relative_to(place)): file.read_bytes()
                for place in self.engine.root.glob(where)
                for file in place.rglob("*.nb[ic]")
            }
            for where in (beside, used)
        ]

    def check_that_nothing_was_compiled(self):
        image, container = self.machine_code()
        assert container, "the container has found no machine code in its image"
        new = [name for name, code in container.items() if image.get(name) != code]
        assert not new, f"compiled in the container and not in the image: {new}"


@pytest.fixture(scope="module")
def folder():
    # Not below pytest's own folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="graphcb-container-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
        for path in Path(name).rglob("*/"):
            path.chmod(0o755)


@pytest.fixture(scope="module")
def at_work(folder):
    """The page from its first line to the last: the image is built, the service runs again."""
    follower = Follower(folder)
    try:
        yield follower, [(line, follower.follow(line)) for line in LINES]
    finally:
        if follower.service is not None and follower.service.poll() is None:
            follower.service.kill()
            follower.service.communicate()


@pytest.mark.slow
class TestFollowed:
    """One image, built once; the tests are in the order of the page."""

    def test_the_commands_do_what_is_said(self, at_work):
        follower, printed = at_work
        assert len(printed) == 9
        assert len(follower.variables["KEY"]) == 43
        (receipt,) = [out for line, out in printed if "/feedback" in line]
        assert '"counted":true' in receipt
        kept = json.loads(printed[-1][1])  # after a stop and a start
        assert kept["decision_id"] == follower.variables["ID"]
        assert kept["feedback"] == {"review": -5.0}
        assert verify(str(follower.engine.root / "data" / "backup.db")) == []

    def test_the_service_is_nobody_and_has_no_rights(self, at_work):
        engine = at_work[0].engine
        status = Path(f"/proc/{at_work[0].service.pid}/status")
        if not status.exists():
            pytest.skip("no /proc here")
        said = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        assert said["Uid"].split() == 4 * [str(engine.uid)]
        assert engine.uid != 0
        if os.getuid() == 0:
            assert int(said["CapEff"], 16) in (0, 4)  # 4: to read this Python in the home of root
            assert said["NoNewPrivs"] == "1"

    def test_the_keys_are_for_the_service_alone(self, at_work):
        engine = at_work[0].engine
        status = (engine.root / "keys" / "keys.json").stat()
        assert (status.st_uid, status.st_mode & 0o777) == (engine.uid, 0o600)
        assert at_work[0].variables["KEY"] not in (engine.root / "keys" / "keys.json").read_text()

    def test_nothing_is_compiled_and_nothing_is_changed(self, at_work):
        follower, _ = at_work
        before = follower.engine.files()
        follower.use_everything()
        follower.check_that_nothing_was_compiled()
        assert follower.engine.files() == before
        assert follower.engine.environment["NUMBA_CPU_NAME"] == "generic"

    def test_the_service_with_postgresql(self, at_work, folder):
        """With the command of compose.yaml, and a server that asks for the password."""
        pytest.importorskip("psycopg", reason="needs the extra `postgres`")
        if (reason := why_not()) is not None:
            pytest.skip(reason)
        follower, _ = at_work
        follower.stop(["decide"])
        (folder / "server").mkdir()
        server = Server(folder / "server")
        try:
            server.execute("ALTER USER graphcb PASSWORD 'a secret'")
            server.execute("CREATE DATABASE graphcb")
            settings = folder / "server" / "data" / "pg_hba.conf"
            settings.write_text("host graphcb graphcb 127.0.0.1/32 scram-sha-256\n")
            server.execute("SELECT pg_reload_conf()")
            command = json.loads(re.search(r"^    command: (.*)$", FILES["compose.yaml"], re.M)[1])
            address = command[command.index("--log") + 1]
            here = address.replace("@db/", f"@127.0.0.1:{server.port}/")
            follower.options.arguments = [here if one == address else one for one in command]
            follower.engine.mount(["decide-keys:/keys:ro"], ["/tmp"])
            for _ in range(2):
                follower.start(["decide"], PGPASSWORD="a secret")
                made = follower.call("POST", "/v1/decisions", {"context": {"amount": 30.0}})
                assert json.loads(made)["action"] in ("approve", "review")
                follower.check_that_nothing_was_compiled()
                follower.stop(["decide"])
        finally:
            server.stop()


def test_the_compose_file_is_as_careful_as_the_command():
    (run,) = [line for line in LINES if "--detach" in line]
    assert "-p 127.0.0.1:8000:8000 decide" in run
    assert "--tmpfs /tmp" in run
    service = FILES["compose.yaml"].partition("  decide:\n")[2].partition("\nvolumes:")[0]
    for line in (
        'volumes: ["decide-keys:/keys:ro"]', 'ports: ["127.0.0.1:8000:8000"]',
        'user: "10001:10001"', "read_only: true", 'tmpfs: ["/tmp"]', 'cap_drop: ["ALL"]',
        'security_opt: ["no-new-privileges"]', "stop_grace_period: 30s",
    ):  # fmt: skip
        assert f"\n    {line}\n" in service
    said = json.loads(re.search(r"^CMD (.*)$", FILES["Containerfile"], re.M)[1])
    command = json.loads(re.search(r"^    command: (.*)$", service, re.M)[1])
    assert [one for one in command if one not in said] == ["postgresql://graphcb@db/graphcb"]


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
