"""No file makes a kernel leave its arrays: see lying_files.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("lying_files.py")


def run(n_lies, seed, **environment):
    return subprocess.run(
        [sys.executable, SCRIPT, str(n_lies), str(seed)],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, **environment},
    )


def test_lies_are_refused_or_harmless():
    done = run(360, 0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 wrong" in done.stdout


@pytest.mark.slow
def test_no_kernel_leaves_its_arrays(tmp_path):
    done = run(800, 1, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
