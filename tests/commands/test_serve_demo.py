"""`graphcb serve --demo`."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb.cli import main

OWN = "it brings its own problem"


def test_what_the_demo_does_not_take(capsys, tmp_path):
    problem = str(tmp_path / "problem.toml")
    for options, text in [
        ([], "`PROBLEM` must be a problem file (TOML); or try graphcb serve --demo"),
        (["--demo", problem], f"`--demo` must be given without a problem file: {OWN}"),
        (["--demo", "--keys", problem], f"`--demo` must be given without --keys: {OWN}"),
    ]:
        assert main(["serve", *options]) == 2
        assert text in capsys.readouterr().err


@pytest.mark.slow
def test_the_demo_is_alive_within_a_minute(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "GRAPHCB_DATA"}
    environment["TMPDIR"] = str(tmp_path)
    command = [sys.executable, "-m", "graphcb", "serve", "--demo", "--port", "0"]
    begun = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as demo:
        try:
            demo.stdout.readline()
            address = re.search(r"open http://(\S+) in a browser", demo.stdout.readline())[1]
            shown = {"log": {"n_settled": 0}}
            while shown["log"]["n_settled"] < 100 and time.monotonic() < begun + 60.0:
                connection = http.client.HTTPConnection(address, timeout=30.0)
                connection.request("GET", "/v1/live")
                answer = connection.getresponse()
                content = json.loads(answer.read())
                shown = content if answer.status == 200 else shown  # 202 while it starts
                connection.close()
                time.sleep(0.5)
            assert list(tmp_path.glob("graphcb-demo-*"))
        finally:
            demo.send_signal(signal.SIGINT)
            out, err = demo.communicate(timeout=60.0)
    assert shown["log"]["n_settled"] >= 100
    assert shown["estimates"]["curve"]["decisions"]
    assert [one["held"] for one in shown["rules"]] == [True, True, True]
    assert (demo.returncode, err) == (0, "")
    assert out == "graphcb: stopped; everything answered is in the log\n"
    assert not list(tmp_path.glob("graphcb-demo-*"))  # its log is gone
