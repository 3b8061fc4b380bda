import time

import numpy as np
import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")

from graphcb import DecisionLog, Policy, Problem
from graphcb.evaluation import evaluate, logged
from graphcb.files import FileError
from graphcb.service import tally as tallies
from graphcb.service import watching
from graphcb.service.tally import LiveTally
from graphcb.service.watching import Watch

from .conftest import only

PROBLEM = Problem(
    ["skip", "look"],
    reveals={"all": ["look"]},
    limits={"floors": {"look": 0.3}},
    budgets={"looks": {"costs": {"look": 1}, "at_most": 0.5}},
)


def play(policy, n, answered=True):
    looks = 0
    for _ in range(n):
        made = policy.decide({"x": 1.0})
        if made.action == "look":
            looks += 1
            if answered:
                losses = {**dict.fromkeys(policy.problem.actions, 0.5), "skip": 0.0}
                policy.feedback(made.decision_id, losses)
    return looks


@pytest.fixture
def policy(tmp_path):
    with Policy(tmp_path / "log.db", problem=PROBLEM, seed=0) as policy:
        yield policy


def test_it_follows_the_log_as_it_grows(policy):
    watch = Watch(policy.location, only(PROBLEM))
    watch.look()
    assert watch.tally.n == 0
    first = play(policy, 50)
    watch.look()
    assert (watch.tally.n, watch.position) == (50, policy.n_events)
    assert watch.tally.n_expected == watch.tally.n_answered == first
    assert watch.tally.played == {"skip": 50 - first, "look": first}
    second = play(policy, 50, answered=False)
    watch.look()
    assert (watch.tally.n, watch.tally.n_open) == (100, second)
    assert watch.tally.n_answered == first
    assert watch.tally.keeping.n == 100
    assert watch.tally.keeping.n_broken == 0
    watch.close()


def test_a_look_is_bounded_and_the_next_one_continues(policy, monkeypatch):
    monkeypatch.setattr(watching, "AT_A_TIME", 10)
    monkeypatch.setattr(watching, "SECONDS", -1.0)
    play(policy, 30)
    watch = Watch(policy.location, only(PROBLEM))
    for n in (10, 20, 30):
        watch.look()
        assert watch.position == n
    watch.close()


def test_a_long_log_is_read_from_its_end(policy):
    play(policy, 60)
    n_events = policy.n_events
    watch = Watch(policy.location, only(PROBLEM), look_back=20)
    watch.look()
    assert (watch.first, watch.position) == (n_events - 20, n_events)
    assert 0 < watch.tally.n <= 20
    watch.close()


def test_after_a_failure_it_connects_anew_and_counts_nothing_twice(policy, monkeypatch):
    play(policy, 5)
    watch = Watch(policy.location, only(PROBLEM))
    watch.look()

    def fails(*given):
        raise OSError("gone")
        yield

    play(policy, 5)
    with monkeypatch.context() as broken:
        broken.setattr(watching, "read_events", fails)
        with pytest.raises(OSError, match="gone"):
            watch.look()
    watch.look()
    assert watch.tally.n == 10
    watch.close()


def test_a_failure_in_the_middle_of_a_page_counts_nothing_twice(policy, monkeypatch):
    play(policy, 6, answered=False)
    watch, reads = Watch(policy.location, only(PROBLEM)), DecisionLog.read_row

    def fails(log, row, *given):
        if row.position == 4:
            raise OSError("gone")
        return reads(log, row, *given)

    with monkeypatch.context() as broken:
        broken.setattr(DecisionLog, "read_row", fails)
        for _ in range(2):
            with pytest.raises(OSError, match="gone"):
                watch.look()
            assert (watch.tally.n, watch.position) == (3, 3)
    watch.look()
    assert watch.tally.n == 6
    watch.close()


NEXT = Problem(["skip", "look", "ask"], reveals={"all": ["look"]}, limits={"floors": 0.2})


def test_each_version_is_counted_on_its_own(policy, monkeypatch):
    monkeypatch.setattr(watching, "MOST_FINISHED", 2)
    watch = Watch(policy.location, only(PROBLEM))
    play(policy, 20)
    watch.look()
    assert (watch.tally.version.number, watch.tally.n, watch.finished) == (1, 20, {})
    play(policy, 20)  # which it has not read when the version changes
    late = policy.decide({"x": 1.0}, actions=["look"])
    policy.change(NEXT, note="asking")
    policy.feedback(late.decision_id, {"look": 0.5})  # of a decision of version 1
    second = play(policy, 30)
    watch.look()
    assert [one.number for one in watch.versions] == [1, 2]
    assert watch.tally.version.note == "asking"
    assert (watch.tally.n, watch.tally.n_answered, watch.tally.n_open) == (30, second, 0)
    assert watch.tally.judge.actions == ("skip", "look", "ask")
    assert watch.finished.keys() == {1}
    assert (watch.finished[1].n, watch.finished[1].is_whole) == (41, True)
    assert (watch.first, watch.position) == (0, policy.n_events)
    for _ in range(2):
        policy.roll_back(1)
        policy.change(NEXT)
    watch.look()
    assert watch.tally.version.number == 6
    assert watch.finished.keys() == {4, 5}
    assert watch.finished[5].n == 0
    watch.close()


def test_what_was_seen_of_a_version_stays(policy):
    play(policy, 300)
    policy.decide({"x": 1.0}, actions=["look"])
    policy.change(NEXT)
    watch = Watch(policy.location, only(PROBLEM))
    watch.look()
    seen = watch.finished[1].policy
    with DecisionLog(policy.location) as log:
        there = evaluate((row for row in log if row.version == 1), logged).graph
    assert abs(seen.mean - there.value) < 2.5 * there.standard_error
    assert seen.lower < there.anytime.upper
    assert seen.upper > there.anytime.lower
    watch.close()


def test_a_version_seen_from_the_middle_is_not_whole(policy):
    play(policy, 30)
    position = policy.change(NEXT).version.position
    play(policy, 30)
    for look_back, number, whole in (
        (policy.n_events - position, 2, True),
        (policy.n_events - position - 1, 2, False),
        (policy.n_events - position + 1, 2, True),
        (policy.n_events - 5, 1, False),
        (policy.n_events, 1, True),
    ):
        watch = Watch(policy.location, only(PROBLEM), look_back=look_back)
        watch.look()
        assert watch.tally.version.number == 2
        results = {2: watch.tally.result(), **watch.finished}
        assert min(results) == number
        assert results[number].is_whole is whole
        watch.close()


def test_a_log_whose_first_events_were_removed(policy):
    play(policy, 20)
    late = policy.decide({"x": 1.0}, actions=["look"])
    before = time.time()
    kept = [policy.decide({"x": 1.0}, actions=["look"]) for _ in range(5)]
    policy.feedback(late.decision_id, {"look": 0.5})
    policy.prune(before)  # the late feedback too, which stands behind decisions that are kept
    for made in kept:
        policy.feedback(made.decision_id, {"look": 0.5})
    watch = Watch(policy.location, only(PROBLEM))
    watch.look()
    assert (watch.tally.n, watch.tally.n_answered) == (5, 5)
    assert watch.position == policy.n_events
    assert watch.first > 0
    assert not watch.tally.is_whole
    watch.close()


def test_it_goes_on_when_events_are_removed_behind_it(policy):
    play(policy, 20)
    watch = Watch(policy.location, only(PROBLEM))
    watch.look()
    policy.prune(time.time())
    play(policy, 10)
    watch.look()
    assert (watch.tally.n, watch.tally.is_whole) == (30, True)
    watch.close()


def test_it_begins_anew_when_decisions_are_removed_that_it_has_not_seen(policy):
    play(policy, 20)
    watch = Watch(policy.location, only(PROBLEM))
    watch.look()
    play(policy, 10)
    before = time.time()
    play(policy, 7)
    policy.prune(before)
    watch.look()
    assert (watch.tally.n, watch.tally.is_whole) == (7, False)
    assert watch.position == policy.n_events
    watch.close()


def test_feedback_removed_before_it_is_read_changes_nothing(policy):
    """A decision that was seen and removed had feedback that was not seen."""
    old = policy.decide({"x": 1.0}, actions=["look"])
    before = time.time()
    play(policy, 10)
    watch = Watch(policy.location, only(PROBLEM))
    watch.look()
    n_answered = watch.tally.n_answered
    policy.feedback(old.decision_id, {"look": 0.5})
    policy.prune(before)
    play(policy, 10, answered=False)
    watch.look()
    assert (watch.tally.n, watch.tally.is_whole) == (21, True)
    assert watch.tally.n_answered == n_answered
    watch.close()


def test_events_that_are_removed_while_it_reads(policy, monkeypatch):
    watch = Watch(policy.location, only(PROBLEM))
    play(policy, 10)
    before = time.time()
    play(policy, 7)
    reads = watching.read_events

    def removes_first(*given):
        monkeypatch.undo()
        policy.prune(before)
        return reads(*given)

    monkeypatch.setattr(watching, "read_events", removes_first)
    watch.look()
    assert watch.tally.n == 0
    watch.look()
    assert watch.tally.n == 7
    watch.close()


def test_an_event_that_is_missing_elsewhere_is_an_error(policy):
    policy.decide({"x": 1.0})
    policy.decide({"x": 1.0})
    watch = Watch(policy.location, only(PROBLEM))
    policy.prune(time.time())
    play(policy, 5, answered=False)
    with policy.together() as together:
        together.storage.execute("DELETE FROM graphcb_decisions WHERE position = 5")
    with pytest.raises(FileError, match="event 5 is missing"):
        watch.look()
    watch.close()


def row(position, action, p=(0.5, 0.5)):
    from graphcb.decisions import LoggedDecision

    names = ["skip", "look"]
    return LoggedDecision(
        position, str(position), float(position), {"x": 1.0}, PROBLEM.graph, names, names[action],
        action, np.array(p), None, 0, None,
    )  # fmt: skip


def feedback(tally, decision, at, losses=(0.0, 1.0)):
    tally.answered(decision, at, np.array([0, 1]), np.array(losses))
    tally.settle()


def test_a_decision_that_shows_nothing_waits_for_the_next_that_does():
    tally = LiveTally(only(PROBLEM))
    for position, action in enumerate((0, 0, 1, 0, 1), start=1):
        tally.decided(row(position, action))
    tally.settle()
    assert tally.judge.n == 0
    feedback(tally, 5, 6.5)  # with event 4
    assert tally.judge.n == 2
    feedback(tally, 3, 7.0)  # with events 1 and 2
    assert tally.judge.n == 5
    assert (tally.n_expected, tally.n_answered, tally.n_open) == (3 - 1, 2, 0)


def test_feedback_that_never_comes_does_not_make_losses_look_small():
    """Half of the looks get no answer; both actions lose 0.5."""
    rng, tally = np.random.default_rng(0), LiveTally(only(PROBLEM))
    for position in range(1, 10_001):
        action = int(rng.random() < 0.5)
        tally.decided(row(position, action))
        if action and rng.random() < 0.5:
            tally.answered(position, position + 1.0, np.array([0, 1]), np.array([0.5, 0.5]))
    tally.settle()
    assert tally.judge.policy().mean == pytest.approx(0.5, abs=0.02)
    # were decisions that show nothing settled at once, it would be 0.33


def test_parts_are_settled_once_they_are_complete():
    tally = LiveTally(only(PROBLEM))
    tally.decided(row(1, 1, p=(0.0, 1.0)))
    tally.answered(1, 2.0, np.array([0]), np.array([0.25]))
    tally.settle()
    assert (tally.n_answered, tally.judge.n) == (1, 0)
    tally.answered(1, 9.0, np.array([1]), np.array([0.75]))
    tally.settle()
    assert (tally.n_answered, tally.judge.n) == (1, 1)
    assert tally.judge.constant("look").mean == 0.75
    assert tally.delay(0.5) == pytest.approx(1.0)
    tally.answered(77, 9.0, np.array([1]), np.array([0.75]))  # of a decision that was not seen
    assert tally.n_answered == 1


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(tallies, "MOST_OPEN", 20)
    monkeypatch.setattr(tallies, "MOST_SILENT", 30)
    tally = LiveTally(only(PROBLEM))
    for position in range(1, 4001):
        tally.decided(row(position, int(position % 100 == 0)))
        tally.settle()
    assert tally.n_open == 20
    assert tally._cells == sum(one.n_cells for one in tally._open.values())
    assert len(tally.windows) <= tallies.MOST_WINDOWS + 1  # which is filling
    assert sum(sum(one.played.values()) for one in tally.windows) == 4000
    sizes = {sum(one.played.values()) for one in tally.windows[:-1]}
    assert sizes == {40}
    assert tally.judge.n > 2000
    assert tally.delay(0.5) is None
    monkeypatch.setattr(tallies, "MOST_CELLS", 100)
    tally.decided(row(4001, 1))
    assert 0 < tally._cells <= 100


def test_actions_whose_names_never_come_again_are_not_all_remembered(monkeypatch):
    monkeypatch.setattr(tallies, "MOST_NAMES", 10)
    tally = LiveTally(only(Problem("each round", feedback="rewards")))
    for position in range(1, 2001):
        names = [f"item {position}", "always there"]
        one = row(position, int(position % 2 == 0))
        tally.decided(one._replace(actions=names, action=names[one.action_index]))
    assert len(tally.played) <= 20
    assert tally.played.most_common(1) == [("always there", 1000)]
    assert max(len(window.played) for window in tally.windows) <= 20
    assert sum(window.n for window in tally.windows) == 2000


def test_decisions_that_wait_share_their_names_and_graphs(policy):
    watch = Watch(policy.location, only(PROBLEM))
    for _ in range(3):
        play(policy, 20, answered=False)
        watch.look()
        waiting = list(watch.tally._open.values())
    assert len(waiting) > 3
    assert len({id(one.graph) for one in waiting}) == 1
    assert len({id(one.names) for one in waiting}) == 1
    watch.close()
