"""The package as a whole: light to import, and its public names in place."""

import inspect
import subprocess
import sys

import pytest

import graphcb

HEAVY = ("scipy.optimize", "scipy.sparse", "matplotlib", "networkx", "joblib", "rich")
HEAVY += ("sqlite3", "psycopg", "pyarrow", "sklearn", "torch", "vowpalwabbit", "coba")
ROOMS = ("datasets", "decisions", "environments", "evaluation", "experiments", "exploration")
ROOMS += ("figures", "graphs", "integrations", "oracles", "streams")


def test_import_stays_light():
    code = f"import sys, graphcb; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_room_resolves_after_the_import_alone():
    code = f"import graphcb; print([getattr(graphcb, r).__name__ for r in {ROOMS!r}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([f"graphcb.{room}" for room in ROOMS])
    assert set(ROOMS) <= set(dir(graphcb)) == {*graphcb.__all__, "__version__"}
    with pytest.raises(AttributeError, match="module 'graphcb' has no attribute 'nothing'"):
        graphcb.nothing  # noqa: B018


def test_public_names_are_there_and_documented():
    for name in graphcb.__all__:
        assert inspect.getdoc(getattr(graphcb, name)), name
    for name in graphcb.graphs.__all__:
        assert inspect.getdoc(getattr(graphcb.graphs, name)), name


def test_orientation_is_said_where_it_matters():
    for thing in (graphcb.FeedbackGraph, graphcb.graphs.Structure, graphcb.graphs):
        text = inspect.getdoc(thing)
        assert "row = played" in text
        assert "column = revealed" in text
