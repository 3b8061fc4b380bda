"""The study of coverage: its worlds, its logs, and what it counts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from studies.coverage.claiming import false_claims
from studies.coverage.counting import Claim, Counts, claims, holds, lines
from studies.coverage.judging import JUDGES, by_kind
from studies.coverage.logs import new_log
from studies.coverage.programs import PROGRAMS, files, run, source
from studies.coverage.results import LEAST, below, by_setting, results
from studies.coverage.study import read
from studies.coverage.worlds import GRAPHS, N_KINDS, RARE, new_world

from graphcb.evaluation import Estimate, Interval, evaluate, logged
from graphcb.experiments.curves import Curve, Setting


def rng(seed=0):
    return np.random.default_rng(seed)


def test_there_are_500_logs_of_more_than_twelve_settings():
    study = read()
    worlds = [name for name, one in study.settings_of.items() if one["of"] == "world"]
    assert study.logs == 500
    assert len(worlds) >= 12
    settings = study.settings()
    assert len(settings) == len(set(settings))
    for name in worlds:
        assert sum(one.line == name for one in settings) * study.together == 500
    used = {one.get("graph") for one in study.settings_of.values()}
    assert used >= set(GRAPHS)
    assert {one["of"] for one in study.settings_of.values()} == set(JUDGES)
    assert study.made_quick().logs <= 20
    assert study.with_seeds(3).logs == 3 * study.together


@pytest.mark.parametrize("name", GRAPHS)
def test_a_world_has_policies_that_can_be_judged(name):
    world = new_world({"graph": name}, rng())
    for policy in (world.logging, world.target, world.close):
        assert policy.shape == (N_KINDS, 5)
        assert policy.sum(axis=1) == pytest.approx(np.ones(N_KINDS))
    for p in world.logging:
        assert (world.graph.reveal_probabilities(p) > 0.0).all()
    by_hand = np.mean([world.target[k] @ world.means[k] for k in range(N_KINDS)])
    assert world.mean_loss(world.target) == pytest.approx(by_hand)
    assert 0.0 < np.abs(world.target - world.close).max() <= 0.1


def test_a_rare_action_is_played_by_the_target_alone():
    world = new_world({"graph": "bandit", "actions": 3, "rare": True}, rng())
    assert (world.logging[:, 0] == RARE).all()
    assert world.logging.sum(axis=1) == pytest.approx(np.ones(N_KINDS))
    assert world.mean_loss(world.target) == pytest.approx(0.9)


def log_of(n=600, **settings):
    world = new_world(settings, rng(1))
    return world, new_log(world, settings, n, rng(2))


def with_feedback(log, n):
    return np.array([row.feedback is not None for row in log.at(n)])


def test_feedback_at_once_and_what_it_shows():
    world, log = log_of(graph="inventory")
    for row in log.at(600):
        assert row.feedback.action_indices.tolist() == list(range(row.action_index + 1))
        assert set(row.feedback.losses) <= {0.0, 1.0}
    assert log.expected.mean() == pytest.approx(world.mean_loss(world.logging), abs=0.05)
    assert len(log.at(10)) == 10


def test_half_is_pending_at_the_end_and_comes_later_where_it_does():
    _, log = log_of(graph="bandit", feedback="late")
    assert 0.45 < with_feedback(log, 600).mean() < 0.55
    assert with_feedback(log, 600)[:100].mean() > 0.8
    earlier, later = with_feedback(log, 300), with_feedback(log, 600)[:300]
    assert (earlier <= later).all()
    assert earlier.sum() < later.sum()


def test_one_action_answers_half_of_the_time():
    _, log = log_of(graph="bandit", feedback="by action", least=0.2)
    last = np.array([row.action_index == 4 for row in log.rows])
    assert with_feedback(log, 600)[~last].all()
    assert 0.4 < with_feedback(log, 600)[last].mean() < 0.6


def test_losses_are_missing_one_by_one():
    _, log = log_of(graph="inventory", feedback="in part")
    shown = sum(row.feedback.losses.size for row in log.at(600) if row.feedback is not None)
    promised = sum(row.action_index + 1 for row in log.rows)
    assert 0.65 < shown / promised < 0.75


def test_a_default_names_the_played_action_and_comes_after_waiting():
    _, log = log_of(graph="inventory", feedback="defaults")
    for place, row in enumerate(log.at(600)):
        if row.feedback is None:
            assert place > 600 - 21
        elif row.feedback.is_default:
            assert row.feedback.action_indices.tolist() == [row.action_index]
            assert row.feedback.losses.tolist() == [1.0]
        else:
            assert row.feedback.losses[-1] == 0.0


@pytest.mark.parametrize("policy", ["EpsilonGreedy", "SquareCBG", "floors", "InformationDirected"])
def test_a_policy_learns_from_what_has_come(policy):
    _, log = log_of(n=400, graph="bandit", policy=policy)
    assert log.expected[200:].mean() < log.expected[:50].mean()
    if policy == "floors":
        assert min(row.probabilities.min() for row in log.rows) >= 0.02 - 1e-12


def estimate(lower, upper):
    return Estimate(0.5, 0.1, Interval(lower, upper), None)


def test_what_is_counted():
    counts = Counts()
    for normal in (estimate(0.2, 0.4), estimate(0.4, 0.5), None):
        counts.add([Claim("a", "plain", normal, 0.3)])
    looks = [[Claim("a", "plain", estimate(0.2, 0.4), 0.3)],
             [Claim("a", "plain", estimate(0.4, 0.5), 0.3)], []]  # fmt: skip
    counts.add_looks(looks)
    (normal,) = [line for line in lines(counts.counts) if line.interval == "normal"]
    assert normal[:3] == ("a", "plain", "normal")
    assert normal[3:] == pytest.approx((2 / 3, 0.5, 0.15, 0.5, 0.0, 3.0))
    (anytime,) = [line for line in lines(counts.counts) if line.interval == "anytime"]
    assert anytime.given == 0.0
    assert math.isnan(anytime.held)


def test_an_interval_holds_its_ends():
    assert holds(Interval(0.1, 0.3), 0.3)
    assert holds(Interval(0.3, 0.3), 0.1 + 0.2)
    assert not holds(Interval(0.1, 0.3), 0.31)


def test_claims_have_every_estimate_the_best_one_and_bounds_where_there_is_none():
    _, log = log_of(n=300, graph="bandit")
    found = evaluate(log.at(300), logged)
    named = [one.estimator for one in claims("logged", found, 0.5)]
    assert named == [*found.estimates, "best"]
    world, log = log_of(n=300, graph="bandit", actions=3)
    never = [row._replace(probabilities=np.eye(3)[row.action_index]) for row in log.at(300)]
    found = evaluate(never, by_kind(world.target))
    assert [one.estimator for one in claims("another", found, 0.5)] == ["best", "bounds"]


def curve(name, held, n=500):
    counts = dict.fromkeys((f"logged | plain | normal | {what}" for what in ("asked", "given")), n)
    counts |= {"logged | plain | normal | width": 1.0, "logged | plain | normal | held": held}
    setting = Setting("world", name, 0.0, 0.0, 0)
    return Curve(setting, np.array([1]), np.array([0.0]), measured=counts)


def test_what_is_below_the_line_is_said():
    study = read().made_quick()
    good, bad, few = curve("good", 500), curve("bad", 450), curve("few", 9, n=10)
    assert [name for name, _ in below(by_setting([good, bad, few]))] == ["bad", "few"]
    said = results(study, [good, bad, few])
    assert said.lines == [
        "holds in 0.900 of 500 logs with an interval, less than 0.93: bad, logged, plain, normal",
        "1 more are below 0.93, within two standard errors of 0.95 for as few logs as have them",
    ]
    assert "| bad | 500 | logged |  | 0.900 |" in said.markdown
    (line,) = results(study, [good]).lines
    assert line == f"every interval holds in at least {LEAST} of the logs in which it is given"
    assert below(by_setting([good, curve("good", 450)])) == []  # runs of a setting add up


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_what_is_changed_in_it(name):
    text = source(PROGRAMS[name])
    for old in PROGRAMS[name].changes:
        assert old in text
    compile(text, name, "exec")
    assert set(files(PROGRAMS[name])) <= {"desks.toml", "problem.toml"}


def logs_of(program, folder, n_logs=4, n=200):
    for seed in range(n_logs):
        (folder / str(seed)).mkdir()
        yield run(program, folder / str(seed), n, seed)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_said_of_the_logs_of_a_program_is_true(name, tmp_path):
    program = PROGRAMS[name]
    assert false_claims(logs_of(program, tmp_path), program.means, program.rule) == []


def test_what_is_not_true_is_noticed(tmp_path):
    program = PROGRAMS["how-to, shadow"]
    logs = list(logs_of(program, tmp_path, 3, 100))
    found = false_claims(logs, lambda row: {"today": 0.4, "new": 0.2}, "new")
    assert "logged | with the graph | normal misses the truth in 3 of 3 logs" in found
    assert false_claims(logs[:1], lambda row: {"today": 0.4, "new": 0.2}, "new") == []  # may be


def test_a_change_that_is_not_in_the_text_is_refused(tmp_path):
    wrong = PROGRAMS["README, payments"]._replace(changes={"no such text": ""})
    with pytest.raises(ValueError, match=r"README.md must contain 'no such text', as `changes`"):
        run(wrong, tmp_path, 10, 0)


@pytest.mark.parametrize("name", ["bandit", "review, half is pending", "how-to, stock"])
def test_a_run_counts_each_of_its_logs(name):
    study = read().made_quick()
    small = {**study.settings_of[name], "decisions": 60}
    study = replace(study, together=2, settings_of={name: small})
    found = study.play(study.settings()[0])
    assert found.rounds.tolist() == [120]
    assert found.measured["logged | with the graph | normal | asked"] == 2.0
    assert study.play(study.settings()[0]).measured == found.measured
