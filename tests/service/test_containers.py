"""The page on containers: what can be checked of its recipe without a container engine."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import Problem
from graphcb.cli import _parser
from graphcb.service.keys import Keys

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "how-to" / "containers.md").read_text("utf-8")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
FILES = dict(re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", PAGE, re.S | re.M))
SHELL = "".join(re.findall(r"^```bash\n(.*?)^```$", PAGE, re.S | re.M)).replace("\\\n", " ")
INSTRUCTIONS = [
    tuple(line.split(" ", 1))
    for line in FILES["Containerfile"].splitlines()
    if line.strip() and not line.startswith("#")
]


def instruction(name):
    (rest,) = [rest for found, rest in INSTRUCTIONS if found == name]
    return rest


def parsed(words):
    """The options of a command of graphcb, which ends the test if it does not know them."""
    return _parser().parse_args(words)


def test_the_image_is_built_from_what_there_is():
    version = re.fullmatch(r"python:(3\.\d+)-slim", instruction("FROM"))[1]
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    runs = [rest for found, rest in INSTRUCTIONS if found == "RUN"]
    extras = re.search(r'"graphcb\[(.*)\]"$', runs[0])[1]
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    assert "--constraint constraints.txt" in runs[0]
    parsed(shlex.split(runs[1])[1:])
    assert Problem.from_toml(FILES["problem.toml"]).feedback == "rewards"


def test_the_service_in_the_image_is_not_root_and_hears_signals():
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", instruction("USER"))
    assert json.loads(instruction("ENTRYPOINT")) == ["graphcb"]  # a shell would keep signals
    assert instruction("STOPSIGNAL") == "SIGTERM"
    options = parsed(json.loads(instruction("CMD")))
    assert (options.host, options.port) == ("0.0.0.0", int(instruction("EXPOSE")))
    folders = f"{Path(options.log).parent} {options.keys.parent}"
    assert f"RUN mkdir {folders} && chown {instruction('USER')} {folders}" in FILES["Containerfile"]


def test_the_health_check_tells_a_service_from_none(serve):
    service = serve()
    port = service.address.rpartition(":")[2]
    _, _, command = instruction("HEALTHCHECK").partition(" CMD ")
    check = [one.replace("8000", port) for one in json.loads(command)]
    assert subprocess.run([sys.executable, *check[1:]]).returncode == 0
    service.stop()
    assert subprocess.run([sys.executable, *check[1:]], capture_output=True).returncode != 0


def test_commands_in_containers_are_those_of_graphcb():
    runs = re.findall(r"docker run (.*?) decide(?: (serve[^)\n]*)|$)", SHELL, re.M)
    assert len(runs) == 2
    for options, command in runs:
        for hardened in ("--read-only", "--user 10001:10001", "--cap-drop=ALL"):
            assert hardened in options
        assert "--security-opt=no-new-privileges" in options
        parsed(shlex.split(command) or json.loads(instruction("CMD")))
    assert "-p 127.0.0.1:8000:8000" in runs[1][0]
    (inside,) = re.findall(r"docker exec decide graphcb (.*)", SHELL)
    parsed(shlex.split(inside))


def test_the_compose_file_is_as_careful_as_the_command():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, in the extra `dev`")
    service = yaml.safe_load(FILES["compose.yaml"])["services"]["decide"]
    careful = {
        "user": "10001:10001", "read_only": True, "tmpfs": ["/tmp"], "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"], "ports": ["127.0.0.1:8000:8000"],
        "volumes": ["decide-keys:/keys:ro"], "environment": {"PGPASSWORD": "${PASSWORD:?}"},
        "stop_grace_period": "30s", "build": {"context": ".", "dockerfile": "Containerfile"},
    }  # fmt: skip
    assert service | careful == service
    options, inside = parsed(service["command"]), parsed(json.loads(instruction("CMD")))
    assert options.log == "postgresql://graphcb@db/graphcb"
    assert vars(options) | {"log": inside.log} == vars(inside)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_curl_lines_work_as_printed(serve, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    scopes = re.search(r"serve-keys add \S+ shop --scopes (\S+)\)", SHELL)[1].split(",")
    service = serve(Problem.from_toml(FILES["problem.toml"]), keys=keys)
    lines = [f"KEY={keys.add('shop', scopes)}"]
    lines += [line for line in SHELL.splitlines() if line.startswith(("curl", "ID="))]
    script = "\n".join(lines).replace("http://127.0.0.1:8000", service.address)
    script = script.replace("curl -s ", "curl -sS --fail-with-body ")
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert b'"counted":true' in done.stdout
    assert b'"feedback":{"review":-5.0}' in done.stdout
