"""How many loaves to bake? Each day has a date; what could be sold depends on the weekday."""

import datetime

import numpy as np

import graphcb

levels = {f"bake {n}": n for n in range(20, 101, 10)}
problem = graphcb.Problem(
    list(levels),
    reveals="inventory",  # what was baked shows what fewer loaves would have cost
    range=(0, 100),
    features={"date": "time"},  # read as weekday, month and trend
    name="bakery",
)
rng = np.random.default_rng(0)
days = [datetime.date(2022, 1, 1) + datetime.timedelta(n) for n in range(3 * 365)]
lost, of_each = [], np.zeros(len(levels))
with graphcb.Policy("bakery.db", problem=problem, seed=0, durability="process-kill") as policy:
    for day in days:
        demand = min(100, rng.poisson(85 if day.weekday() >= 5 else 45))
        costs = {name: float(abs(n - demand)) for name, n in levels.items()}
        decision = policy.decide({"date": day.isoformat()})  # as in a column of a CSV file
        baked = levels[decision.action]
        seen = {name: cost for name, cost in costs.items() if levels[name] <= baked}
        policy.feedback(decision.decision_id, seen)
        lost.append(costs[decision.action])
        of_each += list(costs.values())
best = int(of_each.argmin())
first, last = np.mean(lost[:365]), np.mean(lost[-365:])
print(f"loaves too many or too few per day: {first:.1f} in the first year, {last:.1f} in the third")
print(f"always {problem.actions[best]}: {of_each[best] / len(days):.1f}")
