"""Contexts as people have them, turned into what an oracle takes."""

from graphcb.contexts.encoder import Encoder

__all__ = ["Encoder"]
