"""Approve, block or review payments by a matrix of costs; only a review shows the truth."""

import tempfile

import numpy as np

import graphcb

COSTS = {  # in euros
    "approve": {"honest": 0.0, "fraud": 60.0},
    "block": {"honest": 12.0, "fraud": 0.0},
    "review": {"honest": 3.0, "fraud": 3.0},
}
problem = graphcb.Problem(
    list(COSTS),
    reveals={"all": ["review"]},
    range=(0, 60),
    name="fraud review",
    known={"review": 3.0},
)


def payments(n: int, rng: np.random.Generator):
    for _ in range(n):
        country = str(rng.choice(["DE", "FR", "XX"]))
        payment = {"amount": rng.lognormal(3, 1), "country": country, "age": None}
        risk = 0.9 if country == "XX" and payment["amount"] > 40 else 0.01
        yield payment, "fraud" if rng.random() < risk else "honest"


def main(log: str) -> float:
    total, n = 0.0, 1500
    with graphcb.Policy(log, problem=problem, seed=0, durability="process-kill") as policy:
        for payment, truth in payments(n, np.random.default_rng(0)):
            decision = policy.decide(payment)
            total += COSTS[decision.action][truth]
            if decision.action == "review":
                shown = {action: costs[truth] for action, costs in COSTS.items()}
                policy.feedback(decision.decision_id, shown)
    return total / n


if __name__ == "__main__":
    cost = main(f"{tempfile.mkdtemp()}/log.db")
    print(f"{cost:.2f} euros per payment; reviewing all of them costs 3.00")
