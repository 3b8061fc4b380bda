"""A family in a file of its own: everything that a named family has, without touching graphcb.

Pairs of neighbours: actions 2 k and 2 k + 1 reveal each other, and themselves.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

import graphcb
from graphcb import FeedbackGraph, SquareCBG, graphs
from graphcb.cli import main
from graphcb.exploration import Status, closed_form_for, closed_form_probabilities
from graphcb.exploration.solver.edges import edges_of, fetch
from graphcb.graphs import registry
from graphcb.graphs.families.bandit import solve_bandit
from graphcb.graphs.files import read_graph
from graphcb.graphs.formulas import ANY_GAP, ClosedForm, ExactSolution, Outcome, record, scale
from graphcb.graphs.runs import RunStructure
from graphcb.graphs.structure import Numbers


def pairs(n_pairs):
    """So many pairs."""
    return FeedbackGraph.from_structure(Pairs(2 * n_pairs))


@dataclass(frozen=True)
class Pairs(RunStructure):
    """Structure of pairs."""

    n_actions: int
    family: ClassVar[str] = "pairs"

    def arguments(self):
        return {"n_pairs": self.n_actions // 2}

    def runs(self):
        low = np.arange(self.n_actions) // 2 * 2
        return np.stack([low, low + 2])

    @classmethod
    def candidate(cls, runs):
        return cls(runs.shape[1]) if runs.shape[1] % 2 == 0 else None

    def numbers(self):
        return Numbers(self.n_actions // 2, 0, self.n_actions // 2)

    def closed_form(self):
        return ClosedForm("best_of_pairs", "pairs see each other", best_of_pairs, within=4.0)

    def exact_solution(self):
        return ExactSolution("pairs see each other", solve_twins) if self.n_actions == 2 else None


def best_of_pairs(f, gamma):
    """The bandit's optimum among the better ones of each pair."""
    better = 2 * np.arange(f.size // 2) + (f[1::2] < f[::2])
    p, among = np.zeros(f.size), np.empty(better.size)
    solve_bandit(gamma * (f[better] - f.min()), among)
    p[better] = among
    return p


def solve_twins(losses, gammas, first, stop, p, numbers):
    """A single pair has full information: p = (level - ft) / 2, or all on the better one."""
    for row in range(first, stop):
        scale(losses[row], gammas[row], ANY_GAP)
        gap = losses[row].max()
        share = max(0.0, 0.5 - 0.25 * gap)
        worse = int(losses[row].argmax())
        p[row, worse], p[row, 1 - worse] = share, 1.0 - share
        value = share * gap + share**2 + (1 - share) ** 2 + max(2 * share - 1, 1 - 2 * share - gap)
        lower = max(0.0, value - 1e-12)
        record(Outcome(value, value + 1e-12, lower, 1, False, 2), False, numbers[row])


@pytest.fixture(autouse=True)
def family():
    registry.register(registry.Family(pairs, "PAIRS", lambda n: pairs(int(n)), Pairs))
    yield
    registry._families.pop("pairs")
    registry._find_small.cache_clear()


EXPECTED = np.kron(np.eye(3), np.ones((2, 2)))
LOSSES = np.array([0.3, 0.1, 0.6, 0.2, 0.5, 0.4])


def test_answers_that_follow_from_the_runs():
    graph, plain = pairs(3), graphs.disjoint_cliques([2, 2, 2])
    np.testing.assert_array_equal(graph.matrix, EXPECTED)
    assert graph == plain
    assert (graph.n_edges, graph.is_undirected, graph.is_self_aware) == (12, True, True)
    assert graph.observability == "strong"
    assert graph.independence_number() == 3
    p = np.random.default_rng(0).dirichlet(np.ones(6))
    np.testing.assert_allclose(graph.reveal_probabilities(p), EXPECTED.T @ p, rtol=1e-15)
    assert graph.subgraph([0, 2]) == graphs.bandit(2)


def test_the_edge_rule_is_read_without_a_matrix():
    graph = pairs(3)
    edges, out = edges_of(graph), np.empty(6)
    assert edges.flat.size == 0
    one = edges._replace(flat=edges.flat[0])
    for action in range(6):
        for as_column in (False, True):
            fetch(one, action, as_column, out)
            np.testing.assert_array_equal(out, EXPECTED[action])


def test_closed_form_and_recognition():
    agent = SquareCBG(graphcb.oracles.LinearOGD(2, 1), gamma=20.0)
    for graph in (pairs(3), FeedbackGraph(EXPECTED), FeedbackGraph(csr_array(EXPECTED))):
        assert closed_form_for(graph).name == "best_of_pairs"
        assert (
            agent.explain(graph) == "SquareCB.G by closed form best_of_pairs: pairs see each other"
        )
        p = closed_form_probabilities(LOSSES, graph, 20.0)
        np.testing.assert_array_equal(p[[0, 2, 4]] > 0.0, [False, False, False])
        solution = graphcb.solve_dec(LOSSES, graph, 20.0)
        assert solution.status is Status.CERTIFIED
        assert graphcb.dec(p, LOSSES, graph, 20.0) <= 4.0 * solution.value


def test_exact_solution():
    agent = SquareCBG(graphcb.oracles.LinearOGD(2, 1), gamma=20.0, method="solver")
    rows = np.random.default_rng(0).random((5, 2))
    for graph in (pairs(1), FeedbackGraph(np.ones((2, 2)))):
        assert agent.explain(graph) == f"SquareCB.G by {Status.EXACT}: pairs see each other"
        batch = graphcb.solve_dec_batch(rows, graph, 2.0)
        for row, together in zip(rows, batch, strict=True):
            solution = graphcb.solve_dec(row, graph, 2.0)
            assert solution.status is together.status is Status.EXACT
            np.testing.assert_array_equal(solution.probabilities, together.probabilities)
            known = graphcb.solve_dec(row, graphs.full_information(2), 2.0)
            np.testing.assert_allclose(solution.probabilities, known.probabilities, atol=1e-12)
            assert solution.value == pytest.approx(known.value, abs=1e-12)


def test_text_and_file(tmp_path, capsys):
    assert read_graph("pairs:3") == pairs(3)
    with pytest.raises(ValueError, match=r"must be given as pairs:PAIRS, got 'pairs': 0 numbers"):
        read_graph("pairs")
    with pytest.raises(ValueError, match=r"must be a family with its size \(pairs:PAIRS, bandit:K"):
        read_graph("ring:3")
    assert pairs(3).to_json() == '{"family": "pairs", "n_pairs": 3}'
    (tmp_path / "graph.json").write_text(pairs(3).to_json())
    read = read_graph(str(tmp_path / "graph.json"))
    assert repr(read) == "pairs(n_pairs=3)"
    assert main(["inspect", "pairs:3", "--no-picture"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "family pairs(n_pairs=3)" in text
    assert "explored by SquareCB.G by closed form best_of_pairs: pairs see each other" in text


def test_a_rule_that_derives_from_nothing_is_refused():
    with pytest.raises(TypeError, match=r"`structure` must derive from graphcb.graphs.Structure"):
        FeedbackGraph.from_structure(np.eye(3))


def test_a_forgotten_answer_shows_when_it_is_built():
    class Forgetful(graphs.Structure):
        family = "forgetful"

    with pytest.raises(TypeError, match="abstract"):
        Forgetful()
