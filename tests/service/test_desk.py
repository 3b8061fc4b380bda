import asyncio
import socket
import threading
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import Policy, Problem
from graphcb.decisions import LogError, replay
from graphcb.decisions.decided import NewRound
from graphcb.decisions.log import DecisionLog
from graphcb.decisions.together import Together
from graphcb.problems.guarded import explorer_of
from graphcb.saving import to_bytes
from graphcb.service import desk as desks
from graphcb.service.desk import Desk
from graphcb.service.errors import Refused

from .conftest import FRAUD


def context(n):
    return {"amount": float(n), "country": "DE"}


def decide(n):
    return lambda together: together.decide(context(n))


def with_desk(tmp_path, work, **settings):
    """What `work(desk)` returns, with a desk that has a new log."""

    async def main():
        policy = Policy(tmp_path / "log.db", problem=FRAUD, seed=0)
        desk = Desk(policy, **settings)
        desk.start()
        try:
            return await work(desk)
        finally:
            await desk.stop()

    return asyncio.run(main())


async def held(desk, jobs):
    """The answers to jobs that all waited while the desk was busy, with the first in front."""
    busy = threading.Event()
    first = desk.ask(lambda together: busy.wait(10.0), is_long=True)
    await asyncio.sleep(0.05)
    waiting = [desk.ask(job) for job in jobs]
    busy.set()
    await first
    return await asyncio.gather(*waiting, return_exceptions=True)


def test_rounds_that_wait_together_are_foreseen_together(tmp_path, monkeypatch):
    foreseen = []
    monkeypatch.setattr(Together, "foresee", lambda self, rounds: foreseen.append(rounds))
    rounds = [NewRound(context(n)) for n in range(3)]

    async def work(desk):
        busy = threading.Event()
        first = desk.ask(lambda together: busy.wait(10.0), is_long=True)
        await asyncio.sleep(0.05)
        waiting = [desk.ask(decide(n), decides=one) for n, one in enumerate(rounds)]
        waiting.append(desk.ask(decide(9)))
        busy.set()
        await asyncio.gather(first, *waiting)

    with_desk(tmp_path, work)
    assert foreseen == [rounds]


def test_decisions_in_flight_count_until_their_feedback_comes(tmp_path):
    def looks(policy):
        return explorer_of(policy.agent.agent).waiting

    async def work(policy):
        desk = Desk(policy)
        desk.start()
        try:
            made = await held(desk, [lambda together: together.decide({})] * 100)
            played = [[one.action for one in made].count(name) for name in "abcd"]
            assert max(played) < 50  # nothing has come: all are alike
            np.testing.assert_allclose(looks(policy), played, rtol=0.1)
            for one in made[:60]:
                answer = {one.action: 0.5}
                await desk.ask(
                    lambda t, one=one, answer=answer: t.feedback(one.decision_id, answer)
                )
            assert 30.0 < looks(policy).sum() <= 40.0  # the others never come
        finally:
            await desk.stop()

    asyncio.run(work(Policy(tmp_path / "log.db", problem=Problem(list("abcd")), seed=0)))


def test_what_waits_together_is_committed_together(tmp_path):
    async def work(desk):
        made = await held(desk, [decide(n) for n in range(20)])
        assert desk.n_commits == 2
        assert (desk.position, desk.model_version, desk.n_waiting) == (20, 0, 0)
        return made

    made = with_desk(tmp_path, work)
    with Policy(tmp_path / "own.db", problem=FRAUD, seed=0) as policy:
        own = [policy.decide(context(n)) for n in range(20)]
    assert [one.action for one in made] == [one.action for one in own]
    assert [one.probabilities for one in made] == [one.probabilities for one in own]


def test_decisions_and_feedback_share_a_transaction_and_replay(tmp_path):
    async def work(desk):
        made = [await desk.ask(decide(n)) for n in range(10)]

        def feedback(one):
            return lambda together: together.feedback(one.decision_id, {one.action: 3.0})

        before = desk.n_commits
        jobs = [job for n, one in enumerate(made) for job in (feedback(one), decide(100 + n))]
        jobs.append(feedback(made[0]))  # again, in the same transaction
        answers = await held(desk, jobs)
        assert desk.n_commits == before + 2
        assert [one.counted for one in answers[0:20:2]] == [True] * 10
        assert answers[20].counted is False
        return to_bytes(desk.policy.agent)

    agent = with_desk(tmp_path, work)
    with DecisionLog(tmp_path / "log.db") as log:
        assert (log.n_decisions, log.n_feedbacks) == (20, 10)
        assert to_bytes(replay(log).agent) == agent


def test_a_bad_job_fails_alone(tmp_path):
    async def work(desk):
        bad = [
            lambda together: together.decide({"amount": "many"}),
            lambda together: together.feedback("nothing", {}),
            lambda together: together.decide(context(1), actions=["approve", "approve"]),
        ]
        answers = await held(desk, [decide(1), *bad, decide(2)])
        assert desk.n_commits == 2
        return answers

    first, one, two, three, last = with_desk(tmp_path, work)
    assert isinstance(one, ValueError)
    assert isinstance(two, LookupError)
    assert isinstance(three, ValueError)
    assert first.decision_id.split("-")[1] == "1"
    assert last.decision_id.split("-")[1] == "2"


def test_after_a_mistake_of_ours_the_others_are_done_one_by_one(tmp_path, caplog):
    def broken(together):
        raise ZeroDivisionError("a mistake")

    async def work(desk):
        answers = await held(desk, [decide(1), broken, decide(2)])
        assert desk.n_commits == 3
        return answers

    first, failed, last = with_desk(tmp_path, work)
    assert isinstance(failed, ZeroDivisionError)
    assert [one.decision_id.split("-")[1] for one in (first, last)] == ["1", "2"]
    assert "its jobs are done one by one" in caplog.text


def test_a_log_that_cannot_be_written_is_not_tried_again(tmp_path, monkeypatch):
    async def work(desk):
        tried = []

        def together():
            tried.append(1)
            raise LogError("the disk is full")

        monkeypatch.setattr(desk.policy, "together", together)
        jobs = [desk.ask(decide(n)) for n in range(3)]
        answers = await asyncio.gather(*jobs, return_exceptions=True)
        monkeypatch.undo()
        assert (await desk.ask(decide(1))).decision_id.split("-")[1] == "1"
        return answers, len(tried)

    answers, n_tried = with_desk(tmp_path, work)
    assert all(isinstance(one, LogError) for one in answers)
    assert n_tried <= 3


def test_too_many_that_wait_are_refused(tmp_path):
    async def work(desk):
        busy = threading.Event()
        first = desk.ask(lambda together: busy.wait(10.0), is_long=True)
        second = desk.ask(decide(1))
        with pytest.raises(Refused, match="2 requests wait already; try again"):
            desk.ask(decide(2))
        busy.set()
        await first
        await second

    with_desk(tmp_path, work, most_waiting=2)


def test_a_stop_answers_what_waits_and_refuses_what_comes_later(tmp_path):
    async def main():
        desk = Desk(Policy(tmp_path / "log.db", problem=FRAUD, seed=0))
        desk.start()
        waiting = [desk.ask(decide(n)) for n in range(50)]
        await desk.stop()
        assert not desk.is_working
        with pytest.raises(Refused, match="the service is not running; try again"):
            desk.ask(decide(1))
        return [one.result().decision_id for one in waiting]

    names = asyncio.run(main())
    with DecisionLog(tmp_path / "log.db") as log:
        assert [row.decision_id for row in log] == names


def test_a_client_that_left_does_not_matter(tmp_path):
    async def work(desk):
        busy = threading.Event()
        first = desk.ask(lambda together: busy.wait(10.0), is_long=True)
        gone, stays = desk.ask(decide(1)), desk.ask(decide(2))
        gone.cancel()
        busy.set()
        await first
        return (await stays).decision_id

    assert with_desk(tmp_path, work).split("-")[1] == "1"  # nothing is decided for the other


def test_it_waits_a_moment_for_as_many_as_asked_before(tmp_path, monkeypatch):
    monkeypatch.setattr(desks, "LONGEST_WAIT", 20.0)

    async def work(desk):
        await desk.ask(decide(0))
        before, desk._peak, desk._beside = desk.n_commits, 3, 1e9
        asked = []
        for n in range(3):
            asked.append(desk.ask(decide(n)))
            await asyncio.sleep(0.02)
            assert desk.n_commits == before or n == 2
        await asyncio.gather(*asked)
        assert desk.n_commits == before + 1

    with_desk(tmp_path, work)


@pytest.mark.parametrize("kind", ["asyncio", "uvloop"])
def test_what_clients_have_sent_by_now_shares_a_commit(tmp_path, kind):
    """No timer is waited for: the event loop reads what is there, then a transaction begins."""
    new_loop = pytest.importorskip(kind).new_event_loop

    async def main():
        desk = Desk(Policy(tmp_path / "log.db", problem=FRAUD, seed=0))
        desk.start()
        await desk.ask(decide(0))
        before, answers = desk.n_commits, []

        async def serve(reader, writer):
            await reader.readline()
            answer = desk.ask(decide(1))
            while others:  # send while the first one is being read
                others.pop().sendall(b"a line\n")
            answers.append(await answer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        clients = [socket.create_connection(address) for _ in range(8)]
        first, *others = clients
        await asyncio.sleep(0.05)  # all are accepted
        first.sendall(b"a line\n")
        while len(answers) < len(clients):
            await asyncio.sleep(0.001)
        for client in clients:
            client.close()
        server.close()
        await desk.stop()
        return desk.n_commits - before

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(main()) == 1


def test_a_client_that_is_alone_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(desks, "LONGEST_WAIT", 20.0)

    async def work(desk):
        for n in range(5):
            desk._beside = 1e9
            await asyncio.wait_for(desk.ask(decide(n)), 30.0)
        assert desk.n_commits == 5

    with_desk(tmp_path, work)


def test_it_waits_for_what_a_commit_costs_and_not_for_what_jobs_take(tmp_path, monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(desks, "time", clock)

    async def work(desk):
        def slow(together):
            clock.now += 100.0

        await desk.ask(slow)
        assert (desk._seconds, desk._beside) == (100.0, 0.0)
        commit = desk.policy.together

        @contextmanager
        def together():
            with commit() as one:
                yield one
            clock.now += 7.0

        monkeypatch.setattr(desk.policy, "together", together)
        await desk.ask(slow)
        assert (desk._seconds, desk._beside) == (107.0, 7.0)
        desk._beside, desk._peak = desks.TICK / 2, 3  # no timer is as short as that
        await asyncio.wait_for(desk.ask(decide(0)), 30.0)
        assert desk._timer is None

    with_desk(tmp_path, work)


def test_only_what_is_quick_holds_up_the_event_loop(tmp_path, monkeypatch):
    async def work(desk):
        def where(together):
            return threading.current_thread() is threading.main_thread()

        assert not await desk.ask(where)  # machine code may have to be loaded
        monkeypatch.setattr(desks, "WARM_UP", 1)
        assert await desk.ask(where)
        assert not await desk.ask(where, is_long=True)
        assert await desk.ask(where)
        desk._seconds = 2 * desks.SLOW
        assert not await desk.ask(where)
        desk._is_server = True
        assert not await desk.ask(where)

    with_desk(tmp_path, work)


def test_a_transaction_that_is_about_to_begin_does_not_begin_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(desks, "LONGEST_WAIT", 20.0)

    async def work(desk):
        await desk.ask(decide(0))
        before, desk._peak, desk._beside = desk.n_commits, 2, 1e9
        first = desk.ask(decide(1))  # waits for a second one
        await asyncio.sleep(0.02)
        assert desk._timer is not None
        second = desk.ask(decide(2))
        desk._begin()  # the time is over just when that has come
        await asyncio.gather(first, second)
        await asyncio.sleep(0.01)
        assert (desk.n_commits, desk.n_waiting) == (before + 1, 0)

    with_desk(tmp_path, work)
