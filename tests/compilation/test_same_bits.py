"""Other processes replay decisions: code that was just compiled and code from disk agree."""

import os
import subprocess
import sys

import pytest

PLAY = """
import hashlib
import numpy as np
from graphcb import Learner, Problem
from graphcb.rounds import play_round

digest, rng = hashlib.sha256(), np.random.default_rng(0)
for names, words in ((10, False), (40, True)):
    problem = Problem([f"a{i}" for i in range(names)])
    learner, graph = Learner(problem), problem.graph_for(problem.actions)
    for t in range(80):
        context = {f"x{i}": float(x) for i, x in enumerate(rng.normal(size=8))}
        if words:
            context["word"] = str(rng.choice(["red", "blue", "green"]))
        played = play_round(learner, context, graph, None, rng.random())
        digest.update(played.probabilities.tobytes())
        learner.learn(context, [f"a{played.action}"], [float(rng.random() < 0.4)])
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_compiled_and_loaded_kernels_give_the_same_bits(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", PLAY],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1] != ""
