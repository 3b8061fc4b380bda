"""Spam: a team reviews messages during the day and reports in the evening, from its own process."""

import json
import subprocess
import sys

import numpy as np

import graphcb

TEAM = """
import json, sys, graphcb
with graphcb.Inbox("messages.db") as inbox:  # while the other process decides
    inbox.feedback_many(json.load(sys.stdin))
"""
WORDS = ["hello", "meeting", "report", "prize", "click", "winner", "free"]
problem = graphcb.Problem(
    ["deliver", "review"],
    reveals={"all": ["review"]},
    known={"review": 1.0},
    range=(0, 10),
    features={"message": "text"},
)
rng, costs, spam = np.random.default_rng(0), [], []
with graphcb.Policy("messages.db", problem=problem, seed=0) as policy:
    for _day in range(5):
        reviewed = {}
        for _ in range(200):
            spam.append(rng.random() < 0.2)
            text = " ".join(rng.choice(WORDS[3:] if spam[-1] else WORDS[:5], size=6))
            cost = {"deliver": 10.0 * spam[-1], "review": 1.0}
            decision = policy.decide({"message": text})
            costs.append(cost[decision.action])
            if decision.action == "review":
                reviewed[decision.decision_id] = cost
        subprocess.run([sys.executable, "-c", TEAM], input=json.dumps(reviewed), text=True)
days = np.array(costs).reshape(5, 200).mean(axis=1)
print("cost per message, day by day:", *(f"{cost:.2f}" for cost in days))
print(f"reviewing all: 1.00; delivering all: {10 * np.mean(spam):.2f}")
