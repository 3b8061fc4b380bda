"""Many deciders and one trainer on a PostgreSQL server: nothing is lost, doubled or made up."""

import secrets
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from graphcb import DecisionLog, Policy, Problem, SquareCBG, Uniform, graphs
from graphcb.agents import information_directed
from graphcb.decisions import (
    Decider,
    LogError,
    StaleSnapshot,
    Trainer,
    lessons,
    replay,
    replaying,
    verify,
)
from graphcb.decisions import training as trainings
from graphcb.evaluation import evaluate, logged, shadow, summarize
from graphcb.problems.guarded import explorer_of
from graphcb.saving import to_bytes
from graphcb.service.watching import Watch

psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgres`")
pytestmark = pytest.mark.slow

FULL = graphs.full_information(3)
PROBLEM = Problem(
    ["a", "b", "c"],
    reveals={"all": ["c"], "own": True},
    features={"x": "number", "kind": "category"},
)


@pytest.fixture
def url(server):
    return server.url(f"s{secrets.token_hex(6)}")


@pytest.fixture
def trainer(url, monkeypatch):
    """One that publishes with every step."""
    monkeypatch.setattr(trainings.Publishing, "is_due", True)
    with Trainer(url, problem=PROBLEM, seed=1) as one:
        yield one


def context(k):
    return {"x": k % 7 / 7, "kind": "ab"[k % 2]}


def losses(decision, k):
    shown = ("a", "b", "c") if decision.action == "c" else (decision.action,)
    return {name: 1.0 if name == "c" else float((k + ord(name)) % 3 / 2) for name in shown}


def play(deciders, n_rounds, trainer=None, *, every=10):
    """Rounds by turns, each with its feedback at another decider; steps in between."""
    made = []
    for k in range(n_rounds):
        one = deciders[k % len(deciders)].decide(context(k))
        made.append(one)
        other = deciders[(k + 1) % len(deciders)]
        assert other.feedback(one.decision_id, losses(one, k)).counted
        if trainer is not None and k % every == 0:
            trainer.step()
    return made


def settle(trainer):
    while sum(trainer.step()[:2]):
        pass


def test_decisions_of_all_deciders_are_replayed_bit_for_bit(url, trainer):
    with Decider(url) as first, Decider(url) as second:
        made = play([first, second], 60, trainer)
        assert first.n_events > 60
        assert first.model_version == made[-1].model_version or second.model_version
    settle(trainer)
    assert (trainer.n_events, trainer.model_version) == (120, 60)
    state = to_bytes(trainer.agent)
    trainer.close()
    with DecisionLog(url) as log:
        rows = list(log)
        assert [row.decision_id for row in rows] == [one.decision_id for one in made]
        assert [tuple(row.probabilities) for row in rows] == [one.probabilities for one in made]
        assert [row.feedback.losses.tolist() for row in rows] == [
            list(losses(one, k).values()) for k, one in enumerate(made)
        ]
        snapshots = [row.snapshot for row in rows]
        assert snapshots == sorted(snapshots)
        assert len(set(snapshots)) >= 6
        assert to_bytes(replay(log).agent) == state
        assert summarize(log).n_used == 60
    assert verify(url) == []
    with Trainer(url, checkpoint_every=10) as again:
        assert to_bytes(again.agent) == state


def test_a_decision_that_a_snapshot_did_not_make_is_noticed(url, trainer):
    with Decider(url) as decider:
        play([decider], 40, trainer)
    settle(trainer)
    trainer.close()
    import psycopg

    from graphcb.decisions.storage import new_storage
    from graphcb.decisions.tables import PackedDecision, checksum, select

    storage = new_storage(url, writes=False)
    storage.open()
    row = select(storage, PackedDecision, "ORDER BY position DESC LIMIT 1")[0]
    storage.close()
    forged = row._replace(snapshot=0)
    with psycopg.connect(url) as connection:
        connection.execute(
            "UPDATE graphcb_decisions SET snapshot = 0, checksum = %s WHERE position = %s",
            (checksum(forged), row.position),
        )
    (problem,) = verify(url)
    assert f"decision {row.position} differs from the log when replayed" in problem


def test_feedback_in_parts_through_several_deciders_counts_once(url, trainer):
    with Decider(url) as first, Decider(url) as second:
        made = next(
            one for one in iter(lambda: first.decide(context(0)), None) if one.action == "c"
        )
        name = made.decision_id
        assert first.feedback(name, {"a": 0.5}).counted
        assert not second.feedback(name, {"a": 0.5}).counted
        assert second.feedback(name, {"a": 0.5, "b": 1.0}).counted
        with pytest.raises(ValueError, match="must agree with what is known of decision"):
            first.feedback(name, {"b": 0.0})
        trainer.step()
        assert not second.feedback(name, {"b": 1.0}).counted
        with pytest.raises(ValueError, match="must agree with what is known of decision"):
            second.feedback(name, {"a": 0.0})
        assert first.feedback(name, {"c": 0.0}).counted
        settle(trainer)
    with DecisionLog(url) as log:
        seen = next(row for row in log if row.decision_id == name).feedback
    assert dict(zip(seen.actions, seen.losses.tolist(), strict=True)) == {"a": 0.5, "b": 1, "c": 0}
    assert len(seen.parts) == 3


def test_two_deciders_cannot_accept_what_contradicts_at_the_same_time(url, trainer):
    with Decider(url) as first, Decider(url) as second, ThreadPoolExecutor(1) as other:
        made = first.decide(context(0))
        name = made.decision_id
        with first.together() as together:
            assert together.feedback(name, {made.action: 0.5}).counted
            waiting = other.submit(second.feedback, name, {made.action: 1.0})
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.3)
        with pytest.raises(ValueError, match="must agree with what is known of decision"):
            waiting.result(timeout=20.0)
        assert trainer.step()[:2] == (1, 1)


def test_a_change_reaches_deciders_and_what_they_decided_before_keeps_its_version(url, trainer):
    with Decider(url) as decider:
        play([decider], 5)
        before = decider.decide(context(0))  # with the first version, taken in after the change
        trainer.step()
        with trainer.together() as together:
            late = Decider(url)
            waiting = late.decide(context(1))
            together.change(
                Problem(
                    ["c", "d"],
                    features=PROBLEM.features,
                    baseline={"action": "c", "mode": "shadow"},
                )
            )
        watch = Watch(url, trainer.versions)
        trainer.step()
        after = decider.decide(context(2))
        assert after.actions == ("c", "d")
        assert decider.feedback(before.decision_id, {before.action: 0.5}).counted
        assert late.feedback(waiting.decision_id, {waiting.action: 0.5}).counted
        decider.feedback(after.decision_id, {after.action: 1.0})
        late.close()
        settle(trainer)
        watch.look()
        assert (watch.tally.n, watch.tally.keeping.n) == (1, 1)
        watch.close()
    trainer.close()
    with DecisionLog(url) as log:
        assert {row.decision_id: row.version for row in log}[waiting.decision_id] == 1
        assert {row.decision_id: row.version for row in log}[after.decision_id] == 2
        found = summarize(log)
        assert (found.n_decisions, found.kept.baseline.deviations) == (8, 0.0)
    assert verify(url) == []


def test_one_trainer_at_a_time_and_no_other_writer_decides(url, trainer):
    with pytest.raises(LogError, match="another policy is writing to this log"):
        Trainer(url)
    with Decider(url) as decider:
        made = decider.decide(context(0))
    with (
        pytest.raises(ValueError, match="this log has deciders, which decide and take feedback"),
        trainer.together() as together,
    ):
        together.decide(context(0))
    assert not hasattr(trainer, "decide")
    trainer.step()
    trainer.close()
    with Policy(url) as policy:
        with pytest.raises(ValueError, match="this log has deciders"):
            policy.decide(context(0))
        with pytest.raises(ValueError, match="this log has deciders"):
            policy.feedback(made.decision_id, {made.action: 1.0})
        assert policy.n_events == 1
        policy.change(Problem(["a", "b"], features=PROBLEM.features))
    with Trainer(url), Decider(url) as decider:
        assert decider.decide(context(0)).actions == ("a", "b")


def test_a_log_with_events_may_be_opened_to_deciders(url):
    with Policy(url, problem=PROBLEM, seed=3) as policy:
        made = [policy.decide(context(k)) for k in range(20)]
        for k, one in enumerate(made[:10]):
            policy.feedback(one.decision_id, losses(one, k))
    with Trainer(url) as trainer, Decider(url) as decider:
        assert decider.model_version == 10
        assert decider.feedback(made[15].decision_id, losses(made[15], 15)).counted
        assert not decider.feedback(made[5].decision_id, losses(made[5], 5)).counted
        play([decider], 5)
        settle(trainer)
        assert trainer.model_version == 16
    assert verify(url) == []


def test_what_is_refused_changes_nothing(url, trainer):
    with Decider(url) as decider:
        with pytest.raises((ValueError, TypeError), match="must be a number, got 'much'"):
            decider.decide({"x": "much", "kind": "a"})
        with pytest.raises(LookupError, match="where no decision has these digits"):
            decider.feedback(f"{decider.decide(context(0)).decision_id[:-4]}0000", {"a": 0.5})
        with pytest.raises(LookupError, match="is from another log"):
            decider.feedback("00000000-0-0123456789abcdef", {"a": 0.5})
        with decider.together() as together:
            for call in (
                lambda: together.change(PROBLEM),
                lambda: together.roll_back(1),
                lambda: together.prune(0.0),
                lambda: together.fill_in(0.0),
            ):
                with pytest.raises(ValueError, match="a decider only decides and takes feedback"):
                    call()
        assert trainer.step()[:2] == (1, 0)


def test_decisions_stop_when_the_snapshot_is_too_old_and_feedback_goes_on(url, trainer):
    with Decider(url) as decider:
        made = decider.decide(context(0))
        decider.most_stale = 1e-9
        with pytest.raises(StaleSnapshot, match="the trainer is behind, or there is none"):
            decider.decide(context(1))
        assert decider.feedback(made.decision_id, losses(made, 0)).counted
        decider.most_stale = 60.0
        decider.decide(context(1))


def test_staleness_counts_from_the_oldest_row_that_is_not_known(url, trainer, monkeypatch):
    monkeypatch.setattr(trainings, "AT_ONCE", 2)
    with Decider(url) as decider, DecisionLog(url) as log:
        for k in range(5):
            decider.decide(context(k))
        came = log.storage.execute("SELECT arrived_at FROM graphcb_inbox ORDER BY arrival")
        known = "SELECT snapshot, known_at FROM graphcb_trainer"
        assert trainer.step() == (2, 0, 0, False)
        assert log.storage.execute(known) == [(2, *came[1])]
        assert trainer.step() == (2, 0, 0, False)
        assert log.storage.execute(known) == [(4, *came[3])]
        assert trainer.step() == (1, 0, 0, True)
        ((snapshot, known_at),) = log.storage.execute(known)
        assert snapshot == 5
        assert known_at > came[4][0]
        decider.decide(context(9))
        assert decider.n_events == 5


def test_a_snapshot_is_not_published_before_it_is_due(url):
    with Trainer(url, problem=PROBLEM, publish_every=1e9) as trainer, Decider(url) as decider:
        decider.decide(context(0))
        trainer.step()
        decider.decide(context(0))
        assert decider.n_events == 0
        trainer.change(Problem(["a", "b"]))
        trainer.step()
        assert decider.decide(None).actions == ("a", "b")


def test_what_deciders_cannot_keep_is_refused(url):
    cost = {"at_most": 1.0, "per": "day", "costs": {"c": 1.0}}
    hard = Problem(["a", "c"], budgets={"money": {**cost, "hard": True}})
    with pytest.raises(ValueError, match="`budgets` must not be hard for a log with deciders"):
        Trainer(url, problem=hard)
    kept = Problem(["a", "c"], baseline="a")
    with pytest.raises(ValueError, match="`baseline` must be left out for a log with deciders"):
        Trainer(url, problem=kept)
    with Trainer(url, problem=Problem(["a", "c"], budgets={"money": cost})) as trainer:
        with pytest.raises(ValueError, match="`budgets` must not be hard"):
            trainer.change(hard)
        assert len(trainer.versions) == 1
        with Decider(url) as decider:
            for _ in range(20):
                decider.decide(None)
        settle(trainer)
    with Policy(url) as policy, pytest.raises(ValueError, match="`baseline` must be left out"):
        policy.change(kept)
    assert verify(url) == []


def test_a_file_has_no_deciders(tmp_path):
    with pytest.raises(ValueError, match="`log` must be a URL postgresql://"):
        Trainer(str(tmp_path / "log.db"), problem=PROBLEM)
    with pytest.raises(ValueError, match="the log of a decider must be a URL postgresql://"):
        Decider(str(tmp_path / "log.db"))


def test_without_a_trainer_there_is_nothing_to_decide_with(url):
    with pytest.raises(LogError, match="must be a log with a trainer; start one"):
        Decider(url)
    with Policy(url, problem=PROBLEM):
        pass
    with pytest.raises(LogError, match="must be a log with a trainer"):
        Decider(url)


def test_a_decider_that_cannot_read_the_agent_leaves_no_connection(url):
    class Own(Uniform):
        pass

    with Trainer(url, Own(), classes=[Own]), DecisionLog(url) as log:
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'own'"
        with pytest.raises(ValueError, match="Own"):
            Decider(f"{url}&application_name=own")
        end = time.monotonic() + 20.0
        while log.storage.execute(count) != [(0,)]:
            assert time.monotonic() < end
            time.sleep(0.02)
        with Decider(f"{url}&application_name=own", classes=[Own]):
            assert log.storage.execute(count) == [(1,)]


def test_graphs_of_rounds_are_stored_once_by_any_number_of_deciders(url):
    each = Problem("each round", reveals="each round")
    from graphcb import graphs

    with Trainer(url, problem=each) as trainer:
        with Decider(url) as first, Decider(url) as second:
            for k in range(12):
                one = (first, second)[k % 2]
                graph = (graphs.bandit(3), graphs.full_information(3))[k // 2 % 2]
                one.decide({"x": 1.0}, graph, ["a", "b", "c"])
        settle(trainer)
    with DecisionLog(url) as log:
        assert len(list(log)) == 12
        assert log.storage.execute("SELECT count(*) FROM graphcb_graphs") == [(2,)]
    assert verify(url) == []


def test_an_agent_without_a_problem_has_deciders_too(url):
    from graphcb import graphs
    from graphcb.oracles import LinearOGD

    with Trainer(url, SquareCBG(LinearOGD(3, 1)), seed=0) as trainer:
        with Decider(url) as decider:
            for k in range(10):
                made = decider.decide([k / 10], graphs.bandit(3))
                decider.feedback(made.decision_id, {made.action: 0.5})
                trainer.step()
        assert np.isfinite(made.probabilities).all()
    assert verify(url) == []


def test_the_agent_behind_a_baseline_is_that_of_the_snapshot(url, monkeypatch):
    monkeypatch.setattr(trainings.Publishing, "is_due", True)
    baseline = {"action": "a", "mode": "shadow"}
    problem = Problem(["a", "b"], reveals="full_information", baseline=baseline)
    with Trainer(url, problem=problem, seed=0) as trainer, Decider(url) as decider:
        for k in range(30):
            made = decider.decide(None)
            assert made.action == "a"
            decider.feedback(made.decision_id, {"a": 0.75, "b": 0.25})
            if k % 5 == 0:
                settle(trainer)
        settle(trainer)
    with DecisionLog(url) as log:
        rows, target = list(log), shadow(log)
        played = {row.snapshot: target(row) for row in rows}
        assert played[0].tolist() != played[max(played)].tolist()
        assert evaluate(log, shadow(log), against=logged).difference.value < -0.3


def test_a_log_whose_start_was_removed_goes_on(url, trainer):
    with Decider(url) as decider:
        made = play([decider], 20, trainer)
        settle(trainer)
        middle = time.time()
        decider.decide(context(0))  # with a snapshot from before what is removed
        trainer.step()
        assert trainer.prune(middle).n_decisions == 20
        with pytest.raises(LookupError, match="where no decision has these digits"):
            decider.feedback(made[0].decision_id, {made[0].action: 0.5})
        play([decider], 5, trainer)
        settle(trainer)
    trainer.close()
    assert verify(url) == []


def test_feedback_for_a_decision_that_was_removed_meanwhile_is_passed_over(url, trainer):
    with Decider(url) as decider:
        made = decider.decide(context(0))
        trainer.step()
        assert decider.feedback(made.decision_id, {made.action: 0.5}).counted
        trainer.prune(time.time() + 1.0)
        assert trainer.step() == (0, 0, 1, True)
        play([decider], 3, trainer)
        settle(trainer)
    trainer.close()
    assert verify(url) == []


def test_what_waits_gets_its_default_and_a_late_answer_takes_its_place(url, monkeypatch):
    monkeypatch.setattr(trainings.Publishing, "is_due", True)
    problem = Problem(["a", "b"], defaults={"waiting": 5.0, "loss": 1.0})
    with Trainer(url, problem=problem, seed=0) as trainer, Decider(url) as decider:
        made = decider.decide(None)
        trainer.step()
        assert trainer.fill_in(time.time() + 10.0) == 1
        receipt = decider.feedback(made.decision_id, {made.action: 0.0})
        assert "in place of the default after waiting" in receipt.message
        assert trainer.step().n_feedbacks == 1
    with DecisionLog(url) as log:
        (row,) = log
    assert row.feedback.losses.tolist() == [0.0]
    assert verify(url) == []


@pytest.mark.parametrize(
    ("delay", "share"),
    [(0, 1.0), (100, 1.0), (1000, 1.0), (100, 0.5)],
    ids=["at once", "100 late", "1,000 late", "half of it never"],
)
def test_decisions_in_flight_are_known_to_trainer_and_deciders(url, monkeypatch, delay, share):
    monkeypatch.setattr(trainings.Publishing, "is_due", True)
    names, rng, open_ = [f"item-{k}" for k in range(5)], np.random.default_rng(0), []
    n, made = delay + 200, []
    with (
        Trainer(url, problem=Problem(names), seed=1) as trainer,
        Decider(url) as one,
        Decider(url) as two,
    ):
        for k in range(n):
            open_.append((one, two)[k % 2].decide({}))
            made.append(open_[-1].action)
            if k >= delay:
                first = open_.pop(0)
                if rng.random() < share:
                    loss = 0.2 if first.action == names[3] else 0.8
                    (two, one)[k % 2].feedback(first.decision_id, {first.action: loss})
            if k % 20 == 19:
                trainer.step()
        settle(trainer)
        waits = n - trainer.model_version  # as many as have no answer
        looks = explorer_of(trainer.agent.agent).waiting.sum()
        assert 0.6 * waits <= looks <= waits + 1e-9  # what waits long fades
        state = to_bytes(trainer.agent)
    if delay:  # before any answer all actions are alike
        assert max(made[:delay].count(name) for name in names) < 0.4 * delay
    assert made[-50:].count(names[3]) > 25
    with DecisionLog(url) as log:
        assert to_bytes(replay(log).agent) == state


def test_a_snapshot_that_took_long_does_not_keep_the_next_one_away(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(trainings.time, "monotonic", lambda: now[0])
    publishing = trainings.Publishing(0.25)
    for took, pause in ((0.001, 0.25), (0.05, 0.5), (0.2, 1.0), (0.9, 1.0), (6.0, 6.0)):
        publishing.done(1, took)
        now[0] += pause - 0.01
        assert not publishing.is_due
        now[0] += 0.02
        assert publishing.is_due


def test_a_decider_refuses_what_the_trainer_could_not_learn(url):
    problem = Problem(["a", "b"])
    with Trainer(url, SquareCBG(gamma=5.0), problem=problem, seed=1), Decider(url) as decider:
        made = decider.decide({"x": 1.0})
        with pytest.raises(ValueError, match="which SquareCBG needs: write range"):
            decider.feedback(made.decision_id, {made.action: 7.0})
        assert decider.feedback(made.decision_id, {made.action: 1.0}).counted


def test_rounds_that_are_passed_by_are_replayed_bit_for_bit(url, trainer, monkeypatch):
    """Also the later ones, in most of which the trainer does not act; and a copy is the same."""
    monkeypatch.setattr(information_directed, "ALL_ROUNDS", 10)
    with Decider(url) as decider:
        for _ in range(3):
            made = decider.decide_many([context(k) for k in range(40)])
            decider.feedback_many({one.decision_id: losses(one, k) for k, one in enumerate(made)})
            settle(trainer)
    assert verify(url) == []
    with DecisionLog(url) as log:
        assert log.n_decisions == 120
        assert to_bytes(replay(log).agent) == to_bytes(trainer.agent)


@pytest.mark.parametrize("at_once", [0, 1000, 10**6])
def test_feedback_that_comes_with_its_decision_is_learned_without_asking(
    url, trainer, monkeypatch, at_once
):
    """Also in parts, and as a replay learns it; large contexts are decoded again."""
    monkeypatch.setattr(lessons, "BYTES_AT_ONCE", at_once)
    decoded, decode = [], lessons.decode
    monkeypatch.setattr(lessons, "decode", lambda text: decoded.append(text) or decode(text))
    asked, find = [], trainings.find_in_log
    monkeypatch.setattr(
        trainings, "find_in_log", lambda storage, some: asked.append(some) or find(storage, some)
    )
    with Decider(url) as decider:
        early, late = decider.decide_many([context(k) for k in range(40)]), decider.decide(None)
        for names in ("a", "b"), ("c",):
            for k, one in enumerate(early):
                part = {name: loss for name, loss in losses(one, k).items() if name in names}
                decider.feedback(one.decision_id, part)
        decoded.clear()
        taken = trainer.step()
        assert asked == []
        again = len(decoded) - taken.n_decisions
        assert (again == 0) == (at_once == 10**6)
        assert (again == taken.n_feedbacks) == (at_once == 0)
        decider.feedback(late.decision_id, losses(late, 1))
        trainer.step()
    assert asked == [[late.decision_id.split("-")[2]]]
    with DecisionLog(url) as log:
        assert to_bytes(replay(log).agent) == to_bytes(trainer.agent)


class Scribbler(Uniform):
    """An agent that writes to the contexts that it learns from."""

    def learn(self, context, actions, losses):
        self.seen = [*getattr(self, "seen", []), dict(context)]
        context["x"] += 1.0


def test_an_agent_that_writes_to_contexts_is_given_each_anew(url):
    with (
        Trainer(url, Scribbler(), seed=1, classes=[Scribbler]) as trainer,
        Decider(url, classes=[Scribbler]) as decider,
    ):
        made = decider.decide({"x": 1.0}, FULL)
        for action in range(3):
            decider.feedback(made.decision_id, {action: 0.5})
        trainer.step()
        assert trainer.agent.seen == 3 * [{"x": 1.0}]


@pytest.fixture
def replayed(monkeypatch):
    """How the events are replayed that a log is opened with: after which one, until which one."""
    found, read = [], replaying.read_with_decisions

    def noted(storage, after, until):
        found.append((after, until))
        return read(storage, after, until)

    monkeypatch.setattr(replaying, "read_with_decisions", noted)
    return found


@pytest.mark.parametrize("damaged", ["nothing", "snapshots", "snapshots and the checkpoint"])
def test_a_trainer_that_takes_over_starts_from_the_newest_snapshot(
    url, monkeypatch, replayed, damaged
):
    """Which another one published a moment ago, and otherwise from the checkpoint before it."""
    monkeypatch.setattr(trainings.Publishing, "is_due", True)
    first = Trainer(url, problem=PROBLEM, seed=1, checkpoint_every=40)
    with Decider(url) as decider:
        made = play([decider], 30, first, every=10)
        settle(first)
        published = first.n_events
        monkeypatch.setattr(trainings.Publishing, "is_due", False)
        play([decider], 5, first)
        settle(first)
    agent, n_events = to_bytes(first.agent), first.n_events
    counts = first._policy._log._counts.to_bytes()  # of feedbacks by decision
    first._policy._log.storage.close()  # as if it had been killed
    with psycopg.connect(url) as connection:
        if damaged != "nothing":
            connection.execute("UPDATE graphcb_snapshots SET n_feedbacks = n_feedbacks + 1")
        if damaged == "snapshots and the checkpoint":
            connection.execute("UPDATE graphcb_checkpoints SET n_feedbacks = n_feedbacks + 1")
        (stored,) = connection.execute("SELECT max(position) FROM graphcb_checkpoints").fetchone()
    assert 0 < stored < published < n_events
    replayed.clear()
    with Trainer(url) as second:
        begin = {"nothing": published, "snapshots": stored}.get(damaged, 0)
        assert replayed == [(begin, n_events)]
        assert to_bytes(second.agent) == agent
        assert second._policy._log._counts.to_bytes() == counts
        if damaged == "nothing":
            with Decider(url) as decider:
                assert not decider.feedback(made[0].decision_id, losses(made[0], 0)).counted
                play([decider], 5)
                settle(second)
    if damaged == "nothing":
        assert verify(url) == []


def test_what_another_trainer_learns_can_be_rehearsed(url, trainer, replayed):
    with DecisionLog(url) as log:
        assert not replaying.rehearse(log, 20)  # there is nothing yet
        with Decider(url) as decider:
            play([decider], 30, trainer)
        settle(trainer)
        agent = to_bytes(trainer.agent)
        assert replaying.rehearse(log, 20)
        assert replaying.rehearse(log, 1000)
    assert replayed == [(40, 60), (0, 60)]
    assert to_bytes(trainer.agent) == agent
    assert verify(url) == []


def test_feedback_waits_for_decisions_that_came_before_it(url, trainer, monkeypatch):
    """However little is looked at in one step."""
    monkeypatch.setattr(trainings, "AT_ONCE", 2)
    with Decider(url) as decider:
        made = decider.decide_many([context(k) for k in range(5)])
        for one in reversed(made):
            decider.feedback(one.decision_id, losses(one, 0))
        taken = [trainer.step() for _ in range(5)]
    assert [one[:2] for one in taken] == [(2, 0), (2, 1), (1, 2), (0, 2), (0, 0)]
    assert [one.is_all for one in taken] == [False, False, False, False, True]


def test_a_person_is_unlearned_while_deciders_have_the_agent_of_before(url, trainer):
    with Decider(url) as decider:
        for k in range(40):
            one = decider.decide(context(k), subject=["adam", "eve"][k % 2])
            decider.feedback(one.decision_id, losses(one, k))
        settle(trainer)
        late = [decider.decide(context(k)) for k in range(5)]
        waiting = decider.decide(context(5), subject="eve")
        decider.feedback(waiting.decision_id, losses(waiting, 5))
        before = to_bytes(trainer.agent)
        with pytest.warns(RuntimeWarning, match="VACUUM"):
            receipt = trainer.forget("eve", unlearn=True)
        assert (receipt.n_decisions, receipt.n_feedbacks) == (21, 21)  # one was in the inbox
        assert to_bytes(trainer.agent) != before
        with DecisionLog(url) as log:  # nobody can decide with the old one any more
            assert log.storage.execute("SELECT count(*) FROM graphcb_snapshots") == [(1,)]
        made = [decider.decide(context(k)) for k in range(20)]
        settle(trainer)
    trainer.close()
    assert verify(url) == []
    with DecisionLog(url) as log:
        names = [row.decision_id for row in log]
    assert names[-25:] == [one.decision_id for one in (*late, *made)]
    with Trainer(url) as again:
        assert again.n_events == 80 + 1 + 25


def test_hashes_of_people_go_with_their_decisions(url, trainer):
    with Decider(url) as decider:
        for k in range(6):
            decider.decide(context(k), subject="eve")
        settle(trainer)
        assert trainer.prune(4e9).n_decisions == 6
        decider.decide(context(0), subject="adam")
    with DecisionLog(url) as log:
        assert log.storage.execute("SELECT count(*) FROM graphcb_subjects") == [(1,)]


def test_the_log_knows_who_asked_deciders_and_silence_of_one_teaches_nothing(url, monkeypatch):
    """The number comes through the inbox; the trainer and a later one fill in by it."""
    clock, shop, app = [1e9], 7, 2**28
    monkeypatch.setattr("graphcb.decisions.together.time.time", lambda: clock[0])
    waiting = {"waiting": 3600, "reward": 0.0}
    problem = Problem(["a", "b"], feedback="rewards", range=(0.0, 1.0), defaults=waiting)
    asked_by = {}
    for part, turns in enumerate([(shop,) * 10, (shop, app) * 10]):
        with Trainer(url, problem=problem if part == 0 else None) as trainer, Decider(url) as one:
            for who in turns:
                with one.together() as together:
                    together.pending.asker = who
                    made = [together.decide(None, subject="eve") for _ in range(10)]
                asked_by |= {decision.decision_id: who for decision in made}
                if who == shop:
                    one.feedback_many({m.decision_id: {m.action: 1.0} for m in made[:8]})
            settle(trainer)
        clock[0] += 7200
        with Trainer(url) as trainer, trainer.together() as together:
            together.fill_in(clock[0])
    assert together.unheard == {app: 100}
    with DecisionLog(url) as log:
        defaults = [row for row in log if row.feedback is not None and row.feedback.is_default]
        by = [asked_by[row.decision_id] for row in defaults]
        runs = log.storage.execute("SELECT who FROM graphcb_askers ORDER BY position")
        assert log.storage.execute("SELECT DISTINCT position FROM graphcb_subjects") == [(0,)]
    assert by.count(shop) == 40
    assert by.count(app) == 0
    assert [who for (who,) in runs] == [shop, app] * 10
    assert verify(url) == []
