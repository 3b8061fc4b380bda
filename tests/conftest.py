import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

# The same examples in every run, and no clock: the first call of a kernel compiles it.
# `make test-slow` runs every property once more, with --hypothesis-profile thorough.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=300)
settings.load_profile("quick")


@pytest.fixture(scope="session")
def server():
    """One server a test process; skipped by name where Debian's `postgresql` is not installed."""
    from faults.server import Server, why_not

    if (reason := why_not()) is not None:
        pytest.skip(reason)
    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    # Not below pytest's own folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="graphcb-postgresql-") as folder:
        running = Server(Path(folder))
        yield running
        running.stop()
