"""The paths of a service of several problems: a list of them, and which of them are ready."""

from functools import cache
from html import escape
from typing import TYPE_CHECKING, cast

import msgspec

from graphcb.service import pages
from graphcb.service.errors import RETRY, Refused
from graphcb.service.openapi import describe
from graphcb.service.routing import PROBLEMS, Call, Content, Route

if TYPE_CHECKING:
    from graphcb.service.problems import Problems

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>graphcb</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/page.css">
</head>
<body>
<header><h1>Problems</h1></header>
<main><section class="card wide">
<table>
<tr><th scope="col">problem</th><th scope="col">state</th></tr>
{rows}
</table>
</section></main>
</body>
</html>
"""


class ProblemStanding(msgspec.Struct):
    """The state of a problem: "ok", or why it is not served here or not ready."""

    name: str
    state: str
    is_ready: bool = False
    is_starting: bool = False


class ProblemShown(msgspec.Struct):
    """A problem of this service, and where its paths begin."""

    name: str
    path: str
    state: str


class ProblemsAnswer(msgspec.Struct):
    """The problems of this service."""

    problems: list[ProblemShown]


class ReadyAnswer(msgspec.Struct):
    """Whether requests should come here: at least one problem is ready, and none is starting."""

    status: str
    problems: dict[str, str]


def _problems(call: Call) -> "Problems":
    return cast("Problems", call.service)  # of these routes


async def _list(call: Call) -> ProblemsAnswer:
    found = await _problems(call).standings()
    return ProblemsAnswer(
        [ProblemShown(one.name, PROBLEMS + one.name + "/", one.state) for one in found]
    )


async def _show_page(call: Call) -> Content:
    rows = [
        f'<tr><td><a href="{PROBLEMS}{escape(one.name)}/">{escape(one.name)}</a></td>'
        f"<td>{escape(one.state)}</td></tr>"
        for one in await _problems(call).standings()
    ]
    page = _PAGE.replace("{rows}", "\n".join(rows)).encode()
    return Content(page, pages.KINDS[".html"], pages.HEADERS)


async def _check_live(call: Call) -> dict[str, str]:
    return _problems(call).check_live()


async def _check_ready(call: Call) -> ReadyAnswer:
    problems = _problems(call)
    if problems.is_leaving:
        raise Refused(503, "the service is about to stop", RETRY)
    found = await problems.standings()
    wrong = [f"{one.name}: {one.state}" for one in found if not one.is_ready]
    if any(one.is_starting for one in found) or len(wrong) == len(found):
        raise Refused(503, "; ".join(wrong), RETRY)
    return ReadyAnswer("ok", {one.name: one.state for one in found})


async def _describe(call: Call) -> Content:
    return Content(_document(), b"application/json")


@cache
def _document() -> bytes:
    return msgspec.json.encode(describe(ROUTES))


ROUTES = (
    Route(
        "GET", "/v1/problems", "", _list,
        "The problems; each has an OpenAPI document of its own at PATH/openapi.json",
        gives=(ProblemsAnswer,),
    ),
    Route("GET", "/livez", "", _check_live, "Whether the service lives"),
    Route(
        "GET", "/readyz", "", _check_ready, "Whether it is ready, and which problems are not",
        gives=(ReadyAnswer,), also_at=("/healthz",),
    ),
    Route("GET", "/openapi.json", "", _describe, "This document"),
    Route("GET", "/", "", _show_page, "The problems, for people"),
    Route("GET", "/page/{id}", "", pages.show_file, "A file of the page"),
)  # fmt: skip
