"""Graph oracles: what would each action reveal? For graphs that are not known beforehand."""

from graphcb.graph_oracles.edge_counts import EdgeCounts
from graphcb.graph_oracles.logistic_edges import LogisticEdges
from graphcb.graph_oracles.protocol import GraphOracle, as_graph_oracle

__all__ = ["EdgeCounts", "GraphOracle", "LogisticEdges", "as_graph_oracle"]
