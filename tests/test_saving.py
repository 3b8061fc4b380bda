import json

import numpy as np
import pytest

import graphcb
from graphcb import SquareCBG, SquareRoot, graphs, load, save
from graphcb.oracles import LinearAdaGrad, LinearOGD, LogisticOGD, OnlineRidge, VovkAggregation


class Mine:
    """An oracle from outside graphcb."""

    def __init__(self):
        self.table = {1: np.array([0.5, 0.25]), "b": [1, (2.0, None, True)]}

    def predict(self, context, actions):
        return self.table[1]

    def update(self, context, actions, losses):
        pass


def test_an_agent_with_everything_in_it(tmp_path):
    members = [LinearOGD(2, 3, decay="inverse_sqrt"), OnlineRidge(2, 3), LinearAdaGrad(2, 3)]
    agent = SquareCBG(VovkAggregation(members), gamma=SquareRoot(3.0, "n_actions"))
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.random(3)
        agent.act(x, graphs.bandit(2))
        agent.learn(x, [1], [0.75])
    save(agent, tmp_path / "agent.npz")
    read = load(tmp_path / "agent.npz")
    assert type(read) is SquareCBG
    assert read.schedule == agent.schedule
    for _ in range(20):
        x = rng.random(3)
        np.testing.assert_array_equal(read.act(x, graphs.bandit(2)), agent.act(x, graphs.bandit(2)))
        for learner in (read, agent):
            learner.learn(x, [0], [0.25])
    assert list(tmp_path.iterdir()) == [tmp_path / "agent.npz"]


def test_classes_of_ones_own_have_to_be_named(tmp_path):
    save(graphcb.Greedy(Mine()), tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"the file holds a Mine, .*load\(path, classes=\[...\]\)"):
        load(tmp_path / "a.npz")
    read = load(tmp_path / "a.npz", classes=[Mine]).oracle
    np.testing.assert_array_equal(read.table[1], [0.5, 0.25])
    assert read.table["b"] == [1, (2.0, None, True)]


def test_code_is_neither_saved_nor_loaded(tmp_path):
    oracle = VovkAggregation([lambda x, a: [0.5]])
    with pytest.raises(TypeError, match=r"`VovkAggregation.members.0` must be made of numbers"):
        save(oracle, tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []
    np.savez(tmp_path / "evil.npz", json=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"evil.npz: not a file written by graphcb.save"):
        load(tmp_path / "evil.npz")


def test_a_failed_save_keeps_the_file_that_was_there(tmp_path):
    save(LinearOGD(1, 1, learning_rate=0.5), tmp_path / "a.npz")
    with pytest.raises(TypeError, match="must be made of numbers"):
        save(VovkAggregation([len]), tmp_path / "a.npz")
    assert load(tmp_path / "a.npz").learning_rate == 0.5


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04broken"])
def test_damaged_files(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a.npz: not a file written by graphcb.save, or damaged"):
        load(tmp_path / "a.npz")


def test_a_cut_file(tmp_path):
    save(LogisticOGD(5, 200), tmp_path / "a.npz")
    whole = (tmp_path / "a.npz").read_bytes()
    for length in (len(whole) // 3, len(whole) - 10):
        (tmp_path / "a.npz").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="damaged"):
            load(tmp_path / "a.npz")


def test_another_format(tmp_path):
    text = json.dumps({"graphcb": 99, "content": None}).encode()
    np.savez(tmp_path / "a.npz", json=np.frombuffer(text, dtype=np.uint8))
    with pytest.raises(ValueError, match="must have format 1, got 99; it was written by another"):
        load(tmp_path / "a.npz")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npz")


@pytest.mark.parametrize("gamma", [None, graphcb.Doubling(60, 3.0), graphcb.FromTheory(50, 2.0, 3)])
def test_the_state_of_a_schedule_is_saved_too(tmp_path, gamma):
    def play(agent, seed):
        rng, played = np.random.default_rng(seed), []
        for _ in range(40):
            x = rng.random(3)
            played.append(agent.act(x, graphs.bandit(4)))
            agent.learn(x, [rng.integers(4)], [rng.random()])
        return np.array(played)

    agent = SquareCBG(OnlineRidge(4, 3), gamma=gamma)
    play(agent, 0)
    save(agent, tmp_path / "agent.npz")
    read = load(tmp_path / "agent.npz")
    assert read.schedule == agent.schedule
    np.testing.assert_array_equal(play(read, 1), play(agent, 1))
    if isinstance(gamma, graphcb.Doubling):
        assert agent.schedule.epoch > 0  # a fresh start happened on the way
