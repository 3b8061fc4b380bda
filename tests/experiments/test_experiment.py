"""Settings files, and what the panels must show already in short runs."""

from dataclasses import replace
from importlib import resources

import pytest

from graphcb import SquareRoot, TwoThirds
from graphcb.experiments import experiment as experiments
from graphcb.experiments.curves import Setting, summarise
from graphcb.experiments.experiment import parse, read
from graphcb.experiments.lines import Grid

NAMES = experiments.names()
OWN = """
title = "Mine"
seeds = 2
n_rounds = 50
[grid]
learning_rate = [0.1]
c = [1.0]
[problem]
kind = "synthetic-inventory"
[[lines]]
agent = "SquareCB.G"
name = "five"
alpha = 1.0
levels = 5
"""


def test_the_panels_of_the_paper_of_its_theory_and_two_more():
    assert NAMES == (
        "rcv1-graphs",
        "rcv1-random",
        "inventory-fixed",
        "inventory-adaptive",
        "misspecified",
        "weak-feedback",
        "bakery",
        "spam",
    )
    assert [bool(read(name).in_paper) for name in NAMES] == [True] * 4 + [False] * 4
    assert [read(name).in_all for name in NAMES] == [True] * 6 + [False] * 2


@pytest.mark.parametrize(
    ("name", "rates", "cs", "n_seeds", "n_lines", "n_greedy"),
    [
        ("rcv1-graphs", (0.1, 0.2, 0.5, 1, 2, 4), (8, 16, 32, 64, 128), 5, 3, 3),
        ("rcv1-random", (0.1, 0.2, 0.5, 1, 2, 4), (8, 16, 32, 64, 128), 5, 2, 1),
        ("inventory-fixed", (0.01, 0.05, 0.1, 0.5, 1), (0.25, 0.5, 1, 2, 3, 4), 8, 6, 3),
        ("inventory-adaptive", (0.01, 0.05, 0.1, 0.5, 1), (0.25, 0.5, 1, 2, 3, 4), 8, 4, 2),
    ],
)
def test_grids_are_those_of_the_paper(name, rates, cs, n_seeds, n_lines, n_greedy):
    """Greedy has the same learning rates, epsilon-greedy epsilons of its own, a constant none."""
    experiment = read(name)
    assert experiment.grid[:2] == (rates, cs)
    settings = experiment.settings()
    per_rate = n_lines * len(cs) + n_greedy * (1 + len(experiment.grid.epsilons))
    assert len(settings) == len(set(settings)) == (per_rate * len(rates) + 1) * n_seeds


def test_rcv1_plays_as_many_stories_as_the_paper_or_all_there_are():
    assert [read(name).n_rounds for name in NAMES[:2]] == [50_000, 10_000]
    digits = read("rcv1-graphs").made_quick()
    assert digits.n_rounds == 50_000
    assert digits.n_rounds_of(digits.settings()[0]) == 1_797


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_has_those_who_do_not_look_at_the_graph(name):
    agents = {line.agent for line in read(name).lines}
    assert {"greedy", "epsilon-greedy", "best constant action"} <= agents


@pytest.mark.parametrize("name", NAMES)
def test_wide_adds_to_the_grid_at_its_ends(name):
    experiment = read(name)
    wide = experiment.widened()
    assert set(wide.settings()) > set(experiment.settings())
    for ours, wider in zip(experiment.grid, wide.grid, strict=True):
        assert wider == tuple(sorted(wider))
        assert set(wider) > set(ours) or ours == (0.0,)  # ridge regression has no learning rate


@pytest.mark.parametrize("name", NAMES)
def test_quick_needs_no_data_and_every_line_runs(name, monkeypatch):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    experiment = replace(read(name).made_quick(), n_rounds=60)
    for line in experiment.lines:
        rates, explorations = line.values(experiment.grid)
        setting = Setting(line.agent, line.name, rates[0], explorations[-1], 1)
        curve = experiment.play(setting)
        assert curve.rounds[-1] == 60
        assert 0.0 < curve.mean_loss[-1] < 1.0
        assert curve.mean_loss.tolist() == experiment.play(setting).mean_loss.tolist()


def test_a_line_for_each_agent_of_a_list():
    text = OWN.replace('"SquareCB.G"', '["SquareCB", "greedy"]').replace("alpha = 1.0\n", "")
    lines = parse("own", text, "own.toml").lines
    assert [(line.label, line.alpha) for line in lines] == [
        ("SquareCB, five", "n_actions"),  # what it has if nothing is said
        ("greedy, five", None),
    ]


@pytest.mark.parametrize(
    ("agent", "gamma"),
    [
        ("SquareCB.G, TwoThirds", TwoThirds(2.0, 8.0)),
        ("SquareCB.G, SquareRoot", SquareRoot(2.0, 16.0)),
        ("SquareCB", SquareRoot(2.0, "n_actions")),
        ("information-directed", None),
    ],
)
def test_the_numbers_of_the_graph_are_in_gamma(agent, gamma):
    experiment = read("weak-feedback")
    line = next(ln for ln in experiment.lines if ln.label == f"{agent}, blocks, d = 8")
    built = line.build(experiment.problem_of(line), 0.0, 2.0)
    assert getattr(built, "schedule", None) == gamma


@pytest.mark.parametrize(
    ("name", "n_actions", "domination", "own", "costly"),
    [
        ("review (3 actions)", 3, 1, 1, (0,)),
        ("apple tasting (10 actions)", 10, 1, 1, (0,)),
        ("revealing action (5 actions)", 5, 1, 2, (0,)),
        ("cycle (6 actions)", 6, 6, 0, (0, 2, 4)),
        ("blocks, d = 2", 6, 2, 2, (0, 3)),
        ("blocks, d = 8", 24, 8, 8, tuple(range(0, 24, 3))),
    ],
)
def test_each_graph_of_weak_feedback_is_weakly_observable_with_a_known_number(
    name, n_actions, domination, own, costly
):
    experiment = read("weak-feedback")
    line = next(one for one in experiment.lines if one.name == name)
    environment = experiment.problem_of(line).environment
    graph = environment.graph
    assert graph.observability == "weak"
    assert (graph.n_actions, graph.weak_domination_number()) == (n_actions, domination)
    assert graph.self_looped_independence_number() == own
    assert environment.costly == costly
    # Whoever plays none of the costly ones learns nothing of some of the others.
    others = [action for action in range(n_actions) if action not in costly]
    assert (graph.matrix[others].max(axis=0)[others] == 0.0).any()


def test_what_misspecification_is_drawn_against():
    experiment = replace(read("misspecified"), n_rounds=100)
    scales = experiment.scales()
    assert scales["bandit, epsilon = 0.1"] == ("bandit", pytest.approx(0.1 * 100 * 3))
    assert scales["four cliques, epsilon = 0.2"] == ("disjoint_cliques", pytest.approx(40.0))
    assert scales["cops and robbers, epsilon = 0"] == ("cops_and_robbers", 0.0)
    with pytest.raises(ValueError, match='needs the problem "off-linear"'):
        read("weak-feedback").scales()


def short(name, **changes):
    experiment = replace(read(name).made_quick(), **changes)
    curves = [experiment.play(setting) for setting in experiment.settings()]
    summaries = summarise(curves)
    return experiment, summaries, [claim.check(summaries) for claim in experiment.claims]


def test_inventory_fixed_holds_in_short():
    _, summaries, verdicts = short(
        "inventory-fixed", grid=Grid((0.05,), (4.0,), (0.03,)), n_seeds=2, n_rounds=2000
    )
    graph = [s.mean for s in summaries if s.agent == "SquareCB.G"]
    plain = [s.mean for s in summaries if s.agent == "SquareCB"]
    assert max(graph) - min(graph) <= 0.002
    assert plain[0] + 0.005 < plain[1] < plain[2] - 0.002
    assert max(graph) + 0.01 < min(plain)
    assert [v.holds for v in verdicts[:5]] == [True] * 5
    # 2,000 rounds are too few to learn the demand: a constant is better, and so is no exploration.
    greedy = next(s for s in summaries if (s.agent, s.line) == ("greedy", "K = 501"))
    assert summaries[-1].mean + 0.004 < greedy.mean < max(graph) - 0.001
    assert [v.holds for v in verdicts[5:]] == [False, False]


def test_the_growing_grid_favours_squarecbg():
    _, (graph, plain, *_), _ = short(
        "inventory-adaptive", grid=Grid((0.05,), (4.0,), (0.03,)), n_seeds=2, n_rounds=2000
    )
    assert graph.mean + 0.005 < plain.mean


def test_rcv1_graphs_holds_on_digits():
    _, summaries, verdicts = short("rcv1-graphs", grid=Grid((4.0,), (32.0,), (0.03,)), n_seeds=2)
    bandit, cops, full = (s.mean for s in summaries[:3])
    assert full < cops - 0.02 < bandit - 0.12
    assert [v.holds for v in verdicts[:2]] == [True, True]
    constant = summaries[-1].mean
    assert 0.85 < constant < 0.91  # ten digits, nearly equally often
    assert verdicts[-1].holds


def test_an_experiment_of_your_own_is_one_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(OWN)
    experiment = read(str(file))
    assert (experiment.name, experiment.title, experiment.claims) == ("mine", "Mine", ())
    assert experiment.play(experiment.settings()[1]).rounds[-1] == 50


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("title", "titel"), "own.toml: must have 'title'"),
        (("[grid]\n", "[gird]\n"), "own.toml: must have 'grid'"),
        (
            ("seeds = 2", "seeds = 2\nsedes = 3"),
            "own.toml: must not have sedes, which is not a setting",
        ),
        (
            ("alpha = 1.0\n", ""),
            r"own.toml: `lines.alpha` must be given for SquareCB\.G, in 'five'",
        ),
        (("c = [1.0]", "d = [1.0]"), "own.toml: must not have d, which is not a setting"),
        (
            ("c = [1.0]", "c = []"),
            r"own.toml: the grid must have values for each setting of SquareCB\.G, five",
        ),
        (
            ('"SquareCB.G"', '"epsilon-greedy"'),
            "own.toml: the grid must have values for each setting of epsilon-greedy, five",
        ),
        (
            ("SquareCB.G", "SquareCB.H"),
            "own.toml: `lines.agent` must be one of SquareCB.G, SquareCB, .*; got 'SquareCB.H'",
        ),
        (("[problem]", "[problem"), "own.toml: .*line 8"),
        (
            ("seeds = 2", 'seeds = 2\nmeasure = "luck"'),
            "own.toml: `measure` must be one of loss, regret, misspecification; got 'luck'",
        ),
    ],
)
def test_mistakes_in_a_settings_file(change, text):
    with pytest.raises(ValueError, match=text):
        parse("own", OWN.replace(*change), "own.toml")


def test_lines_need_names_and_claims_need_lines():
    line = OWN[OWN.index("[[lines]]") :]
    with pytest.raises(ValueError, match=r"got 'SquareCB\.G, five' twice"):
        parse("own", OWN + line, "own.toml")
    claim = '[[claims]]\ntext = "a"\nkind = "flat"\nlines = ["six"]\n'
    with pytest.raises(ValueError, match="a claim must be about lines of the file, got 'six'"):
        parse("own", OWN + claim, "own.toml")
    with pytest.raises(ValueError, match=r"`claims.kind` must be one of flat, increasing"):
        parse("own", OWN + claim.replace("flat", "round"), "own.toml")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("synthetic-inventory", "weather"), "`problem.kind` must be one of .*weather"),
        (
            ("levels = 5", "leaves = 5"),
            "the problem 'synthetic-inventory' does not take these options",
        ),
        (("alpha = 1.0", 'alpha = "independence_number"'), "where the graph changes"),
    ],
)
def test_mistakes_that_show_when_a_run_is_made(change, text):
    experiment = parse("own", OWN.replace(*change), "own.toml")
    with pytest.raises(ValueError, match=text):
        experiment.play(experiment.settings()[0])


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"`FIGURE` must be one of rcv1-graphs, .*spam"):
        read("figure-9")
    with pytest.raises(ValueError, match=r"got 'limits'\. In the repository, `make study-limits`"):
        read("limits")


def test_every_settings_file_is_packaged():
    folder = resources.files("graphcb.experiments").joinpath("settings")
    assert {f.name for f in folder.iterdir()} == {f"{name}.toml" for name in NAMES}


def test_identity_tells_runs_apart():
    experiment = read("inventory-fixed")
    one, other = experiment.settings()[:2]
    assert experiment.identity(one) == {
        "experiment": "inventory-fixed",
        "agent": "SquareCB.G",
        "line": "K = 101",
        "learning_rate": 0.01,
        "c": 0.25,
        "seed": 0,
        "alpha": 1.0,
        "method": "auto",
        "problem": {"kind": "synthetic-inventory", "levels": 101},
        "n_rounds": 10_000,
        "data": "drawn from the seed",
    }
    assert experiment.identity(one) != experiment.identity(other)
    shorter = replace(experiment, n_rounds=9)
    assert experiment.identity(one) != shorter.identity(one)
