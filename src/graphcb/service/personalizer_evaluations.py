"""Personalizer's offline evaluations: our estimates on the log, by a process of their own.

There is one such process at a time, and for an hour at most: it reads the whole log.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
import numpy as np

from graphcb.decisions import DecisionLog, LogError, LoggedDecision
from graphcb.decisions.together import Together
from graphcb.estimates.terms import Floats
from graphcb.evaluation import Evaluation, candidate, evaluate, logged, uniform
from graphcb.problems import Problem
from graphcb.service.errors import LOGGER, RETRY, Refused, as_refusal
from graphcb.service.personalizer_admin import LearningSettings, as_time
from graphcb.service.requests import ProblemRequest, as_problem, check_size
from graphcb.service.routing import Call, Content

MOST_SECONDS = 3600.0  # of one; it has read some 20 million decisions by then
MOST_POLICIES = 10  # of one, as each of them reads the log again
MOST_KEPT = 100  # after which the oldest are forgotten
_COMMAND = "from graphcb.service.personalizer_evaluations import main; main()"
_TABLE = "CREATE TABLE graphcb_evaluations (name TEXT PRIMARY KEY, content TEXT NOT NULL)"
_INSERT = "INSERT INTO graphcb_evaluations (name, content) VALUES (?, ?)"
_REPLACE = "UPDATE graphcb_evaluations SET content = ? WHERE name = ? AND content = ?"
_DELETE = "DELETE FROM graphcb_evaluations WHERE name = ?"


class Evaluating(NamedTuple):
    """An evaluation of a log by its name, and its process."""

    location: str
    name: str
    process: "subprocess.Popen[bytes]"


_RUNNING: list[Evaluating] = []  # one at most


class EvaluationRequest(msgspec.Struct, rename="camel"):
    """An evaluation of the decisions between two times; `policies` are problems, as TOML."""

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
    check_size("policies", len(asked.policies), MOST_POLICIES)
    for one in asked.policies:
        as_problem(ProblemRequest(one.arguments))  # refuses what is not one
    first, last = (_seconds(one) for one in (asked.start_time, asked.end_time))
    if not first < last:
        raise ValueError("`endTime` must be after `startTime`")
    if "\x00" in call.name or len(call.name) > 256:
        raise ValueError("an evaluation's id must have at most 256 characters, none of them NUL")
    content = {
        "id": call.name,
        "name": asked.name,
        "startTime": as_time(first),
        "endTime": as_time(last),
        "creationTime": as_time(time.time()),
        "evaluationType": "Manual",
        "status": "Running",
    }
    if _RUNNING:
        raise Refused(503, "another evaluation is running; try again once it has ended", RETRY)
    location = call.service.desk.policy.location
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    quiet = {**os.environ, "GRAPHCB_QUIET": "1"}
    process = subprocess.Popen([sys.executable, "-c", _COMMAND], env=quiet, **pipes)
    running = Evaluating(location, call.name, process)
    _RUNNING.append(running)
    try:
        await call.service.desk.ask(lambda together: _add(together, content))
    except BaseException:
        _stop(running)
        with process:  # closes its pipes, and waits
            raise
    job = {
        "location": location,
        "first": first,
        "last": last,
        "policies": [[one.name, one.arguments] for one in asked.policies],
    }
    work = _evaluate(call, content, running, json.dumps(job).encode())
    call.service.in_background(work).add_done_callback(lambda _: _stop(running))
    return Content(b"", b"application/json")


async def show_evaluation(call: Call) -> Content:
    """An evaluation and, once it has succeeded, its results."""
    found = await call.service.desk.ask(lambda together: _get(together, call.name))
    return Content(json.dumps(found).encode(), b"application/json")


async def list_evaluations(call: Call) -> dict[str, Any]:
    """All evaluations, without their results."""
    found = await call.service.desk.ask(_all)
    return {"value": [{k: v for k, v in one.items() if k != "content"} for one in found]}


async def delete_evaluation(call: Call) -> None:
    """Forget an evaluation, and end it."""

    def delete(together: Together) -> None:
        _get(together, call.name)
        together.storage.execute(_DELETE, (call.name,))

    await call.service.desk.ask(delete)
    for one in list(_RUNNING):
        if one[:2] == (call.service.desk.policy.location, call.name):
            _stop(one)


async def _evaluate(call: Call, content: dict[str, Any], running: Evaluating, job: bytes) -> None:
    """Wait for the results, and store them; it fails if the service stops."""
    process = running.process
    after = {**content, "status": "Failed"}
    try:
        found, said = await asyncio.to_thread(_output, process, job)
        if process.returncode == 0:
            after |= json.loads(call.service.cleaned(found.decode()))
        if after["status"] == "Failed" and running in _RUNNING:  # it was not deleted
            LOGGER.warning("an evaluation failed: %s", said.decode(errors="replace")[:1000])
    except subprocess.TimeoutExpired:
        after["error"] = f"it took longer than {MOST_SECONDS:g} seconds; choose a shorter time"
    except asyncio.CancelledError:
        process.kill()
    values = json.dumps(after), content["id"], json.dumps(content)  # unless it was deleted
    with contextlib.suppress(Refused, LogError):
        await call.service.desk.ask(lambda together: together.storage.execute(_REPLACE, values))


def _output(process: "subprocess.Popen[bytes]", job: bytes) -> tuple[bytes, bytes]:
    """What it prints; after MOST_SECONDS it is killed."""
    with process:
        try:
            return process.communicate(job, MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _stop(running: Evaluating) -> None:
    """End an evaluation, and let the next one begin."""
    running.process.kill()
    if running in _RUNNING:
        _RUNNING.remove(running)


def _add(together: Together, content: dict[str, Any]) -> None:
    together.claim(["evaluations"])  # two processes must not create it at the same time
    if not together.storage.has_table("graphcb_evaluations"):
        together.storage.execute(_TABLE)
    known = sorted(_all(together), key=lambda one: str(one["creationTime"]))
    if any(one["id"] == content["id"] for one in known):
        raise ValueError(f"evaluation {content['id']!r} exists already; delete it first")
    for one in known[: len(known) + 1 - MOST_KEPT]:
        together.storage.execute(_DELETE, (one["id"],))
    together.storage.execute(_INSERT, (content["id"], json.dumps(content)))


def _get(together: Together, name: str) -> dict[str, Any]:
    for one in _all(together):
        if one["id"] == name:
            return one
    raise LookupError(f"there is no evaluation {name!r}")


def _all(together: Together) -> list[dict[str, Any]]:
    """All evaluations by name. One whose process was killed with its service has failed."""
    if not together.storage.has_table("graphcb_evaluations"):
        return []
    rows = together.storage.execute("SELECT content FROM graphcb_evaluations ORDER BY name")
    found = [json.loads(content) for (content,) in rows]
    oldest = as_time(time.time() - MOST_SECONDS - 60.0)
    for one in found:
        if one["status"] == "Running" and one["creationTime"] < oldest:
            one["status"] = "Failed"
    return found


def _seconds(given: datetime) -> float:
    return (given if given.tzinfo is not None else given.replace(tzinfo=UTC)).timestamp()


def main() -> None:
    """Read a job from the input, and print its results, or why there are none."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(10)  # it makes way for the service
    job = json.load(sys.stdin)
    try:
        print(json.dumps({"status": "Succeeded", "content": results(**job)}))
    except Exception as problem:
        print(json.dumps({"error": as_refusal(problem).message}))


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
            rows = (row for row in log if first <= row.made_at <= last)
            judged = evaluate(rows, target, loss_range=value_range)
            one = {"name": name, "arguments": arguments, "policySource": source, "slotId": ""}
            found.append({**one, "summary": _summary(judged)})
    return {"startTime": as_time(first), "endTime": as_time(last), "value": found}


def _first(row: LoggedDecision) -> Floats:
    return np.asarray(np.eye(1, row.probabilities.size)[0])


def _summary(judged: Evaluation) -> dict[str, Any]:
    """A mean and its interval, as far as the log supports them."""
    estimate = judged.graph
    interval = judged.bounds if estimate is None else estimate.interval
    return {
        "expectedReward": None if estimate is None else estimate.value,
        "confidenceInterval": [] if interval is None else list(interval),
    }
