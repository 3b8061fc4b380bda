"""Who reads the page on containers and does what it says, line by line."""

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
import time

import pytest

from .engine import REPOSITORY, Engine

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
        assert out.endswith("graphcb: stopped; everything answered is in the log\n")

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
