"""A team can review 5 % of the cases: the learner chooses them, and classifies the rest."""

import os
import sys

import numpy as np

import graphcb
from graphcb.contexts.looking import look
from graphcb.datasets.streams import load_stream


def main(log: str, quota: float = 0.05) -> tuple[float, float]:
    file = "magic.csv.gz" if os.environ.get("GRAPHCB_DATA") else "generated"
    cases = load_stream({"file": file, "kind": "review", "price": 0.0}, seed=0)
    contexts = [dict(zip(cases.feature_names, row, strict=True)) for row in cases.features]
    problem = graphcb.Problem(
        cases.actions,  # the classes, and "review"
        reveals={"all": ["review"]},
        features=look(contexts[:100]),
        budgets=[graphcb.Budget("reviews", {"review": 1}, at_most=quota)],
    )
    wrong = []
    with graphcb.Policy(log, problem=problem, seed=0, durability="process-kill") as policy:
        for context, losses in zip(contexts, cases.losses.tolist(), strict=True):
            decision = policy.decide(context)
            wrong.append(losses[decision.action_index])
            if decision.action == "review":  # only now is the right class known
                shown = dict(zip(cases.actions, losses, strict=True))
                policy.feedback(decision.decision_id, shown)
    with graphcb.DecisionLog(log) as rows:
        return float(np.mean(wrong)), float(np.mean([row.action == "review" for row in rows]))


if __name__ == "__main__":
    print("wrong {:.1%}, reviewed {:.1%}".format(*main(sys.argv[1])))
