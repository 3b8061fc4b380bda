import pytest

from graphcb.graph_oracles import EdgeCounts, LogisticEdges, as_graph_oracle


def test_what_is_no_graph_oracle_is_refused():
    with pytest.raises(TypeError, match=r"got the class EdgeCounts; make one.*EdgeCounts\(...\)"):
        as_graph_oracle(EdgeCounts)
    with pytest.raises(
        TypeError, match=r"methods of a graph oracle, such as .*got str without pre"
    ):
        as_graph_oracle("counts")
    with pytest.raises(ValueError, match="`loss` must be one of log, squared; got 'logg'"):
        LogisticEdges(2, 2, loss="logg")
