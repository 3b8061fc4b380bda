"""Which of today's items goes on top of the page? Items come and go, and only it can be clicked."""

import numpy as np

import graphcb

problem = graphcb.Problem("each round", reveals="bandit", feedback="rewards", name="widget")
GENRES = ["jazz", "rock", "folk"]
rng = np.random.default_rng(0)
clicks, chance, catalogue = [], [], {}
with graphcb.Policy("widget.db", problem=problem, seed=0, durability="process-kill") as policy:
    for visit in range(2000):
        if visit % 20 == 0:  # the catalogue of this hour
            catalogue = {
                f"item {visit + i}": {"genre": str(rng.choice(GENRES)), "price": rng.uniform(1, 15)}
                for i in range(8)
            }
        user = {"taste": str(rng.choice(GENRES)), "device": str(rng.choice(["phone", "laptop"]))}
        likes = {
            name: (0.4 if item["genre"] == user["taste"] else 0.05) * (1.3 - item["price"] / 15)
            for name, item in catalogue.items()
        }
        decision = policy.decide(user, actions=catalogue)
        click = float(rng.random() < likes[decision.action])
        policy.feedback(decision.decision_id, {decision.action: click})
        clicks.append(click)
        chance.append([np.mean(list(likes.values())), max(likes.values())])
at_random, best = np.mean(chance[1000:], axis=0)
print(f"clicks per visit: {np.mean(clicks[:1000]):.2f}, then {np.mean(clicks[1000:]):.2f}")
print(f"an item at random: {at_random:.2f}; the best one, if one knew: {best:.2f}")
