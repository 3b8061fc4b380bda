"""Model files that lie, one lie each: loaded and used, or refused in plain words.

    python lying_files.py [N] [SEED]

For every class that a file may hold, a valid file is written, one number, array, class or name in
it is replaced, and the result is loaded and used for a few rounds. It must be refused with
`FileError`, or work without leaving the finite numbers. Run as a process of its own, so that a
crash is seen; with NUMBA_BOUNDSCHECK=1 a kernel says where it leaves its arrays.
"""

import contextlib
import copy
import io
import json
import resource
import sys
import traceback
import warnings

import numpy as np

from graphcb import (
    FileError,
    InformationDirected,
    Limits,
    SquareCB,
    SquareCBG,
    SquareCBUG,
    exploration,
    graph_oracles,
    graphs,
    oracles,
    saving,
)
from graphcb.agents import (
    Budget,
    Conservative,
    EpsilonGreedy,
    Greedy,
    Played,
    Shadow,
    Uniform,
    hook,
)
from graphcb.experiments.model import Model
from graphcb.problems import Learner, Problem, Recorded
from graphcb.streams import Columns, Examples, SparseExamples, TableExamples, Targets

WIDTH, ACTIONS = 4, 3
LEVELS = np.array([0.0, 0.5, 1.0])
DENSE = [np.linspace(-1.0, 1.0, WIDTH), np.array([3.0, 1e50, -1.0, 0.0]), np.zeros(WIDTH)]
SPARSE = [([0, 3], [1.0, 0.5]), ([2], [-4.0]), ([], [])]
NUMBERS = [
    0, 1, 2, 3, 5, 16, 64, -1, 10**9, 2**31, 2**53, 2**63, 2**64, 10**400, 0.5, -0.5, 1e-320,
    1e100, 1e308, -1e308, float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
GROUP = Limits(linear=[{"actions": [0, 1], "at_most": 0.6}, {"weights": {1: 2.0}, "at_most": 0.5}])
SPENT = Budget("spent", {"d": 1.0}, 0.5)
OTHERS = [None, True, "", "full", "text", {"list": []}, {"tuple": [1]}, {"dict": []}, [1], {}]


def examples():
    """One object of each kind, after a few rounds."""
    linear = oracles.LinearOGD(ACTIONS, WIDTH, decay="inverse_sqrt")
    alone = [
        linear,
        oracles.LinearAdaGrad(ACTIONS, WIDTH),
        oracles.LogisticOGD(ACTIONS, WIDTH, objective="log_loss"),
        oracles.OnlineRidge(ACTIONS, WIDTH),
        oracles.BayesianLogistic(ACTIONS, WIDTH),
        oracles.BayesianLogistic(ACTIONS, WIDTH, covariance="diagonal"),
        oracles.DefaultOracle(ACTIONS),
        oracles.VovkAggregation([copy.deepcopy(linear), oracles.OnlineRidge(ACTIONS, WIDTH)]),
        oracles.NewsvendorOGD(WIDTH, learning_rate=0.1, start=0.5),
    ]
    for oracle in alone:
        use(oracle)
    sparse = oracles.DefaultOracle(ACTIONS)
    for context in SPARSE:
        sparse.update(context, [0, 1], [0.0, 1.0])
    schedules = [
        None,
        10.0,
        exploration.SquareRoot(3.0, "n_actions"),
        exploration.TwoThirds(2.0),
        exploration.FromTheory(100, 2.0, 3.0),
        exploration.Doubling(100, 2.0),
        exploration.Automatic(),
    ]
    agents = [SquareCBG(copy.deepcopy(alone[3]), gamma=gamma) for gamma in schedules]
    ridge = copy.deepcopy(alone[3])
    budgets = [
        Budget("a", {1: 1.0}, 0.5, per="day"),
        Budget("b", {0: 0.25, 1: 2.0}, 3.0, per=5, hard=True),
        Budget("c", copy.deepcopy(linear), 1.0),
    ]
    agents += [
        SquareCBG(ridge, gamma=exploration.FromGraphs(2.0), certify=True),
        InformationDirected(),
        SquareCB(copy.deepcopy(linear)),
        Greedy(copy.deepcopy(sparse)),
        EpsilonGreedy(copy.deepcopy(alone[2])),
        Uniform(),
        Greedy(copy.deepcopy(linear), budgets=budgets),
        InformationDirected(budgets=budgets[:1]),
        InformationDirected(limits=Limits(floors=0.1, caps={1: 0.5})),
        SquareCB(copy.deepcopy(linear), limits=Limits(floors=[0.1, 0.2, 0.0])),
        Greedy(copy.deepcopy(linear), limits=GROUP),
        EpsilonGreedy(copy.deepcopy(linear), limits=GROUP),
        Conservative(SquareCBG(copy.deepcopy(alone[3]), gamma=10.0), 1, loss=0.25),
        Conservative(Greedy(copy.deepcopy(linear)), Uniform(), epsilon=0.5),
        Shadow(Greedy(copy.deepcopy(linear)), 2),
    ]
    for agent in agents:
        use(agent)
    begun = InformationDirected(budgets=budgets[1:2])
    begun.act(DENSE[0], graphs.bandit(ACTIONS))
    agents.append(begun)
    targets = Targets(("a", "b", "c"))
    columns = Columns(("x", "y", "z"), ("w",), label="v")
    readings = [
        TableExamples(columns, targets, bits=3),
        SparseExamples("libsvm", targets, bits=3),
        SparseExamples("vw", targets, bits=3, features=["^a", "n^b"]),
    ]
    learners = [learner_of(reading) for reading in readings]
    learners += [
        Learner(Problem(["a", "b", "c"], features={"x": "number?", "y": "number"})),
        Learner(Problem(["a", "b", "c"], reveals="inventory", feedback="rewards", range=(-1, 3))),
        Learner(Problem("each round")),
        Learner(Problem(["a", "b", "c"], limits={"caps": {"c": 0.5}}, baseline="b")),
        Learner(Problem("each round", limits={"floors": {"d": 0.1}}, budgets=[SPENT])),
    ]
    for learner in learners:
        use(learner)
    items = oracles.ActionFeatureOracle()
    for context in DENSE:
        items.update(context, [[1.0, 0.0], [0.5, 2.0]], [0.2, 0.9])
    edges = [
        graph_oracles.EdgeCounts(ACTIONS),
        graph_oracles.LogisticEdges(ACTIONS, WIDTH),
        graph_oracles.Thresholds(LEVELS, n_features=WIDTH),
        graph_oracles.Answers(graphs.inventory(ACTIONS)),
        graph_oracles.Answers(graphs.inventory(ACTIONS), n_features=WIDTH),
        SquareCBUG(copy.deepcopy(alone[3]), graph_oracles.LogisticEdges(ACTIONS, WIDTH)),
    ]
    for one in edges:
        use(one)
    recorded = Recorded(Problem("each round"), source="log.json")
    return [*alone, sparse, *agents, *edges, *learners, items, recorded]


def learner_of(reading):
    """The learner of a run, as its file would hold it."""
    features = None if reading.encoder is None else reading.encoder.features
    learner = Learner(Problem(["a", "b", "c"], features=features))
    return Model(learner, reading, seed=1).to_learner()


def use(thing):
    """Every call that a kernel may be behind; what is refused must be refused in plain words."""
    if isinstance(thing, Learner):
        use_learner(thing)
        if thing.progress is not None:
            use_model(Model.from_learner(thing, "lie.npz"))
        return
    if isinstance(thing, Recorded):
        with refused_in_plain_words():
            thing.act(None)
        return
    if isinstance(thing, oracles.ActionFeatureOracle):
        use_items(thing)
        return
    if hasattr(thing, "update_full"):
        use_edges(thing)
        return
    if isinstance(thing, SquareCBUG):
        use_uninformed(thing)
        return
    width = getattr(thing, "n_features", WIDTH)
    contexts = [*DENSE, *SPARSE]
    if width in range(1, 100):
        contexts.append(np.ones(width))
    for actions in (None, LEVELS):
        for context in contexts:
            for call in (predict, update):
                try:
                    call(thing, context, actions)
                except (ValueError, TypeError, IndexError) as problem:
                    if "`" not in str(problem) and "finite" not in str(problem):
                        raise


def use_learner(learner):
    offered = [None, ["b"], {"b": {"price": 2.0}, "d": {"price": None, "genre": "jazz"}}]
    for context in ({"x": 1.0, "w": "a b"}, {"x": None, "y": -3.0}, {"new": 2.0}):
        for actions in offered:
            with refused_in_plain_words():
                answer = learner.act(context, None, actions)
                if not np.isfinite(answer).all():
                    raise RuntimeError("silently not finite")
                if (on_draw := hook(learner, "on_draw")) is not None:
                    graph = graphs.bandit(answer.size)
                    on_draw(Played(context, graph, actions, answer, int(answer.argmax())))
            with refused_in_plain_words():
                learner.learn(context, ["b"] if actions is None else actions, [0.5] * 2)


def use_items(oracle):
    for context in (*DENSE, *SPARSE):
        for actions in ([[1.0, 0.0], [0.25, 1e49]], SPARSE[:2]):
            with refused_in_plain_words():
                if not np.isfinite(oracle.predict(context, actions)).all():
                    raise RuntimeError("silently not finite")
                oracle.forecast(context, actions)
            with refused_in_plain_words():
                oracle.update(context, actions, [0.25, 1.0])


def use_edges(oracle):
    for context in (*DENSE, *SPARSE):
        for actions in (None, [2, 0]):
            with refused_in_plain_words():
                graph = oracle.predict(context, actions)
                if not np.isfinite(graph.matrix).all():
                    raise RuntimeError("silently not finite")
            for revealed in ([0, 1], [1]):
                with refused_in_plain_words():
                    oracle.update(context, 1, revealed, actions)
            with refused_in_plain_words():
                oracle.update_full(context, graphs.inventory(3 if actions is None else 2), actions)


def use_uninformed(agent):
    for context in (*DENSE, *SPARSE):
        with refused_in_plain_words():
            if not np.isfinite(agent.act(context)).all():
                raise RuntimeError("silently not finite")
        with refused_in_plain_words():
            agent.learn(context, 2, [0, 1, 2], [0.5, 0.25, 1.0])


@contextlib.contextmanager
def refused_in_plain_words():
    try:
        yield
    except (ValueError, TypeError, IndexError) as problem:
        plain = ("`", "finite", "imported", "reveal", "no oracle")
        if not any(word in str(problem) for word in plain):
            raise


def predict(thing, context, actions):
    answer = None
    if hasattr(thing, "act"):
        if (at_time := hook(thing, "at_time")) is not None:
            at_time(1.7e9)
        answer = thing.act(context, graphs.bandit(ACTIONS), actions)
        if (on_draw := hook(thing, "on_draw")) is not None:
            made = Played(context, graphs.bandit(ACTIONS), actions, answer, 1)
            on_draw(made)
        if (on_feedback := hook(thing, "on_feedback")) is not None:
            on_feedback(made, [1], [0.75])
    elif hasattr(thing, "predict"):
        answer = thing.predict(context, actions)
        if hasattr(thing, "forecast"):
            thing.forecast(context, actions)
    if answer is not None and not np.isfinite(answer).all():
        raise RuntimeError(f"silently not finite: {answer}")


def update(thing, context, actions):
    learn = getattr(thing, "learn" if hasattr(thing, "act") else "update", None)
    if learn is not None:
        seen = [2, 0] if actions is None else LEVELS[:2]
        learn(context, seen, np.array([0.25, 1.0]))


def use_model(model):
    n_actions = len(model.reading.targets.actions)
    rows, losses = np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 5.0]]), np.ones((2, n_actions))
    if isinstance(model.reading, TableExamples):
        width = len(model.reading.columns.numbers)
        words = [["a b", "c"] for name in model.reading.columns.words]
        contexts = model.reading._contexts(np.resize(rows, (2, width)), words)
    elif model.reading.encoder is not None:
        width = len(model.reading.features)
        contexts = model.reading.encoder.encode_columns(np.resize(rows, (2, width)), [])
    else:
        contexts = list(SPARSE[:2])
    losses = np.full((2, n_actions), model.reading.targets.loss_range[0])
    try:
        played = model.player.play(Examples(contexts, losses, [1, 2]))
    except (ValueError, TypeError, IndexError) as problem:
        if "`" not in str(problem) and "finite" not in str(problem):
            raise
        return
    model.tally.add(played, losses)


def places(value, path=()):
    """The path of everything in a description."""
    yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


def lie(thing, rng):
    """The file of `thing` with one lie in it, and what the lie is."""
    with np.load(io.BytesIO(saving.to_bytes(thing))) as archive:
        arrays = {name: archive[name] for name in archive}
    description = json.loads(arrays.pop("json").tobytes())
    if arrays and rng.random() < 0.5:
        name = rng.choice(sorted(arrays))
        arrays[name], what = lie_in_array(arrays[name], rng), f"array {name}"
    else:
        paths = [path for path in places(description["content"]) if path]
        path = paths[rng.integers(len(paths))]
        owner = description["content"]
        for key in path[:-1]:
            owner = owner[key]
        what = lie_in_description(owner, path, arrays, rng)
    arrays["json"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue(), what


def lie_in_description(owner, path, arrays, rng):
    key = path[-1]
    kind = rng.integers(10)
    if key == "class":
        names = sorted({kind.__name__ for kind in saving._OURS})
        owner[key] = str(rng.choice([*names, "VowpalWabbit", "object"]))
    elif kind == 0 and isinstance(owner, dict):
        del owner[key]
    elif kind == 1 and isinstance(owner, dict):
        name = ["predict", "__class__", "__dict__", "check_loaded", "n_features"][rng.integers(5)]
        owner[name] = owner.get(key)
    elif kind == 2:
        owner[key] = {"array": str(rng.choice([*sorted(arrays), "none"]))}
    elif kind < 8:
        owner[key] = NUMBERS[rng.integers(len(NUMBERS))]
    else:
        owner[key] = OTHERS[rng.integers(len(OTHERS))]
    return f"{path} = {owner.get(key) if isinstance(owner, dict) else owner[key]!r}"


def lie_in_array(array, rng):
    kind = rng.integers(9)
    if kind == 0:
        return array[:-1].copy() if array.ndim else array.reshape(1)
    if kind == 1:
        return np.concatenate([array, array]) if array.ndim else np.repeat(array, 2)
    if kind == 2:
        return array.reshape(-1) if array.ndim > 1 else array.reshape(1, -1)
    if kind == 3:
        return array.astype(rng.choice(["f4", "i8", "i2", ">f8", "c16", "U5", "?"]))
    if kind == 4:
        return array.T.copy() if array.ndim > 1 else np.empty(0, dtype=array.dtype)
    changed = np.array(array, copy=True)
    if changed.size:
        value = NUMBERS[rng.integers(len(NUMBERS))]
        place = rng.integers(changed.size) if kind < 8 else slice(None)
        with np.errstate(all="ignore"):
            try:
                changed.flat[place] = value
            except (OverflowError, ValueError, TypeError):
                changed.flat[place] = 1
    return changed


def main(n_lies, seed):
    resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
    warnings.simplefilter("ignore", RuntimeWarning)
    refused = used = wrong = 0
    things = examples()
    for thing in things:
        content = saving.to_bytes(thing)
        if saving.to_bytes(saving.from_bytes(content, where="truth.npz")) != content:
            wrong += 1
            print(f"{thing!r} came back as another one")
    for k in range(n_lies):
        rng = np.random.default_rng([seed, k])
        content, what = lie(things[k % len(things)], rng)
        try:
            thing = saving.from_bytes(content, where="lie.npz")
            use(thing)
            used += 1
        except FileError as problem:
            refused += 1
            if not str(problem).startswith("lie.npz: ") or "pickle" in str(problem):
                wrong += 1
                print(k, type(things[k % len(things)]).__name__, what, "->", problem)
        except Exception as problem:
            wrong += 1
            print(k, type(things[k % len(things)]).__name__, what, "->", repr(problem)[:300])
            traceback.print_exc(limit=-3, file=sys.stdout)
    print(f"{refused} refused, {used} used, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
