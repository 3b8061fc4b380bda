"""A child that is forked in the middle of a call neither hangs nor disturbs its parent."""

import os
import signal
import sys
import threading
import time

import pytest

import graphcb
from graphcb import DecisionLog, Policy, graphs
from graphcb.decisions import LogError, replay, tables

GRAPH = graphs.full_information(2)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_child(work, seconds=20.0):
    """How a forked child ended: its exit code, or "hung"."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "hung"


class Waiting(graphcb.Uniform):
    """An agent that stops in the middle of `act` until it may go on."""

    inside, may_go_on = threading.Event(), threading.Event()

    def act(self, context, graph, actions=None):
        if context is not None:
            Waiting.inside.set()
            Waiting.may_go_on.wait(60)
        return super().act(context, graph, actions)


def test_in_the_middle_of_another_threads_call(new_log):
    location = new_log()
    Waiting.inside.clear()
    Waiting.may_go_on.clear()
    with Policy(location, Waiting(), seed=0, classes=[Waiting]) as policy:
        thread = threading.Thread(target=policy.decide, args=([1.0], GRAPH))
        thread.start()
        assert Waiting.inside.wait(60)

        def use_and_leave():
            for call in (
                lambda: policy.decide(None, GRAPH),
                lambda: policy.feedback("any", {}),
                lambda: policy.n_events,
                lambda: policy.model_version,
                lambda: policy.agent,
            ):
                with pytest.raises(LogError, match=r"belongs to process \d+, not to this one"):
                    call()
            repr(policy)
            policy.close()

        assert in_child(use_and_leave) == 0
        Waiting.may_go_on.set()
        thread.join()
        assert policy.n_events == 1
        policy.decide(None, GRAPH)
    with DecisionLog(location) as log:
        assert replay(log, classes=[Waiting]).position == 2


def test_a_child_that_drops_what_it_inherited_does_not_end_the_parents_session(new_log):
    location = new_log()
    policy = Policy(location, graphcb.Uniform(), seed=0)
    log = DecisionLog(location)
    policy.decide(None, GRAPH)

    def drop():
        import gc

        nonlocal policy, log
        with pytest.raises(LogError, match="opened by and belongs to process"):
            list(log)
        log.close()
        policy.close()
        del policy, log
        gc.collect()

    assert in_child(drop) == 0
    policy.decide(None, GRAPH)
    assert len(list(log)) == 2
    log.close()
    policy.close()


def test_a_child_that_exits_in_the_ordinary_way(new_log):
    location = new_log()
    code = f"""
import os, sys
import graphcb
from graphcb import graphs
policy = graphcb.Policy({location!r}, graphcb.Uniform(), seed=0)
policy.decide(None, graphs.bandit(2))
if os.fork() == 0:
    sys.exit(0)
os.wait()
policy.decide(None, graphs.bandit(2))
print(policy.n_events)
policy.close()
"""
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ["2"]


def test_a_child_opens_the_log_anew_once_the_parent_has_closed_it(new_log):
    location = new_log()
    policy = Policy(location, graphcb.Uniform(), seed=0)
    policy.decide(None, GRAPH)
    policy.close()

    def continue_it():
        with Policy(location) as mine:
            mine.decide(None, GRAPH)

    assert in_child(continue_it) == 0
    with DecisionLog(location) as log:
        assert log.n_events == 2


def test_a_child_draws_tokens_of_its_own():
    tables.new_token()
    assert tables._tokens  # drawn ahead
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writes, tables.new_token().encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reads, 16).decode()
    os.close(reads)
    os.close(writes)
    assert len(theirs) == 16
    assert theirs not in [tables.new_token() for _ in range(tables.DRAWN_AT_ONCE)]
