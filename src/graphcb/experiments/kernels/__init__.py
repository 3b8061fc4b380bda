"""Whole runs as compiled loops, bit for bit the same as `experiments.loop.run`, one problem a file.

Each kernel calls the same compiled functions as the public objects do, in the same order, without
the interpreter between them. It stops at a round that is not plain (a number that is not finite,
a distribution that is none) and leaves it to the public objects, which say what is wrong.
"""
