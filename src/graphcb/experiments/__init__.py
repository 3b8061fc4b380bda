"""The run loop, compiled runs, sweeps over settings and seeds, and experiments as data."""

from graphcb.experiments.loop import Row, run

__all__ = ["Row", "run"]
