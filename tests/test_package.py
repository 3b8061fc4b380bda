"""The package as a whole: light to import, and its public names in place."""

import inspect
import subprocess
import sys

import graphcb

HEAVY = ("scipy.optimize", "scipy.sparse", "matplotlib", "networkx", "joblib", "rich")
HEAVY += ("sqlite3", "psycopg", "pyarrow")


def test_import_stays_light():
    code = f"import sys, graphcb; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
