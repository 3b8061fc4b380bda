import io
import json
import struct
import zipfile

import numpy as np
import pytest

import graphcb
from graphcb import FileError, SquareCBG, SquareRoot, archives, graphs, load, save
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
    with pytest.raises(FileError, match=r"evil.npz: not a file written by graphcb.save") as raised:
        load(tmp_path / "evil.npz")
    assert "pickle" not in str(raised.value)


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


@pytest.mark.parametrize("description", [{"graphcb": 1}, {"graphcb": 1, "content": None}])
def test_a_file_without_content(tmp_path, description):
    text = json.dumps(description).encode()
    np.savez(tmp_path / "a.npz", json=np.frombuffer(text, dtype=np.uint8))
    with pytest.raises(graphcb.FileError, match="npz: holds nothing, neither an agent nor an"):
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


def write_archive(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def description(content):
    text = json.dumps({"graphcb": 1, "content": content}).encode()
    return "json.npy", npy(np.frombuffer(text, dtype=np.uint8))


def test_a_small_file_that_unpacks_to_much_more(tmp_path, monkeypatch):
    assert archives.AT_LEAST == 2**30
    monkeypatch.setattr(archives, "AT_LEAST", 2**20)
    path = tmp_path / "bomb.npz"
    members = [description({"array": "x"}), ("x.npy", npy(np.zeros(2**18)))]
    write_archive(path, members, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**13
    text = r"bomb.npz: .* it unpacks to 2,097,.* bytes, more than the limit of 1,048,576"
    with pytest.raises(FileError, match=text):
        load(path)
    with pytest.raises(FileError, match="more than the limit of 100; if you trust it, give a"):
        load(path, max_bytes=100)


def test_a_file_as_large_as_its_content_is_not_limited(tmp_path, monkeypatch):
    monkeypatch.setattr("graphcb.archives.AT_LEAST", 10)
    save(LogisticOGD(5, 200), tmp_path / "a.npz")
    assert load(tmp_path / "a.npz").n_features == 200


def test_a_member_that_says_it_is_small(tmp_path):
    path = tmp_path / "a.npz"
    write_archive(path, [description(1), ("x.npy", npy(np.zeros(10**6)))], zipfile.ZIP_DEFLATED)
    content = path.read_bytes()
    size = struct.pack("<I", 8 * 10**6 + 128)
    assert content.count(size) == 2  # before the member, and in the directory
    path.write_bytes(content.replace(size, struct.pack("<I", 1000)))
    with pytest.raises(FileError, match=r"a.npz: not a file written by graphcb.save, or damaged"):
        load(path)


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (npy(np.zeros(3))[:-8], "must take 24 bytes, got 16"),
        (npy(np.zeros(3)).replace(b"(3,)", b"(9,)"), "must take 72 bytes, got 24"),
        (npy(np.zeros(30)).replace(b"(30,),", b"(-3,),"), "must take -24 bytes"),
        (b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, "a.npz: "),
        (b"\x93NUMPY\x09\x00", "version"),
        (b"", "a.npz: "),
    ],
)
def test_arrays_that_lie(tmp_path, member, text):
    write_archive(tmp_path / "a.npz", [description({"array": "x"}), ("x.npy", member)])
    with pytest.raises(FileError, match=text):
        load(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"list": [{"array": "x"}, {"array": "x"}]}, "damaged"),
        ({"array": "none"}, "damaged"),
        ({"class": "Greedy", "attributes": {"act": 1}}, "cannot have the attribute 'act'"),
        ({"class": "Greedy", "attributes": {"__class__": 1}}, "cannot have the attribute"),
        ({"class": "Greedy", "attributes": {}}, "no attribute 'makes_oracle'"),
        (
            {"class": "Greedy", "attributes": {"oracle": 1, "makes_oracle": False, "n_rounds": 0}},
            "`oracle` must have the",
        ),
        ({"class": "Fixed", "attributes": {}}, "a Fixed with the attributes"),
        ({"class": "Fixed", "attributes": {"value": 0}}, "`gamma` must be a positive"),
        ({"class": "Status", "attributes": {}}, "holds a Status, which is not a class of graphcb"),
        ({"class": ["a"], "attributes": {}}, "damaged"),
        ({"dict": [[{"list": []}, 1]]}, "damaged"),
        ([], None),
    ],
)
def test_descriptions_that_lie(tmp_path, content, text):
    members = [description(content), ("x.npy", npy(np.zeros(3)))]
    write_archive(tmp_path / "a.npz", members)
    if text is None:
        assert load(tmp_path / "a.npz") == content
        return
    with pytest.raises(FileError, match=rf"a\.npz: .*{text}"):
        load(tmp_path / "a.npz")


def test_nesting_without_end(tmp_path):
    text = b'{"graphcb": 1, "content": ' + b'{"list":[' * 10**5 + b"]}" * 10**5 + b"}"
    write_archive(tmp_path / "a.npz", [("json.npy", npy(np.frombuffer(text, dtype=np.uint8)))])
    with pytest.raises(FileError, match=r"a\.npz: "):
        load(tmp_path / "a.npz")


def test_a_member_twice(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        write_archive(tmp_path / "a.npz", [description(1), description(2)])
    with pytest.raises(FileError, match="it holds 'json' twice"):
        load(tmp_path / "a.npz")


def test_a_class_of_ones_own_checks_itself(tmp_path):
    class Careful(Mine):
        def check_loaded(self):
            if len(self.table) != 3:
                raise ValueError("`table` must have three entries")

    save(Careful(), tmp_path / "a.npz")
    with pytest.raises(FileError, match=r"a.npz: damaged: `table` must have three entries"):
        load(tmp_path / "a.npz", classes=[Careful])


def test_the_other_end_of_bytes(tmp_path):
    oracle = LinearOGD(2, 3)
    oracle.update([1.0, 2.0, 3.0], [0, 1], [0.5, 1.0])
    save(oracle, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as archive:
        arrays = {name: archive[name] for name in archive}
    arrays["LinearOGD.weights"] = arrays["LinearOGD.weights"].astype(">f8")
    np.savez(tmp_path / "b.npz", **arrays)
    np.testing.assert_array_equal(load(tmp_path / "b.npz").weights, oracle.weights)


def test_an_interrupt_while_numpy_writes_stays_an_interrupt(monkeypatch):
    whole, kept = zipfile.ZipFile.open, []

    def interrupted(archive, *given, **settings):
        kept.append(whole(archive, *given, **settings))
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graphcb.saving.to_bytes(SquareCBG(LinearOGD(2, 1, learning_rate=0.1)))
