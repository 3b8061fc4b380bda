import numpy as np
import pytest
import scipy.sparse

from graphcb import FeedbackGraph, graphs
from graphcb.graphs.files import read_graph


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("bandit:3", graphs.bandit(3)),
        ("full-information:3", graphs.full_information(3)),
        ("cops_and_robbers:3", graphs.cops_and_robbers(3)),
        ("Inventory:3", graphs.inventory(3)),
        ("posted-price:3", graphs.posted_price(3)),
        ("apple-tasting", graphs.apple_tasting()),
        ("apple-tasting:4", graphs.apple_tasting(4)),
        ("disjoint-cliques:2,3", graphs.disjoint_cliques([2, 3])),
        ("random-self-aware:5,0.5", graphs.random_self_aware(5, 0.5, np.random.default_rng(0))),
        ("random-self-aware:5,0.5,9", graphs.random_self_aware(5, 0.5, np.random.default_rng(9))),
    ],
)
def test_families_by_name_and_size(text, graph):
    assert read_graph(text) == graph


def test_files_of_every_kind(tmp_path):
    graph = FeedbackGraph([[1, 0.25], [0, 1]])  # asymmetric: an exchange of rows would show
    (tmp_path / "g.csv").write_text("1, 0.25\n\n0,1\n")
    (tmp_path / "g.json").write_text(graph.to_json())
    np.save(tmp_path / "g.npy", graph.matrix)
    np.savez(tmp_path / "one.npz", anything=graph.matrix)
    scipy.sparse.save_npz(tmp_path / "sparse.npz", scipy.sparse.csr_array(graph.matrix))
    for name in ("g.csv", "g.json", "g.npy", "one.npz", "sparse.npz"):
        assert read_graph(str(tmp_path / name)) == graph


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ring:3", r"`graph` must be a family with its size \(bandit:K, .*got 'ring:3'"),
        ("bandit", r"must be given as bandit:K, got 'bandit': 0 numbers after the colon"),
        ("bandit:3,4", "2 numbers after the colon"),
        ("bandit:many", "must be given as bandit:K"),
        ("bandit:0", "`n_actions` must be at least 1, got 0"),
        ("random-self-aware:3", r"as random-self-aware:K,DENSITY\[,SEED\]"),
    ],
)
def test_texts_that_name_no_graph(text, problem):
    with pytest.raises(ValueError, match=problem):
        read_graph(text)


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError, match=r"must name an existing file, got 'no\.csv'"):
        read_graph("no.csv")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.csv", "1,0\n0,x\n", "a.csv: line 2: could not convert .*the file has no header"),
        ("a.csv", "1,0\n0\n", "a.csv: line 2: must have 2 entries as the first line, got 1"),
        ("a.csv", "1,0,0\n0,1,0\n", r"a.csv: `matrix` must be square"),
        ("a.csv", "\n", "a.csv: the file is empty"),
        ("a.json", "{", "a.json: `text` must be JSON"),
        ("a.npz", "not a zip", "a.npz: "),
    ],
)
def test_files_that_hold_no_graph(tmp_path, name, content, problem):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=problem):
        read_graph(str(tmp_path / name))


def test_an_archive_of_two_arrays(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(ValueError, match=r"two.npz: the file must hold one array, got \['a'"):
        read_graph(str(tmp_path / "two.npz"))
