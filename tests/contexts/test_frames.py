"""Data frames where rows are taken, and where they are not."""

import numpy as np
import pyarrow as pa
import pytest

import graphcb
from graphcb.contexts.frames import as_listed, is_frame, rows_of
from graphcb.problems import Learner, Problem

ROWS = [{"amount": 3.0, "country": "DE"}, {"amount": 40.0, "country": "FR"}]
PROBLEM = Problem(["approve", "review"], reveals={"all": ["review"]}, range=(0, 1))


class Frame:
    """What pandas and polars have in common: columns, a shape, and a method for rows."""

    def __init__(self, rows):
        self.rows = rows
        self.columns = list(rows[0])
        self.shape = (len(rows), len(self.columns))

    def __iter__(self):
        return iter(self.columns)


class PandasFrame(Frame):
    def to_dict(self, orient):
        assert orient == "records"
        return [dict(row) for row in self.rows]


class PolarsFrame(Frame):
    def to_dicts(self):
        return [dict(row) for row in self.rows]

    def to_dict(self):
        raise AssertionError("polars gives columns here")


class Index:
    """A pandas Index: no sequence, but of one dimension."""

    shape = (2,)

    def tolist(self):
        return ["approve", "review"]


FRAMES = [PandasFrame(ROWS), PolarsFrame(ROWS), pa.Table.from_pylist(ROWS)]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_every_frame_has_its_rows(frame, tmp_path):
    assert rows_of(frame) == ROWS
    learner = Learner(PROBLEM)
    learner.learn(ROWS[0], ["approve", "review"], [0.1, 0.9])
    expected = [learner.predict(row) for row in ROWS]
    assert np.array_equal(learner.predict(frame), expected)
    with graphcb.Policy(tmp_path / "log.db", problem=PROBLEM, seed=0) as policy:
        decisions = policy.decide_many(frame)
    with graphcb.DecisionLog(tmp_path / "log.db") as log:
        assert [one.context for one in log] == ROWS
    assert len(decisions) == 2


def test_feedback_of_a_frame_leaves_out_what_is_missing(tmp_path):
    with graphcb.Policy(tmp_path / "log.db", problem=PROBLEM, seed=0) as policy:
        first, second = policy.decide_many(PandasFrame(ROWS))
        given = {"approve": 0.5, "review": 0.25}
        cells = [
            {"decision_id": one.decision_id}
            | {name: given[name] if one.action == "review" else float("nan") for name in given}
            for one in (first, second)
        ]
        receipts = policy.feedback_many(PandasFrame(cells))
        assert [one.decision_id for one in receipts] == [first.decision_id, second.decision_id]
        with pytest.raises(ValueError, match=r"each decision once, got '.*' twice"):
            policy.feedback_many(PandasFrame([cells[0], cells[0]]))
        with pytest.raises(ValueError, match="must have a column decision_id, got approve"):
            policy.feedback_many(PandasFrame([{"approve": 0.5}]))
        with pytest.raises(TypeError, match=r"must be a mapping {decision_id: .* got list"):
            policy.feedback_many([(first.decision_id, given)])


def test_what_is_no_frame():
    for value in (ROWS, np.ones((2, 2)), "text", None, {"columns": 1}):
        assert not is_frame(value)
        assert rows_of(value) is None
    assert as_listed(np.array(["a", "b"])) == ["a", "b"]
    assert as_listed({"a": 1}) == {"a": 1}


def test_a_frame_is_not_the_actions_of_a_round(tmp_path):
    with pytest.raises(
        TypeError, match="`actions` must be a list of names, got a PandasFrame; its"
    ):
        Problem(PandasFrame(ROWS))
    with pytest.raises(TypeError, match="got a PandasFrame"):
        Learner(Problem("each round")).act({"x": 1}, actions=PandasFrame(ROWS))
    with graphcb.Policy(tmp_path / "log.db", problem=PROBLEM) as policy:
        with pytest.raises(TypeError, match="got a PandasFrame"):
            policy.decide({"x": 1}, actions=PandasFrame(ROWS))
        assert policy.n_events == 0


def test_names_come_in_arrays_and_indices():
    assert Problem(np.array(["approve", "review"])).actions == ("approve", "review")
    assert Problem(Index()).actions == ("approve", "review")
    assert type(Problem(np.array(["a", "b"])).actions[0]) is str
    assert Learner(Problem("each round")).act({"x": 1}, actions=Index()).shape == (2,)
    with pytest.raises(
        TypeError, match=r"`actions\[0\]` must be a text, got 3; write it in quotes"
    ):
        Problem([3, 4])
