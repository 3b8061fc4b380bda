"""Graph oracles: what would each action reveal? For graphs that are not known beforehand."""

from graphcb.graph_oracles.answers import Answers
from graphcb.graph_oracles.edge_counts import EdgeCounts
from graphcb.graph_oracles.logistic_edges import LogisticEdges
from graphcb.graph_oracles.protocol import GraphOracle, as_graph_oracle
from graphcb.graph_oracles.thresholds import Thresholds

__all__ = ["Answers", "EdgeCounts", "GraphOracle", "LogisticEdges", "Thresholds", "as_graph_oracle"]
