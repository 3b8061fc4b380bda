"""The nearest thing to a container engine: an image is a folder, a container a process.

A Containerfile is followed line by line. Absolute paths of the image are folders below `root`; its
Python is a virtual environment with the packages of this one, so that `pip install` runs as
printed, without a network. What is not known here fails: nobody can add a line to the page that
no test follows.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
READ_ALL = "+dac_read_search"
_ABSOLUTE = re.compile(r"(^|\s)/(?=\w)")


class Engine:
    """Builds one image from the files in `context`, and runs containers of it one by one."""

    def __init__(self, folder: Path, context: Path, port: int) -> None:
        self.root, self.context, self.port = folder / "root", context, port
        self.wheels = folder / "wheels"
        for made in (self.root, self.root / "tmp", self.wheels):
            made.mkdir(mode=0o755)
        self.environment = {
            "PATH": f"{self.root}/usr/bin:{os.defpath}",
            "HOME": str(self.root),  # as of a user without an account
            "TMPDIR": str(self.root / "tmp"),
        }
        self.folder, self.user = self.root, ""
        self.entrypoint: list[str] = []
        self.command: list[str] = []
        self.health: list[str] = []
        self.stop_signal = ""
        self.before: list[str] = []  # what becomes the user

    def inside(self, text: str) -> str:
        """Paths and the port of the image, where they are here."""
        text = text.replace("8000", str(self.port))
        if os.getuid() != 0:  # who cannot become another user is the user
            text = text.replace("10001:10001", f"{os.getuid()}:{os.getgid()}")
        return _ABSOLUTE.sub(lambda found: f"{found[1]}{self.root}/", text)

    def build(self, containerfile: str) -> None:
        """Follow each instruction."""
        lines = containerfile.replace("\\\n", " ").splitlines()
        for line in lines:
            if line.strip() and not line.startswith("#"):
                name, _, rest = line.partition(" ")
                follow = getattr(self, f"_{name.lower()}", None)
                assert follow is not None, f"no test follows {name} of the Containerfile"
                follow(rest.strip())

    def _from(self, image: str) -> None:
        found = re.fullmatch(r"python:(3\.\d+)-slim", image)
        assert found, f"not a slim image of Python: {image}"
        project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
        known = [one.rpartition(" ")[2] for one in project["classifiers"] if "Python ::" in one]
        assert found[1] in known, f"graphcb is for Python {known}, not {found[1]}"
        venv.create(self.root / "usr", with_pip=True, symlinks=True)
        (packages,) = (self.root / "usr" / "lib").glob("python*/site-packages")
        base = self.root / "usr" / "base"
        base.mkdir()
        for one in Path(sysconfig.get_path("purelib")).iterdir():
            ours = one.name.lower().startswith(("graphcb", "__editable__", "pip", "setuptools"))
            if not ours and one.suffix != ".pth":
                (base / one.name).symlink_to(one)
        (packages / "base.pth").write_text(f"{base}\n", encoding="utf-8")
        write_wheel(project, self.wheels)

    def _env(self, rest: str) -> None:
        self.environment |= dict(one.split("=", 1) for one in shlex.split(self.inside(rest)))

    def _workdir(self, path: str) -> None:
        self.folder = Path(self.inside(path))
        self.folder.mkdir(exist_ok=True)

    def _copy(self, rest: str) -> None:
        *names, target = rest.split()
        for name in names:
            shutil.copyfile(self.context / name, self.folder / self.inside(target) / name)

    def _run(self, script: str) -> None:
        network = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        network |= {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        done = subprocess.run(
            [*self.before, "sh", "-euc", self.inside(script)],
            env=self.environment | network, cwd=self.folder, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"RUN {script}\n{done.stdout}{done.stderr}"

    def _user(self, name: str) -> None:
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", name), f"not two numbers above 0: {name}"
        self.user = name
        self.before = self._become(name)

    def _become(self, name: str) -> list[str]:
        if os.getuid() != 0:
            return []
        if shutil.which("setpriv") is None:
            pytest.skip("no `setpriv` here, and root may write everywhere")
        user, group = name.split(":")
        probe = [f"{self.root}/usr/bin/python", "-c", "import numpy, sys; print(sys.base_prefix)"]
        for kept in ("", f",{READ_ALL}"):  # the second: this Python is in the home of root
            rights = [f"--{kind}=-all{kept}" for kind in ("inh-caps", "ambient-caps")]
            before = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
            before += ["--no-new-privs", *rights, f"--bounding-set=-all{kept}"]
            done = subprocess.run(
                [*before, *probe], env=self.environment, capture_output=True, text=True
            )
            if done.stdout.strip() == sys.base_prefix:
                return before
        pytest.skip("no other user can run this Python")

    def _expose(self, port: str) -> None:
        assert port == "8000", "the port that is published is 8000"

    def _stopsignal(self, name: str) -> None:
        self.stop_signal = name

    def _healthcheck(self, rest: str) -> None:
        options, _, command = rest.partition(" CMD ")
        for one in options.split():
            assert re.fullmatch(r"--(interval|timeout|start-period)=\d+s", one), one
        self.health = json.loads(command)

    def _entrypoint(self, rest: str) -> None:
        self.entrypoint = json.loads(rest)  # a line for a shell, which keeps signals, is no JSON

    def _cmd(self, rest: str) -> None:
        self.command = json.loads(rest)

    def options(self, words: list[str]) -> argparse.Namespace:
        """The options after `docker run`; one that is not known ends the test."""
        parser = argparse.ArgumentParser("docker run", allow_abbrev=False, exit_on_error=False)
        for flag in ("--rm", "--detach", "--read-only"):
            parser.add_argument(flag, action="store_true")
        for name in ("--name", "--restart", "--stop-timeout", "--user", "--cap-drop"):
            parser.add_argument(name)
        parser.add_argument("--security-opt")
        parser.add_argument("--tmpfs", action="append", default=[])
        parser.add_argument("-v", "--volume", action="append", default=[])
        parser.add_argument("-p", "--publish", action="append", default=[])
        parser.add_argument("image")
        parser.add_argument("arguments", nargs=argparse.REMAINDER)
        return parser.parse_args(words)

    def mount(self, volumes: list[str], tmpfs: list[str]) -> None:
        """The image as it is in a read-only container: only volumes and `tmpfs` can be written."""
        volumes = [one.partition(":")[2] for one in volumes]
        apart = [self.root / "tmp", self.root / "data", self.root / "keys"]
        for path in [self.root, *self.root.rglob("*")]:
            if not path.is_symlink() and not any(one in path.parents for one in apart):
                path.chmod(path.stat().st_mode & ~0o222)
        for path in volumes:
            where = Path(self.inside(path.removesuffix(":ro")))
            assert where in apart, f"{path} is not known as a place for a volume"
            where.chmod(0o555 if path.endswith(":ro") else 0o755)
        for path in tmpfs:
            where = Path(self.inside(path))
            shutil.rmtree(where / f"graphcb-{self.uid}", ignore_errors=True)
            where.chmod(0o1777)

    @property
    def uid(self) -> int:
        """The user's number, here."""
        return int(self.inside(self.user).partition(":")[0])

    def start(self, command: list[str], **more: str) -> subprocess.Popen[str]:
        """A process of a container."""
        return subprocess.Popen(
            [*self.before, *map(self.inside, command)], env=self.environment | more,
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def files(self) -> dict[str, tuple[int, int]]:
        """What a read-only container must leave as it is."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            if path.relative_to(self.root).parts[0] not in ("tmp", "data"):
                status = path.lstat()
                found[str(path)] = (status.st_mtime_ns, status.st_size)
        return found


def write_wheel(project: dict, folder: Path) -> None:
    """The package as it is here; the tool that builds it in earnest is not installed for tests."""
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [f"Requires-Dist: {one}" for one in project["dependencies"]]
    for extra, needed in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        for one in needed:
            name, _, marker = one.partition(";")
            also = f"({marker.strip()}) and " if marker else ""
            lines.append(f"Requires-Dist: {name.strip()} ; {also}extra == '{extra}'")
    name = f"{project['name']}-{project['version']}"
    info, source = f"{name}.dist-info", REPOSITORY / "src"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        for file in sorted((source / "graphcb").rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                wheel.write(file, file.relative_to(source))
        scripts = [f"{command} = {called}" for command, called in project["scripts"].items()]
        wheel.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        wheel.writestr(f"{info}/entry_points.txt", "\n".join(["[console_scripts]", *scripts]))
        tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", tags)
        wheel.writestr(f"{info}/RECORD", "")
