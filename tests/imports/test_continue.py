import json

import numpy as np
import pytest
import warm_start

import graphcb
from graphcb.decisions import verify
from graphcb.imports import DecisionColumns, import_log
from graphcb.problems import Problem

COLUMNS = DecisionColumns("item", "p", reward="click")
CB = "1:0.2:0.5 | rainy\n2:0.8:0.25 | sunny\n3:1:0.25 | sunny\n"
ADF = "shared | s\n0:1.0:0.5 | x price:2\n| y price:3\n\n0:0.0:1 | x price:1\n"
EVENT = {
    "_label_cost": -1.0,
    "a": [2, 1],
    "p": [0.75, 0.25],
    "c": {"weather": "sunny", "_multi": [{"_tag": "x", "price": 1}, {"_tag": "y", "price": 2}]},
}


def write(folder, text, name="log.vw"):
    path = folder / name
    path.write_text(text)
    return path


def table(folder, n=200, name="shop.csv"):
    rng, lines = np.random.default_rng(0), ["item,p,click,age,city"]
    for _ in range(n):
        chosen = rng.choice(2, p=[0.75, 0.25])
        click = int(rng.random() < (0.2, 0.8)[chosen])
        lines.append(f"{'ab'[chosen]},{(0.75, 0.25)[chosen]},{click},{rng.integers(20, 60)},Rome")
    return write(folder, "\n".join(lines), name)


def decided(log, n=30):
    """Decide some rounds, and give the probabilities."""
    with graphcb.Policy(log, durability="process-kill") as policy:
        made = []
        for _ in range(n):
            made.append(policy.decide({"age": 30}))
            policy.feedback(made[-1].decision_id, {made[-1].action: 0.5})
        assert policy.problem is not None
        return [one.probabilities for one in made]


class TestContinuing:
    def test_an_imported_log_is_continued_later(self, tmp_path):
        problem = Problem(["a", "b"], feedback="rewards")
        import_log(table(tmp_path), tmp_path / "a.db", columns=COLUMNS)
        import_log(table(tmp_path), tmp_path / "b.db", columns=COLUMNS, problem=problem)
        with graphcb.Policy(tmp_path / "a.db") as policy:
            with pytest.raises(
                ValueError, match=r"imported from shop\.csv and not made by graphcb"
            ):
                policy.decide({"age": 30})
            assert policy.change(problem).said == ("learned from 200 imported decisions",)
            later = policy.agent
        with graphcb.Policy(tmp_path / "b.db") as policy:
            at_once = policy.agent
        assert later.predict({"age": 30}).tolist() == at_once.predict({"age": 30}).tolist()
        assert verify(tmp_path / "a.db") == []

    def test_late_outcomes_of_imported_decisions_are_learned(self, tmp_path):
        path = write(tmp_path, "item,p,click,age\na,0.5,,30\nb,0.5,1,30\n", "shop.csv")
        problem = Problem(["a", "b"], feedback="rewards")
        for name, given in (("a.db", problem), ("b.db", None)):
            report = import_log(path, tmp_path / name, columns=COLUMNS, problem=given)
            assert report.n_without_outcome == 1
            with graphcb.DecisionLog(tmp_path / name) as log:
                waiting = next(iter(log)).decision_id
            with graphcb.Policy(tmp_path / name) as policy:
                policy.feedback(waiting, {"a": 1.0})
                if given is None:
                    said = policy.change(problem).said
                    assert said == ("learned from 2 imported decisions",)
                assert policy.agent.predict({"age": 30})[0] > 0.6
            assert verify(tmp_path / name) == []
        report = import_log(path, tmp_path / "c.db", columns=COLUMNS, problem=problem)
        assert report.said[1] == "1 imported decisions have no outcome yet"

    @pytest.mark.parametrize("kind", ["cb", "cb_adf", "dsjson"])
    def test_every_format(self, tmp_path, kind):
        each = Problem("each round", feedback="rewards" if kind == "dsjson" else "losses")
        problem = Problem(["1", "2", "3"]) if kind == "cb" else each
        text = {"cb": CB, "cb_adf": ADF, "dsjson": json.dumps(EVENT)}[kind]
        path = write(tmp_path, text)
        report = import_log(path, tmp_path / "log.db", problem=problem)
        assert report.said == (f"learned from {report.n_decisions} imported decisions",)
        with graphcb.Policy(tmp_path / "log.db") as policy:
            policy.decide({}, actions=None if kind == "cb" else {"x": None, "y": {"price": 2}})
        assert verify(tmp_path / "log.db") == []

    def test_guardrails_count_from_the_first_decision_of_its_own(self, tmp_path):
        problem = Problem(
            ["a", "b"],
            feedback="rewards",
            budgets={"gifts": {"costs": {"b": 1.0}, "at_most": 0.5, "hard": True}},
            baseline="a",
        )
        report = import_log(table(tmp_path), tmp_path / "a.db", columns=COLUMNS, problem=problem)
        assert report.said[1:] == (
            "budgets begin with nothing spent",
            "nothing is proven against the baseline yet",
        )
        with graphcb.Policy(tmp_path / "a.db") as policy:
            assert policy.agent.agent.n_rounds == 0
            assert policy.agent.agent.proven == 0.0
        decided(tmp_path / "a.db", 5)
        with graphcb.DecisionLog(tmp_path / "a.db") as log:
            kept = graphcb.evaluation.summarize(log).kept
        assert kept.budgets[0].allowed <= 3.0
        assert kept.baseline.deviations == 0.0  # of 5 decisions; none of the imported ones count
        assert verify(tmp_path / "a.db") == []

    def test_an_agent_or_a_trained_learner_may_be_given(self, tmp_path):
        problem = Problem(["a", "b"], feedback="rewards")
        learner = graphcb.Learner(problem)
        for _ in range(500):
            learner.learn({"age": 30}, ["a", "b"], [1.0, 0.0])
        agents = {"a": graphcb.SquareCBG(graphcb.oracles.DefaultOracle(2)), "b": learner}
        for name, agent in agents.items():
            import_log(
                table(tmp_path), tmp_path / name, columns=COLUMNS, problem=problem, agent=agent
            )
            assert verify(tmp_path / name) == []
        with graphcb.Policy(tmp_path / "b") as policy:
            assert policy.agent.predict({"age": 30})[0] > 0.5  # the table alone says 0.2
        assert learner.predict({"age": 30})[0] > 0.9  # and not changed
        other = Problem(["a", "b", "c"], feedback="rewards")
        with pytest.raises(ValueError, match="`problem` must be that of the agent"):
            import_log(
                table(tmp_path), tmp_path / "c", columns=COLUMNS, problem=other, agent=learner
            )
        assert not (tmp_path / "c").exists()

    def test_what_is_revealed_is_not_learned_from_imported_outcomes(self, tmp_path):
        problem = Problem(["a", "b"], feedback="rewards", reveals="unknown")
        report = import_log(table(tmp_path), tmp_path / "a.db", columns=COLUMNS, problem=problem)
        assert "what actions reveal starts unknown" in report.said[1]
        with graphcb.Policy(tmp_path / "a.db") as policy:
            graph = policy.agent.predicted_graph({"age": 30})
            assert graph.matrix.tolist() == [[0.5, 0.5], [0.5, 0.5]]
            low, high = policy.agent.predict({"age": 30})
            assert high > low
        decided(tmp_path / "a.db", 3)
        assert verify(tmp_path / "a.db") == []

    def test_old_decisions_are_removed_from_a_continued_log(self, tmp_path):
        lines = [f"{'ab'[n % 2]},0.5,{n % 2},{n},{1000 + n}" for n in range(20)]
        path = write(tmp_path, "\n".join(["item,p,click,age,t", *lines]), "shop.csv")
        columns = DecisionColumns("item", "p", reward="click", time="t")
        problem = Problem(["a", "b"], feedback="rewards")
        import_log(path, tmp_path / "a.db", columns=columns, problem=problem)
        with graphcb.DecisionLog(tmp_path / "a.db") as log:
            late = next(iter(log)).decision_id
        with graphcb.Policy(tmp_path / "a.db") as policy:
            policy.decide({"age": 3})
            assert policy.prune(1005.0).n_decisions == 5
            with pytest.raises(LookupError):
                policy.feedback(late, {"a": 1.0})
        assert verify(tmp_path / "a.db") == []
        with graphcb.DecisionLog(tmp_path / "a.db") as log:
            assert (log.n_imported, log.n_decisions) == (15, 16)
        with graphcb.Policy(tmp_path / "a.db") as policy:
            assert policy.prune(2000.0).n_decisions == 15
            policy.decide({"age": 3})
        assert verify(tmp_path / "a.db") == []
        with graphcb.DecisionLog(tmp_path / "a.db") as log:
            assert log.versions.numbered(1).recorded.source == "shop.csv"
            assert (log.n_imported, log.n_decisions) == (0, 2)


class TestRefusals:
    @pytest.mark.parametrize(
        ("problem", "text"),
        [
            (Problem(["a", "b"]), "must have the rewards of the imported decisions, got losses"),
            (
                Problem(["a", "c"], feedback="rewards"),
                "must have all actions of the imported decisions, got a, c without 'b'",
            ),
            (
                Problem(["a", "b"], feedback="rewards", range=(0.0, 0.5)),
                r"must have a range with all rewards of .*shop\.csv, got 0 to 0.5, where the file "
                "has 1",
            ),
            (
                Problem(["a", "b"], feedback="rewards", features={"city": "number"}),
                r"shop\.csv, line 2: the problem's features do not fit: .*city",
            ),
            (
                Problem(["a", "b"], feedback="rewards", features={"town": "text?", "home": "text"}),
                r"must have features of .*shop\.csv \(age, city\), or with \?, got 'home'",
            ),
        ],
    )
    def test_a_problem_that_does_not_fit(self, tmp_path, problem, text):
        path = table(tmp_path, 20)
        with pytest.raises(ValueError, match=text):
            import_log(path, tmp_path / "log.db", columns=COLUMNS, problem=problem)
        assert [file.name for file in tmp_path.iterdir()] == ["shop.csv"]

    def test_fixed_actions_for_actions_of_each_round(self, tmp_path):
        with pytest.raises(ValueError, match='`problem` must have actions = "each round"'):
            import_log(write(tmp_path, ADF), tmp_path / "a.db", problem=Problem(["1", "2"]))

    def test_a_change_that_does_not_fit_names_the_event(self, tmp_path):
        import_log(table(tmp_path, 20), tmp_path / "log.db", columns=COLUMNS)
        wrong = Problem(["a", "b"], feedback="rewards", features={"city": "number"})
        with (
            graphcb.Policy(tmp_path / "log.db") as policy,
            pytest.raises(ValueError, match=r"must fit the imported decisions: event 1: .*city"),
        ):
            policy.change(wrong)
        with graphcb.DecisionLog(tmp_path / "log.db") as log:
            assert len(log.versions) == 1

    def test_nobody_goes_back_to_imported_decisions(self, tmp_path):
        problem = Problem(["a", "b"], feedback="rewards")
        import_log(table(tmp_path, 20), tmp_path / "log.db", columns=COLUMNS, problem=problem)
        text = "must be one that decided, got 1, whose decisions were imported from shop.csv"
        with graphcb.Policy(tmp_path / "log.db") as policy, pytest.raises(ValueError, match=text):
            policy.roll_back(1)


def test_a_warm_start_is_far_better_than_a_cold_one_and_close_to_learning_live(tmp_path):
    n, regrets = 300, {"cold": [], "warm": [], "live": []}
    for seed in range(3):
        world, rng = warm_start.World("linear", seed), np.random.default_rng([seed, 4])
        lines = [",".join(["item", "p", "loss", *warm_start.PROBLEM.features])]
        for context, _, losses in world.rounds(n, 0):
            p = world.logged(context)
            action = graphcb.draw(p, rng)
            cells = [warm_start.NAMES[action], p[action], losses[action], *context.values()]
            lines.append(",".join(map(str, cells)))
        path = write(tmp_path, "\n".join(lines), f"{seed}.csv")
        columns = DecisionColumns("item", "p", loss="loss")
        import_log(path, tmp_path / f"{seed}.db", columns=columns, problem=warm_start.PROBLEM)
        with graphcb.Policy(tmp_path / f"{seed}.db") as policy:
            warm = policy.agent
        live = graphcb.Learner(warm_start.PROBLEM)
        warm_start.regret_of(live, world, n, 0, seed)
        for name, learner in (
            ("cold", graphcb.Learner(warm_start.PROBLEM)), ("warm", warm), ("live", live)
        ):  # fmt: skip
            regrets[name].append(warm_start.regret_of(learner, world, n, 1, seed))
    cold, warm, live = (np.mean(regrets[name]) for name in ("cold", "warm", "live"))
    assert warm < 0.6 * cold
    assert warm < live + 0.2 * cold
