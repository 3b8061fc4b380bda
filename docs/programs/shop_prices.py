"""What price to show? Somebody who leaves does not say how much would have been paid."""

import numpy as np

import graphcb

prices = {f"{price} EUR": float(price) for price in (29, 39, 49, 59, 69)}
problem = graphcb.Problem(
    list(prices), reveals="bandit", feedback="rewards", range=(0, 69), name="prices"
)
rng = np.random.default_rng(0)
earned, of_each = [], np.zeros(len(prices))
with graphcb.Policy("prices.db", problem=problem, seed=0, durability="process-kill") as policy:
    for _ in range(3000):
        visitor = {"from": str(rng.choice(["search", "newsletter"])), "visits": int(rng.poisson(2))}
        pays = (62 if visitor["from"] == "newsletter" else 38) * rng.lognormal(0, 0.2)
        rewards = {name: price if price <= pays else 0.0 for name, price in prices.items()}
        decision = policy.decide(visitor)
        policy.feedback(decision.decision_id, {decision.action: rewards[decision.action]})
        earned.append(rewards[decision.action])
        of_each += list(rewards.values())
best = int(of_each.argmax())
print(f"earned per visitor: {np.mean(earned[:500]):.1f} of the first 500, then", end=" ")
print(f"{np.mean(earned[500:]):.1f}")
print(f"always {problem.actions[best]}: {of_each[best] / 3000:.1f}")
