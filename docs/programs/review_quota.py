"""A team can review 5 % of the cases: the learner decides which ones, and classifies the rest."""

import os
import sys

import numpy as np

import graphcb
from graphcb.datasets.streams import load_stream

QUOTA = 0.05


def main(log: str) -> tuple[float, float]:
    file = "mushroom.csv.gz" if os.environ.get("GRAPHCB_DATA") else "generated"
    cases = load_stream({"file": file, "kind": "review", "price": 0.0}, seed=0)
    quota = graphcb.Budget("reviews", {"review": 1}, at_most=QUOTA)
    problem = graphcb.Problem(cases.actions, reveals={"all": ["review"]}, budgets=[quota])
    losses = []
    with graphcb.Policy(log, problem=problem, seed=0, durability="process-kill") as policy:
        for features, outcomes in zip(cases.features, cases.losses.tolist(), strict=True):
            decision = policy.decide(dict(zip(cases.feature_names, features, strict=True)))
            losses.append(outcomes[decision.action_index])
            if decision.action == "review":  # the team sees which class is right
                shown = dict(zip(cases.actions, outcomes, strict=True))
                policy.feedback(decision.decision_id, shown)
    with graphcb.DecisionLog(log) as read:
        share = np.mean([row.action == "review" for row in read])
    return float(np.mean(losses)), float(share)


if __name__ == "__main__":
    print("wrong: {:.1%}, reviewed: {:.2%}".format(*main(sys.argv[1])))
