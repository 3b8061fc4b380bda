"""Never worse than the baseline: proven, measured, delayed, in parts, and after a restart."""

import copy
import math

import numpy as np
import pytest

from graphcb import (
    Budget,
    Conservative,
    DecisionLog,
    FeedbackGraph,
    Greedy,
    InformationDirected,
    Limits,
    Policy,
    Shadow,
    SquareCBG,
    SquareCBUG,
    Uniform,
    graphs,
    oracles,
)
from graphcb.agents import Played, conservative, gamma_of
from graphcb.agents.deviation import Deviation
from graphcb.decisions import replay
from graphcb.estimates import sums
from graphcb.saving import to_bytes

REVIEW = FeedbackGraph([[0, 0, 0], [0, 0, 0], [1, 1, 1]])
CHANCES = FeedbackGraph([[0.5, 0.0, 0.3], [0.0, 1.0, 0.5], [0.5, 0.5, 1.0]])


class Fixed:
    """Plays the same distribution whatever happens; or in turns."""

    def __init__(self, *turns):
        self.turns, self.n_rounds = [np.array(turn, dtype=float) for turn in turns], 0

    def act(self, context, graph, actions=None):
        self.n_rounds += 1
        return self.turns[self.n_rounds % len(self.turns)]

    def learn(self, context, actions, losses):
        pass

    def check_loaded(self):
        pass


def play(agent, graph, losses, seed, baseline=None, delay=0):
    """Gains after each round, and what was proven of them; feedback comes `delay` rounds later."""
    rng, n = np.random.default_rng(seed), len(losses)
    gains, proven, waiting = np.zeros(n), np.zeros(n), []
    for t, row in enumerate(losses):
        p = agent.act(row, graph)
        action = int(rng.choice(p.size, p=p))
        played = Played(row, graph, None, p, action)
        agent.on_draw(played)
        waiting.append((played, graph.draw_revealed(action, rng), row))
        while len(waiting) > delay:
            made, seen, its = waiting.pop(0)
            agent.on_feedback(made, seen, its[seen])
            agent.learn(its, seen, its[seen])
        theirs = row[agent.baseline] if baseline is None else baseline
        gains[t] = (1.0 + agent.epsilon) * theirs - row[action]
        proven[t] = agent.proven
    return np.cumsum(gains), proven


def some_losses(seed, n=300):
    """The baseline, action 2, loses 0.3; action 0 is better, action 1 is worse."""
    rng = np.random.default_rng(1000 + seed)
    return (rng.random((n, 3)) < [0.1, 0.8, 0.3]).astype(float)


AGENTS = {
    "always the worst": [(0, 1, 0)],
    "always better": [(1, 0, 0)],
    "looks now and then": [(0.9, 0, 0.1)],
    "in turns": [(1, 0, 0), (0, 1, 0), (0.2, 0.5, 0.3)],
}
GRAPHS = {
    "bandit": graphs.bandit(3),
    "full": graphs.full_information(3),
    "review": REVIEW,
    "chances": CHANCES,
    "inventory": graphs.inventory(3),
}


def worst_runs(graph, n_seeds=2, **settings):
    """The lowest gain of any run, and by how much more was ever proven than was gained."""
    lowest, over = math.inf, -math.inf
    for turns in AGENTS.values():
        for seed in range(n_seeds):
            agent = Conservative(Fixed(*turns), 2, epsilon=0.5, **settings)
            gains, proven = play(agent, graph, some_losses(seed), seed)
            lowest, over = min(lowest, gains.min()), max(over, (proven - gains).max())
    return lowest, over


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_never_worse_at_any_time_in_any_seed_whatever_the_agent_does(graph):
    lowest, over = worst_runs(graph)
    assert lowest >= -1e-9
    assert over <= 1e-9


@pytest.mark.parametrize("graph", [GRAPHS["review"], GRAPHS["bandit"]], ids=["review", "bandit"])
def test_a_bound_without_its_penalties_is_found_out(graph, monkeypatch):
    def mean(sums, alpha):
        return float(sums[-1])  # the smallest bet, whose penalty for chance is next to nothing

    monkeypatch.setattr(conservative, "lower_end", mean)
    assert worst_runs(graph)[1] > 1.0


def test_deviations_that_are_not_counted_until_feedback_comes_are_found_out(monkeypatch):
    def late(agent):
        losses = np.tile([1.0, 1.0, 0.3], (300, 1))
        return play(agent, graphs.full_information(3), losses, 0, delay=100)[0].min()

    assert late(Conservative(Fixed((1, 0, 0)), 2)) >= 0.0
    monkeypatch.setattr(Conservative, "on_draw", lambda agent, played: None)
    assert late(Conservative(Fixed((1, 0, 0)), 2)) < -10.0


@pytest.mark.parametrize("graph", [GRAPHS["full"], GRAPHS["review"]], ids=["full", "review"])
def test_late_feedback_delays_and_breaks_nothing(graph):
    for seed in range(3):
        agent = Conservative(Fixed((1, 0, 0)), 2, epsilon=0.5)
        gains, proven = play(agent, graph, some_losses(seed), seed, delay=50)
        assert gains.min() >= 0.0
        assert (proven <= gains + 1e-9).all()
        at_once = Conservative(Fixed((1, 0, 0)), 2, epsilon=0.5)
        play(at_once, graph, some_losses(seed), seed)
        assert agent.n_deviations <= at_once.n_deviations


@pytest.mark.parametrize("graph", [GRAPHS["bandit"], REVIEW, CHANCES], ids=repr)
def test_a_better_agent_takes_over(graph):
    losses = some_losses(0, n=2500)
    agent = Conservative(Fixed((1, 0, 0)), 2, epsilon=0.2)
    play(agent, graph, losses, 0)
    assert agent.proven > 25.0
    assert agent.act(None, graph)[0] > 0.8


def test_the_first_deviation_comes_when_epsilon_times_the_baselines_losses_cover_it():
    agent = Conservative(Fixed((1, 0, 0)), 2, epsilon=0.1)
    losses = np.tile([0.0, 0.0, 0.5], (60, 1))
    play(agent, graphs.full_information(3), losses[:19], 0)
    assert agent.n_deviations == 0
    assert agent.proven == pytest.approx(0.95)
    play(agent, graphs.full_information(3), losses[:1], 0)
    np.testing.assert_array_equal(agent.act(None, graphs.full_information(3)), [1, 0, 0])


def test_a_known_loss_is_put_by_though_the_baseline_shows_nothing():
    unknown = Conservative(Fixed((0, 0, 1)), 0, epsilon=0.5)
    losses = np.tile([0.4, 1.0, 0.1], (200, 1))
    play(unknown, REVIEW, losses, 0)
    assert unknown.proven == 0.0
    assert unknown.n_deviations == 0
    known = Conservative(Fixed((0, 0, 1)), 0, epsilon=0.5, loss=0.4)
    gains, proven = play(known, REVIEW, losses, 0, baseline=0.4)
    assert known.n_deviations > 190
    assert gains.min() >= 0.0
    np.testing.assert_allclose(proven, gains)


def test_it_says_why_it_cannot_deviate_and_what_to_do():
    agent = Conservative(Uniform(), "approve")
    names = ["approve", "call", "review"]
    text = agent.explain(REVIEW, names=names)
    assert text.startswith("always the baseline 'approve': playing it does not reveal its loss")
    assert "give its mean loss as loss=, or a baseline that reveals its own loss" in text
    known = Conservative(Uniform(), "approve", loss=0.2).explain(REVIEW, names=names)
    assert known.startswith("the agent decides while a proven gain of 0 covers")


def test_the_same_distribution_is_no_deviation():
    agent = Conservative(Uniform(), Uniform())
    np.testing.assert_allclose(agent.act(None, graphs.bandit(4)), 0.25)
    agent.on_draw(Played(None, graphs.bandit(4), None, np.full(4, 0.25), 1))
    assert agent.n_deviations == 0


def test_the_last_model_as_baseline_is_kept_as_it_is():
    oracle = oracles.LinearOGD(2, 1, learning_rate=0.5)
    model = Greedy(oracle)
    agent = Conservative(model, model)
    for _ in range(5):
        agent.learn([1.0], [0], [1.0])
    np.testing.assert_array_equal(Greedy(oracle).act([1.0], graphs.bandit(2)), [0.0, 1.0])
    np.testing.assert_array_equal(agent.act([1.0], graphs.bandit(2)), [1.0, 0.0])
    assert agent.baseline.n_rounds == 0


def test_a_stochastic_baseline_is_compared_by_what_it_would_lose():
    losses = some_losses(1)
    for seed in range(3):
        agent = Conservative(Fixed((1, 0, 0)), Fixed((0, 0.2, 0.8)), epsilon=0.5)
        rng = np.random.default_rng(seed)
        gain = 0.0
        for row in losses:
            p = agent.act(row, REVIEW)
            action = int(rng.choice(3, p=p))
            made = Played(row, REVIEW, None, p, action)
            agent.on_draw(made)
            seen = REVIEW.draw_revealed(action, rng)
            agent.on_feedback(made, seen, row[seen])
            gain += (
                conservative.Deviation(
                    p, np.array([0, 0.2, 0.8]), FeedbackGraph(np.ones((3, 3))), 0.5, None
                )
                .proof(action, dict(enumerate(row)))
                .least
            )
            assert agent.proven <= gain + 1e-9
            assert gain >= -1e-9


def test_feedback_in_parts_adds_up_to_the_same(tmp_path):
    graph, made = graphs.full_information(2), []
    for name, parts in (("whole", [{0: 0.5, 1: 0.25}]), ("parts", [{0: 0.5}, {1: 0.25}])):
        agent = Conservative(Fixed((0, 1)), 0, epsilon=0.5)
        file = tmp_path / f"{name}.db"
        with Policy(file, agent, seed=1, durability="process-kill", classes=[Fixed]) as policy:
            for _ in range(30):
                decision = policy.decide(None, graph)
                for part in parts:
                    policy.feedback(decision.decision_id, part)
            made.append((policy.agent.proven, policy.agent.n_deviations))
            state = to_bytes(policy.agent)
        with DecisionLog(file) as log:
            assert to_bytes(replay(log, classes=[Fixed]).agent) == state
    np.testing.assert_allclose(made[0], made[1])
    assert made[0][1] > 5


def test_it_goes_on_after_a_kill_as_if_nothing_had_happened(tmp_path):
    def decide(policy, n, seed):
        rng, ids = np.random.default_rng(seed), []
        for _ in range(n):
            row = (rng.random(3) < [0.1, 0.8, 0.5]).astype(float)
            decision = policy.decide([1.0], REVIEW)
            ids.append(decision.action_index)
            seen = np.flatnonzero(REVIEW.row(decision.action_index))
            if seen.size:
                policy.feedback(decision.decision_id, {int(i): row[i] for i in seen})
        return ids

    agent = Conservative(InformationDirected(), 2, epsilon=0.5)
    settings = {"seed": 3, "durability": "process-kill", "checkpoint_every": 37}
    whole = Policy(tmp_path / "whole.db", agent, **settings)
    expected = decide(whole, 60, 0) + decide(whole, 60, 1)
    killed = Policy(tmp_path / "killed.db", agent, **settings)
    found = decide(killed, 60, 0)
    killed._log.storage.close()  # nothing is said to the log
    with Policy(tmp_path / "killed.db", **settings) as again:
        found += decide(again, 60, 1)
        assert to_bytes(again.agent) == to_bytes(whole.agent)
        assert again.agent.n_deviations > 10
    assert found == expected
    whole.close()


def test_limits_hold_and_a_baseline_that_breaks_them_is_refused():
    limits = Limits(caps={1: 0.25}, linear=[{"actions": [0, 1], "at_most": 0.5}])
    inner = Greedy(oracles.LinearOGD(3, 1), limits=limits)
    agent = Conservative(inner, 2)
    np.testing.assert_array_equal(agent.act([1.0], graphs.bandit(3)), [0, 0, 1])
    for baseline, text in [
        (1, "limits of the agent, got probability 1 for 1, whose cap is 0.25; change one of them"),
        (0, "limits of the agent, got probabilities that exceed a linear limit by 0.5"),
    ]:
        agent = Conservative(copy.deepcopy(inner), baseline)
        before = to_bytes(agent)
        with pytest.raises(ValueError, match=f"`baseline` must obey the {text}"):
            agent.act([1.0], graphs.bandit(3))
        assert to_bytes(agent) == before
    floors = Conservative(Greedy(oracles.LinearOGD(2, 1), limits=Limits(floors={1: 0.1})), 0)
    with pytest.raises(ValueError, match=r"got probability 0 for 1, whose floor is 0\.1"):
        floors.act([1.0], graphs.bandit(2))


def test_what_is_played_obeys_the_limits_in_every_round():
    limits = Limits(floors={2: 0.1}, caps={0: 0.3}, linear=[{"actions": [0, 1], "at_most": 0.8}])
    inner = InformationDirected(limits=limits)
    agent = Conservative(inner, Fixed((0.3, 0.3, 0.4)), epsilon=0.5)
    rng = np.random.default_rng(0)
    for row in some_losses(0):
        p = agent.act([1.0], REVIEW)
        assert (p <= [0.3, 1.0, 1.0]).all()
        assert p[2] >= 0.1
        assert p[0] + p[1] <= 0.8 + 1e-9
        made = Played([1.0], REVIEW, None, p, int(rng.choice(3, p=p / p.sum())))
        agent.on_draw(made)
        seen = REVIEW.draw_revealed(made.action, rng)
        agent.on_feedback(made, seen, row[seen])
        agent.learn([1.0], seen, row[seen])
    assert agent.n_deviations > 100


def test_hooks_reach_the_agent_inside():
    heard = []

    class Listens(Fixed):
        def at_time(self, seconds):
            heard.append(seconds)

        def on_draw(self, played):
            heard.append(played.action)

        def on_feedback(self, played, indices, losses):
            heard.append(list(losses))

    agent = Conservative(Listens((1, 0)), 0)
    agent.at_time(5.0)
    p = agent.act(None, graphs.bandit(2))
    made = Played(None, graphs.bandit(2), None, p, 0)
    agent.on_draw(made)
    agent.on_feedback(made, [0], [0.5])
    assert heard == [5.0, 0, [0.5]]
    assert Conservative(Uniform(), 0).at_time is None
    assert gamma_of(agent) is None
    assert not hasattr(agent, "oracle")


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"epsilon": -0.1}, ValueError, "`epsilon` must be positive and at most 1000, .*got -0.1"),
        ({"epsilon": 0.0}, ValueError, "`epsilon` must be positive"),
        ({"epsilon": math.nan}, ValueError, "`epsilon` must be positive"),
        ({"loss": 1.5}, ValueError, r"`loss` must be a mean loss in \[0, 1\], or None, got 1.5"),
        ({"loss": -0.1}, ValueError, "`loss` must be a mean loss"),
        ({"confidence": 1.0}, ValueError, "`confidence` must lie between 0 and 1"),
        ({"baseline": None}, TypeError, "`baseline` must be an action, .*got NoneType"),
        ({"baseline": Uniform}, TypeError, "a method act, got the class Uniform"),
        ({"agent": Uniform}, TypeError, "methods act and learn, got the class Uniform"),
        ({"agent": "greedy"}, TypeError, "`agent` must have the methods act and learn, got str"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, error, text):
    with pytest.raises(error, match=text):
        Conservative(**{"agent": Uniform(), "baseline": 0, **settings})


def test_a_baseline_that_plays_what_is_not_there_is_refused_and_changes_nothing():
    agent = Conservative(SquareCBG(oracles.LinearOGD(3, 1)), "call")
    before = to_bytes(agent)
    text = "`baseline` must be an action of the round, one of 'approve', 'review'; got 'call'"
    with pytest.raises(ValueError, match=text):
        agent.act([1.0], graphs.bandit(2), names=["approve", "review"])
    with pytest.raises(ValueError, match="one of 0, 1, 2; got 'call'"):
        agent.act([1.0], graphs.bandit(3))
    wrong = Conservative(Uniform(), Fixed((0.5, 0.4)))
    with pytest.raises(ValueError, match="sum to 1"):
        wrong.act(None, graphs.bandit(2))
    assert to_bytes(agent) == before
    assert wrong.n_rounds == wrong.agent.n_rounds == 0


def test_losses_out_of_range_are_refused_and_change_nothing():
    agent = Conservative(Uniform(), 0)
    p = agent.act(None, graphs.bandit(2))
    made = Played(None, graphs.bandit(2), None, p, 0)
    agent.on_draw(made)
    before = to_bytes(agent)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\] .*got 1.5 for index 0; scale them"):
        agent.on_feedback(made, [0], [1.5])
    assert to_bytes(agent) == before


def test_the_end_is_the_best_of_the_bets():
    end = sums.lower_end(np.full(sums.N_BETS, 10.0), 0.05)
    assert end == pytest.approx(10.0 - 2.0 * math.log(2 / 0.05))


@pytest.mark.parametrize("kind", [Conservative, Shadow])
@pytest.mark.parametrize(
    ("budget", "baseline", "message"),
    [
        (Budget("b", {1: 1.0}, 0.25), 1, "it costs 1, and the budget 'b' allows 0.25 per round"),
        (Budget("b", {1: 1.0}, 5.0, per=10), 1, "it costs 1, and the budget 'b' allows 0.5"),
        (Budget("b", {1: 1.0}, 5.0, hard=True), 1, "it costs something, and the budget 'b' is"),
        (Budget("b", {1: 1.0}, 0.25, hard=True), Uniform(), "what a rule will play is not known"),
    ],
)
def test_a_baseline_that_budgets_cannot_pay_for_is_refused(kind, budget, baseline, message):
    with pytest.raises(ValueError, match=message):
        kind(InformationDirected(budgets=[budget]), baseline)
    kind(InformationDirected(budgets=[budget]), 0)


def test_a_baseline_that_costs_all_of_its_allowance_can_be_played():
    assert 0.1 * 3 > 0.3
    Conservative(InformationDirected(budgets=[Budget("b", {1: 0.1}, 0.3, per=3)]), 1)


def test_the_last_model_as_baseline_hears_the_names_of_the_round():
    limits, names = Limits(caps={"a": 0.3}), ["a", "b"]
    for last in (InformationDirected(limits=limits), SquareCBUG(limits=limits), Uniform()):
        agent = Conservative(InformationDirected(), last)
        p = agent.act([1.0], graphs.full_information(2), [0, 1], names=names)
        assert p[0] <= (0.5 if isinstance(last, Uniform) else 0.3)


@pytest.mark.parametrize("kind", [Conservative, Shadow])
def test_an_agent_that_is_not_told_the_graph_is_refused(kind):
    with pytest.raises(TypeError, match="`agent` must be given the graph by `act`, got SquareCBUG"):
        kind(SquareCBUG(), 0)


@pytest.mark.parametrize("parts", [[[0, 1]], [[0], [1]]])
def test_feedback_takes_the_place_of_what_was_counted_before_it_came(parts):
    """After all of it, the sums are those of the round with all of its feedback."""
    graph = FeedbackGraph(np.array([[0.9, 0.5], [0.5, 0.9]]))
    agent = Conservative(Fixed((0.4, 0.6)), Fixed((0.8, 0.2)))
    played = Played(None, graph, None, np.array([0.4, 0.6]), 1)
    agent.on_draw(played)
    known = {}
    for part in parts:
        losses = [(0.25, 0.75)[index] for index in part]
        agent.on_feedback(played._replace(known=dict(known) or None), part, losses)
        known |= dict(zip(part, losses, strict=True))
    deviation = Deviation(played.probabilities, np.array([0.8, 0.2]), graph, agent.epsilon, None)
    whole = deviation.proof(1, {0: 0.25, 1: 0.75})
    assert deviation.needed.any()
    np.testing.assert_allclose(agent.estimated, whole.estimated)
    assert agent.least == pytest.approx(whole.least)


def test_what_is_proven_may_be_risked_to_the_last_bit():
    """Four losses of 1/2 at epsilon = 1/2 put by just 1, which is what a deviation may lose."""
    graph = graphs.full_information(2)
    agent, played = Conservative(Fixed((0.0, 1.0)), 0, epsilon=0.5), []
    for _ in range(5):
        p = agent.act(None, graph)
        made = Played(None, graph, None, p, int(p.argmax()))
        agent.on_draw(made)
        agent.on_feedback(made, [0, 1], [0.5, 0.5])
        played.append(made.action)
    assert played == [0, 0, 0, 0, 1]
