"""A person is forgotten: nothing of theirs is left, and the log goes on."""

import warnings

import pytest

from graphcb import DecisionLog, Policy, Problem, SquareCBG
from graphcb.cli import main
from graphcb.decisions import back_up, forgetting, replay, verify
from graphcb.decisions.decided import NewRound
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

PROBLEM = Problem(["a", "b"], features={"note": "text", "x": "number"}, reveals="full-information")
MARK = "zanzibar"


def play(policy, n, subjects, who=None):
    """Decisions about several people in turn, of which one leaves a mark in everything."""
    made = []
    for k in range(n):
        subject = subjects[k % len(subjects)]
        if who is not None and subject not in who:
            continue
        note = f"{MARK} number {k}" if subject == "eve" else "somebody else"
        one = policy.decide({"note": note, "x": float(k)}, subject=subject)
        policy.feedback(one.decision_id, {"a": 0.25, "b": (k % 4) / 4})
        made.append((subject, one))
    return made


def marked(folder):
    return [path.name for path in folder.iterdir() if MARK.encode() in path.read_bytes()]


def agent():
    return SquareCBG(LinearOGD(2, 64, learning_rate=0.1), gamma=10.0)


def test_nothing_is_left_and_the_model_stays(new_log, tmp_path):
    location = new_log()
    with Policy(location, problem=PROBLEM, seed=1, checkpoint_every=7) as policy:
        made = play(policy, 30, ["adam", "eve", "ida"])
        model = to_bytes(policy.agent)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            receipt = policy.forget("eve")
        assert (receipt.n_decisions, receipt.n_feedbacks, receipt.unlearned) == (10, 10, False)
        assert to_bytes(policy.agent) == model
        hers, his = made[1][1], made[0][1]
        with pytest.raises(LookupError, match="from which old decisions were removed, this one"):
            policy.feedback(hers.decision_id, {"a": 0.25})
        assert not policy.feedback(his.decision_id, {"a": 0.25}).counted
        play(policy, 3, ["adam", "ida"])
        model = to_bytes(policy.agent)
    assert verify(location) == []
    with DecisionLog(location) as log:
        kept = [one.decision_id for who, one in made if who != "eve"]
        assert [row.decision_id for row in log][:20] == kept
        assert to_bytes(replay(log).agent) == model
        assert log.receipts == [receipt]
        assert "eve" not in str(log.receipts)
    with Policy(location) as policy:
        assert to_bytes(policy.agent) == model


def test_the_bytes_are_gone_from_every_file(tmp_path):
    file, copy = tmp_path / "log.db", tmp_path / "copy.db"
    with Policy(file, SquareCBG(), problem=Problem(["a", "b"]), seed=1) as policy:
        for k in range(300):
            policy.decide({"note": f"{MARK}{k}" if k % 3 else "other"}, subject=k % 3)
        back_up(file, copy)
        assert marked(tmp_path)  # the contexts are short, and not compressed
        policy.forget(1)
        assert policy.forget(2).n_decisions == 100
        assert marked(tmp_path) == ["copy.db"]
    assert marked(tmp_path) == ["copy.db"]
    assert main(["log", "forget", str(file), str(copy), "--subject", "1"]) == 0
    assert main(["log", "forget", str(copy), "--subject", "2"]) == 0
    assert marked(tmp_path) == []
    assert verify(file) == verify(copy) == []


def test_actions_that_only_they_were_offered_are_gone(tmp_path):
    file = tmp_path / "log.db"
    theirs = {"eve": [f"{MARK} letter", f"{MARK} call"], "adam": ["a long letter", "a long call"]}
    policy = Policy(file, SquareCBG(), problem=Problem("each round"), seed=1)
    with policy, DecisionLog(file) as reader:
        for _ in range(3):  # from the second time on, they are stored once
            for who, actions in theirs.items():
                policy.decide({"x": 1.0}, actions=actions, subject=who)
        list(reader)
        assert reader.storage.execute("SELECT count(*) FROM graphcb_contents") == [(2,)]
        policy.forget("eve")
        assert marked(tmp_path) == []
        for _ in range(3):
            policy.decide({"x": 1.0}, actions=["another letter", "another call"])
        # who has read the old ones does not take the new ones for them
        names = [row.actions for row in reader]
        assert names[3:] == [["another letter", "another call"]] * 3
        assert names[:3] == [["a long letter", "a long call"]] * 3
    assert verify(file) == []


def test_names_of_events_go_with_their_decisions(tmp_path):
    from graphcb.service.personalizer_events import Event, Events

    problem = Problem(["a", "b"], features={"x": "number"})
    with Policy(tmp_path / "log.db", problem=problem, seed=1) as policy:

        def rank(name, slots, made_at=2e9):
            with policy.together() as together:
                made = {slot: together.decide({"x": 1.0}, subject=who) for slot, who in slots}
                found = {slot: one.decision_id for slot, one in made.items()}
                Events(together).add(Event("shop", name, found, made_at=made_at))

        def names():
            with policy.together() as together:
                sql = "SELECT event FROM graphcb_named_events ORDER BY event"
                return [name for (name,) in together.storage.execute(sql)]

        rank("hers", [("", "eve")])
        rank("his", [("", "adam")])
        rank("of both", [("top", "adam"), ("side", "eve")])
        policy.forget("eve")
        assert names() == ["his"]
        for k in range(120):
            rank(f"old {k}", [("", "adam")], made_at=1e9)
        policy.prune(1.5e9)  # by the time of the event; its decisions are new
        assert names() == ["his"]


def test_a_reader_that_holds_the_write_ahead_log_is_named(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=PROBLEM, seed=1) as policy:
        play(policy, 9, ["adam", "eve"])
        with DecisionLog(file) as log:
            log.storage.execute("BEGIN")
            log.storage.execute("SELECT count(*) FROM graphcb_decisions")
            statements = []
            policy._log.storage._connection.set_trace_callback(statements.append)
            with pytest.warns(RuntimeWarning, match="still has what was removed, as another"):
                policy.forget("eve")
            log.storage.execute("ROLLBACK")
    at = statements.index("PRAGMA wal_checkpoint(TRUNCATE)")  # for which nobody waits for long
    assert statements[at - 1] == "PRAGMA busy_timeout = 200"
    assert statements[at + 1] == "PRAGMA busy_timeout = 30000"
    assert verify(file) == []


def test_unlearned_is_as_if_they_had_not_been_there(tmp_path):
    problem = Problem(["a", "b"], features={"x": "number"}, reveals="full-information")
    people = ["adam", "eve", "ida", "eve"]

    def rounds(policy, who=None):
        for k in range(40):
            if who is None or people[k % 4] in who:
                one = policy.decide({"x": float(k)}, subject=people[k % 4])
                policy.feedback(one.decision_id, {"a": 0.25, "b": (k % 5) / 5})

    with Policy(tmp_path / "all.db", SquareCBG(gamma=9.0), problem=problem, seed=1) as policy:
        rounds(policy)
        learned = to_bytes(policy.agent)
        receipt = policy.forget("eve", unlearn=True)
        assert (receipt.n_decisions, receipt.unlearned) == (20, True)
        unlearned = to_bytes(policy.agent)
        events = policy.n_events
        rounds(policy, ["ida"])
    with Policy(tmp_path / "others.db", SquareCBG(gamma=9.0), problem=problem, seed=1) as policy:
        rounds(policy, ["adam", "ida"])
        assert unlearned == to_bytes(policy.agent) != learned
    assert verify(tmp_path / "all.db") == []
    with Policy(tmp_path / "all.db") as policy:
        assert policy.n_events == events + 20
        with pytest.raises(ValueError, match="nothing can be unlearned, as the agent of event 80"):
            policy.forget("adam", unlearn=True)
        assert policy.forget("adam").n_decisions == 10


class TestWhileOthersDecide:
    PROBLEM = Problem(["a", "b"], features={"x": "number"}, reveals="full-information")
    PEOPLE = ("adam", "eve", "ida")

    def rounds(self, policy, numbers, who=PEOPLE):
        for k in numbers:
            if self.PEOPLE[k % 3] in who:
                one = policy.decide({"x": float(k)}, subject=self.PEOPLE[k % 3])
                policy.feedback(one.decision_id, {"a": 0.25, "b": (k % 5) / 5})

    def new(self, file):
        return Policy(file, SquareCBG(gamma=9.0), problem=self.PROBLEM, seed=1)

    @pytest.mark.parametrize("few", [1, 500])
    def test_what_comes_in_between_is_unlearned_too(self, tmp_path, monkeypatch, few):
        monkeypatch.setattr(forgetting, "FEW", few)
        with self.new(tmp_path / "all.db") as policy:
            self.rounds(policy, range(30))
            so_far = policy.unlearned("eve")
            self.rounds(policy, range(30, 60))
            with policy.together() as together:
                receipt = together.forget("eve", unlearn=True, so_far=so_far)
            assert (receipt.n_decisions, receipt.unlearned) == (20, True)
            found = to_bytes(policy.agent)
        with self.new(tmp_path / "others.db") as policy:
            self.rounds(policy, range(60), ["adam", "ida"])
            assert found == to_bytes(policy.agent)
        assert verify(tmp_path / "all.db") == []

    @pytest.mark.parametrize("other", ["forgets", "changes"])
    def test_it_is_not_used_if_the_log_has_another_start_or_version(self, tmp_path, other):
        with self.new(tmp_path / "log.db") as policy:
            self.rounds(policy, range(30))
            so_far = policy.unlearned("eve")
            if other == "forgets":
                policy.forget("ida")
            else:
                policy.change(agent=SquareCBG(gamma=2.0))
            with (
                pytest.raises(ValueError, match="nothing can be unlearned, as the agent of event"),
                policy.together() as together,
            ):
                together.forget("eve", unlearn=True, so_far=so_far)
            assert policy.unlearned("nobody") is None
            assert policy.forget("eve").n_decisions == 10


def test_whom_a_decision_is_about(tmp_path):
    with Policy(tmp_path / "log.db", problem=PROBLEM, seed=1) as policy:
        for wrong in (1.5, True, "", b"eve"):
            with pytest.raises(TypeError, match="`subject` must be a text or a whole number, got"):
                policy.decide({"note": "", "x": 1.0}, subject=wrong)
        assert policy.n_events == 0
        policy.decide({"note": "", "x": 1.0}, subject=7)
        assert policy.forget("7").n_decisions == 1  # as on the command line


def test_what_was_refused_is_about_nobody(tmp_path):
    with Policy(tmp_path / "log.db", problem=PROBLEM, seed=1) as policy:
        with policy.together() as together:
            hers = {"note": "", "x": 1.0}, None, None, "eve"
            with pytest.raises(ValueError, match="x"):
                together.decide_rounds([NewRound(*hers), NewRound({"note": "", "x": "no"})])
            together.decide({"note": "", "x": 1.0}, subject="eve")
        assert policy._log.storage.execute("SELECT count(*) FROM graphcb_subjects") == [(1,)]
        policy.prune(4e9)
        assert policy._log.storage.execute("SELECT count(*) FROM graphcb_subjects") == [(0,)]


def test_the_command(tmp_path, capsys):
    file = tmp_path / "log.db"
    with Policy(file, problem=PROBLEM, seed=1) as policy:
        play(policy, 9, ["adam", "eve"])
    assert main(["log", "forget", str(file), "--subject", "eve", "--unlearn"]) == 0
    out = capsys.readouterr().out
    assert "4 decisions and 4 feedbacks removed, the model is as if they had not been there" in out
    assert "not touched: folders of exports that are not named here" in out
    assert main(["log", "forget", str(tmp_path / "none.db"), "--subject", "eve"]) == 2


class TestAFeatureThatNamesThePerson:
    PROBLEM = Problem(["a", "b"], features={"x": "number"}, subject="user.id")

    def test_stands_for_the_argument(self, new_log):
        location = new_log()
        with Policy(location, problem=self.PROBLEM, seed=1) as policy:
            for k in range(12):
                policy.decide({"x": 1.0, "user": {"id": k % 3}})
            policy.decide({"x": 1.0, "user": {"id": 1}}, subject="somebody else")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert policy.forget("1").n_decisions == 4
                assert policy.forget("somebody else").n_decisions == 1
        assert verify(location) == []
        with DecisionLog(location) as log:
            assert {row.context["user.id"] for row in log} == {0, 2}

    def test_has_to_be_there_unless_it_may_be_missing(self, tmp_path):
        missing = "must have the feature 'user.id', which says whom the decision is about; got none"
        with Policy(tmp_path / "log.db", problem=self.PROBLEM, seed=1) as policy:
            for context in ({"x": 1.0}, {"x": 1.0, "user": {"id": None}}, [1.0]):
                with pytest.raises(ValueError, match=missing):
                    policy.decide(context)
            with pytest.raises(TypeError, match="`subject` must be a text or a whole number, got"):
                policy.decide({"x": 1.0, "user.id": 7.5})
            assert policy.n_events == 0
            policy.decide({"x": 1.0}, subject=3)
        may_be = Problem(["a", "b"], features={"user.id": "category?"}, subject="user.id")
        with Policy(tmp_path / "other.db", problem=may_be, seed=1) as policy:
            policy.decide({})
            policy.decide({"user": {"id": "eve"}})
            assert policy.forget("eve").n_decisions == 1

    def test_is_part_of_the_problem_and_of_its_versions(self, tmp_path):
        assert Problem.from_toml(self.PROBLEM.to_toml()) == self.PROBLEM
        assert Problem.from_toml(self.PROBLEM.to_toml()).subject == "user.id"
        with pytest.raises(TypeError, match="`subject` must be a text, got 7"):
            Problem(["a", "b"], subject=7)
        with Policy(tmp_path / "log.db", problem=Problem(["a", "b"]), seed=1) as policy:
            policy.decide({"id": "eve"})
            policy.change(Problem(["a", "b"], subject="id"))
            policy.decide({"id": "eve"})
            assert policy.forget("eve").n_decisions == 1  # the other one said nothing

    def test_is_read_from_imported_decisions(self, tmp_path):
        table = tmp_path / "table.csv"
        rows = [f"a,0.5,1.0,{k % 2},{k}" for k in range(10)]
        table.write_text("\n".join(["action,probability,reward,user,x", *rows, ""]))
        problem = tmp_path / "problem.toml"
        Problem(["a", "b"], feedback="rewards", subject="user").write(problem)
        columns = ["--action", "action", "--probability", "probability", "--reward", "reward"]
        command = ["log", "import", str(table), str(tmp_path / "log.db"), *columns]
        assert main([*command, "--actions", "a,b", "--continue", str(problem)]) == 0
        with Policy(tmp_path / "log.db") as policy:
            assert policy.forget(1).n_decisions == 5


class TestExportsInFolders:
    @pytest.fixture(autouse=True)
    def _needs_pyarrow(self):
        pytest.importorskip("pyarrow", reason="needs the extra `experiments`")

    @staticmethod
    def export(location, folder):
        from graphcb.decisions.export_folder import export_folder

        with DecisionLog(location) as log:
            return export_folder(log, folder)

    @staticmethod
    def rows(folder):
        import pyarrow.parquet as pq

        return [row for file in folder.glob("*.parquet") for row in pq.read_table(file).to_pylist()]

    def test_lose_the_rows_of_a_person_who_was_forgotten(self, new_log, tmp_path, monkeypatch):
        from graphcb.decisions import export_folder as module

        monkeypatch.setattr(module, "ROWS_PER_FILE", 4)
        location, folder = new_log(), tmp_path / "out"
        with Policy(location, problem=PROBLEM, seed=1) as policy:
            play(policy, 4, ["eve"])  # a file of her own
            made = play(policy, 10, ["adam", "eve"])
            assert self.export(location, folder).n_forgotten == 0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                policy.forget("eve")
            more = play(policy, 3, ["adam"])
            found = self.export(location, folder)
            assert (found.n_forgotten, found.n_new) == (9, 3)
            assert self.export(location, folder)[:3] == (0, 0, 0)
        kept = {one.decision_id for who, one in made + more if who == "adam"}
        found = self.rows(folder)
        assert {row["decision_id"] for row in found} == kept
        assert len(found) == len(kept) == 8
        assert MARK not in str(found)
        assert all(MARK.encode() not in path.read_bytes() for path in folder.iterdir())

    def test_lose_them_also_where_the_log_was_pruned_first(self, tmp_path):
        file, folder = tmp_path / "log.db", tmp_path / "out"
        with Policy(file, problem=PROBLEM, seed=1) as policy:
            play(policy, 6, ["adam", "eve"])
            self.export(file, folder)
            policy.prune(4e9)
            assert policy.forget("eve").n_decisions == 0
            assert self.export(file, folder).n_forgotten == 3
        assert len(self.rows(folder)) == 3  # what was pruned stays, as before

    def test_the_command_names_them(self, tmp_path, capsys):
        file, folder = tmp_path / "log.db", tmp_path / "out"
        with Policy(file, problem=PROBLEM, seed=1) as policy:
            play(policy, 9, ["adam", "eve"])
        self.export(file, folder)
        command = ["log", "forget", str(file), "--subject", "eve", "--folder"]
        assert main([*command, str(tmp_path)]) == 2
        assert "`--folder` must be an export of the log, got" in capsys.readouterr().err
        assert len(self.rows(folder)) == 9
        assert main([*command, str(folder)]) == 0
        assert f"{folder}: 4 rows removed" in capsys.readouterr().out
        assert len(self.rows(folder)) == 5
