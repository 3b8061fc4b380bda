"""Files to be damaged: logs, models and graphs, and how each is read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faults.plan import (
    N_ACTIONS,
    N_FEATURES,
    make,
    open_policy,
    plan,
    rows_of,
)
from faults.tally import Finding
from graphcb import (
    DecisionLog,
    FeedbackGraph,
    InformationDirected,
    Policy,
    SquareCBG,
    graphs,
    load,
    save,
)
from graphcb.decisions.export import export_parquet
from graphcb.decisions.verifying import back_up, verify
from graphcb.evaluation import evaluate, uniform
from graphcb.files import FileError
from graphcb.graphs.files import read_graph
from graphcb.oracles import BayesianLogistic, LinearOGD, OnlineRidge, VovkAggregation
from graphcb.saving import to_bytes

Read = Callable[[Path], Any]


@dataclass(frozen=True)
class Specimen:
    """Some files by the end of their names, and ways to read them.

    With `sure`, whoever reads other content than the original has been fooled; the others have
    no checksum.
    """

    name: str
    files: dict[str, bytes]
    readers: dict[str, Read]
    sure: bool = True


def all_specimens(folder: Path) -> list[Specimen]:
    return [*logs(folder), *models(folder), *graph_files(folder)]


def logs(folder: Path) -> list[Specimen]:
    """A log that was closed, and one whose writer was killed and left a write-ahead log."""
    path = folder / "log.db"
    policy = open_policy(str(path), checkpoint_every=1000)
    for call in plan(30, 3):
        make(policy, call, rows_of(str(path)))
    readers: dict[str, Read] = {
        "iterate": iterate,
        "export": export,
        "evaluate": judge,
        "verify": verified,
        "back up": copied,
        "continue": continue_log,
    }
    open_files = {end: Path(f"{path}{end}").read_bytes() for end in ("", "-wal", "-end")}
    policy.close()
    closed = {"": path.read_bytes()}
    return [
        Specimen("log", closed, readers),
        Specimen("log and -wal", open_files, readers),
    ]


def iterate(path: Path) -> Any:
    """Everything that a log says: how it began, how much there is, and each decision."""
    with DecisionLog(path) as log:
        counts = log.n_events, log.n_decisions, log.n_feedbacks
        return tuple(log.start)[:-1], counts, [_plain(row) for row in log]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes()
    if isinstance(value, FeedbackGraph):
        return value.to_json()
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return tuple(map(_plain, value)) if isinstance(value, tuple | list) else value


def export(path: Path) -> Any:
    """A log as a Parquet file."""
    import pyarrow.parquet as pq

    target = path.with_suffix(".parquet")
    try:
        with DecisionLog(path) as log:
            export_parquet(log, target)
        return pq.read_table(target).to_pylist()
    finally:
        target.unlink(missing_ok=True)


def judge(path: Path) -> Any:
    """How well another policy would have done."""
    with DecisionLog(path) as log:
        rows = list(log)
    if not any(row.feedback is not None for row in rows):
        return None  # which is refused, and rightly
    return repr(evaluate(rows, uniform))


def verified(path: Path) -> Any:
    """What a log says if `graphcb log verify` has nothing to say."""
    if found := verify(path):
        raise FileError(f"{path}: {found[0]}")
    return iterate(path)


def copied(path: Path) -> Any:
    """What a backup of a log says."""
    copy = path.with_name(f"{path.name}-copy")
    try:
        back_up(path, copy)
        return iterate(copy)
    finally:
        for file in path.parent.glob(f"{copy.name}*"):
            file.unlink()


def continue_log(path: Path) -> Any:
    """A policy that goes on: no feedback counts again, and a new decision is as it must be."""
    with Policy(path) as policy:
        before = iterate(path)
        for row in rows_of(str(path)).values():
            if row.feedback is not None:
                indices, values = row.feedback.action_indices, row.feedback.losses
                again = dict(zip(indices.tolist(), values.tolist(), strict=True))
                receipt = policy.feedback(row.decision_id, again)
                if receipt.counted:
                    raise Finding("confused", f"{receipt} for the second time")
        made = policy.decide([0.1, 0.2, 0.3], graphs.bandit(N_ACTIONS))
        return before, to_bytes(policy.agent), made.action, made.probabilities, policy.n_events


def models(folder: Path) -> list[Specimen]:
    """One file for each of some agents that have learned a little."""
    rng, path, found = np.random.default_rng(0), folder / "model.npz", []
    for agent in agents():
        for _ in range(8):
            x = rng.random(N_FEATURES)
            agent.act(x, graphs.full_information(N_ACTIONS))
            agent.learn(x, list(range(N_ACTIONS)), rng.random(N_ACTIONS).tolist())
        save(agent, path)
        name = type(getattr(agent, "oracle", None)).__name__
        found.append(Specimen(f"model ({name})", {"": path.read_bytes()}, {"load": load_model}))
    return found


def agents() -> list[Any]:
    size = N_ACTIONS, N_FEATURES
    members = [LinearOGD(*size, learning_rate=0.1), LinearOGD(*size)]
    return [
        InformationDirected(),
        SquareCBG(LinearOGD(*size)),
        InformationDirected(OnlineRidge(*size)),
        InformationDirected(BayesianLogistic(*size)),
        SquareCBG(VovkAggregation(members)),
    ]


def load_model(path: Path) -> Any:
    return to_bytes(load(path))


def graph_files(folder: Path) -> list[Specimen]:
    """The same matrix in every form, and a family in JSON."""
    from scipy.sparse import csr_array, save_npz

    rng = np.random.default_rng(0)
    matrix = np.round(np.where(rng.random((6, 6)) < 0.5, rng.random((6, 6)), 0.0), 3)
    np.fill_diagonal(matrix, 1.0)
    np.save(folder / "a.npy", matrix)
    np.savez(folder / "a.npz", matrix=matrix)
    save_npz(folder / "b.npz", csr_array(matrix))
    (folder / "a.json").write_text(FeedbackGraph(matrix).to_json())
    (folder / "b.json").write_text(graphs.inventory(20).to_json())
    lines = (",".join(map(str, row)) for row in matrix.tolist())
    (folder / "a.csv").write_text("\n".join(lines))
    names = ("a.npy", "a.npz", "b.npz", "a.json", "b.json", "a.csv")
    return [
        Specimen(
            f"graph ({name})",
            {name[1:]: (folder / name).read_bytes()},
            {"read": use_graph},
            sure=name.endswith("npz"),
        )
        for name in names
    ]


def use_graph(path: Path) -> Any:
    """A graph that is read is a graph: what playing reveals are probabilities."""
    graph = read_graph(str(path))
    if graph.n_actions > 10_000:
        return graph.n_actions
    revealed = graph.reveal_probabilities(np.full(graph.n_actions, 1.0 / graph.n_actions))
    if not ((revealed >= 0.0) & (revealed <= 1.0 + 1e-9)).all():
        raise Finding("silent", f"reveals with probabilities {revealed}")
    return graph.to_json(), revealed.tobytes()
