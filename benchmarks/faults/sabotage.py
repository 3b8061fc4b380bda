"""The Python side of sabotage.c: arm it, ask it, and start a process that has it."""

import ctypes
import os
import shutil
import subprocess
import sys
from enum import IntEnum
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "build" / "sabotage.so"


class How(IntEnum):
    """What happens to a call; the numbers are those of sabotage.c."""

    OFF = 0
    KILL_BEFORE = 1
    KILL_WITHIN = 2
    KILL_AFTER = 3
    FAIL = 4
    SHORT = 5
    STOP = 6


def is_possible() -> bool:
    """Whether there is a compiler for the interposer."""
    return sys.platform == "linux" and None not in (shutil.which("gcc"), shutil.which("make"))


def restart_with_interposer() -> None:
    """Start this program anew with sabotage.so before the C library; nothing if it has it."""
    if is_loaded():
        return
    subprocess.run(["make", "--silent", "-C", str(ROOT), "build/sabotage.so"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY)}
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def is_loaded() -> bool:
    return hasattr(ctypes.CDLL(None), "sabotage")


def arm(how: How, n: int, part: str, *, times: int = 1, error: int = 0) -> None:
    """Strike `times` calls from the n-th on, of those on files with `part` in their path."""
    ctypes.CDLL(None).sabotage(
        ctypes.c_int(how), ctypes.c_long(n), ctypes.c_long(times), ctypes.c_int(error),
        ctypes.c_char_p(part.encode()),
    )  # fmt: skip


def disarm() -> None:
    arm(How.OFF, 0, "")


def struck() -> int:
    """How many calls were struck since `arm`."""
    return int(ctypes.CDLL(None).sabotage_struck())


def counted() -> int:
    """How many calls were counted since `arm`, struck or not."""
    return int(ctypes.CDLL(None).sabotage_counted())
