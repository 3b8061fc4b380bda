"""A widget with changing items: decide in one process, learn late and in parts in another.

python page_widget.py decide LOG QUEUE      python page_widget.py learn LOG QUEUE
"""

import json
import sys
from pathlib import Path

import numpy as np

import graphcb

problem = graphcb.Problem("each round", reveals="each round", feedback="rewards", name="widget")
# The item on top is always seen, and the one below it as well.
TWO_SEEN = graphcb.FeedbackGraph([[1, 1, 0], [0, 1, 1], [1, 0, 1]])


def likes(user: dict, item: dict) -> float:
    return float(item["genre"] == user["taste"]) * (1.0 if item["price"] < 8 else 0.5)


def decide(log: str, queue: str, n: int = 150) -> None:
    with graphcb.Policy(log, problem=problem, seed=0) as policy, Path(queue).open("w") as file:
        rng = np.random.default_rng(policy.n_events)
        for _ in range(n):
            user = {"taste": str(rng.choice(["jazz", "rock"]))}
            names = [f"item-{number}" for number in rng.choice(1000, 3, replace=False)]
            items = {
                name: {"genre": str(rng.choice(["jazz", "rock"])), "price": rng.uniform(1, 15)}
                for name in names
            }
            decision = policy.decide(user, TWO_SEEN, actions=items)
            seen = [names[i] for i in TWO_SEEN.row(decision.action_index).nonzero()[0]]
            rewards = {name: likes(user, items[name]) for name in seen}
            print(json.dumps([decision.decision_id, decision.action, rewards]), file=file)


def learn(log: str, queue: str) -> None:
    lines = [json.loads(line) for line in Path(queue).read_text().splitlines()]
    with graphcb.Policy(log, problem=problem) as policy:
        for name, _, rewards in lines:
            for item, reward in rewards.items():  # the click now, the return next week
                policy.feedback(name, {item: reward})
    print(np.mean([rewards[top] for _, top, rewards in lines]))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("decide", "learn"):
        sys.exit(__doc__)
    {"decide": decide, "learn": learn}[sys.argv[1]](*sys.argv[2:])
