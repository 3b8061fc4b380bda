import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import FileError, Problem, graphs
from graphcb.problems.toml import write_tables

EVERYTHING = """
[problem]
name = "fraud review"
actions = ["approve", "review"]
feedback = "rewards"
range = [-50, 20.0]

[reveals]
all = ["review"]
own = true
edges = [["approve", "review", 0.5], ["review", "review"]]

[features]
amount = "number"
"home country" = "category?"

[defaults]
"""


def test_everything_that_a_file_can_say(tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text(EVERYTHING)
    problem = Problem.read(file)
    assert problem == Problem(
        ["approve", "review"],
        reveals={
            "all": ["review"],
            "own": True,
            "edges": [("approve", "review", 0.5), ("review", "review")],
        },
        feedback="rewards",
        range=(-50.0, 20.0),
        features={"amount": "number", "home country": "category?"},
        name="fraud review",
    )
    problem.write(file)
    assert Problem.read(file) == problem
    assert file.read_text() == problem.to_toml()


def test_a_graph_file_is_found_beside_the_problem_and_written_out(tmp_path):
    (tmp_path / "graph.csv").write_text("1,0.5\n0,1\n")
    file = tmp_path / "problem.toml"
    file.write_text('[problem]\nactions = ["a", "b"]\n[reveals]\nfile = "graph.csv"\n')
    problem = Problem.read(file)
    assert problem.graph.matrix.tolist() == [[1.0, 0.5], [0.0, 1.0]]
    assert "file" not in problem.to_toml()
    (tmp_path / "graph.csv").unlink()
    assert Problem.from_toml(problem.to_toml()) == problem
    with pytest.raises(FileError, match=r"problem.toml: `graph` must name .*graph.csv"):
        Problem.read(file)


names = st.text(min_size=1, max_size=12).filter(str.strip)
kinds = st.sampled_from(["number", "category", "text", "number?", "category?", "text?"])
ends = st.floats(-1e50, 1e50)


@st.composite
def problems(draw):
    features = draw(st.none() | st.dictionaries(names, kinds, max_size=4))
    low, high = sorted(
        draw(st.tuples(ends, ends).filter(lambda pair: abs(pair[0] - pair[1]) >= 1e-50))
    )
    settings = {"features": features, "range": (low, high), "name": draw(st.just("") | names)}
    settings["feedback"] = draw(st.sampled_from(["losses", "rewards"]))
    if draw(st.booleans()):
        family = draw(st.sampled_from(["bandit", "full-information", "each round"]))
        return Problem("each round", reveals=family, **settings)
    actions = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    pairs = st.tuples(st.sampled_from(actions), st.sampled_from(actions))
    chances = st.floats(0.0, 1.0, exclude_min=True)
    edges = draw(st.dictionaries(pairs, chances, max_size=6))
    own = {"own": True, "edges": [(*pair, chance) for pair, chance in edges.items()]}
    all_ = {"all": draw(st.lists(st.sampled_from(actions), min_size=1, unique=True))}
    ways = ["bandit", "inventory", "each round", own, all_, {**own, **all_}]
    return Problem(actions, reveals=draw(st.sampled_from(ways)), **settings)


@given(problems())
def test_what_is_written_is_read(problem):
    text = problem.to_toml()
    again = Problem.from_toml(text)
    assert again == problem
    assert again.to_toml() == text
    assert again.differences(problem) == []
    if problem.has_fixed_actions and not problem.reveals.each_round:
        assert again.graph == problem.graph


values = st.recursive(
    st.text(max_size=8) | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False),
    lambda items: st.lists(items, max_size=12),
    max_leaves=16,
)


@given(st.dictionaries(st.text(max_size=8), values, min_size=1, max_size=2))
def test_the_writer_keeps_every_value(table):
    assert tomllib.loads(write_tables({"t": table})) == {"t": table}


def test_line_ends_are_kept_in_a_file(tmp_path):
    problem = Problem(["a\r\nb", "tab\t", "\x7f\u2028\u0000x"])
    problem.write(tmp_path / "p.toml")
    assert Problem.read(tmp_path / "p.toml") == problem


START = '[problem]\nactions = ["a", "b"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[problem\n", "must be TOML: "),
        ("", r"must have a table \[problem\] with the actions, got none"),
        ("[problem]\n", r"\[problem\] must have actions = "),
        ('actions = ["a"]\n', r"`actions` must stand in a table; write \[problem\] above it"),
        ("own = true\n" + START, r"`own` must stand in a table; write \[reveals\] above it"),
        ("x = 1\n" + START, r"`x` must stand in a table; write \[problem\] above it"),
        (START + "[reveal]\n", r"\[reveal\] is not a table of a problem; did you mean 'reveals'\?"),
        (START + "[zzz]\n", r"\[zzz\] is not a table of a problem; it may have problem, reveals"),
        (START + 'feedbak = "losses"\n', r"\[problem\] has no key 'feedbak'; did you mean 'feedba"),
        (START + "zzz = 1\n", r"\[problem\] has no key 'zzz'; it may have name, actions, feedback"),
        (START + "[reveals]\nfamly = 'bandit'\n", r"\[reveals\] has no key 'famly'; did you mean"),
        (
            START + "[defaults]\nlimit = 3\n",
            r"\[defaults\] has no key 'limit'; it may have waiting",
        ),
        (START + "[defaults]\nwaiting = 3\n", "`defaults` must have waiting and loss together"),
        (START + "[defaults]\nreward = 3\n", "`defaults` must be one of waiting, loss, keep_days"),
        (
            START + "[defaults]\nwaiting = 0\nloss = 1\n",
            "`defaults.waiting` must be above 0, got 0",
        ),
        (START + "range = [0, 1]\n[defaults]\nwaiting = 9\nloss = 2\n", "`losses` must lie in the"),
        (START + "[defaults]\nkeep_days = '1'\n", "`defaults.keep_days` must be a number, got '1'"),
        (START + "[defaults]\nkeep_days = inf\n", "`defaults.keep_days` must be finite, got inf"),
        (
            START + "[reveals]\nfamily = 'bandit'\nown = true\n",
            "`reveals` must say what is revealed in one way, got family, own; keep one of them",
        ),
        (START + "[reveals]\n", "`reveals` must say what is revealed by one of family, file, each"),
        (START + "[reveals]\nall = ['c']\n", "`reveals.all` must be one of a, b; got 'c'"),
        ('[problem]\nactions = ["a", "a"]\n', "`actions` must be distinct, got 'a' twice"),
        (
            START + "[reveals]\nedges = [['a', 'b']]\n",
            "but nothing reveals 'a'; set own = true, add an action to all, add an edge that en",
        ),
        (START + "range = [1, 0]\n", r"`range` must be \(low, high\) with low < high"),
        (START + "[features]\nage = 3\n", "`features.age` must be one of number, number"),
    ],
)
def test_what_is_refused_names_the_file(tmp_path, text, message):
    file = tmp_path / "problem.toml"
    file.write_text(text)
    with pytest.raises(FileError, match=message) as error:
        Problem.read(file)
    assert str(error.value).startswith(str(file))


def test_files_that_are_no_problem(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"`problem` must be an existing file, got '.*nowhere.toml'"
    ):
        Problem.read(tmp_path / "nowhere.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match=r"bytes.toml: 'utf-8' codec"):
        Problem.read(tmp_path / "bytes.toml")


def test_a_graph_becomes_its_family_or_its_edges():
    assert "family" in Problem(["a", "b"], reveals=graphs.bandit(2)).to_toml()
    assert "edges" in Problem(["a", "b", "c"], reveals=graphs.disjoint_cliques([1, 2])).to_toml()
