"""Contexts as people have them, turned into what an oracle takes."""

from graphcb.contexts.declared import DeclaredFeatures
from graphcb.contexts.encoded import EncodedRow
from graphcb.contexts.encoder import Encoder
from graphcb.contexts.looking import Look, look, look_at
from graphcb.contexts.noted import NotedFeatures

__all__ = ["DeclaredFeatures", "EncodedRow", "Encoder", "Look", "NotedFeatures", "look", "look_at"]
