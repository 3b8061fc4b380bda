"""The page on the service: its commands are run as printed, but on a free port."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import Problem
from graphcb.cli import main
from graphcb.service.routes import ROUTES

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "service.md"


def blocks(language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [line for block in found for line in block.splitlines()]


def run(script, folder):
    """What a shell prints; a command that fails, or an answer with an error, is a failure."""
    words = script.replace("curl -s ", "curl -sS --fail-with-body ")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", words],
        capture_output=True, text=True, cwd=folder, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_curl_lines_work_as_printed(serve, tmp_path):
    problem = Problem.from_toml("\n".join(blocks("toml")))
    service = serve(problem)
    lines = [line for line in blocks("bash") if line.startswith(("curl", "ID="))]
    assert len(lines) == 15
    out = run("\n".join(lines).replace("http://127.0.0.1:8000", service.address), tmp_path)
    assert out.count('"decision_id":"') == 1 + 3 + 2
    assert '"counted":true,"message":"counted"' in out
    assert '"counted":false' in out
    assert '"feedback":{"review":-5.0}' in out
    assert '"openapi":"3.1.0"' in out
    assert service.call("GET", "/v1/status")[1]["n_decisions"] == 4


def test_the_lines_on_keys_work_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [line for line in blocks("bash") if line.startswith("graphcb serve-keys")]
    assert len(lines) == 4
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [len(key) for key in out[:2]] == [43, 43]
    assert out[2:] == ["shop: decide, feedback", "page: read"]


def test_the_table_lists_every_path_of_the_service():
    described = PAGE.read_text()
    for route in ROUTES:
        if not route.path.startswith("/personalizer"):
            assert f"`{route.method} {route.path}`" in described
