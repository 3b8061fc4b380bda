"""A team can review 5 % of the cases: the learner chooses them, and classifies the rest."""

import csv
import gzip
import os
import random
import tempfile
from typing import Any

import numpy as np

import graphcb
from graphcb.contexts.looking import look


def read_cases() -> list[dict[str, Any]]:
    if folder := os.environ.get("GRAPHCB_DATA"):
        with gzip.open(f"{folder}/streams/magic.csv.gz", "rt", newline="") as file:
            rows = list(csv.DictReader(file))
        random.Random(1000).shuffle(rows)
        return rows[:5000]
    numbers = np.random.default_rng(0).normal(size=(1000, 3)).round(3)
    return [{"x": x, "y": y, "z": z, "label": "xyz"[np.argmax((x, y, z))]} for x, y, z in numbers]


def main(log: str, quota: float = 0.05) -> tuple[float, float]:
    cases = read_cases()
    labels = [case.pop("label") for case in cases]
    classes = sorted(set(labels))
    problem = graphcb.Problem(
        [*classes, "review"],
        reveals={"all": ["review"]},
        features=look(cases[:100]),
        budgets=[graphcb.Budget("reviews", {"review": 1}, at_most=quota)],
    )
    wrong = []
    with graphcb.Policy(log, problem=problem, seed=0, durability="process-kill") as policy:
        for case, label in zip(cases, labels, strict=True):
            decision = policy.decide(case)
            losses = {one: float(one != label) for one in classes} | {"review": 0.0}
            wrong.append(losses[decision.action])
            if decision.action == "review":  # only now is the right class known
                policy.feedback(decision.decision_id, losses)
    with graphcb.DecisionLog(log) as rows:
        return float(np.mean(wrong)), float(np.mean([row.action == "review" for row in rows]))


if __name__ == "__main__":
    print("wrong {:.1%}, reviewed {:.1%}".format(*main(f"{tempfile.mkdtemp()}/log.db")))
