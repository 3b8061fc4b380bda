"""Graphs that nobody knows beforehand: made up ones, and those of real auctions."""

SHOWN = ("row", "full")  # how much of a hidden graph is seen afterwards
