"""Whole runs as compiled loops: each file mirrors `experiments.loop.play` for one problem.

A kernel calls the same compiled functions as the public objects, in the same order, without the
interpreter between them, and gives the same bits. It stops at a round with a number that is not
finite or a distribution that is not one, and leaves it to the public objects, which raise the
error.
"""
