import numpy as np
import pytest

from graphcb import SquareCBG, graphs
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.experiments.progressive import ExampleRounds, Player, Tally
from graphcb.oracles import LogisticOGD
from graphcb.streams import Examples

CONTEXTS = np.random.default_rng(0).normal(size=(300, 4))
LOSSES = np.random.default_rng(1).random((300, 3))
UNCERTAIN = graphs.FeedbackGraph([[1, 0.5, 0], [0, 1, 0.3], [0.7, 0, 1]])


def player(graph=UNCERTAIN, seed=3, **options):
    return Player(SquareCBG(LogisticOGD(3, 4), gamma=30.0), graph, seed=seed, **options)


def part(begin, end):
    return Examples(CONTEXTS[begin:end], LOSSES[begin:end], range(begin + 1, end + 1))


def test_it_plays_what_the_run_loop_plays():
    environment = KnownLosses(CONTEXTS, LOSSES, UNCERTAIN, shuffle=False)
    rows = list(run(SquareCBG(LogisticOGD(3, 4), gamma=30.0), environment, seed=3))
    played = player().play(part(0, 300))
    assert played.actions.tolist() == [row.action for row in rows]
    assert played.probabilities.tolist() == [row.probability for row in rows]
    assert played.losses.tolist() == [row.loss for row in rows]


def test_examples_are_an_environment_for_the_run_loop():
    in_cents = part(0, 300)._replace(losses=100.0 * LOSSES)
    environment = ExampleRounds(in_cents, UNCERTAIN, (0.0, 100.0))
    rows = list(run(SquareCBG(LogisticOGD(3, 4), gamma=30.0), environment, seed=3))
    played = player(loss_range=(0.0, 100.0)).play(in_cents)
    assert len(rows) == environment.n_rounds == 300
    assert played.actions.tolist() == [row.action for row in rows]
    assert [row.loss for row in rows] == [in_cents.losses[i, r.action] for i, r in enumerate(rows)]


def test_no_rows_are_played_as_such():
    assert [array.shape for array in player().play(part(5, 5))] == [(0,)] * 3


def test_the_unit_of_the_losses_does_not_matter():
    shifted = Examples(CONTEXTS, 8.0 * LOSSES - 2.0, range(300))
    played = player(loss_range=(-2.0, 6.0)).play(shifted)
    again = player().play(part(0, 300))
    assert played.actions.tolist() == again.actions.tolist()
    np.testing.assert_allclose(played.losses, 8.0 * again.losses - 2.0)


def test_a_player_goes_on_where_it_stopped():
    whole = player().play(part(0, 300))
    first = player()
    first.play(part(0, 120))
    second = first.play(part(120, 300))
    for one, other in zip(whole, second, strict=True):
        np.testing.assert_array_equal(one[120:], other)


def test_a_graph_a_row_goes_before_the_graph_of_all():
    examples = part(0, 50)._replace(graphs=[graphs.full_information(3)] * 50)
    own = player(graph=None).play(examples)
    same = player(graph=graphs.full_information(3)).play(part(0, 50))
    assert own.actions.tolist() == same.actions.tolist()
    with pytest.raises(ValueError, match="`graph` must be given where the examples bring none"):
        player(graph=None).play(part(0, 5))


def test_sums_do_not_depend_on_how_the_rows_are_cut():
    played = player().play(part(0, 300))
    whole, pieces = Tally(3), Tally(3)
    counts, totals, others = whole.add(played, LOSSES)
    for begin, end in ((0, 7), (7, 7), (7, 200), (200, 300)):
        pieces.add(type(played)(*(a[begin:end] for a in played)), LOSSES[begin:end])
    assert pieces.count == whole.count == counts[-1] == 300
    assert pieces.total == whole.total == totals[-1]
    assert pieces.others.tolist() == whole.others.tolist() == others[-1].tolist()
    np.testing.assert_allclose(whole.total, played.losses.sum())
    np.testing.assert_allclose(others[-1], LOSSES.sum(axis=0))


def test_since_last():
    tally = Tally(2)
    assert tally.since_last(2, 3.0) == 1.5
    assert tally.since_last(4, 4.0) == 0.5
