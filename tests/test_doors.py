"""A CSV file by `graphcb run` and dicts through `Policy` lead to one learner, bit for bit."""

import csv
import io

import numpy as np
import pytest

from graphcb import InformationDirected, Policy, Problem, graphs
from graphcb.decisions import together
from graphcb.experiments.loop import play
from graphcb.experiments.progressive import ExampleRounds
from graphcb.oracles import DefaultOracle
from graphcb.streams import BadRows, ReadOptions, Source, first_look

N, ACTIONS = 150, ("a", "b", "c")
GRAPHS = {
    "bandit": graphs.bandit(3),
    "one action reveals all": graphs.apple_tasting(3, revealing_action=2),
    "lower levels": graphs.inventory(3),
}


def table(seed):
    """Numbers, heavy tails, a sentinel, words, a text, a constant, and what is missing.

    Nothing is missing at first: a file is looked at beforehand, and so knows which columns are
    numbers; a dict whose values are all None so far does not say it.
    """
    rng = np.random.default_rng(seed)
    rows, losses = [], []
    for t in range(N):
        x, amount = rng.normal(), np.exp(2.0 * rng.normal())
        colour = str(rng.choice(["red", "green", "dark blue"]))
        rows.append({
            "x": round(x, 3),
            "amount": None if t and rng.random() < 0.2 else round(amount, 2),
            "age": -999 if rng.random() < 0.05 else int(rng.integers(18, 80)),
            "colour": None if t and rng.random() < 0.1 else colour,
            "note": " ".join(rng.choice(["late", "dear", "again", "new", "big"], 5)),
            "same": 1.0,
        })  # fmt: skip
        chance = 1.0 / (1.0 + np.exp(-np.array([x, 1.0 - x, 0.5 * (colour == "red")])))
        losses.append((rng.random(3) < chance).astype(float))
    return rows, np.array(losses)


def by_file(rows, losses, graph, draws):
    """The probabilities of each round, where the rows come from a file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*rows[0], *ACTIONS])
    for row, loss in zip(rows, losses.tolist(), strict=True):
        writer.writerow([*("" if cell is None else cell for cell in row.values()), *loss])
    text.seek(0)
    source = Source("-", stdin=text)
    reading = first_look(source, ReadOptions(losses=ACTIONS, loss_range=(0.0, 1.0)))
    agent, seen = InformationDirected(DefaultOracle(3)), []
    for piece in reading.read(source, BadRows("the file")):
        world = ExampleRounds(piece, graph, reading.targets.loss_range)
        seen += [row.probability for row in play(agent, world, world.rounds(draws), draws)]
    return seen


def by_policy(rows, losses, graph, folder):
    """The same, where each row is a dict that is decided on and then answered.

    What is missing is None, as a cell that is empty: a word that a dict leaves out has no mark.
    """
    edges = [[ACTIONS[i], ACTIONS[j]] for i, j in np.argwhere(graph.matrix)]
    problem = Problem(list(ACTIONS), reveals={"edges": edges}, range=(0.0, 1.0))
    seen = []
    with Policy(folder / "log.db", problem=problem, seed=0, durability="process-kill") as policy:
        for row, loss in zip(rows, losses.tolist(), strict=True):
            decision = policy.decide(row)
            played = decision.action_index
            seen.append(decision.probabilities[played])
            shown = {ACTIONS[j]: loss[j] for j in np.flatnonzero(graph.matrix[played])}
            if shown:
                policy.feedback(decision.decision_id, shown)
    return seen


@pytest.mark.parametrize("name", GRAPHS)
def test_both_doors_lead_to_one_learner(name, tmp_path, monkeypatch):
    rows, losses = table(0)
    draws = np.random.default_rng(7)
    monkeypatch.setattr(together, "uniform_at", lambda seed, position: draws.random())
    policy = by_policy(rows, losses, GRAPHS[name], tmp_path)
    assert policy == by_file(rows, losses, GRAPHS[name], np.random.default_rng(7))
    assert len({round(float(p), 6) for p in policy}) > 20  # something was learned
