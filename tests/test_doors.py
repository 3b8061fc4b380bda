"""A file by `graphcb run` and dicts through `Policy` lead to one learner, bit for bit."""

import csv
import io
import json

import numpy as np
import pytest

from graphcb import InformationDirected, Policy, Problem, graphs
from graphcb.contexts import Encoder
from graphcb.decisions import together
from graphcb.experiments.loop import play
from graphcb.experiments.progressive import ExampleRounds
from graphcb.oracles import DefaultOracle
from graphcb.streams import BadRows, ReadOptions, Source, first_look

N, ACTIONS = 150, ("a", "b", "c")
WORDS = [f"w{i}" for i in range(150)]
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


def counts_of_words(seed):
    """Some of 150 counts in each row, one for a number that most rows have, and a category.

    Keys are in one order; a row has those that it needs.
    """
    rng = np.random.default_rng(seed)
    rows, losses = [], []
    for _ in range(N):
        topic = int(rng.integers(3))
        counts = rng.poisson(np.where(np.arange(150) % 3 == topic, 0.25, 0.05))
        row = {f"w{i}": int(count) for i, count in enumerate(counts) if count}
        row |= {"length": round(rng.normal(), 3)} if rng.random() < 0.9 else {}
        row |= {"colour": str(rng.choice(["red", "dark blue"]))} if rng.random() < 0.7 else {}
        rows.append(row)
        losses.append((rng.random(3) < np.where(np.arange(3) == topic, 0.1, 0.9)).astype(float))
    return rows, np.array(losses)


def as_csv(rows, losses, graph, draws):
    """The probabilities of each round, where the rows come from a table."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    names = list(rows[0]) if len(rows[0]) == 6 else [*WORDS, "length", "colour"]
    writer.writerow([*names, *ACTIONS])
    for row, loss in zip(rows, losses.tolist(), strict=True):
        cells = [row.get(name) for name in names]
        writer.writerow([*("" if cell is None else cell for cell in cells), *loss])
    text.seek(0)
    return by_file(Source("-", stdin=text), graph, draws)


def as_json(rows, losses, graph, draws):
    """The same, where each row is an object of its own."""
    outcomes = [dict(zip(ACTIONS, loss, strict=True)) for loss in losses.tolist()]
    lines = [json.dumps(row | loss) for row, loss in zip(rows, outcomes, strict=True)]
    source = Source("-", stdin=io.StringIO("\n".join(lines)), format="jsonl")
    return by_file(source, graph, draws)


def by_file(source, graph, draws):
    """What `graphcb run` does with a source."""
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
    assert policy == as_csv(rows, losses, GRAPHS[name], np.random.default_rng(7))
    assert len({round(float(p), 6) for p in policy}) > 20  # something was learned


@pytest.mark.parametrize("as_file", [as_csv, as_json])
@pytest.mark.parametrize("name", GRAPHS)
def test_counts_of_words_do_so_too(name, as_file, tmp_path, monkeypatch):
    rows, losses = counts_of_words(0)
    draws = np.random.default_rng(7)
    monkeypatch.setattr(together, "uniform_at", lambda seed, position: draws.random())
    policy = by_policy(rows, losses, GRAPHS[name], tmp_path)
    assert policy == as_file(rows, losses, GRAPHS[name], np.random.default_rng(7))
    assert len({round(float(p), 6) for p in policy}) > 20  # something was learned


def test_keys_may_come_in_any_order(tmp_path, monkeypatch):
    rows, losses = counts_of_words(1)
    rng, draws = np.random.default_rng(2), np.random.default_rng(7)
    rows = [{name: row[name] for name in rng.permutation(list(row)).tolist()} for row in rows]
    monkeypatch.setattr(together, "uniform_at", lambda seed, position: draws.random())
    policy = by_policy(rows, losses, GRAPHS["bandit"], tmp_path)
    assert policy == as_json(rows, losses, GRAPHS["bandit"], np.random.default_rng(7))


@pytest.mark.parametrize(("lacked", "is_dense"), [(0.6, True), (0.9, False)])
def test_measurements_are_missing_where_counts_would_be_0(lacked, is_dense):
    rng = np.random.default_rng(3)
    rows = [{f"x{j}": 100.0 + 5.0 * rng.normal() for j in range(100)} for _ in range(60)]
    rows = [{n: x for n, x in row.items() if rng.random() >= lacked} for row in rows]
    encoder = Encoder()
    for row in rows:
        encoder.learn(row)
    assert (encoder.encode(rows[-1]).n_numbers == 100) == is_dense
    lines = "\n".join(json.dumps(row | {"y": "ab"[i % 2]}) for i, row in enumerate(rows))
    source = Source("-", stdin=io.StringIO(lines), format="jsonl")
    reading = first_look(source, ReadOptions(label="y"))
    assert (reading.encoder.features is not None) == is_dense
