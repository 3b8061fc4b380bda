"""Personalizer's calls for those who run it: settings, model and log, in its words.

Its service configuration is the problem's defaults, `explore` and baseline; its learning settings
are the problem file; its model is the learner. What has no meaning here is refused.
"""

import asyncio
import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict

from graphcb.agents.baselines import FIRST
from graphcb.decisions.together import Together
from graphcb.files import FileError
from graphcb.problems import Learner, Problem
from graphcb.problems.baselines import Baseline
from graphcb.problems.defaults import Defaults, read_defaults
from graphcb.saving import from_bytes, to_bytes
from graphcb.service.aside import aside
from graphcb.service.errors import Refused
from graphcb.service.requests import ProblemRequest, as_problem
from graphcb.service.routing import Call, Content
from graphcb.service.tending import prune

MODEL_BYTES = 200_000_000  # of a model that is imported
NOTE = "by a client of Personalizer"
_DURATION = re.compile(
    r"P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_MADE_AT = "(SELECT made_at FROM graphcb_decisions WHERE position > ? ORDER BY position"
_SPAN = f"SELECT {_MADE_AT} LIMIT 1), {_MADE_AT} DESC LIMIT 1)"
_LATEST = f"SELECT max(made_at) FROM {_MADE_AT} DESC LIMIT 1000) AS latest"  # of many clocks


class Configuration(msgspec.Struct, rename="camel"):
    """Personalizer's service configuration; what a client leaves out stays as it is.

    The model learns from every reward at once, so that it is exported every 0 seconds, and is
    never trained again from old logs.
    """

    reward_wait_time: str | None = None
    default_reward: float | None = None
    reward_aggregation: str | None = None
    exploration_percentage: float | None = None
    log_retention_days: float | None = None
    learning_mode: str | None = None
    model_export_frequency: str | None = None
    model_retrain_days: int | None = None
    last_configuration_edit_date: str | None = None
    is_auto_optimization_enabled: bool | None = None
    log_mirror_enabled: bool | None = None


class LearningSettings(msgspec.Struct):
    """Personalizer's learning settings: here the agent, and the text of the problem file."""

    name: str
    arguments: str


class DateRange(msgspec.Struct, rename={"first": "from", "last": "to"}):
    """The times of the first and the last decision in the log."""

    first: str | None
    last: str | None


class LogProperties(msgspec.Struct, rename="camel"):
    """What is in the log."""

    date_range: DateRange


class ModelProperties(msgspec.Struct, rename="camel"):
    """When the version of the model began, and when it learned last."""

    creation_time: str
    last_modified_time: str


async def show_configuration(call: Call) -> Configuration:
    """The service configuration."""
    return _as_configuration(call.service.desk.problem, call.service.desk.versions.last.made_at)


async def change_configuration(call: Call) -> Configuration:
    """Change the problem as a service configuration says."""
    asked: Configuration = call.body

    def change(together: Together) -> Configuration:
        version = together.version
        problem = _configured(version.problem or call.service.desk.problem, asked)
        if problem != version.problem:
            version = together.change(problem, note=NOTE).version
        return _as_configuration(problem, version.made_at)

    return await call.service.desk.ask(change, is_long=True)


async def show_settings(call: Call) -> LearningSettings:
    """The agent, and the problem as TOML."""
    desk = call.service.desk
    agent = await aside(lambda: desk.played_by)  # which may wait for a transaction
    return LearningSettings(agent, desk.problem.to_toml())


async def change_settings(call: Call) -> LearningSettings:
    """Change the problem to the one in the arguments."""
    problem = as_problem(ProblemRequest(call.body.arguments))

    def change(together: Together) -> None:
        if problem != together.version.problem:
            together.change(problem, note=NOTE)

    await call.service.desk.ask(change, is_long=True)
    return await show_settings(call)


async def export_model(call: Call) -> Content:
    """The learner as a file of graphcb, for `graphcb.load`, or another service."""

    def export(together: Together) -> bytes:
        return to_bytes(together.pending.state.agent)

    content = await call.service.desk.ask(export, is_long=True)
    return Content(content, b"application/octet-stream")


async def import_model(call: Call) -> None:
    """Continue with the learner in a file, which must be for the same problem."""
    learner = await asyncio.to_thread(_read_model, call.body)

    def change(together: Together) -> None:
        if learner.problem != together.version.problem:
            raise ValueError("the model must be one of the same problem; change the problem first")
        together.change(agent=learner, note=NOTE)

    await call.service.desk.ask(change, is_long=True)


def _read_model(content: bytes) -> Learner:
    try:
        learner = from_bytes(content, where="the model", max_bytes=MODEL_BYTES)
    except FileError as problem:
        raise ValueError(str(problem)) from None
    if not isinstance(learner, Learner):
        raise ValueError("the model must be that of a service, got another object of graphcb")
    return learner


async def reset_model(call: Call) -> None:
    """Continue with a new learner."""

    def change(together: Together) -> None:
        if together.version.problem is not None:
            together.change(agent=Learner(together.version.problem), note=NOTE)

    await call.service.desk.ask(change, is_long=True)


async def show_model(call: Call) -> ModelProperties:
    """When the model was made, and when it last learned."""
    desk = call.service.desk
    last = time.time() - (desk.staleness or 0.0)
    return ModelProperties(as_time(desk.versions.last.made_at), as_time(last))


async def show_log(call: Call) -> LogProperties:
    """The times of the first and the last decision."""

    def look(together: Together) -> Any:
        cut = together.pending.start.cut
        return together.storage.execute(_SPAN, (cut, cut))[0]

    span = await call.service.desk.ask(look)
    first, last = (None if one is None else as_time(one) for one in span)
    return LogProperties(DateRange(first, last))


async def delete_log(call: Call) -> None:
    """Remove all decisions up to now; the model stays. It goes on even if nobody waits."""

    def look(together: Together) -> float | None:
        latest = together.storage.execute(_LATEST, (together.pending.start.cut,))[0][0]
        return None if latest is None else math.nextafter(latest, math.inf)

    before = await call.service.desk.ask(look)
    if before is not None:
        await call.service.in_background(prune(call.service.desk, before))


def refused(text: str) -> Callable[[Call], Any]:
    """A call that has no meaning here."""

    async def refuse(call: Call) -> None:
        raise Refused(400, text)

    return refuse


def as_time(seconds: float) -> str:
    """As ISO 8601.

    >>> as_time(0.0)
    '1970-01-01T00:00:00.000000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def as_duration(seconds: float) -> str:
    """As ISO 8601.

    >>> as_duration(600.0), as_duration(0.5), as_duration(1e18)
    ('PT600S', 'PT0.5S', 'PT1000000000000000000S')
    """
    return f"PT{np.format_float_positional(seconds, trim='-')}S"


def read_duration(name: str, text: str) -> float:
    """Seconds from ISO 8601.

    >>> read_duration("wait", "P1DT2H3M4.5S"), read_duration("wait", "PT10M")
    (93784.5, 600.0)
    """
    found = _DURATION.fullmatch(text)
    if found is None or text in ("P", "PT"):
        raise ValueError(f"`{name}` must be a duration as in ISO 8601, such as PT10M, got {text!r}")
    units = (86400.0, 3600.0, 60.0, 1.0)
    return sum(float(n) * unit for n, unit in zip(found.groups(), units, strict=True) if n)


def _as_configuration(problem: Problem, changed_at: float) -> Configuration:
    defaults = Defaults() if problem.defaults is None else problem.defaults
    return Configuration(
        reward_wait_time=as_duration(defaults.waiting or 0.0),
        default_reward=defaults.value or 0.0,
        reward_aggregation=defaults.reward_aggregation,
        exploration_percentage=problem.explore,
        log_retention_days=-1 if defaults.keep_days is None else defaults.keep_days,
        learning_mode="Apprentice" if _is_apprentice(problem) else "Online",
        model_export_frequency=as_duration(0.0),
        model_retrain_days=0,
        last_configuration_edit_date=as_time(changed_at),
        is_auto_optimization_enabled=False,
        log_mirror_enabled=False,
    )


def _configured(problem: Problem, asked: Configuration) -> Problem:
    """The problem as a configuration says."""
    now = _as_configuration(problem, 0.0)
    given = {name: value for name, value in asdict(asked).items() if value is not None}
    whole = asdict(now) | given
    fixed = ("model_export_frequency", "model_retrain_days", "is_auto_optimization_enabled")
    for name in (*fixed, "log_mirror_enabled"):
        wanted, there_is = whole[name], getattr(now, name)
        if wanted != there_is:
            shown = msgspec.json.encode(there_is).decode()
            title = re.sub("_(.)", lambda found: found[1].upper(), name)
            raise ValueError(f"`{title}` must be {shown} here, or left out, got {wanted!r}")
    table: dict[str, Any] = {}
    waiting = read_duration("rewardWaitTime", whole["reward_wait_time"])
    if waiting > 0.0:
        table |= {"waiting": waiting, problem.unit: whole["default_reward"]}
    if whole["log_retention_days"] != -1:
        table["keep_days"] = whole["log_retention_days"]
    if whole["reward_aggregation"] != "earliest":
        table["reward_aggregation"] = whole["reward_aggregation"]
    return replace(
        problem,
        defaults=read_defaults(table or None, problem.unit, problem.check_values),
        explore=whole["exploration_percentage"],
        baseline=_baseline(problem, whole["learning_mode"]),
    )


def _baseline(problem: Problem, mode: str) -> Baseline | None:
    if mode not in ("Online", "Apprentice"):
        raise ValueError(
            f"`learningMode` must be Online or Apprentice, got {mode!r}; Apprentice logs and learns"
        )
    if mode == "Apprentice":
        return Baseline(FIRST, "shadow")
    return None if _is_apprentice(problem) else problem.baseline


def _is_apprentice(problem: Problem) -> bool:
    rule = problem.baseline
    return rule is not None and rule.is_first and rule.is_shadow
