"""All calls of the service: one table, from which the application and OpenAPI are made."""

import asyncio
import threading
from functools import partial

import msgspec

from graphcb.decisions import Decider, DecisionLog
from graphcb.decisions.explaining import explain
from graphcb.decisions.records import Forgotten
from graphcb.decisions.together import Together
from graphcb.service import answers, pages, personalizer, requests
from graphcb.service.aside import aside
from graphcb.service.errors import RETRY, Refused
from graphcb.service.health import check_live, check_ready
from graphcb.service.live_answers import LiveAnswer
from graphcb.service.meters import measure_log
from graphcb.service.metrics import process_of, status_of
from graphcb.service.openapi import describe
from graphcb.service.routing import Call, Content, Route
from graphcb.service.work import LONG_BATCH, LONG_GRAPH, note_rounds

REPLAYED = 20_000  # events, at most, for an explanation
EXPLAINING = threading.Lock()  # one explanation at a time


async def _decide(call: Call) -> answers.DecisionAnswer | answers.DecisionsAnswer:
    desk = call.service.desk
    if call.body.decisions is None:
        one = requests.as_round(call.body, desk.problem, call.service.limits)
        note_rounds(call, [one])
        is_long = one.graph is not None and one.graph.n_actions > LONG_GRAPH
        made = await desk.ask(
            lambda together: together.make(*one),
            decides=one, is_long=is_long, client=call.client,
        )  # fmt: skip
        return answers.of_decision(made)
    rounds = requests.as_batch(call.body, desk.problem, call.service.limits)
    note_rounds(call, rounds)
    n_squares = sum(one.graph.n_actions**2 for one in rounds if one.graph is not None)
    is_long = len(rounds) > LONG_BATCH or n_squares > LONG_GRAPH**2
    batch = await desk.ask(
        lambda together: together.make_rounds(rounds), is_long=is_long, client=call.client
    )
    return answers.DecisionsAnswer([answers.of_decision(one) for one in batch])


async def _show_decision(call: Call) -> answers.LoggedAnswer:
    def read(together: Together) -> answers.LoggedAnswer:
        return answers.of_logged(together.find(call.name), together)

    return await call.service.desk.ask(read, reads=call.name)


async def _explain(call: Call) -> answers.ExplanationAnswer:
    service = call.service
    await service.desk.ask(lambda together: together.find(call.name).row.position, reads=call.name)

    def look() -> answers.ExplanationAnswer:
        with DecisionLog(service.desk.policy.location) as log:
            return answers.of_explanation(explain(log, call.name, at_most=REPLAYED))

    if not EXPLAINING.acquire(blocking=False):
        raise Refused(503, "another decision is being explained; try again", RETRY)
    try:
        return await asyncio.to_thread(look)
    finally:
        EXPLAINING.release()


async def _take_feedback(call: Call) -> answers.FeedbackAnswer:
    def learn(together: Together) -> answers.FeedbackAnswer:
        version = together.versions.of(together.find(call.name).row)
        problem = together.version.problem if version.problem is None else version.problem
        values = requests.values_in(call.body, problem) if problem is not None else {}
        return answers.of_receipt(together.feedback(call.name, values))

    return await call.service.desk.ask(learn, reads=call.name)


async def _show_problem(call: Call) -> answers.ProblemAnswer:
    return answers.of_problem(call.service.desk.problem)


async def _change_problem(call: Call) -> answers.ChangeAnswer:
    problem = requests.as_problem(call.body)

    def change(together: Together) -> answers.ChangeAnswer:
        if problem == together.version.problem:
            raise ValueError("`toml` must differ from the current problem, got the same")
        return answers.of_change(together.change(problem, note=call.body.note))

    return await call.service.desk.ask(change, is_long=True)


async def _roll_back(call: Call) -> answers.ChangeAnswer:
    def roll_back(together: Together) -> answers.ChangeAnswer:
        return answers.of_change(together.roll_back(call.body.version, call.body.note))

    return await call.service.desk.ask(roll_back, is_long=True)


async def _forget(call: Call) -> answers.ForgottenAnswer:
    return await call.service.in_background(_forget_now(call))


async def _forget_now(call: Call) -> answers.ForgottenAnswer:
    """Go on even if nobody waits for the answer; the model is rebuilt while others decide."""
    desk, asked, so_far = call.service.desk, call.body, None
    if asked.unlearn and not isinstance(desk.policy, Decider):
        unlearned = partial(desk.policy.unlearned, asked.subject)
        so_far = await aside(unlearned)

    def forget(together: Together) -> Forgotten:
        return together.forget(asked.subject, unlearn=asked.unlearn, so_far=so_far)

    receipt = await desk.ask(forget, is_long=True)
    left = "" if isinstance(desk.policy, Decider) else await asyncio.to_thread(desk.policy.scrub)
    return answers.ForgottenAnswer(*receipt, call.service.cleaned(left))


async def _show_versions(call: Call) -> answers.VersionsAnswer:
    return answers.of_versions(call.service.desk.versions)


async def _show_status(call: Call) -> answers.StatusAnswer:
    await call.service.metrics.look(call.service.desk)
    return status_of(call.service.desk, call.service.metrics)


async def _show_live(call: Call) -> Content:
    service = call.service
    await service.metrics.look(service.desk)
    found = await service.watcher.look(lambda: process_of(service.desk, service.metrics))
    if found is None:
        text = "the numbers are not ready: machine code may have to be compiled, up to 15 s"
        content = msgspec.json.encode({"starting": text})
        return Content(content, b"application/json", RETRY, status=202)
    return Content(found, b"application/json")


async def _show_metrics(call: Call) -> Content:
    await call.service.metrics.look(call.service.desk)
    await measure_log(call.service.desk, call.service.metrics)
    text = call.service.metrics.to_text(call.service.desk)
    return Content(text, b"text/plain; version=0.0.4; charset=utf-8")


async def _check_live(call: Call) -> dict[str, str]:
    return check_live(call.service.desk)


async def _check_ready(call: Call) -> dict[str, str]:
    return await check_ready(call.service.desk)


async def _describe(call: Call) -> Content:
    service, number = call.service, call.service.desk.versions.last.number
    if service.document[0] != number:
        document = describe(service.routes, service.desk.problem, service.name)
        service.document = number, msgspec.json.encode(document)
    return Content(service.document[1], b"application/json")


ROUTES = (
    Route(
        "POST", "/v1/decisions", "decide", _decide, "Decide on one round, or on several",
        takes=requests.DecisionsRequest, example=requests.decision_example,
        gives=(answers.DecisionAnswer, answers.DecisionsAnswer),
    ),
    Route(
        "GET", "/v1/decisions/{id}", "read", _show_decision, "A decision and its feedback so far",
        gives=(answers.LoggedAnswer,),
    ),
    Route(
        "GET", "/v1/decisions/{id}/explanation", "read", _explain, "Why a decision was made",
        gives=(answers.ExplanationAnswer,),
    ),
    Route(
        "POST", "/v1/decisions/{id}/feedback", "feedback", _take_feedback,
        "Report what a decision revealed",
        takes=requests.FeedbackRequest, example=requests.feedback_example,
        gives=(answers.FeedbackAnswer,),
    ),
    Route(
        "GET", "/v1/problem", "read", _show_problem, "The current problem",
        gives=(answers.ProblemAnswer,),
    ),
    Route(
        "POST", "/v1/problem", "admin", _change_problem, "Change the problem",
        takes=requests.ProblemRequest, example=requests.problem_example,
        gives=(answers.ChangeAnswer,),
    ),
    Route(
        "POST", "/v1/rollback", "admin", _roll_back,
        "Return to the problem and the model of an earlier version",
        takes=requests.RollbackRequest, example=lambda problem: {"version": 1},
        gives=(answers.ChangeAnswer,),
    ),
    Route(
        "POST", "/v1/forget", "admin", _forget, "Remove all decisions about a person",
        takes=requests.ForgetRequest, example=lambda problem: {"subject": "customer 17"},
        gives=(answers.ForgottenAnswer,),
    ),
    Route(
        "GET", "/v1/versions", "read", _show_versions, "The versions of the problem",
        gives=(answers.VersionsAnswer,),
    ),
    Route(
        "GET", "/v1/status", "read", _show_status, "Counts and latencies of the service",
        gives=(answers.StatusAnswer,),
    ),
    Route("GET", "/v1/live", "read", _show_live, "The numbers of the page", gives=(LiveAnswer,)),
    Route("GET", "/metrics", "read", _show_metrics, "Metrics in Prometheus' text format"),
    Route("GET", "/livez", "", _check_live, "Whether the service lives"),
    Route("GET", "/readyz", "", _check_ready, "Whether it is ready", also_at=("/healthz",)),
    Route("GET", "/openapi.json", "", _describe, "This document"),
    Route("GET", "/", "", pages.show_page, "The page for people"),
    Route("GET", "/page/{id}", "", pages.show_file, "A file of the page"),
    *personalizer.ROUTES,
)  # fmt: skip
