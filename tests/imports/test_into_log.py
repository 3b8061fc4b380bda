import json

import numpy as np
import pytest

import graphcb
from graphcb.decisions import replay, verify
from graphcb.evaluation import as_saved, constant, evaluate, logged, uniform
from graphcb.imports import import_log
from graphcb.problems import Learner, Problem, Recorded

CB = "1:0.2:0.5 | rainy\n2:0.8:0.25 | sunny\n3:1:0.25 | sunny\n"
ADF = """shared | s
0:1.0:0.5 | x price:2
| y price:3

0:0.0:0.5 | x price:1

| nobody chose
"""


def write(folder, text, name="log.vw"):
    path = folder / name
    path.write_text(text)
    return path


def dsjson(folder, n=40):
    rng, lines = np.random.default_rng(0), []
    for number in range(n):
        chances = [0.5, 0.25, 0.25]
        chosen = int(rng.choice(3, p=chances))
        ranking = [chosen + 1, *(k + 1 for k in range(3) if k != chosen)]
        cost = -float(rng.random() < (0.9 if ranking[0] == 2 else 0.2))
        event = {
            "_label_cost": cost,
            "EventId": str(number),
            "Timestamp": f"2021-02-04T16:31:{number % 60:02}Z",
            "a": ranking,
            "p": [chances[k - 1] for k in ranking],
            "c": {
                "weather": "sunny" if number % 2 else "rainy",
                "_multi": [{"_tag": name, "price": k} for k, name in enumerate("abc")],
            },
        }
        lines.append(json.dumps(event))
    return write(folder, "\n".join(lines), "log.json")


class TestCb:
    def test_becomes_a_log(self, tmp_path):
        report = import_log(write(tmp_path, CB), tmp_path / "log.db")
        assert report.format == "cb"
        assert report.n_decisions == 3
        assert report.problem == Problem(["1", "2", "3"], range=(0, 1))
        assert not report.all_probabilities
        assert not report.has_times
        with graphcb.DecisionLog(tmp_path / "log.db") as log:
            assert log.problem == report.problem
            first, second, _ = log
        assert first.action == "1"
        assert first.context == {"features": ["rainy"]}
        np.testing.assert_allclose(first.probabilities, [0.5, 0.25, 0.25])
        np.testing.assert_allclose(second.probabilities, [0.375, 0.25, 0.375])
        assert second.feedback.losses.tolist() == [0.8]
        assert second.feedback.actions == ["2"]
        assert (first.position, second.position, second.model_version) == (1, 3, 1)

    def test_estimates_need_the_chosen_probability_alone(self, tmp_path):
        import_log(write(tmp_path, CB), tmp_path / "log.db")
        with graphcb.DecisionLog(tmp_path / "log.db") as log:
            found = evaluate(log, constant("1"))
            assert found.plain.value == pytest.approx(0.2)
            assert found.graph.value == pytest.approx(0.2)
            assert evaluate(log, logged).plain.value == pytest.approx(2.0 / 3)
            value = (0.2 / 0.5 + 0.8 / 0.25 + 1.0 / 0.25) / (1 / 0.5 + 1 / 0.25 + 1 / 0.25)
            assert evaluate(log, uniform).plain.value == pytest.approx(value)

    def test_no_interval_depends_on_probabilities_that_are_made_up(self, tmp_path):
        """Half of the actions are rare, and their losses are guessed from few of them."""
        rng, lines = np.random.default_rng(0), []
        p = np.repeat([0.001, 0.099], 10)
        for action in rng.choice(20, size=6000, p=p):
            lines.append(f"{action + 1}:{float(rng.random() < 0.99)}:{p[action]} | x")
        import_log(write(tmp_path, "\n".join(lines)), tmp_path / "log.db")
        with graphcb.DecisionLog(tmp_path / "log.db") as log:
            found = evaluate(log, uniform)
            summary = graphcb.evaluation.summarize(log)
        assert found.graph.anytime.lower < 0.99 < found.graph.anytime.upper
        assert summary.anytime.lower < 0.99 < summary.anytime.upper

    def test_a_wider_range_is_found_or_given(self, tmp_path):
        path = write(tmp_path, "1:-2:0.5 | x\n2:5:0.5 | y\n")
        assert import_log(path, tmp_path / "a.db").problem.range == (-2.0, 5.0)
        given = import_log(path, tmp_path / "b.db", value_range=(-10.0, 10.0))
        assert given.problem.range == (-10.0, 10.0)
        with pytest.raises(
            ValueError, match=r"must lie in the problem's range, 0 to 6, got -2 for"
        ):
            import_log(path, tmp_path / "c.db", value_range=(0.0, 6.0))
        assert not (tmp_path / "c.db").exists()


class TestCbAdf:
    def test_actions_come_with_their_features(self, tmp_path):
        report = import_log(write(tmp_path, ADF), tmp_path / "log.db")
        assert (report.n_decisions, report.n_without_choice) == (2, 1)
        assert report.problem == Problem("each round", range=(0, 1))
        with graphcb.DecisionLog(tmp_path / "log.db") as log:
            first, second = log
        assert first.actions == {
            "1": {"features": ["x"], "price": 2.0},
            "2": {"features": ["y"], "price": 3.0},
        }
        assert second.graph.n_actions == 1
        assert second.probabilities.tolist() == [1.0]


class TestDsjson:
    def test_has_rewards_times_and_all_probabilities(self, tmp_path):
        report = import_log(dsjson(tmp_path), tmp_path / "log.db")
        assert report.problem == Problem("each round", feedback="rewards", range=(0, 1))
        assert report.all_probabilities
        assert report.has_times
        with graphcb.DecisionLog(tmp_path / "log.db") as log:
            first = next(iter(log))
        assert first.made_at == 1612456260.0
        assert first.probabilities.tolist() == [0.5, 0.25, 0.25]
        assert list(first.actions) == ["a", "b", "c"]
        assert set(first.feedback.losses.tolist()) <= {0.0, 1.0}

    def test_a_learner_trained_elsewhere_is_judged_on_it(self, tmp_path):
        import_log(dsjson(tmp_path, 400), tmp_path / "log.db")
        learner = Learner(Problem("each round", feedback="rewards"))
        for k in range(60):
            for name, reward in (("a", 0.0), ("b", 1.0), ("c", 0.0)):
                context = {"weather": "sunny" if k % 2 else "rainy"}
                learner.learn(context, {name: {"price": "abc".index(name)}}, [reward])
        with graphcb.DecisionLog(tmp_path / "log.db") as log:
            better = evaluate(log, as_saved(learner)).graph.value
            chance = evaluate(log, uniform).graph.value
        assert better > 0.7
        assert chance < 0.6

    def test_decisions_without_an_outcome_are_kept(self, tmp_path):
        path = dsjson(tmp_path, 3)
        lines = path.read_text().splitlines()
        lines[1] = json.dumps({**json.loads(lines[1]), "_skipLearn": True})
        path.write_text("\n".join(lines))
        assert import_log(path, tmp_path / "log.db").n_without_outcome == 1
        with graphcb.DecisionLog(tmp_path / "log.db") as log:
            assert [row.feedback is None for row in log] == [False, True, False]


class TestRefusals:
    def test_nobody_decides_as_the_other_program_did(self, tmp_path):
        import_log(write(tmp_path, CB), tmp_path / "log.db")
        text = "imported from log.vw and not made by graphcb, .*continue the log with a problem"
        with graphcb.Policy(tmp_path / "log.db") as policy, pytest.raises(ValueError, match=text):
            policy.decide({})
        with graphcb.DecisionLog(tmp_path / "log.db") as log:
            assert log.n_decisions == log.n_imported == replay(log).n_decisions == 3
            assert log.is_imported
        assert verify(tmp_path / "log.db") == []

    def test_a_log_that_exists_is_refused(self, tmp_path):
        path = write(tmp_path, CB)
        import_log(path, tmp_path / "log.db")
        before = (tmp_path / "log.db").read_bytes()
        with pytest.raises(FileExistsError, match=r"log\.db: must not exist yet"):
            import_log(path, tmp_path / "log.db")
        assert (tmp_path / "log.db").read_bytes() == before

    def test_an_odd_line_leaves_no_log(self, tmp_path):
        path = write(tmp_path, f"{CB}junk\n")
        with pytest.raises(ValueError, match="line 4: a line must have features"):
            import_log(path, tmp_path / "log.db")
        assert sorted(file.name for file in tmp_path.iterdir()) == ["log.vw"]
        report = import_log(path, tmp_path / "log.db", skip_odd=True)
        assert (report.n_decisions, report.n_odd) == (3, 1)
        assert "line 4" in report.first_odd[0]

    def test_a_file_without_a_choice_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="must have decisions with a chosen action, got none"):
            import_log(write(tmp_path, "| x\n| y\n"), tmp_path / "log.db")


def test_the_agent_says_what_it_is():
    agent = Recorded(Problem(["a", "b"]), source="x.vw", all_probabilities=False)
    assert repr(agent) == "Recorded(Problem(['a', 'b']), source='x.vw', all_probabilities=False)"
    assert agent.oracle is None
    assert isinstance(Recorded(Problem(["a", "b"])).oracle, Learner)
    with pytest.raises(ValueError, match="imported from another program"):
        Recorded(Problem(["a", "b"])).act({})
