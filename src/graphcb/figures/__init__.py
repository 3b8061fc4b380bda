"""Figures, each a pure function of its data; the only room that imports matplotlib."""
