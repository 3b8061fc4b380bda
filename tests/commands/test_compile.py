"""`graphcb compile` in an installation of its own, and who comes after it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import graphcb

pytestmark = pytest.mark.slow

COMPILE = "import sys; from graphcb.cli import main; assert main(['compile']) == 0\n"
WITHOUT_SIGNATURE = """
import importlib, pkgutil, graphcb
from graphcb import compilation
for module in pkgutil.walk_packages(graphcb.__path__, "graphcb."):
    if module.name != "graphcb.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError:  # an extra that is not installed
            pass
kernels = {kernel.py_func.__qualname__: kernel.signatures for kernel in compilation.ENTRY_POINTS}
print("without a signature:", [name for name, found in kernels.items() if not found])
"""
SOLVE = """
from graphcb import FeedbackGraph, Limits, solve_dec
from graphcb.compilation import cache, watch
compiled = []
with watch.reporting_to(compiled.append):
    graph = FeedbackGraph([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    limits = Limits(floors=0.1, linear=[{"actions": [0, 1], "at_most": 0.6}])
    solve_dec([0.1, 0.3, 0.7], graph, 100.0, limits=limits)
    print(solve_dec([0.1, 0.3, 0.7], graph, 100.0).is_certified)
print("compiled:", compiled)
print("place:", cache.place())
"""
NO_RICH = "import sys; sys.modules['rich'] = sys.modules['rich.progress'] = None\n"


class Installation:
    """A copy of the package whose folders cannot be written, with a home that cannot either."""

    def __init__(self, folder):
        self.folder = folder
        self.package = folder / "installed" / "graphcb"
        shutil.copytree(
            Path(graphcb.__file__).parent,
            self.package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        (folder / "home").mkdir()
        (folder / "temporary").mkdir()

    def run(self, code, *, home="mine", before=()):
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
        }
        environment |= {
            "HOME": str(self.folder / "home" / home),
            "TMPDIR": str(self.folder / "temporary"),
            "PYTHONPATH": str(self.package.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [*before, sys.executable, "-W", "error", "-c", code],
            capture_output=True, text=True, env=environment, cwd=self.folder / "home",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run_without_rights(self, code):
        """As a user who may write the temporary folder alone."""
        before = []
        if os.getuid() == 0:
            if shutil.which("setpriv") is None:
                pytest.skip("no `setpriv` here, and root may write everywhere")
            before = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
        folders = [self.folder / "home", self.package.parent, *self.package.rglob("*/")]
        folders.append(self.package)
        for folder in folders:
            folder.chmod(0o555)
        try:
            return self.run(code, home="missing", before=before)
        finally:
            for folder in folders:
                folder.chmod(0o755)


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """One in which `graphcb compile` has run, and what it printed."""
    installation = Installation(tmp_path_factory.mktemp("compiled"))
    return installation, installation.run(COMPILE + WITHOUT_SIGNATURE)


def test_every_kernel_is_compiled(installation):
    installation, printed = installation
    assert "without a signature: []" in printed
    assert f"machine code: {installation.package / '__pycache__' / 'compiled'}" in printed


def test_a_fresh_process_compiles_nothing(installation):
    installation, _ = installation
    assert installation.run(NO_RICH + COMPILE).startswith("nothing to compile\n")


def test_a_container_runs_what_its_image_has_compiled(installation):
    """Root compiles while the image is built; the user who runs it cannot write the package."""
    installation, _ = installation
    place = installation.folder / "temporary" / f"graphcb-{os.getuid()}"
    expected = f"True\ncompiled: []\nplace: {place}\n"
    assert installation.run_without_rights(SOLVE) == expected


def test_a_user_without_a_writable_home_or_installation_can_solve(tmp_path):
    """Before, `import graphcb` crashed: "no locator available"."""
    kept = [line for line in SOLVE.splitlines() if "limits" not in line]  # slow to compile
    bandit = "\n".join(kept).replace(
        "FeedbackGraph([[1, 1, 0], [0, 1, 1], [1, 0, 1]])", "bandit(3)"
    )
    code = "from graphcb.graphs import bandit\n" + bandit
    printed = Installation(tmp_path).run_without_rights(code)
    assert printed.startswith("True\ncompiled: ['graphcb.")
    assert printed.endswith(f"place: {tmp_path / 'temporary' / f'graphcb-{os.getuid()}'}\n")


def test_an_edit_in_another_module_is_noticed(tmp_path):
    """Before, the machine code of `sampling.invert` kept the old number from `checks`."""
    code = "from graphcb.rounds import action_at\nprint(action_at(0.9, [0.5, 0.4], 2))"
    installation = Installation(tmp_path)
    with pytest.raises(AssertionError, match="must sum to 1"):
        installation.run(code)
    checks = installation.package / "checks.py"
    text = checks.read_text(encoding="utf-8")
    assert "SUM_TOLERANCE = 1e-6" in text
    checks.write_text(text.replace("SUM_TOLERANCE = 1e-6", "SUM_TOLERANCE = 0.5"), encoding="utf-8")
    assert installation.run(code) == "1\n"


def test_without_rich_each_kernel_has_a_line(tmp_path):
    only_graphs = (
        "import numpy, graphcb.commands.compile as command\n"
        "command.WARM_UPS = (lambda: command.watch.started('graphcb.a.b')"
        " or command.watch.finished('graphcb.a.b'),)\n"
    )
    printed = Installation(tmp_path).run(NO_RICH + only_graphs + COMPILE)
    line, *others = printed.splitlines()
    assert re.fullmatch(r"1 of at most \d+: graphcb\.a\.b", line)
    assert others[0] == "compiled 1 kernels in 0 s"
    assert others[1].startswith("machine code: ")


def test_processes_that_start_at_once_share_a_cold_cache(tmp_path):
    installation = Installation(tmp_path)
    code = "from graphcb.rounds import action_at\nprint(action_at(0.9, [0.5, 0.5], 2))"
    environment = {**os.environ, "PYTHONPATH": str(installation.package.parent)}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-W", "error", "-c", code]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(4)
    ]
    answers = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0] * 4
    assert len(answers) == 1
