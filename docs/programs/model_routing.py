"""Route questions among four models; the answer of a larger one also judges the smaller ones."""

import tempfile

import numpy as np

import graphcb

PRICE = {"tiny": 0.01, "small": 0.05, "medium": 0.15, "large": 0.4}
problem = graphcb.Problem(
    list(PRICE), reveals="inventory", feedback="rewards", range=(-0.4, 1), name="models"
)
NEEDED = {"greeting": "tiny", "invoice": "small", "contract": "medium", "law": "large"}


def main(log: str, n: int = 1500) -> float:
    rng, models, earned = np.random.default_rng(0), list(PRICE), []
    with graphcb.Policy(log, problem=problem, seed=0, durability="process-kill") as policy:
        for _ in range(n):
            topic = str(rng.choice(list(NEEDED)))
            question = {"topic": topic, "words": int(rng.integers(5, 80))}
            decision = policy.decide(question)
            enough = models.index(NEEDED[topic])
            rewards = {m: float(i >= enough) - PRICE[m] for i, m in enumerate(models)}
            earned.append(rewards[decision.action])
            judged = models[: models.index(decision.action) + 1]
            policy.feedback(decision.decision_id, {m: rewards[m] for m in judged})
    return float(np.mean(earned[n // 2 :]))


if __name__ == "__main__":
    earned = main(f"{tempfile.mkdtemp()}/log.db")
    print(f"earned per question, second half: {earned:.2f}")
