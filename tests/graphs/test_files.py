import numpy as np
import pytest
import scipy.sparse

from graphcb import FeedbackGraph, FileError, graphs
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
    with pytest.raises(FileError, match=problem):
        read_graph(str(tmp_path / name))


def test_an_archive_of_two_arrays(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(ValueError, match=r"two.npz: the file must hold one array, got \['a'"):
        read_graph(str(tmp_path / "two.npz"))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("compressed", [True, False])
def test_sparse_files_of_every_kind(tmp_path, kind, compressed):
    matrix = np.array([[1.0, 0.25, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]])
    stored = scipy.sparse.coo_array(matrix).asformat(kind)
    scipy.sparse.save_npz(tmp_path / "g.npz", stored, compressed=compressed)
    assert read_graph(str(tmp_path / "g.npz")) == FeedbackGraph(matrix)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"indices": np.array([0, 7, 2])}, "must have indices that exist"),
        ({"indices": np.array([0, -1, 2])}, "must have indices that exist"),
        ({"indices": np.array([0, 10**12, 2])}, "must have indices that exist"),
        ({"indptr": np.array([0, 2, 1, 3])}, "must have indices that exist"),
        ({"indptr": np.array([0, 1, 2, 30])}, "g.npz: "),
        ({"indptr": np.array([-5, 1, 2, 3])}, "g.npz: "),
        ({"indptr": np.array([0.0, 1.0, 2.0, 3.0])}, "'indptr' must be a list of whole numbers"),
        ({"data": np.ones(2)}, "g.npz: "),
        ({"data": np.array(["a", "b", "c"])}, "g.npz: "),
        ({"shape": np.array([3, 2])}, "g.npz: "),
        ({"shape": np.array([10**9, 10**9])}, "`n_actions` must be at most 16,777,216"),
        ({"format": np.array("csx")}, "must hold a sparse array, got 'csx'"),
        ({"format": np.array([1, 2])}, "g.npz: "),
    ],
)
def test_sparse_files_that_lie(tmp_path, changes, problem):
    honest = {
        "format": np.array("csr"),
        "shape": np.array([3, 3]),
        "indices": np.arange(3),
        "indptr": np.arange(4),
        "data": np.ones(3),
    }
    np.savez(tmp_path / "g.npz", **(honest | changes))
    with pytest.raises(FileError, match=problem):
        read_graph(str(tmp_path / "g.npz"))


def test_sparse_arrays_in_memory_with_indices_that_do_not_exist():
    for kind in ("csr", "csc", "coo"):
        matrix = scipy.sparse.coo_array(np.eye(3)).asformat(kind)
        (matrix.coords[0] if kind == "coo" else matrix.indices)[1] = 10**6
        with pytest.raises(ValueError, match="`matrix` must have indices that exist"):
            FeedbackGraph(matrix)


@pytest.mark.parametrize(
    "text",
    [
        '{"n_actions": 1000000000, "edges": []}',
        '{"family": "bandit", "n_actions": 1000000000000000000000}',
        '{"family": "disjoint_cliques", "sizes": [1000000000, 3]}',
    ],
)
def test_a_few_bytes_that_describe_a_graph_that_fills_the_memory(tmp_path, text):
    (tmp_path / "g.json").write_text(text)
    with pytest.raises(FileError, match=r"g.json: `n_actions` must be at most 16,777,216, got 1,"):
        read_graph(str(tmp_path / "g.json"))
    assert FeedbackGraph.from_json('{"family": "bandit", "n_actions": 9}', max_actions=9)
    with pytest.raises(ValueError, match=r"at most 8, got 9; .*larger max_actions"):
        FeedbackGraph.from_json('{"family": "bandit", "n_actions": 9}', max_actions=8)


@pytest.mark.parametrize("name", ["g.npz", "g.npy", "g.csv", "g.json"])
def test_graph_files_have_a_limit(tmp_path, name):
    np.savez_compressed(tmp_path / "g.npz", np.eye(50))
    np.save(tmp_path / "g.npy", np.eye(50))
    np.savetxt(tmp_path / "g.csv", np.eye(50), delimiter=",")
    (tmp_path / "g.json").write_text(FeedbackGraph(np.eye(500)).to_json())
    with pytest.raises(FileError, match=rf"{name}: it unpacks to .* more than the limit of 4,000"):
        read_graph(str(tmp_path / name), max_bytes=4000)


@pytest.mark.parametrize(
    "text",
    ["[" * 10**5, '{"n_actions": 2, "edges": ' + "[" * 10**5, "9" * 5000, '{"n_actions": 1e400}'],
)
def test_json_that_no_reader_expects(tmp_path, text):
    (tmp_path / "g.json").write_text(text)
    with pytest.raises(FileError, match=r"g\.json: "):
        read_graph(str(tmp_path / "g.json"))


def test_an_array_of_objects(tmp_path):
    np.save(tmp_path / "g.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match=r"g\.npy: it holds Python objects") as raised:
        read_graph(str(tmp_path / "g.npy"))
    assert "pickle" not in str(raised.value)
