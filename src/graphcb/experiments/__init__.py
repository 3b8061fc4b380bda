"""The run loop, sweeps over settings and seeds, and one file a figure of the paper."""

from graphcb.experiments.loop import Row, run

__all__ = ["Row", "run"]
