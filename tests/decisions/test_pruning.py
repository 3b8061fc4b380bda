"""Old decisions are removed; what is left is read, verified and replayed as before."""

import pytest

from graphcb import DecisionLog, InformationDirected, Policy, Problem, SquareCBG, graphs
from graphcb.cli import main
from graphcb.decisions import replay, verify
from graphcb.evaluation import summarize
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

DAY = 86_400.0
FIRST = Problem(["a", "b"], features={"age": "number"}, defaults={"keep_days": 5})
SECOND = Problem(["b", "c"], features={"age": "number"}, defaults={"keep_days": 5})


@pytest.fixture
def clock(monkeypatch):
    """Seconds that stand still until a test moves them."""
    now = [1e9]
    monkeypatch.setattr("graphcb.decisions.together.time.time", lambda: now[0])
    return now


def play(policy, clock, n_days, *, late=3):
    """Four decisions on each day, whose feedback comes after `late` more decisions."""
    waiting = []
    for day in range(n_days):
        for _ in range(4):
            waiting.append(policy.decide({"age": float(day)}))
            if len(waiting) > late:
                one = waiting.pop(0)
                policy.feedback(one.decision_id, {one.action: 0.25})
            clock[0] += DAY / 4
    return waiting


def test_what_is_left_is_read_and_replayed_and_the_model_is_the_same(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1, checkpoint_every=9) as policy:
        waiting = play(policy, clock, 10)
        agent, events = to_bytes(policy.agent), policy.n_events
        with DecisionLog(file) as log:
            before = list(log)
        done = policy.prune()
        assert (done.n_decisions, done.n_feedbacks) == (20, 20)
        assert to_bytes(policy.agent) == agent
        assert policy.n_events == events
        assert policy.prune() == (0, 0, done.position)
        with pytest.raises(LookupError, match="from which old decisions were removed, this one"):
            policy.feedback(before[0].decision_id, {before[0].action: 0.25})
        assert policy.feedback(waiting[0].decision_id, {waiting[0].action: 0.5}).counted
        policy.decide({"age": 3.0})
        agent = to_bytes(policy.agent)
    assert verify(file) == []
    with DecisionLog(file) as log:
        rows = list(log)
        assert [row.decision_id for row in rows[:-1]] == [row.decision_id for row in before[20:]]
        assert log.n_decisions == 21
        assert to_bytes(replay(log).agent) == agent
        assert to_bytes(replay(log, from_checkpoint=True).agent) == agent
        assert summarize(log).n_decisions == 21
        assert log.start.position == done.position
    with Policy(file, problem=FIRST) as policy:
        assert to_bytes(policy.agent) == agent
    with pytest.raises(ValueError, match="`agent` must be left out, as the log was changed"):
        Policy(file, InformationDirected(), problem=FIRST)


def test_versions_stay_and_can_be_rolled_back_to_if_their_end_is_there(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        late = play(policy, clock, 6)
        policy.change(SECOND)
        for one in late:
            policy.feedback(one.decision_id, {one.action: 1.0})
        play(policy, clock, 3)
        policy.change(FIRST)
        play(policy, clock, 3)
        assert policy.prune(1e9 + 5.5 * DAY).n_decisions == 22
        assert [version.problem for version in policy.versions] == [FIRST, SECOND, FIRST]
        with pytest.raises(ValueError, match="must have its end in the log, got 1, which ended"):
            policy.roll_back(1)
        policy.roll_back(2)
        assert policy.problem == SECOND
        policy.prune(1e9 + 8 * DAY)
        play(policy, clock, 1)
        agent = to_bytes(policy.agent)
    assert verify(file) == []
    with DecisionLog(file) as log:
        assert [version.number for version in log.versions] == [1, 2, 3, 4]
        assert {row.version for row in log} == {2, 3, 4}
        assert to_bytes(replay(log).agent) == agent


def test_everything_may_be_removed(tmp_path, clock):
    file = tmp_path / "log.db"
    agent = SquareCBG(LinearOGD(2, 1, learning_rate=0.1))
    with Policy(file, agent, seed=1) as policy:
        for _ in range(5):
            made = policy.decide([1.0], graphs.full_information(2))
            policy.feedback(made.decision_id, {0: 0.5, 1: 0.25})
        with pytest.raises(ValueError, match="`before` must be given, as the problem does not say"):
            policy.prune()
        assert policy.prune(clock[0] + 1) == (5, 5, 10)
        model = to_bytes(policy.agent)
    assert verify(file) == []
    with Policy(file) as policy:
        assert (policy.n_events, policy.model_version) == (10, 5)
        assert to_bytes(policy.agent) == model
        assert policy.decide([1.0], graphs.full_information(2)).decision_id.split("-")[1] == "11"
    assert verify(file) == []


def test_the_command(tmp_path, clock, capsys):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, clock, 2)
    assert main(["log", "prune", str(file), "--days", "-1"]) != 0
    assert "`--days` must be positive, got -1" in capsys.readouterr().err
    assert main(["log", "prune", str(file), "--days", "1"]) == 0
    assert capsys.readouterr().out == (
        "4 decisions and 4 feedbacks removed\nthe log is replayed from event 12 on\n"
    )
    assert main(["log", "prune", str(file)]) == 0
    assert "0 decisions and 0 feedbacks removed" in capsys.readouterr().out
    assert main(["replay", str(file)]) == 0
    assert "old decisions were removed: from event 12 on" in capsys.readouterr().out


def test_an_interrupted_removal_has_happened_or_not(tmp_path, clock, monkeypatch):
    from graphcb.decisions import pruning

    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, clock, 4)
        agent = to_bytes(policy.agent)
        with monkeypatch.context() as patch:
            patch.setattr(pruning, "to_bytes", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                policy.prune(clock[0])
        assert to_bytes(policy.agent) == agent
        with DecisionLog(file) as log:
            assert (log.n_decisions, log.start.position) == (16, 0)
        policy.prune(clock[0] - 2 * DAY)
        assert to_bytes(policy.agent) == agent
        policy.decide({"age": 1.0})
    assert verify(file) == []


def test_a_change_a_default_and_a_removal_on_every_database(new_log, clock):
    location = new_log()
    waits = Problem(["a", "b"], features={"age": "number"}, defaults={"waiting": DAY, "loss": 1.0})
    with Policy(location, problem=waits, seed=1) as policy:
        waiting = play(policy, clock, 3)
        assert policy.fill_in(clock[0]) == 0
        policy.change(SECOND, note="on")
        assert policy.fill_in(clock[0] + DAY) == 3
        assert policy.feedback(waiting[0].decision_id, {waiting[0].action: 0.5}).counted
        play(policy, clock, 2)
        assert policy.prune(1e9 + 2 * DAY).n_decisions == 8
        policy.roll_back(1)
        policy.decide({"age": 1.0})
        agent = to_bytes(policy.agent)
    assert verify(location) == []
    with DecisionLog(location) as log:
        assert len(log.versions) == 3
        assert to_bytes(replay(log).agent) == agent
        assert len(list(log)) == 4 + 8 + 1
    with Policy(location) as policy:
        assert to_bytes(policy.agent) == agent


def test_in_one_transaction_with_feedback(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        old = policy.decide({"age": 1.0})
        clock[0] += 10 * DAY
        kept = policy.decide({"age": 1.0})
        with policy.together() as together:
            together.look_up([old.decision_id, kept.decision_id])
            assert together.feedback(old.decision_id, {old.action: 0.5}).counted
            assert together.feedback(kept.decision_id, {kept.action: 0.5}).counted
            assert together.prune(clock[0] - DAY) == (1, 1, 3)
            assert not together.feedback(kept.decision_id, {kept.action: 0.5}).counted
            with pytest.raises(LookupError, match="from which old decisions were removed"):
                together.feedback(old.decision_id, {old.action: 0.5})
            together.decide({"age": 2.0})
        agent = to_bytes(policy.agent)
    with DecisionLog(file) as log:
        assert to_bytes(replay(log).agent) == agent
    assert verify(file) == []
