"""A sweep that is stopped continues, and any way of sharing it gives the same bits."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from graphcb.experiments.curves import write_csv
from graphcb.experiments.experiment import read
from graphcb.experiments.lines import Grid
from graphcb.experiments.reproduction import finish
from graphcb.experiments.store import Store


def small(n_rounds=200):
    return replace(
        read("inventory-adaptive"),
        lines=read("inventory-adaptive").lines[:2],
        grid=Grid((0.05, 0.1), (2.0, 4.0)),
        n_seeds=2,
        n_rounds=n_rounds,
    )


def table(curves, path):
    write_csv([(small().identity(curve.setting), curve) for curve in curves], path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return table(finish(small(), Store(folder / "runs.jsonl", "1")), folder / "t.csv")


def test_nothing_finished_is_done_again(tmp_path, alone):
    store, made, found = Store(tmp_path / "runs.jsonl", "1"), [], []

    def stop(curve):
        made.append(curve)
        if len(made) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish(small(), store, on_run=stop)
    curves = finish(small(), store, on_start=found.extend, on_run=made.append)
    assert len(found) == 5
    assert len(made) == len(small().settings()) == 16
    assert len({curve.setting for curve in made}) == 16
    assert table(curves, tmp_path / "t.csv") == alone
    again = finish(small(), store, on_run=lambda curve: pytest.fail("made again"))
    assert table(again, tmp_path / "t.csv") == alone


def test_another_grid_shares_the_runs_that_are_the_same(tmp_path):
    store, made = Store(tmp_path / "runs.jsonl", "1"), []
    finish(small(), store)
    wider = replace(small(), grid=Grid((0.05, 0.1), (2.0, 4.0, 8.0)))
    finish(wider, store, on_run=made.append)
    assert {curve.setting.c for curve in made} == {8.0}
    finish(small(n_rounds=201), store, on_run=made.append)
    assert len(made) == 8 + 16


@pytest.mark.slow
def test_two_processes_give_the_same_table(tmp_path, alone):
    curves = finish(small(), Store(tmp_path / "runs.jsonl", "1"), n_jobs=2)
    assert table(curves, tmp_path / "t.csv") == alone


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_reproduction import small
from graphcb.experiments.reproduction import finish
from graphcb.experiments.store import Store
finish(small(), Store(Path(sys.argv[1]), "1"), on_run=lambda curve: print("run", flush=True))
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_finished(tmp_path, alone):
    path = tmp_path / "runs.jsonl"
    here = str(Path(__file__).parent)
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), here], stdout=subprocess.PIPE, text=True
    )
    said = [child.stdout.readline() for _ in range(3)]
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert said == ["run\n"] * 3
    store, found = Store(path, "1"), []
    curves = finish(small(), store, on_start=found.extend)
    assert len(found) >= 3
    assert table(curves, tmp_path / "t.csv") == alone


def die_once(path, setting):
    """The first worker that gets here is killed in the middle of its run."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return small().play(setting)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def test_ray_gives_the_same_table_though_a_worker_is_killed(tmp_path, alone):
    pytest.importorskip("ray", reason="needs graphcb[ray]")
    from functools import partial

    from graphcb.experiments.sweep import sweep

    settings = small().settings()
    mark = tmp_path / "killed"
    runs = dict(sweep(partial(die_once, str(mark)), settings, n_jobs=2, engine="ray"))
    assert mark.exists()
    curves = [runs[i] for i in range(len(settings))]
    assert table(curves, tmp_path / "t.csv") == alone


def test_ray_streams_into_the_same_store(tmp_path, alone):
    pytest.importorskip("ray", reason="needs graphcb[ray]")
    curves = finish(small(), Store(tmp_path / "runs.jsonl", "1"), n_jobs=2, engine="ray")
    assert table(curves, tmp_path / "t.csv") == alone
    assert len(Store(tmp_path / "runs.jsonl", "1").read()) == 16
