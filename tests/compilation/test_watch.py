import gc

import pytest

from graphcb.compilation import cache, watch


@pytest.fixture
def clock(monkeypatch, tmp_path):
    """A clock to set by hand, and nothing said so far."""
    now = [100.0]
    monkeypatch.setattr(watch, "clock", lambda: now[0])
    for name, value in {"_said": False, "_spent": 0.0, "_names": []}.items():
        monkeypatch.setattr(watch, name, value)
    monkeypatch.setattr(cache, "place", lambda: tmp_path)
    monkeypatch.delenv(watch.QUIET, raising=False)
    return now


def compile_for(clock, seconds, name="graphcb.exploration.rows.solve"):
    watch.started(name)
    clock[0] += seconds
    watch.started("graphcb.exploration.newton.step")
    watch.finished("graphcb.exploration.newton.step")
    watch.finished(name)


LINE = (
    "graphcb: compiling graphcb.exploration, up to 15 s (once per installation; "
    "`graphcb compile` does it ahead of time)\n"
)


def test_one_line_when_it_takes_long(clock, capsys):
    compile_for(clock, 2.0)
    compile_for(clock, 2.0)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", LINE)


def test_short_times_add_up(clock, capsys):
    compile_for(clock, 0.6)
    assert capsys.readouterr().err == ""
    compile_for(clock, 0.6)
    assert capsys.readouterr().err == LINE


def test_no_line_for_what_is_not_noticed_or_not_ours(clock, capsys):
    compile_for(clock, 0.5)
    watch.started("numpy.something")
    clock[0] += 10.0
    watch.finished("numpy.something")
    watch.started("graphcb.checks.first")
    watch.finished("graphcb.checks.first")
    assert capsys.readouterr().err == ""


def test_the_line_can_be_turned_off(clock, capsys, monkeypatch):
    monkeypatch.setenv("GRAPHCB_QUIET", "1")
    compile_for(clock, 2.0)
    assert capsys.readouterr().err == ""


def test_the_line_says_if_nothing_can_be_kept(clock, capsys, monkeypatch):
    monkeypatch.setattr(cache, "place", lambda: None)
    compile_for(clock, 2.0)
    assert capsys.readouterr().err == (
        "graphcb: compiling graphcb.exploration, up to 15 s (in every process, as no folder for "
        "machine code is writable; set NUMBA_CACHE_DIR)\n"
    )


def test_who_asks_is_told_instead(clock, capsys):
    told = []
    with watch.reporting_to(told.append):
        compile_for(clock, 2.0)
    assert told == ["graphcb.exploration.newton.step", "graphcb.exploration.rows.solve"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("on", [True, False])
def test_no_garbage_is_collected_meanwhile(clock, on):
    try:
        if not on:
            gc.disable()
        watch.started("graphcb.a.b")
        watch.started("graphcb.a.c")
        watch.finished("graphcb.a.c")
        assert not gc.isenabled()
        watch.finished("graphcb.a.b")
        assert gc.isenabled() == on
    finally:
        gc.enable()
