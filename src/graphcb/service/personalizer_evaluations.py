"""Personalizer's offline evaluations: our estimates on the log, by a process of their own."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from graphcb.decisions import DecisionLog, LogError, LoggedDecision
from graphcb.decisions.together import Together
from graphcb.estimates.terms import Floats
from graphcb.evaluation import Evaluation, candidate, evaluate, logged, uniform
from graphcb.problems import Problem
from graphcb.service.errors import LOGGER, Refused
from graphcb.service.personalizer_admin import LearningSettings, as_time
from graphcb.service.requests import ProblemRequest, as_problem
from graphcb.service.routing import Call, Content

_TABLE = (
    "CREATE TABLE IF NOT EXISTS graphcb_evaluations (name TEXT PRIMARY KEY, content TEXT NOT NULL)"
)
_COMMAND = "from graphcb.service.personalizer_evaluations import main; main()"
_INSERT = "INSERT INTO graphcb_evaluations (name, content) VALUES (?, ?)"
_REPLACE = "UPDATE graphcb_evaluations SET content = ? WHERE name = ? AND content = ?"


class EvaluationRequest(msgspec.Struct, rename="camel"):
    """An evaluation of the decisions in a time; `policies` are problems, as TOML."""

    name: str
    start_time: datetime
    end_time: datetime
    policies: list[LearningSettings] = []
    enable_policy_optimization: bool = False


async def create_evaluation(call: Call) -> Content:
    """Begin an evaluation."""
    asked: EvaluationRequest = call.body
    if asked.enable_policy_optimization:
        raise ValueError(
            "`enablePolicyOptimization` must be false: the learner has no settings to optimise"
        )
    for one in asked.policies:
        as_problem(ProblemRequest(one.arguments))  # refuses what is not one
    first, last = (_seconds(one) for one in (asked.start_time, asked.end_time))
    if not first < last:
        raise ValueError("`endTime` must be after `startTime`")
    content = {
        "id": call.name,
        "name": asked.name,
        "startTime": as_time(first),
        "endTime": as_time(last),
        "creationTime": as_time(time.time()),
        "evaluationType": "Manual",
        "status": "Running",
    }
    await call.service.desk.ask(lambda together: _add(together, content))
    job = {
        "location": call.service.desk.policy.location,
        "first": first,
        "last": last,
        "policies": [[one.name, one.arguments] for one in asked.policies],
    }
    call.service.in_background(_evaluate(call, content, json.dumps(job).encode()))
    return Content(b"", b"application/json")


async def show_evaluation(call: Call) -> Content:
    """An evaluation and, once it has succeeded, its results."""
    found = await call.service.desk.ask(lambda together: _get(together, call.name))
    return Content(found.encode(), b"application/json")


async def list_evaluations(call: Call) -> dict[str, Any]:
    """All evaluations, without their results."""

    def read(together: Together) -> list[dict[str, Any]]:
        together.storage.execute(_TABLE)
        rows = together.storage.execute("SELECT content FROM graphcb_evaluations ORDER BY name")
        return [json.loads(content) for (content,) in rows]

    found = await call.service.desk.ask(read)
    return {"value": [{k: v for k, v in one.items() if k != "content"} for one in found]}


async def delete_evaluation(call: Call) -> None:
    """Forget an evaluation."""

    def delete(together: Together) -> None:
        _get(together, call.name)
        together.storage.execute("DELETE FROM graphcb_evaluations WHERE name = ?", (call.name,))

    await call.service.desk.ask(delete)


async def _evaluate(call: Call, content: dict[str, Any], job: bytes) -> None:
    """Wait for the results, and store them; it fails if the service stops."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-c", _COMMAND], **pipes)
    after = {**content, "status": "Failed"}
    try:
        found, said = await asyncio.to_thread(process.communicate, job)
        if process.returncode == 0:
            after = {**content, "status": "Succeeded", "content": json.loads(found)}
        else:
            LOGGER.warning("an evaluation failed: %s", said.decode(errors="replace")[-300:])
    except asyncio.CancelledError:
        process.kill()
    with contextlib.suppress(Refused, LogError):
        await call.service.desk.ask(lambda together: _replace(together, content, after))


def _add(together: Together, content: dict[str, Any]) -> None:
    together.storage.execute(_TABLE)
    sql = "SELECT 1 FROM graphcb_evaluations WHERE name = ?"
    if together.storage.execute(sql, (content["id"],)):
        raise ValueError(f"evaluation {content['id']!r} exists already; delete it first")
    together.storage.execute(_INSERT, (content["id"], json.dumps(content)))


def _replace(together: Together, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Store how an evaluation went, unless it was deleted meanwhile."""
    together.storage.execute(_REPLACE, (json.dumps(after), before["id"], json.dumps(before)))


def _get(together: Together, name: str) -> str:
    together.storage.execute(_TABLE)
    sql = "SELECT content FROM graphcb_evaluations WHERE name = ?"
    for (content,) in together.storage.execute(sql, (name,)):
        return str(content)
    raise LookupError(f"there is no evaluation {name!r}")


def _seconds(given: datetime) -> float:
    return (given if given.tzinfo is not None else given.replace(tzinfo=UTC)).timestamp()


def main() -> None:
    """Read a job from the input, and print its results."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(10)  # it makes way for the service
    print(json.dumps(results(**json.load(sys.stdin))))


def results(location: str, first: float, last: float, policies: list[Any]) -> dict[str, Any]:
    """The estimated reward of the policy, of its baseline, of chance and of other problems."""
    targets: list[tuple[str, str, str, Any]] = [
        ("Online", "Online", "", logged),
        ("Baseline", "Baseline", "", _first),
        ("Random", "Random", "", uniform),
    ]
    for name, toml in policies:
        targets.append((name, "Custom", toml, candidate(Problem.from_toml(toml))))
    found = []
    with DecisionLog(location) as log:
        value_range = log.versions.range
        for name, source, arguments, target in targets:
            rows = _between(log, first, last)
            judged = evaluate(rows, target, loss_range=value_range)
            one = {"name": name, "arguments": arguments, "policySource": source, "slotId": ""}
            found.append({**one, "summary": _summary(judged)})
    return {"startTime": as_time(first), "endTime": as_time(last), "value": found}


def _first(row: LoggedDecision) -> Floats:
    return np.asarray(np.eye(1, row.probabilities.size)[0])


def _between(log: DecisionLog, first: float, last: float) -> Iterator[LoggedDecision]:
    return (row for row in log if first <= row.made_at <= last)


def _summary(judged: Evaluation) -> dict[str, Any]:
    """A mean and its interval, as far as the log supports them."""
    estimate = judged.graph
    interval = judged.bounds if estimate is None else estimate.interval
    return {
        "expectedReward": None if estimate is None else estimate.value,
        "confidenceInterval": [] if interval is None else list(interval),
    }
