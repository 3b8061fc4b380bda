"""Agents, one a file: a context and a graph in, probabilities out."""

from graphcb.agents.protocol import Agent
from graphcb.agents.squarecb import SquareCB
from graphcb.agents.squarecbg import SquareCBG

__all__ = ["Agent", "SquareCB", "SquareCBG"]
