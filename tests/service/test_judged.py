import numpy as np
import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")

from graphcb import DecisionLog, FeedbackGraph, Policy, Problem
from graphcb.evaluation import constant, evaluate, logged
from graphcb.evaluation.guesses import MOST_NAMES
from graphcb.evaluation.settling import Settled
from graphcb.graphs import apple_tasting, bandit, full_information
from graphcb.service.judged import MOST_POINTS, Judge
from graphcb.service.watching import Watch

from .conftest import only


def settled(graph, p, revealed, losses, names=("a", "b")):
    flags = np.array(revealed, dtype=bool)
    return Settled(graph, names, np.array(p), flags, np.array(losses, dtype=float))


@pytest.fixture
def log(tmp_path):
    """Rewards between -5 and 3; "look" shows both, "skip" shows nothing; the last is a look."""
    problem = Problem(
        ["skip", "look"], reveals={"all": ["look"]}, feedback="rewards", range=(-5.0, 3.0),
        limits={"floors": 0.2},
    )  # fmt: skip
    rng = np.random.default_rng(0)
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        n = 0
        while True:
            made = policy.decide({"x": float(rng.normal())})
            n += 1
            if made.action == "look":
                rewards = {"skip": float(rng.choice([-5.0, 3.0])), "look": float(rng.random())}
                policy.feedback(made.decision_id, rewards)
                if n >= 400:
                    return tmp_path / "log.db", problem


def test_estimates_agree_with_an_evaluation_of_the_log(log):
    path, problem = log
    watch = Watch(str(path), only(problem))
    while True:
        watch.look()
        if watch.position and watch.position >= watch.tally.judge.n:
            break
    judge = watch.tally.judge
    low, width = -5.0, 8.0
    with DecisionLog(path) as rows:
        assert judge.n == rows.n_decisions
        for target, found in [
            (logged, judge.policy()),
            (constant("skip"), judge.constant("skip")),
            (constant("look"), judge.constant("look")),
        ]:
            there = evaluate(rows, target).graph
            mean, lower, upper = (low + width * part for part in found[:3])
            assert mean == pytest.approx(there.value)
            assert found.unseen == 0.0
            assert lower <= there.anytime.lower + 1e-9 < mean < there.anytime.upper <= upper + 1e-9
        gain = evaluate(rows, logged, against=constant("look")).difference
    excess = judge.excess("look")
    assert width * excess.mean == pytest.approx(gain.value)
    assert width * excess.lower <= gain.anytime.lower + 1e-9
    assert width * excess.upper >= gain.anytime.upper - 1e-9
    watch.close()


def drawn(rng, n, p=(0.9, 0.1), losses=(0.15, 0.2)):
    """Rounds in which playing "b" reveals both losses, which are 0 or 1 for "a"."""
    graph, both = FeedbackGraph([[0.0, 0.0], [1.0, 1.0]]), np.array([True, True])
    for _ in range(n):
        shown = both & (rng.random() < p[1])
        now = np.array([float(rng.random() < losses[0]), losses[1]])
        yield Settled(graph, ("a", "b"), np.array(p), shown, np.where(shown, now, 0.0))


def test_estimates_are_unbiased_and_intervals_hold_at_all_times():
    missed, means = 0, []
    for seed in range(60):
        judge = Judge(["a", "b"])
        rounds = list(drawn(np.random.default_rng(seed), 300))
        out = False
        for begin in range(0, 300, 100):
            judge.add(rounds[begin : begin + 100])
            found = [judge.policy(), judge.constant("a"), judge.constant("b"), judge.excess("b")]
            truth = [0.9 * 0.15 + 0.1 * 0.2, 0.15, 0.2, 0.9 * (0.15 - 0.2)]
            pairs = zip(found, truth, strict=True)
            out |= any(not one.lower <= value <= one.upper for one, value in pairs)
        missed += out
        means.append([one.mean for one in found])
    assert missed <= 2  # of 60, at 95 % for three of them and the difference
    error = np.std(means, axis=0) / np.sqrt(60)
    assert (np.abs(np.mean(means, axis=0) - truth) < 4 * error + 1e-3).all()


def test_guesses_sharpen_what_is_seldom_revealed():
    judge = Judge(["a", "b"])
    judge.add(list(drawn(np.random.default_rng(0), 6000)))
    sure = judge.constant("b")
    assert sure.mean == pytest.approx(0.2, abs=0.005)  # always 0.2; plain weighting is 0.03 off
    assert sure.upper - sure.lower < 0.1
    policy = judge.policy()
    assert policy.upper - policy.lower < 0.15


def test_it_does_not_matter_how_decisions_are_cut_into_pieces():
    rounds = list(drawn(np.random.default_rng(0), 300))
    whole, pieces = Judge(["a", "b"]), Judge(["a", "b"])
    whole.add(rounds)
    for begin in range(0, 300, 7):
        pieces.add(rounds[begin : begin + 7])
    for one, other in [(whole.policy(), pieces.policy()), (whole.excess(), pieces.excess())]:
        assert one == pytest.approx(other, abs=1e-9)
    assert whole.curve.counts == pieces.curve.counts


def test_what_cannot_be_seen_widens_the_interval_and_has_no_estimate():
    judge = Judge(["a", "b"])
    judge.add([settled(bandit(2), [1.0, 0.0], [1, 0], [0.25, 0.0])] * 2000)
    sure, never = judge.constant("a"), judge.constant("b")
    assert sure.mean == pytest.approx(0.25)
    assert sure.upper - sure.lower < 0.05
    assert (never.mean, never.unseen) == (None, 1.0)
    assert (never.lower, never.upper) == (0.0, 1.0)
    assert judge.means() == {"a": pytest.approx(0.25)}
    assert judge.policy().mean == pytest.approx(0.25)
    assert judge.excess("b").mean is None
    assert judge.excess("b").lower <= 0.25 - 1.0
    assert judge.excess("b").upper >= 0.25


def test_the_cost_of_exploration_is_against_the_most_likely_action():
    judge, graph = Judge(["a", "b"]), apple_tasting()
    rng = np.random.default_rng(0)
    rounds = []
    for _ in range(4000):
        shown = rng.random() < 0.25
        revealing = graph.row(0).all()
        p = [0.25, 0.75] if revealing else [0.75, 0.25]
        losses = [0.8, 0.2] if revealing else [0.2, 0.8]
        rounds.append(settled(graph, p, [shown, shown], losses))
    judge.add(rounds)
    cost = judge.excess()
    assert cost.mean == pytest.approx(0.15, abs=0.02)
    assert cost.lower < 0.15 < cost.upper


def test_rounds_without_an_action_count_as_unseen_for_it():
    judge = Judge(["a", "b"])
    judge.add([settled(bandit(1), [1.0], [1], [0.5], names=("a",))] * 30)
    assert judge.constant("a").mean == 0.5
    assert judge.constant("b").unseen == 1.0


def test_curves_stay_short_and_evenly_spaced():
    judge = Judge(["a", "b"])
    one = settled(full_information(2), [0.5, 0.5], [1, 1], [1.0, 1.0])
    for _ in range(60):
        judge.add([one] * 173)
    counts = judge.curve.counts
    assert len(counts) <= MOST_POINTS
    assert set(np.diff(counts)) == {judge.curve.every}
    assert judge.curve.every == 80
    assert judge.curve.values[-1].means[0] == pytest.approx(1.0)


def test_many_actions_are_not_judged_one_by_one():
    names = [str(n) for n in range(MOST_NAMES + 1)]
    judge = Judge(names)
    n = len(names)
    p, seen = np.full(n, 1 / n), np.arange(n) == 0
    judge.add([settled(bandit(n), p, seen, np.ones(n), names=tuple(names))])
    assert judge.actions == ()
    assert judge.means() == {}
    assert judge.policy().mean == 1.0


def test_nothing_is_known_before_the_first_decision():
    judge = Judge(["a", "b"])
    judge.add([])
    assert judge.policy() == (None, 0.0, 1.0, 0.0)
    assert judge.means() == {}
    assert judge.excess("a") == (None, -1.0, 1.0, 0.0)
