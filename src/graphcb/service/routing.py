"""Routes as values: a path, who may call it, what answers, and what OpenAPI says about it."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes

from graphcb.problems import Problem
from graphcb.service.errors import Refused

if TYPE_CHECKING:
    from graphcb.service.app import Service

PROBLEMS = "/v1/problems/"  # where each of several problems has its paths


class Call(NamedTuple):
    """What a handler gets: the variable part of the path, and the body as the route's struct.

    `client` is the name of the key.
    """

    service: "Service"
    name: str
    body: Any
    client: str = ""


class Content(NamedTuple):
    """An answer as bytes, with the status of its route unless it has another."""

    content: bytes
    kind: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    status: int | None = None


Handler = Callable[[Call], Awaitable[Any]]


class Route(NamedTuple):
    """A path, of which at most one part varies: {id}. An empty `scope` needs no key.

    The handler returns a struct, which is sent as JSON, a `Content`, or None. `takes` is the
    struct of the body and `example` makes one for a problem; `gives` are the structs that may be
    answered. `also_at` are further paths of the same call.
    """

    method: str
    path: str
    scope: str
    handler: Handler
    summary: str
    takes: Any = None
    example: Callable[[Problem], Any] | None = None
    gives: tuple[Any, ...] = ()
    status: int = 200
    also_at: tuple[str, ...] = ()


def path_of(path: str, problem: str) -> str:
    """A path as it is where the service has several problems.

    >>> path_of("/v1/decisions", "shop"), path_of("/metrics", "shop"), path_of("/metrics", "")
    ('/v1/problems/shop/decisions', '/v1/problems/shop/metrics', '/metrics')
    """
    return PROBLEMS + problem + path.removeprefix("/v1") if problem else path


class Router:
    """Routes by path; `problem` is the name of the problem if there are several."""

    def __init__(self, routes: Iterable[Route], problem: str = "") -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        self._open: dict[tuple[str, str], dict[str, Route]] = {}
        for route in routes:
            for one in (route.path, *route.also_at):
                path = path_of(one, problem)
                before, brace, after = path.partition("{")
                if brace:
                    key = before, after.partition("}")[2]
                    self._open.setdefault(key, {})[route.method] = route
                else:
                    self._fixed.setdefault(path, {})[route.method] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route, str]:
        """The route of a request, and the variable part of its path."""
        path = raw_path.decode("latin-1")
        found, name = self._fixed.get(path), ""
        if found is None:
            for (before, after), methods in self._open.items():
                middle = path[len(before) : len(path) - len(after)]
                fits = path.startswith(before) and path.endswith(after) and "/" not in middle
                if fits and middle:
                    found, name = methods, _unquoted(middle)
                    break
        if found is None:
            raise Refused(404, "there is nothing at this path; /openapi.json lists what there is")
        if method not in found:
            allowed = ", ".join(sorted(found))
            headers = ((b"allow", allowed.encode()),)
            raise Refused(405, f"the method must be {allowed} at this path", headers)
        return found[method], name


def _unquoted(text: str) -> str:
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise Refused(404, "the path must be percent-encoded UTF-8") from None
